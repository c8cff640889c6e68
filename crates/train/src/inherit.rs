//! What a run takes over from another model: `train.init_from`.
//!
//! Weights are taken by the names that `couplet inspect` shows. Where those of tokens are among them, the other model's tokenizer comes
//! along: without it, they would be the weights of other tokens.

use crate::error::TrainError;
use crate::event::Event;
use crate::lessons::RunConfig;
use crate::train_config::TrainConfig;
use couplet_data::{Tokenizer, TokenizerConfig};
use couplet_nn::parts;
use couplet_nn::weights::{self, WeightsError};
use couplet_search::{Folder, FolderError, Manifest};
use couplet_tensor::{Param, Params};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Parts whose weights belong to the tokens of a source, and of a target.
const OF_TOKENS: [[&str; 2]; 2] = [["encoder.embedding", "output"], ["decoder.embedding", "decoder.output"]];

/// The tokenizers that come with what a run takes over: it has no others then.
#[derive(Clone, Debug, Default)]
pub struct Inherited {
    /// That of the sources, or of the only texts there are.
    pub source: Option<Tokenizer>,
    /// That of the targets.
    pub target: Option<Tokenizer>,
}

/// What another model's config says of its tokenizers.
#[derive(Deserialize)]
struct OtherConfig {
    data: OtherData,
}

#[derive(Deserialize)]
struct OtherData {
    #[serde(default)]
    joint_vocabulary: bool,
    #[serde(default)]
    source: TokenizerConfig,
    #[serde(default)]
    target: TokenizerConfig,
}

/// Another model, of which something is taken.
struct Other {
    folder: Folder,
    bytes: Vec<u8>,
    names: Vec<String>,
}

impl Inherited {
    /// The tokenizers that come along, which the config then says. A run that goes on, in its own folder, has them already.
    pub fn of(config: &mut impl RunConfig, own: Option<&Folder>) -> Result<Inherited, TrainError> {
        let Some(from) = config.train().init_from.clone() else { return Ok(Inherited::default()) };
        if let Some(own) = own.filter(|own| own.config().exists()) {
            return Inherited::from_own(config, own);
        }
        let other = Other::open(&from)?;
        let taken = other.taken(config.train())?;
        let said = tokenizer_configs(&other.folder)?;
        let mut tokenizers = [None, None];
        for (side, (own, said)) in config.tokenizers().into_iter().zip(said).enumerate() {
            let Some(own) = own.filter(|_| of_tokens(side, &taken, &other.names)) else { continue };
            if *own != TokenizerConfig::default() && *own != said {
                let key = ["data.source", "data.target"][side];
                return Err(TrainError::Start {
                    message: format!(
                        "[{key}] with train.init_from = \"{}\", whose tokenizer comes with its vectors",
                        from.display()
                    ),
                    hint: format!("leave [{key}] out, or take other parts only: see train.init_modules"),
                });
            }
            *own = said;
            tokenizers[side] = Some(Tokenizer::load(&sides(&other.folder)[side]).map_err(FolderError::from)?);
        }
        let [source, target] = tokenizers;
        Ok(Inherited { source, target })
    }

    /// The tokenizers that a run began with, whatever has become of the model that they came from.
    fn from_own(config: &mut impl RunConfig, own: &Folder) -> Result<Inherited, TrainError> {
        let said = tokenizer_configs(own)?;
        for (own, said) in config.tokenizers().into_iter().zip(said) {
            let unsaid = own.filter(|own| **own == TokenizerConfig::default());
            unsaid.into_iter().for_each(|own| *own = said.clone());
        }
        let load = |path: PathBuf| path.exists().then(|| Tokenizer::load(path)).transpose();
        let [source, target] = sides(own).map(load);
        Ok(Inherited { source: source?, target: target? })
    }
}

/// The files of both tokenizers.
fn sides(folder: &Folder) -> [PathBuf; 2] {
    [folder.source_tokenizer(), folder.target_tokenizer()]
}

fn tokenizer_configs(folder: &Folder) -> Result<[TokenizerConfig; 2], TrainError> {
    let path = folder.config();
    let text =
        std::fs::read_to_string(&path).map_err(|source| FolderError::Io { path: path.clone(), source })?;
    let OtherConfig { data } = toml::from_str(&text)
        .map_err(|error| FolderError::Config { path, message: error.message().to_owned() })?;
    let OtherData { joint_vocabulary, source, target } = data;
    let target = if joint_vocabulary { source.clone() } else { target };
    Ok([source, target])
}

