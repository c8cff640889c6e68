use super::InputLayer;
use crate::builder::ModelBuilder;
use crate::config::{EncoderConfig, InputKind};
use crate::forward::ForwardPass;
use crate::layers::{Dropout, DropoutSite, Embedding, EmbeddingScale, Positions};
use crate::tokens::PackedTokens;
use couplet_tensor::{SequenceLayout, Tensor, Var};
use std::sync::Arc;

/// Tokens as embeddings or as one-hot vectors, with positions.
#[derive(Clone, Debug)]
pub struct TokenInput {
    vectors: TokenVectors,
    positions: Positions,
    width: usize,
}

#[derive(Clone, Debug)]
enum TokenVectors {
    /// Learned vectors, with dropout.
    Embedding { embedding: Embedding, dropout: DropoutSite },
    /// Vectors that are 1 at the token's own index and else 0. To drop their only value would be to drop the token.
    OneHot { vocabulary: usize },
}

impl TokenInput {
    /// Adds `embedding` and, where they are learned, `positions`, as the configuration of an encoder and its kind ask for them.
    pub fn new(
        b: &mut ModelBuilder,
        config: &EncoderConfig,
        scale: EmbeddingScale,
        vocabulary: usize,
    ) -> TokenInput {
        let (vectors, width) = match config.input {
            InputKind::Embedding => {
                let width = config.embedding.size;
                let embedding = Embedding::new(b, vocabulary, width, scale);
                let dropout = Dropout::new(config.dropout, config.variational_dropout);
                let dropout = b.child("embedding").dropout("dropout", dropout);
                (TokenVectors::Embedding { embedding, dropout }, width)
            }
            InputKind::OneHot => (TokenVectors::OneHot { vocabulary }, vocabulary),
        };
        TokenInput { vectors, positions: Positions::new(b, config.positions(), scale, width), width }
    }
}

impl InputLayer for TokenInput {
    fn width(&self) -> usize {
        self.width
    }

    fn forward(&self, fwd: &ForwardPass, input: &PackedTokens) -> (Var, Arc<SequenceLayout>) {
        let (layout, tokens) = (&input.layout, &input.tokens);
        let x = match &self.vectors {
            TokenVectors::Embedding { embedding, dropout } => {
                let x = self.positions.forward(fwd, &embedding.forward(fwd, tokens), layout); // [rows, width]
                fwd.dropout(x, layout, dropout)
            }
            TokenVectors::OneHot { vocabulary } => {
                self.positions.forward(fwd, &one_hot(fwd, tokens, *vocabulary), layout) // [rows, vocabulary]
            }
        };
        (x, Arc::clone(layout))
    }

    fn embedding(&self) -> Option<&Embedding> {
        match &self.vectors {
            TokenVectors::Embedding { embedding, .. } => Some(embedding),
            TokenVectors::OneHot { .. } => None,
        }
    }
}

fn one_hot(fwd: &ForwardPass, tokens: &[u32], vocabulary: usize) -> Var {
    let mut values = vec![0.0; tokens.len() * vocabulary];
    tokens.iter().enumerate().for_each(|(row, &token)| values[row * vocabulary + token as usize] = 1.0);
    Var::constant(Tensor::new(fwd.params().device(), tokens.len(), vocabulary, &values))
}
