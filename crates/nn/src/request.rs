//! What a search asks of a decoder's step.

/// The token scores that a search needs of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreRequest {
    /// The `k` most probable tokens.
    TopK(usize),
    /// The whole distribution, for sampling and constraints.
    All,
}

/// What a search asks of a step. What is not asked for is not computed, and not copied from the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepRequest {
    /// The token scores of each row.
    pub scores: Vec<ScoreRequest>,
    /// Whether the attention weights are needed.
    pub attention: bool,
}
