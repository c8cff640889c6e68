use super::{Allowed, Constraint};

/// An output begins with these tokens.
#[derive(Debug)]
pub(crate) struct Prefix {
    pub(crate) tokens: Vec<u32>,
    /// The same as text.
    pub(crate) text: String,
    /// The most tokens that an output can have.
    pub(crate) limit: usize,
}

impl Constraint for Prefix {
    fn restrict(&self, written: &[u32], allowed: &mut Allowed) {
        if let Some(&token) = self.tokens.get(written.len()) {
            allowed.only(token);
        }
    }

    fn explain(&self) -> String {
        format!("begins with \"{}\"", self.text)
    }

    fn impossible(&self) -> Option<String> {
        let (tokens, limit) = (self.tokens.len(), self.limit);
        (tokens > limit).then(|| format!("the beginning has {tokens} tokens, and an output at most {limit}"))
    }
}
