use super::{Dropout, DropoutSite};
use crate::builder::ModelBuilder;
use crate::forward::ForwardPass;
use couplet_tensor::ops::{DropoutScope, add};
use couplet_tensor::{SequenceLayout, Var};
use std::sync::Arc;

/// Residual connections around recurrent layers, from one layer on: `y = x + f(x)`.
///
/// With stochastic depth (Huang et al. 2016), a fraction of the sequences skips a layer in training: `y = x`, and
/// `y = x + f(x) / (1 − fraction)` for the others. A deep stack then trains as many shallower ones do.
#[derive(Clone, Debug)]
pub(crate) struct Residual {
    /// For each layer with a connection, the site at which sequences skip it.
    sites: Vec<Option<DropoutSite>>,
}

impl Residual {
    /// Connections from layer `from` on, the first layer being 1. Adds the sites `l0.stochastic_depth` and so on.
    pub(crate) fn new(b: &mut ModelBuilder, layers: usize, from: Option<usize>, rate: f32) -> Residual {
        let dropout = Dropout { rate, scope: DropoutScope::Sequence };
        let site = |layer: usize| {
            from.is_some_and(|from| layer + 1 >= from)
                .then(|| b.dropout(&format!("l{layer}.stochastic_depth"), dropout))
        };
        Residual { sites: (0..layers).map(site).collect() }
    }

    /// Returns true for a layer with a connection, the first layer being 0.
    pub(crate) fn is_around(&self, layer: usize) -> bool {
        self.sites[layer].is_some()
    }

    /// The output of a layer, with its input added where it has a connection.
    pub(crate) fn add(
        &self,
        fwd: &ForwardPass,
        layer: usize,
        output: Var,
        input: &Var,
        layout: &Arc<SequenceLayout>,
    ) -> Var {
        match &self.sites[layer] {
            Some(site) => add(&fwd.dropout(output, layout, site), input),
            None => output,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::Training;
    use crate::testing::matrix;
    use couplet_tensor::{Device, Params, Tape};

    /// The sums for 100 sequences of two steps whose inputs are 10 and outputs 1.
    fn sums(from: Option<usize>, layer: usize, training: bool) -> Vec<f32> {
        let (mut params, tape) = (Params::new(&Device::cpu(), 1), Tape::new());
        let residual = Residual::new(&mut ModelBuilder::new(&mut params).child("encoder"), 6, from, 0.5);
        let fwd = match training {
            true => ForwardPass::training(&params, Training { tape: &tape, seed: 1, update: 3 }),
            false => ForwardPass::inference(&params),
        };
        let [output, input] = [1.0, 10.0].map(|value| matrix(&[&[value][..]; 200]));
        let layout = SequenceLayout::new(&[2; 100]).into();
        residual.add(&fwd, layer, output, &input, &layout).value().to_vec()
    }

    /// 10 + 1 from the second layer on; the first has no connection.
    #[test]
    fn the_input_is_added() {
        assert_eq!(sums(Some(2), 1, false), [11.0; 200]);
        assert_eq!(sums(Some(2), 0, false), [1.0; 200]);
        assert_eq!(sums(Some(2), 0, true), [1.0; 200]);
        assert_eq!(sums(None, 5, true), [1.0; 200]);
    }

    /// About half of the sequences skip the layer, and it counts twice for the others: 10, or 10 + 2·1. Rows are step after step, so that
    /// sequence `i` has the rows `i` and `100 + i`. Of 100, a standard deviation is 5.
    #[test]
    fn a_fraction_skips_a_layer_in_training() {
        let of_layer = |layer| {
            let rows = sums(Some(2), layer, true);
            assert_eq!(rows[..100], rows[100..], "all steps skip together");
            assert!(rows.iter().all(|&value| value == 10.0 || value == 12.0), "{rows:?}");
            rows
        };
        let skipped = of_layer(1).iter().filter(|&&value| value == 10.0).count() / 2;
        assert!((30..=70).contains(&skipped), "{skipped}");
        assert_ne!(of_layer(1), of_layer(2), "each layer has its own mask");
    }
}
