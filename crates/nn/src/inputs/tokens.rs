use super::InputLayer;
use crate::builder::ModelBuilder;
use crate::config::{InputKind, PositionKind};
use crate::forward::ForwardPass;
use crate::layers::{Dropout, DropoutSite, Embedding, EmbeddingScale, Positions};
use crate::tokens::PackedTokens;
use couplet_tensor::{SequenceLayout, Tensor, Var};
use std::sync::Arc;

/// Tokens as embeddings or as one-hot vectors, with positions: the input of encoders and of decoders.
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

/// Settings of token vectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenInputConfig<'a> {
    pub(crate) kind: InputKind,
    pub(crate) vocabulary: usize,
    /// The width of embeddings.
    pub(crate) width: usize,
    pub(crate) scale: EmbeddingScale,
    pub(crate) positions: PositionKind,
    pub(crate) dropout: Dropout,
    /// The embedding of the other side, to be taken instead of a new one.
    pub(crate) tied: Option<&'a Embedding>,
}

impl TokenInput {
    /// Adds `embedding` and, where they are learned, `positions`.
    pub(crate) fn new(b: &mut ModelBuilder, config: TokenInputConfig) -> TokenInput {
        let TokenInputConfig { kind, vocabulary, width, scale, positions, dropout, tied } = config;
        let (vectors, width) = match kind {
            InputKind::Embedding => {
                let new = |b: &mut ModelBuilder| Embedding::new(b, vocabulary, width, scale);
                let embedding = tied.map_or_else(|| new(b), Embedding::clone);
                let dropout = b.child("embedding").dropout("dropout", dropout);
                (TokenVectors::Embedding { embedding, dropout }, width)
            }
            InputKind::OneHot => (TokenVectors::OneHot { vocabulary }, vocabulary),
        };
        TokenInput { vectors, positions: Positions::new(b, positions, scale, width), width }
    }

    /// The vectors of one token of each row, at its position: rows × width.
    pub(crate) fn step(&self, fwd: &ForwardPass, tokens: &[u32], positions: &[u32]) -> Var {
        self.positions.step(fwd, &self.vectors(fwd, tokens), positions)
    }

    fn vectors(&self, fwd: &ForwardPass, tokens: &[u32]) -> Var {
        match &self.vectors {
            TokenVectors::Embedding { embedding, .. } => embedding.forward(fwd, tokens),
            TokenVectors::OneHot { vocabulary } => one_hot(fwd, tokens, *vocabulary),
        }
    }
}

impl InputLayer for TokenInput {
    fn width(&self) -> usize {
        self.width
    }

    fn forward(&self, fwd: &ForwardPass, input: &PackedTokens) -> (Var, Arc<SequenceLayout>) {
        let layout = &input.layout;
        let x = self.positions.forward(fwd, &self.vectors(fwd, &input.tokens), layout); // [rows, width]
        let x = match &self.vectors {
            TokenVectors::Embedding { dropout, .. } => fwd.dropout(x, layout, dropout),
            TokenVectors::OneHot { .. } => x,
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
