//! What a search writes: whole outputs, and the tokens that many of them share.

/// An output.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// The tokens, without the one that begins and the one that ends it.
    pub tokens: Vec<u32>,
    /// The logarithm of its probability, the end included where it was reached.
    pub log_probability: f32,
    /// What it is worth: the log-probability, made comparable between lengths.
    pub score: f32,
    /// For each token, how much each place of the source was looked at; nothing where the model does not look.
    pub attention: Vec<Vec<f32>>,
    /// Set where it reached the length limit before its end.
    pub truncated: bool,
}

/// One token of a hypothesis, with the one before it.
struct Written {
    token: u32,
    before: Option<usize>,
    attention: Vec<f32>,
}

/// The tokens that the hypotheses of one source have written. What two of them have in common is there once.
#[derive(Default)]
pub(crate) struct Trail(Vec<Written>);

impl Trail {
    /// Writes a token behind another; returns its place.
    pub(crate) fn write(&mut self, token: u32, before: Option<usize>, attention: Vec<f32>) -> usize {
        self.0.push(Written { token, before, attention });
        self.0.len() - 1
    }

    /// The token at a place.
    pub(crate) fn token(&self, place: usize) -> u32 {
        self.0[place].token
    }

    /// All tokens up to a place.
    pub(crate) fn tokens(&self, last: Option<usize>) -> Vec<u32> {
        self.collect(last, |written| written.token)
    }

    /// Where the model looked for each of them.
    pub(crate) fn attention(&self, last: Option<usize>) -> Vec<Vec<f32>> {
        self.collect(last, |written| written.attention.clone())
    }

    fn collect<T>(&self, last: Option<usize>, part: impl Fn(&Written) -> T) -> Vec<T> {
        let place = std::iter::successors(last, |&place| self.0[place].before);
        let mut parts: Vec<T> = place.map(|place| part(&self.0[place])).collect();
        parts.reverse();
        parts
    }
}
