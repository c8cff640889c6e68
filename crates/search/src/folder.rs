//! A model folder: everything that a model needs, in files.

use crate::classify::LoadedClassifier;
use crate::config::{SearchConfig, SearchConfigError};
use crate::generate::LoadedLanguageModel;
use crate::manifest::Manifest;
use crate::task::Task;
use couplet_data::{DataError, Tokenizer};
use couplet_nn::weights::{self, WeightsError};
use couplet_nn::{ConfigError, ModelConfig, Seq2Seq};
use couplet_tensor::{Device, Params};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Where the files of a model folder are.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

/// The key that every config has.
#[derive(Deserialize)]
struct OfTask {
    task: Task,
}

impl Folder {
    /// The folder at a path.
    pub fn new(path: impl Into<PathBuf>) -> Folder {
        Folder(path.into())
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The resolved config.
    pub fn config(&self) -> PathBuf {
        self.0.join("config.toml")
    }

    /// What is needed to run the model, besides its other files.
    pub fn manifest(&self) -> PathBuf {
        self.0.join("model.toml")
    }

    /// The best weights.
    pub fn weights(&self) -> PathBuf {
        self.0.join("model.safetensors")
    }

    /// The tokenizer of the sources.
    pub fn source_tokenizer(&self) -> PathBuf {
        self.0.join("tokenizer.source.json")
    }

    /// The tokenizer of the targets.
    pub fn target_tokenizer(&self) -> PathBuf {
        self.0.join("tokenizer.target.json")
    }

    /// The labels of a classifier, one a line.
    pub fn labels(&self) -> PathBuf {
        self.0.join("labels.txt")
    }

    /// How the columns beside a classifier's texts become numbers, where it reads such.
    pub fn features(&self) -> PathBuf {
        self.0.join("features.toml")
    }

    /// One event of the training a line.
    pub fn log(&self) -> PathBuf {
        self.0.join("train.jsonl")
    }

    /// The model card: data, sizes, scores and the command that made it.
    pub fn card(&self) -> PathBuf {
        self.0.join("README.md")
    }

    /// What a training needs to go on.
    pub fn checkpoints(&self) -> PathBuf {
        self.0.join("checkpoints")
    }

    /// What TensorBoard reads, where that is wanted.
    pub fn tensorboard(&self) -> PathBuf {
        self.0.join("tensorboard")
    }

    /// What its model is for.
    pub fn task(&self) -> Result<Task, FolderError> {
        self.parse_config(&self.config_text()?).map(|OfTask { task }| task)
    }

    /// The parameters of its model, whichever its task.
    pub fn params(&self, device: &Device) -> Result<Params, FolderError> {
        Ok(match self.task()? {
            Task::Translate | Task::Autoencode => Loaded::open(self, device)?.params,
            Task::Classify => LoadedClassifier::open(self, device)?.params,
            Task::LanguageModel => LoadedLanguageModel::open(self, device)?.params,
        })
    }

    /// What is asked for of its config. Refuses a model that is for something else than one of these, the first of which is named.
    pub(crate) fn read_config<C: DeserializeOwned>(&self, wanted: &[Task]) -> Result<C, FolderError> {
        let text = self.config_text()?;
        match self.parse_config(&text)? {
            OfTask { task } if wanted.contains(&task) => self.parse_config(&text),
            OfTask { task } => Err(FolderError::Task { path: self.0.clone(), task, wanted: wanted[0] }),
        }
    }

    /// The text of the config, of a folder of this version.
    fn config_text(&self) -> Result<String, FolderError> {
        Manifest::read(self)?;
        let path = self.config();
        std::fs::read_to_string(&path).map_err(|source| FolderError::Io { path, source })
    }

    fn parse_config<C: DeserializeOwned>(&self, text: &str) -> Result<C, FolderError> {
        toml::from_str(text)
            .map_err(|error| FolderError::Config { path: self.config(), message: error.message().to_owned() })
    }

    /// Gives a model its weights.
    pub(crate) fn read_weights(&self, params: &mut Params) -> Result<(), FolderError> {
        let path = self.weights();
        let bytes = std::fs::read(&path).map_err(|source| FolderError::Io { path: path.clone(), source })?;
        weights::read(params, &bytes).map_err(|source| FolderError::Weights { path, source })
    }
}

/// What of a model folder's config is needed to use it. The rest is the training's.
#[derive(Clone, Debug, Deserialize)]
struct FolderConfig {
    #[serde(default)]
    model: ModelConfig,
    #[serde(default)]
    search: SearchConfig,
}

/// A model from a folder, ready to use.
#[derive(Debug)]
pub struct Loaded {
    /// Its source's tokenizer.
    pub source: Tokenizer,
    /// Its target's tokenizer.
    pub target: Tokenizer,
    /// The model.
    pub model: Seq2Seq,
    /// Its weights.
    pub params: Params,
    /// How it is made.
    pub config: ModelConfig,
    /// How its folder says to search.
    pub search: SearchConfig,
}

/// Why a folder cannot be used.
#[derive(Debug, Error)]
pub enum FolderError {
    /// No folder, or no file in it.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A config that cannot be read.
    #[error("{}: {message}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
    /// A folder of another version of couplet.
    #[error(
        "{}: the model was written by {} version of couplet", path.display(), if *newer { "a newer" } else { "an older" }
    )]
    Format {
        /// The folder.
        path: PathBuf,
        /// Whether that version is newer than this one.
        newer: bool,
    },
    /// A manifest that cannot be read.
    #[error("{}: {message}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
    /// A model for something else.
    #[error("{}: the model's task is {task}, not {wanted}", path.display())]
    Task {
        /// The folder.
        path: PathBuf,
        /// What its model is for.
        task: Task,
        /// What it was asked to do.
        wanted: Task,
    },
    /// A config that makes no model.
    #[error("{}: {source}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: ConfigError,
    },
    /// A config that makes no search.
    #[error("{}: {source}", path.display())]
    Search {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: SearchConfigError,
    },
    /// Models that cannot write together.
    #[error("{}: its vocabularies are not those of {}", path.display(), other.display())]
    Vocabularies {
        /// A folder.
        path: PathBuf,
        /// Another one.
        other: PathBuf,
    },
    /// A tokenizer, labels or features that cannot be read.
    #[error(transparent)]
    Tokenizer(#[from] DataError),
    /// Weights of another model, or no weights.
    #[error("{}: {source}", path.display())]
    Weights {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: WeightsError,
    },
}

