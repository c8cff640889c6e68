use super::{Dropout, DropoutSite};
use crate::builder::ModelBuilder;
use crate::config::NormPlace;
use crate::forward::ForwardPass;
use couplet_tensor::ops::{layer_norm, residual_norm};
use couplet_tensor::{Init, Param, SequenceLayout, Var};
use std::sync::Arc;

/// Residual connections and layer norms around the sublayers of a Transformer's stack.
#[derive(Clone, Debug)]
pub(crate) struct SublayerConnection {
    /// Gain and bias of each sublayer's norm, and of the final one.
    norms: Vec<[Param; 2]>,
    /// Dropout of the output of each sublayer.
    dropouts: Vec<DropoutSite>,
    place: NormPlace,
    dropout: Dropout,
}

/// The residual stream of a stack.
#[derive(Clone, Debug)]
pub(crate) struct ResidualStream {
    /// The sum that sublayers add to.
    sum: Var,
    /// The input of the next sublayer.
    pub(crate) input: Var,
    /// The sublayers that were passed.
    passed: usize,
}

impl SublayerConnection {
    /// The connections of a stack without sublayers.
    pub(crate) fn new(place: NormPlace, dropout: Dropout) -> SublayerConnection {
        SublayerConnection { norms: Vec::new(), dropouts: Vec::new(), place, dropout }
    }

    /// Adds the sublayers of a layer: norms `norm1` and so on, and dropout sites `dropout1` and so on.
    pub(crate) fn add_sublayers(&mut self, b: &mut ModelBuilder, count: usize, width: usize) {
        for sublayer in 1..=count {
            self.add_norm(b.child(format!("norm{sublayer}")), width);
            self.dropouts.push(b.dropout(&format!("dropout{sublayer}"), self.dropout));
        }
    }

    /// Adds the norm of the next sublayer, or the final one: `weight` and `bias`.
    pub(crate) fn add_norm(&mut self, mut b: ModelBuilder, width: usize) {
        self.norms.push([
            b.add("weight", 1, width, Init::Constant(1.0)),
            b.add("bias", 1, width, Init::Constant(0.0)),
        ]);
    }

    fn norm(&self, fwd: &ForwardPass, index: usize) -> [Var; 2] {
        self.norms[index].map(|param| fwd.var(param))
    }

    /// The stream before the first sublayer.
    pub(crate) fn begin(&self, fwd: &ForwardPass, x: Var) -> ResidualStream {
        let input = match self.place {
            NormPlace::Pre => {
                let [gain, bias] = self.norm(fwd, 0);
                layer_norm(&x, &gain, &bias)
            }
            NormPlace::Post => x.clone(),
        };
        ResidualStream { sum: x, input, passed: 0 }
    }

    /// Adds the output of a sublayer. With norms before sublayers, the norm is that of the next one.
    pub(crate) fn add(
        &self,
        fwd: &ForwardPass,
        stream: &ResidualStream,
        output: &Var,
        layout: &Arc<SequenceLayout>,
    ) -> ResidualStream {
        let index = stream.passed + usize::from(self.place == NormPlace::Pre);
        let [gain, bias] = self.norm(fwd, index);
        let mask = fwd.dropout_mask(layout, &self.dropouts[stream.passed]);
        let [sum, input] = residual_norm(&stream.sum, output, mask.as_ref(), &gain, &bias);
        let sum = if self.place == NormPlace::Pre { sum } else { input.clone() };
        ResidualStream { sum, input, passed: stream.passed + 1 }
    }

    /// The states after the final norm.
    pub(crate) fn end(&self, fwd: &ForwardPass, stream: ResidualStream) -> Var {
        match self.place {
            NormPlace::Pre => stream.input,
            NormPlace::Post => {
                let [gain, bias] = self.norm(fwd, self.norms.len() - 1);
                layer_norm(&stream.input, &gain, &bias)
            }
        }
    }
}
