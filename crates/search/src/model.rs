//! All that a search knows of a model.

/// A model that writes token by token.
pub trait Model {
    /// Where it stands, a row for each hypothesis.
    type State;

    /// Before the first token, a row for each source.
    fn start(&self, sources: &[&[u32]]) -> Self::State;

    /// The next step, for the token that each row wrote last; of what may come next, the `wanted` likeliest tokens.
    fn step(&self, tokens: &[u32], state: &Self::State, wanted: usize) -> Step<Self::State>;

    /// Row `rows[i]` as row `i`.
    fn select(&self, state: &Self::State, rows: &[u32]) -> Self::State;

    /// The token that begins an output, and the one that ends it.
    fn ends(&self) -> (u32, u32);
}

/// What a step gives for each row.
#[derive(Clone, Debug)]
pub struct Step<S> {
    /// Where the model stands now.
    pub state: S,
    /// Row by row the likeliest tokens with the logarithms of their probabilities, the likeliest first; of equal ones, the
    /// smaller token first.
    pub likeliest: Vec<Vec<(u32, f32)>>,
    /// How much each row looked at each place of its source, row after row; nothing where the model does not look.
    pub attention: Vec<f32>,
}