impl FolderError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            FolderError::Io { .. } => {
                "a model folder is what `couplet train` writes; check the path".to_owned()
            }
            FolderError::Config { .. } => "use the config.toml that `couplet train` wrote".to_owned(),
            FolderError::Format { newer: false, .. } => "train it again with this version".to_owned(),
            FolderError::Format { newer: true, .. } => {
                "use the version that wrote it, or train it again with this one".to_owned()
            }
            FolderError::Manifest { .. } => "use the model.toml that `couplet train` wrote".to_owned(),
            FolderError::Task { task, .. } => {
                format!("`couplet {}` and `couplet predict` run this model", task.verb())
            }
            FolderError::Model { source, .. } => source.hint(),
            FolderError::Search { source, .. } => source.hint().to_owned(),
            FolderError::Vocabularies { .. } => {
                "models write together if they were trained on the same data, with the same tokenizers"
                    .to_owned()
            }
            FolderError::Tokenizer(error) => return error.hint(),
            FolderError::Weights { source: WeightsError::Damaged(_), .. } => {
                "copy the file again, or train the model again".to_owned()
            }
            FolderError::Weights { .. } => {
                "config.toml, the tokenizers and model.safetensors must come from the same training"
                    .to_owned()
            }
        })
    }
}

impl Loaded {
    /// Reads a model folder.
    pub fn open(folder: &Folder, device: &Device) -> Result<Loaded, FolderError> {
        let FolderConfig { model: config, mut search } =
            folder.read_config(&[Task::Translate, Task::Autoencode])?;
        search.target_lengths = Manifest::read(folder)?.target_lengths.unwrap_or_default();
        search.check().map_err(|source| FolderError::Search { path: folder.config(), source })?;
        let source = Tokenizer::load(folder.source_tokenizer())?;
        let target = Tokenizer::load(folder.target_tokenizer())?;
        let mut params = Params::new(device, 0);
        let (sources, targets) = (source.vocabulary_size(), target.vocabulary_size());
        let model = Seq2Seq::new(&mut params, &config, sources, targets)
            .map_err(|source| FolderError::Model { path: folder.config(), source })?;
        folder.read_weights(&mut params)?;
        Ok(Loaded { source, target, model, params, config, search })
    }

    /// Reads another model folder, whose model is to write together with the first one's.
    pub fn open_beside(
        folder: &Folder,
        first: &Folder,
        beside: &Loaded,
        device: &Device,
    ) -> Result<Loaded, FolderError> {
        let loaded = Loaded::open(folder, device)?;
        let same = |a: &Tokenizer, b: &Tokenizer| a.to_json() == b.to_json();
        if same(&loaded.source, &beside.source) && same(&loaded.target, &beside.target) {
            return Ok(loaded);
        }
        Err(FolderError::Vocabularies { path: folder.0.clone(), other: first.0.clone() })
    }
}
