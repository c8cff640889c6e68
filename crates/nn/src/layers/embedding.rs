use crate::builder::ModelBuilder;
use crate::forward::ForwardPass;
use couplet_tensor::ops::embedding;
use couplet_tensor::{Init, Param, Var};

/// A vector for each token.
#[derive(Clone, Debug)]
pub struct Embedding {
    /// vocabulary × width
    pub weight: Param,
}

/// Scale of token vectors before positions are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingScale {
    /// Uniform up to 0.1, used unchanged.
    One,
    /// Scaled by `√width`, as in a Transformer: values are then around 1.
    SqrtWidth,
}

impl Embedding {
    /// Adds `embedding.weight`.
    pub fn new(b: &mut ModelBuilder, vocabulary: usize, width: usize, scale: EmbeddingScale) -> Embedding {
        let init = match scale {
            EmbeddingScale::One => Init::Uniform(0.1),
            EmbeddingScale::SqrtWidth => Init::Uniform((3.0 / width as f32).sqrt()),
        };
        Embedding { weight: b.child("embedding").add("weight", vocabulary, width, init) }
    }

    /// The vectors of tokens: tokens × width.
    pub fn forward(&self, fwd: &ForwardPass, tokens: &[u32]) -> Var {
        embedding(&fwd.var(self.weight), tokens)
    }
}

impl EmbeddingScale {
    /// The factor of vectors of a width; none where they are used unchanged.
    pub(crate) fn factor(self, width: usize) -> Option<f32> {
        (self == EmbeddingScale::SqrtWidth).then(|| (width as f32).sqrt())
    }
}
