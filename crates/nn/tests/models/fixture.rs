//! What PyTorch found: the files beside the scripts in `fixtures/pytorch`.

use couplet_nn::{Batch, LossStats};
use couplet_tensor::Params;
use safetensors::SafeTensors;
use std::collections::BTreeMap;

/// How far numbers may lie apart: other orders of the same sums.
const NEAR: f32 = 2e-5;

pub(crate) type Arrays = BTreeMap<String, Vec<f32>>;

pub(crate) fn read(name: &str) -> Arrays {
    let path = format!("{}/../../fixtures/pytorch/{name}.safetensors", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let file = SafeTensors::deserialize(&bytes).expect("a whole file");
    let number = |four: &[u8]| f32::from_le_bytes(four.try_into().expect("chunks of four"));
    let read = |(name, view): (String, safetensors::tensor::TensorView)| {
        (name, view.data().chunks_exact(4).map(number).collect())
    };
    file.tensors().into_iter().map(read).collect()
}

/// One case of a file.
pub(crate) struct Case<'a> {
    pub(crate) name: &'a str,
    pub(crate) arrays: &'a Arrays,
}

impl Case<'_> {
    fn given(&self, folder: &str, key: &str) -> &[f32] {
        let name = format!("{}/{folder}/{key}", self.name);
        self.arrays.get(&name).unwrap_or_else(|| panic!("no {name}"))
    }

    /// The weights that PyTorch had, and no others.
    pub(crate) fn set_weights(&self, params: &mut Params) {
        let own = format!("{}/in/", self.name);
        let count = self.arrays.keys().filter(|key| key.starts_with(&own)).count();
        assert_eq!(count, params.iter().count(), "weights of {}", self.name);
        for param in params.iter() {
            let numbers = self.given("in", params.name(param)).to_vec();
            params.set(param, &numbers);
        }
    }

    fn assert_near(&self, found: &[f32], [folder, key]: [&str; 2], tolerance: f32) {
        let (wanted, what) = (self.given(folder, key), format!("{folder}/{key} of {}", self.name));
        assert_eq!(found.len(), wanted.len(), "{what}");
        let far = found.iter().zip(wanted).find(|(found, wanted)| (*found - *wanted).abs() > tolerance);
        assert_eq!(far, None, "{what}");
    }

    /// The losses, and the gradients of their mean.
    pub(crate) fn assert_equal(&self, losses: &[f32], params: &Params) {
        self.assert_near(losses, ["out", "losses"], NEAR);
        for param in params.iter() {
            self.assert_near(&params.gradient(param), ["grad", params.name(param)], NEAR);
        }
    }

    /// The mean losses of updates that follow each other; what rounding changes in one grows in the next.
    pub(crate) fn assert_updates(&self, losses: &[f32]) {
        self.assert_near(losses, ["out", "updates"], 1e-3);
    }
}

/// The losses of a batch's target tokens, pair by pair, with zeros behind each.
pub(crate) fn padded_losses(batch: &Batch, loss: &LossStats) -> Vec<f32> {
    let (rows, of_rows) = (&batch.input.layout, loss.per_target.to_vec());
    let mut losses = vec![0.0; rows.batch() * rows.steps()];
    for (row, (place, step)) in rows.places().enumerate() {
        losses[rows.sorted_indices()[place] as usize * rows.steps() + step] = of_rows[row];
    }
    losses
}
