//! All that a search knows of a model.

/// A model that writes token by token.
pub trait Model {
    /// Where it stands, a row for each hypothesis.
    type State;
    /// What it expects next, a row for each hypothesis.
    type Next: Next;

    /// Before the first token, a row for each source.
    fn start(&self, sources: &[&[u32]]) -> Self::State;

    /// The next step, for the token that each row wrote last.
    fn step(&self, tokens: &[u32], state: &Self::State) -> Step<Self::State, Self::Next>;

    /// Row `rows[i]` as row `i`.
    fn select(&self, state: &Self::State, rows: &[u32]) -> Self::State;

    /// The token that begins an output, and the one that ends it.
    fn ends(&self) -> (u32, u32);
}

/// What is expected next. Most searches look at a few tokens of a row only, and the others may stay where they are.
pub trait Next {
    /// Row by row the `wanted` likeliest tokens with the logarithms of their probabilities, the likeliest first; of equal ones, the
    /// smaller token first.
    fn likeliest(&self, wanted: usize) -> Vec<Vec<(u32, f32)>>;

    /// Row by row the logarithms of the probabilities of all tokens.
    fn log_probabilities(&self) -> Vec<Vec<f32>>;
}

/// What a step gives for each row.
#[derive(Clone, Debug)]
pub struct Step<S, N> {
    /// Where the model stands now.
    pub state: S,
    /// What it expects next.
    pub next: N,
    /// How much each row looked at each place of its source, row after row; nothing where the model does not look.
    pub attention: Vec<f32>,
}

/// The logarithms of the probabilities of all tokens, row by row. What is impossible is never among the likeliest.
impl Next for Vec<Vec<f32>> {
    fn likeliest(&self, wanted: usize) -> Vec<Vec<(u32, f32)>> {
        self.iter().map(|row| likeliest_of(row, wanted, |_| true)).collect()
    }

    fn log_probabilities(&self) -> Vec<Vec<f32>> {
        self.clone()
    }
}

/// The `wanted` likeliest of the tokens that are allowed and possible, the likeliest first; of equal ones, the smaller one first.
pub(crate) fn likeliest_of(
    log_probabilities: &[f32],
    wanted: usize,
    allowed: impl Fn(u32) -> bool,
) -> Vec<(u32, f32)> {
    let mut best: Vec<(u32, f32)> = Vec::new();
    for (token, &log_p) in (0..).zip(log_probabilities) {
        let among_the_best = best.len() < wanted || best.last().is_some_and(|last| log_p > last.1);
        if among_the_best && log_p.is_finite() && allowed(token) {
            best.insert(best.partition_point(|other| other.1 >= log_p), (token, log_p));
            best.truncate(wanted);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likeliest_are_possible_and_allowed() {
        let row = [-1.0, f32::NEG_INFINITY, -0.5, -2.0, -0.5];
        let found = |wanted, allowed: fn(u32) -> bool| likeliest_of(&row, wanted, allowed);
        assert_eq!(found(2, |_| true), [(2, -0.5), (4, -0.5)]);
        assert_eq!(found(9, |_| true), [(2, -0.5), (4, -0.5), (0, -1.0), (3, -2.0)]);
        assert_eq!(found(2, |token| token % 4 != 0), [(2, -0.5), (3, -2.0)]);
    }
}
