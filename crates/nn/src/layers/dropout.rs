use couplet_tensor::ops;
use couplet_tensor::ops::DropoutScope;

/// Dropout of a layer's output in training.
#[derive(Clone, Copy, Debug)]
pub struct Dropout {
    /// The fraction of values that become zero.
    pub rate: f32,
    /// The values of a sequence that are dropped together.
    pub scope: DropoutScope,
}

impl Dropout {
    /// Dropout of single values, or with one mask for all steps of a sequence.
    pub fn new(rate: f32, variational: bool) -> Dropout {
        Dropout { rate, scope: if variational { DropoutScope::Variational } else { DropoutScope::Element } }
    }
}

/// A point of a model at which values are dropped in training, with random numbers of its own.
#[derive(Clone, Copy, Debug)]
pub struct DropoutSite {
    dropout: Dropout,
    /// The random stream of its masks: the hash of its path.
    stream: u64,
}

impl DropoutSite {
    pub(crate) fn new(stream: u64, dropout: Dropout) -> DropoutSite {
        DropoutSite { dropout, stream }
    }

    /// Dropout in an update of a run, as an operation takes it.
    pub(crate) fn in_update(&self, seed: u64, update: u32) -> ops::Dropout {
        let Dropout { rate, scope } = self.dropout;
        ops::Dropout { rate, seed, update, stream: self.stream, scope }
    }
}
