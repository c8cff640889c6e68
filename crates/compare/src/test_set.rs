//! What models are measured with.

use crate::error::CompareError;
use crate::plan::Comparable;
use crate::quality::Quality;
use couplet_data::{Empty, LabeledTexts, Pair};
use couplet_search::{Folder, Loaded, LoadedClassifier};
use couplet_tensor::Device;
use couplet_train::{LabeledExamples, Task, read, read_labeled, read_same};

/// Pairs or labeled texts. They are read before a training: a mistake in them shows at once.
pub(crate) enum TestSet {
    Pairs(Vec<Pair>),
    Texts(LabeledTexts),
}

impl TestSet {
    /// Reads what takes the place of a config's validation set.
    pub(crate) fn read(config: &Comparable) -> Result<TestSet, CompareError> {
        Ok(match config {
            Comparable::Translate(config) if config.task == Task::Autoencode => {
                TestSet::Pairs(read_same(config.texts()[1], config.data.valid.bad_lines())?.0)
            }
            Comparable::Translate(config) => TestSet::Pairs(read(&config.data.valid, Empty::Refuse)?),
            Comparable::Classify(config) => {
                TestSet::Texts(read_labeled(&config.data.valid, &config.data.features)?)
            }
        })
    }

    /// The numbers of the model in a folder, and how well it does.
    pub(crate) fn measure(&self, device: &Device, folder: &Folder) -> Result<(usize, Quality), CompareError> {
        Ok(match self {
            TestSet::Pairs(pairs) => {
                let loaded = Loaded::open(folder, device)?;
                (loaded.params.count(), Quality::of_translator(&loaded, pairs))
            }
            TestSet::Texts(texts) => {
                let loaded = LoadedClassifier::open(folder, device)?;
                let labels = loaded.labels.numbers(texts)?;
                let examples = LabeledExamples::new(
                    texts,
                    &loaded.tokenizer,
                    &loaded.features,
                    &loaded.labels,
                    loaded.cut,
                )?;
                (loaded.params.count(), Quality::of_classifier(&loaded, &examples, texts, &labels))
            }
        })
    }
}
