//! What can be wrong with a line that is not just text.

use thiserror::Error;

/// A line that cannot be understood; [`hint`](LineError::hint) says how it should look.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are what the message above them says")]
pub enum LineError {
    /// Something between tags that is none.
    #[error("{tag:?} is no tag")]
    Tag { tag: String },

    /// Something between links that is none.
    #[error("{link:?} is no link")]
    Link { link: String },

    /// A line of likelihoods without two numbers.
    #[error("expected a log-probability and a number of tokens, found {line:?}")]
    Likelihood { line: String },

    /// More than certain.
    #[error("the log-probability {number} is above 0")]
    AboveCertain { number: String },
}

impl LineError {
    /// How it should look.
    pub fn hint(&self) -> &'static str {
        match self {
            LineError::Tag { .. } => {
                "tags are O, and B-, I-, E- or S- with a kind after it, such as B-PER, with spaces between them"
            }
            LineError::Link { .. } => {
                "a sure link is written 3-4, a possible one 3?4 or 3p4, with spaces between links"
            }
            LineError::Likelihood { .. } => {
                "a line has the sum of natural log-probabilities, a tab, and the number of tokens: -12.5\t7"
            }
            LineError::AboveCertain { .. } => "write logarithms of probabilities, which are 0 or below",
        }
    }
}
