//! The way past a recurrent layer: `y = x + f(x)`.

use crate::layer::{Dropout, DropoutSite};
use crate::pass::Pass;
use couplet_tensor::ops::{DropoutScope, add};
use couplet_tensor::{Params, SequenceLayout, Var};
use std::sync::Arc;

/// What layers read is added to their output, from one layer on.
///
/// While training, a share of the sequences goes past a layer and leaves it out: `y = x`, and `y = x + f(x) / (1 − share)` for the
/// others (stochastic depth, Huang et al., 2016). A deep stack then learns as many shallower ones do.
#[derive(Clone, Debug)]
pub(crate) struct Shortcut {
    /// For each layer that has one, the site at which sequences leave the layer out.
    sites: Vec<Option<DropoutSite>>,
}

impl Shortcut {
    /// Of so many layers of `name`, from one on, the first being 1 as users count. Its sites are `name.l0.stochastic_depth` and so on.
    pub(crate) fn new(
        params: &mut Params,
        name: &str,
        layers: usize,
        from: Option<usize>,
        share: f32,
    ) -> Shortcut {
        let dropout = Dropout { rate: share, together: DropoutScope::Sequence };
        let site = |layer: usize| {
            from.is_some_and(|from| layer + 1 >= from)
                .then(|| DropoutSite::new(params, &format!("{name}.l{layer}.stochastic_depth"), dropout))
        };
        Shortcut { sites: (0..layers).map(site).collect() }
    }

    /// Whether it leads past a layer, the lowest being 0.
    pub(crate) fn is_around(&self, layer: usize) -> bool {
        self.sites[layer].is_some()
    }

    /// The output of a layer, together with what it read.
    pub(crate) fn join(
        &self,
        pass: &Pass,
        layer: usize,
        output: Var,
        read: &Var,
        rows: &Arc<SequenceLayout>,
    ) -> Var {
        match &self.sites[layer] {
            Some(site) => add(&pass.dropout(output, rows, site), read),
            None => output,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::Training;
    use crate::testing::matrix;
    use couplet_tensor::{Device, Tape};

    /// What becomes of 100 sequences of two steps that read 10 and whose layer's output is 1.
    fn joined(from: Option<usize>, layer: usize, training: bool) -> Vec<f32> {
        let (mut params, tape) = (Params::new(&Device::cpu(), 1), Tape::new());
        let shortcut = Shortcut::new(&mut params, "encoder", 6, from, 0.5);
        let pass = match training {
            true => Pass::training(&params, Training { tape: &tape, seed: 1, update: 3 }),
            false => Pass::inference(&params),
        };
        let [output, read] = [1.0, 10.0].map(|number| matrix(&[&[number][..]; 200]));
        shortcut.join(&pass, layer, output, &read, &SequenceLayout::new(&[2; 100]).into()).value().to_vec()
    }

    /// 10 + 1 from the second layer on; the lowest has none.
    #[test]
    fn what_was_read_is_added() {
        assert_eq!(joined(Some(2), 1, false), [11.0; 200]);
        assert_eq!(joined(Some(2), 0, false), [1.0; 200]);
        assert_eq!(joined(Some(2), 0, true), [1.0; 200]);
        assert_eq!(joined(None, 5, true), [1.0; 200]);
    }

    /// About half of the sequences leave the layer out, and it counts twice for the others: 10, or 10 + 2·1. Rows are step after
    /// step, so that sequence `i` has the rows `i` and `100 + i`. Of 100, a standard deviation is 5.
    #[test]
    fn a_share_goes_past_a_layer_while_training() {
        let of_layer = |layer| {
            let rows = joined(Some(2), layer, true);
            assert_eq!(rows[..100], rows[100..], "all steps go the same way");
            assert!(rows.iter().all(|&number| number == 10.0 || number == 12.0), "{rows:?}");
            rows
        };
        let past = of_layer(1).iter().filter(|&&number| number == 10.0).count() / 2;
        assert!((30..=70).contains(&past), "{past}");
        assert_ne!(of_layer(1), of_layer(2), "each layer has its own draw");
    }
}