/// Whether weights of a side's tokens are among those that are taken. One-hot tokens have none of their own, but the layers above
/// have a weight for each.
fn of_tokens(side: usize, taken: &[&String], names: &[String]) -> bool {
    let among = |part: &str| taken.iter().any(|name| parts::belongs(name, part));
    let one_hot = side == 0 && !names.iter().any(|name| parts::belongs(name, "encoder.embedding"));
    OF_TOKENS[side].into_iter().any(among) || one_hot && among("encoder")
}

impl Other {
    fn open(path: &Path) -> Result<Other, TrainError> {
        let folder = Folder::new(path);
        let weights_of = |source: WeightsError| FolderError::Weights { path: folder.weights(), source };
        let bytes = std::fs::read(folder.weights())
            .map_err(|source| FolderError::Io { path: folder.weights(), source })?;
        Manifest::read(&folder)?;
        let names = weights::names(&bytes).map_err(weights_of)?;
        Ok(Other { folder, bytes, names })
    }

    /// The names of what is taken, where this model has them: those of the parts that the config names, or all.
    fn taken(&self, train: &TrainConfig) -> Result<Vec<&String>, TrainError> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        check_parts(
            "train.init_modules",
            &train.init_modules,
            &names,
            &format!("{} has", self.folder.path().display()),
        )?;
        let wanted = |name: &&String| {
            train.init_modules.is_empty() || train.init_modules.iter().any(|part| parts::belongs(name, part))
        };
        Ok(self.names.iter().filter(wanted).collect())
    }
}

/// Gives a model the weights of another one that its config asks for. Says which.
pub(crate) fn take_over(params: &mut Params, train: &TrainConfig) -> Result<Option<Event>, TrainError> {
    let Some(from) = &train.init_from else { return Ok(None) };
    let other = Other::open(from)?;
    let mut taken = Vec::new();
    let names = other.taken(train)?;
    for name in &names {
        match params.find(name) {
            Some(param) => taken.push(param),
            // Without a list, what this model does not have is left behind.
            None if train.init_modules.is_empty() => {}
            None => {
                return Err(TrainError::Start {
                    message: format!("train.init_modules: this model has no {name}, {} has", from.display()),
                    hint: parts_hint(params.iter().map(|param| params.name(param)), "this model has"),
                });
            }
        }
    }
    taken.sort_unstable(); // as `couplet inspect` lists them, and not as the file does
    if taken.is_empty() {
        return Err(TrainError::Start {
            message: format!("train.init_from = \"{}\": it has nothing that this model has", from.display()),
            hint: parts_hint(other.names.iter().map(String::as_str), "it has"),
        });
    }
    weights::read_some(params, &taken, &other.bytes).map_err(|error| TrainError::Start {
        message: format!("train.init_from = \"{}\": {error}", from.display()),
        hint: "give both models the same sizes, or name the parts that fit in train.init_modules".to_owned(),
    })?;
    Ok(Some(Event::Initialized {
        from: from.clone(),
        modules: parts::innermost(taken.iter().map(|&param| params.name(param))),
        parameters: taken.iter().map(|&param| size(params, param)).sum(),
        tokenizer: [0, 1].into_iter().any(|side| of_tokens(side, &names, &other.names)),
    }))
}

/// How many numbers a parameter has.
pub(crate) fn size(params: &Params, param: Param) -> usize {
    let (rows, columns) = params.shape(param);
    rows * columns
}

/// The parameters of the parts that the config freezes.
pub(crate) fn frozen(params: &Params, train: &TrainConfig) -> Result<Vec<Param>, TrainError> {
    let names: Vec<&str> = params.iter().map(|param| params.name(param)).collect();
    check_parts("train.freeze", &train.freeze, &names, "this model has")?;
    let is_frozen = |param: &Param| train.freeze.iter().any(|part| parts::belongs(params.name(*param), part));
    Ok(params.iter().filter(is_frozen).collect())
}

/// Refuses a part that none of these parameters belongs to.
fn check_parts(key: &str, named: &[String], names: &[&str], owner: &str) -> Result<(), TrainError> {
    let unknown = named.iter().find(|part| !names.iter().any(|name| parts::belongs(name, part)));
    match unknown {
        Some(part) => Err(TrainError::Start {
            message: format!("{key}: no part {part:?}"),
            hint: parts_hint(names.iter().copied(), owner),
        }),
        None => Ok(()),
    }
}

fn parts_hint<'a>(names: impl Iterator<Item = &'a str>, owner: &str) -> String {
    format!("{owner} {}", parts::all(names).join(", "))
}
