//! What is known of one run when it is over, as its folder keeps it.

use crate::error::CompareError;
use crate::quality::Quality;
use couplet_data::write_whole;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;
use toml::{Table, Value};

/// One run of a model: what it took and what it reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The whole config, and the test set's: where they are the same, the run need not be made again.
    pub(crate) configs: [String; 2],
    /// A checksum of the corpora that it learned from and was checked and measured with.
    #[serde(default)]
    pub(crate) data: u32,
    /// Numbers in the model.
    pub parameters: usize,
    /// Updates that were made.
    pub updates: u64,
    /// Seconds that they took, validation and all.
    pub seconds: f64,
    /// How well the model does.
    pub quality: Quality,
}

impl Outcome {
    /// Whether another run is of the same config but for its seed, and of the same data.
    pub(crate) fn is_of_the_same(&self, other: &Outcome) -> bool {
        let without_seed = |text: &String| {
            let mut table: Table = text.parse().unwrap_or_default();
            table.get_mut("train").and_then(Value::as_table_mut).map(|train| train.remove("seed"));
            table
        };
        let [own, others] = [self, other].map(|run| run.configs.each_ref().map(without_seed));
        self.data == other.data && own == others
    }
}

/// Reads a file that [`save`] wrote; none where there is none that is whole.
pub(crate) fn load<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Writes figures.
pub(crate) fn save<T: Serialize>(path: &Path, figures: &T) -> Result<(), CompareError> {
    let mut text = serde_json::to_vec_pretty(figures).expect("figures are plain values");
    text.push(b'\n');
    write_whole(path, &text).map_err(CompareError::io(path))
}
