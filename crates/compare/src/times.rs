//! How fast a model is: while it learns from its own data, and as sources grow.

use crate::cost::Cost;
use crate::error::CompareError;
use crate::plan::Comparable;
use couplet_search::{Folder, Loaded, LoadedClassifier};
use couplet_tensor::Device;
use couplet_train::{Corpus, Inherited, LabeledCorpus, Lessons, Trainer, measure};
use serde::{Deserialize, Serialize};

/// The speed is measured so often, each time with so many updates.
const STRETCHES: usize = 3;
const UPDATES: usize = 10;

/// The times of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The whole config.
    #[serde(default)]
    pub(crate) config: String,
    /// What they were measured on.
    pub device: String,
    /// Tokens of both sides, a second, while updates are made; measured several times.
    pub tokens_per_second: Vec<f64>,
    /// How many sources were read at a time for the costs.
    pub sources: usize,
    /// By the length of the source.
    pub costs: Vec<Cost>,
}

impl Times {
    /// Whether they are those of a config on a device.
    pub(crate) fn is_of(&self, config: &Comparable, device: &Device) -> bool {
        config.is_what(&self.config) && self.device == device.to_string()
    }

    /// Of the model in a folder.
    pub(crate) fn of(config: &Comparable, device: &Device, folder: &Folder) -> Result<Times, CompareError> {
        // With fewer, all that is measured is how long it takes to tell a GPU what to do.
        let sources = if matches!(device, Device::Cpu(_)) { 8 } else { 256 };
        let text = config.to_toml();
        let (tokens_per_second, costs) = match config {
            Comparable::Translate(config) => {
                let mut loaded = Loaded::open(folder, device)?;
                let costs = Cost::of_translator(&mut loaded, sources);
                let known = Inherited { source: Some(loaded.source), target: Some(loaded.target) };
                (speeds::<Corpus>((**config).clone(), known, device)?, costs)
            }
            Comparable::Classify(config) => {
                let mut loaded = LoadedClassifier::open(folder, device)?;
                let costs = Cost::of_classifier(&mut loaded, sources);
                let known = Inherited { source: Some(loaded.tokenizer), target: None };
                (speeds::<LabeledCorpus>((**config).clone(), known, device)?, costs)
            }
        };
        Ok(Times { config: text, device: device.to_string(), tokens_per_second, sources, costs })
    }
}

/// The speeds of a new run with the same config, and the tokenizers that are there already. That of the folder stays as it is.
fn speeds<L: Lessons>(
    config: L::Config,
    known: Inherited,
    device: &Device,
) -> Result<Vec<f64>, CompareError> {
    let lessons = L::read(&config, known)?;
    let mut trainer = Trainer::new(config, lessons, device, None)?;
    (0..STRETCHES).map(|_| Ok(measure(&mut trainer, UPDATES)?.speed.tokens_per_second())).collect()
}
