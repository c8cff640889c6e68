//! Readers: from the source's tokens to states.

mod input;
mod recurrent;

pub use input::Input;
pub use recurrent::RecurrentReader;

use crate::config::EncoderConfig;
use crate::layer::{Dropout, Embedding};
use crate::pass::Pass;
use crate::tokens::Packed;
use couplet_tensor::{Params, Rows, Var};
use std::sync::Arc;

/// The numbers under which the encoder's layers drop.
const DROPOUT: u32 = 100;

/// What an encoder returns, whichever it is.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// The states of all tokens: source rows × width.
    pub states: Var,
    /// How the sources are packed.
    pub rows: Arc<Rows>,
    /// The state in which each layer ended, part by part: batch × width. A reader without layers has none.
    pub last: Vec<Vec<Var>>,
}

/// A reader: what its tokens are, and how it goes through them.
#[derive(Clone, Debug)]
pub struct Encoder {
    input: Input,
    dropout: Dropout,
    reader: Reader,
}

/// How a reader goes through its tokens.
#[derive(Clone, Debug)]
enum Reader {
    /// Not at all: what the tokens are is what it read.
    Bag,
    Recurrent(RecurrentReader),
}

impl Encoder {
    /// Adds the encoder's parameters, for a vocabulary of so many tokens.
    pub fn new(params: &mut Params, config: &EncoderConfig, vocabulary: usize) -> Encoder {
        let input = Input::new(params, config, vocabulary);
        let reader = match config.cell() {
            Some(cell) => {
                Reader::Recurrent(RecurrentReader::new(params, config, cell, config.input_width(vocabulary)))
            }
            None => Reader::Bag,
        };
        Encoder { input, dropout: Dropout { rate: config.dropout, variational: config.variational }, reader }
    }

    /// Reads packed sources.
    pub fn forward(&self, pass: &Pass, source: &Packed) -> Encoded {
        let rows = Arc::clone(&source.rows);
        let x = self.input.forward(pass, &source.tokens); // [source rows, inputs]
        let x = match self.input {
            Input::Embedding(_) => pass.dropout(x, &rows, self.dropout, DROPOUT),
            Input::OneHot { .. } => x, // to drop its only number is to drop the token
        };
        match &self.reader {
            Reader::Bag => Encoded { states: x, rows, last: Vec::new() },
            Reader::Recurrent(reader) => reader.forward(pass, x, rows, self.dropout),
        }
    }

    /// The vectors of its tokens, where they are learnt.
    pub fn embedding(&self) -> Option<&Embedding> {
        match &self.input {
            Input::Embedding(embedding) => Some(embedding),
            Input::OneHot { .. } => None,
        }
    }
}
