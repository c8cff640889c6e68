use crate::cell::ReaderKind;
use crate::config::{EncoderConfig, InputKind};
use crate::layer::Embedding;
use crate::pass::Pass;
use couplet_tensor::{Params, Tensor, Var};

/// What a token is to the first layer.
#[derive(Clone, Debug)]
pub enum Input {
    /// A vector that is learned.
    Embedding(Embedding),
    /// The vector that is 1 at the token's own place and else 0.
    OneHot {
        /// As many places as there are tokens.
        vocabulary: usize,
    },
}

impl Input {
    /// Adds the parameters, where there are any.
    pub fn new(params: &mut Params, config: &EncoderConfig, vocabulary: usize) -> Input {
        match config.input {
            InputKind::Embedding => {
                let scaled = config.kind == ReaderKind::Transformer;
                let new = if scaled { Embedding::scaled } else { Embedding::new };
                Input::Embedding(new(params, "encoder.embedding", vocabulary, config.embedding.size))
            }
            InputKind::OneHot => Input::OneHot { vocabulary },
        }
    }

    /// The vectors of tokens: tokens × width.
    pub fn forward(&self, pass: &Pass, tokens: &[u32]) -> Var {
        match self {
            Input::Embedding(embedding) => embedding.forward(pass, tokens),
            Input::OneHot { vocabulary } => {
                let mut numbers = vec![0.0; tokens.len() * vocabulary];
                tokens
                    .iter()
                    .enumerate()
                    .for_each(|(row, &token)| numbers[row * vocabulary + token as usize] = 1.0);
                Var::constant(Tensor::new(pass.params().device(), tokens.len(), *vocabulary, &numbers))
            }
        }
    }
}
