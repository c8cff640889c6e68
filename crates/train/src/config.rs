//! A whole run, as a user writes it: one TOML file.

use crate::classify::ClassifyConfig;
use crate::language::LanguageConfig;
use crate::lessons::RunConfig;
use crate::renamed::new_name;
use crate::train_config::{BestModelMetric, TrainConfig};
use couplet_data::{BadLines, Files, PairTruncation, TokenizerConfig, TruncationSide};
use couplet_nn::{ConfigError, EmbeddingConfig, ModelConfig, Tied};
use couplet_search::{SearchConfig, Task};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A config file of any task.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyConfig {
    /// Text to text, or to the same text.
    Translate(Box<Config>),
    /// Text to a label.
    Classify(Box<ClassifyConfig>),
    /// The next token of a text.
    LanguageModel(Box<LanguageConfig>),
}

/// A config file with `task = "translate"` or `task = "autoencode"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What the model is for.
    pub task: Task,
    /// `[data]`
    pub data: DataConfig,
    /// `[model]`
    #[serde(default)]
    pub model: ModelConfig,
    /// `[train]`
    #[serde(default)]
    pub train: TrainConfig,
    /// `[search]`
    #[serde(default)]
    pub search: SearchConfig,
}

/// The table `[data]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// What the model learns from.
    pub train: Files,
    /// What it is checked with.
    pub valid: Files,
    /// A folder that `couplet prepare` made of them: then they are not read again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepared: Option<PathBuf>,
    /// Whether training text is read as the run goes on, in every epoch anew, instead of all at the start.
    #[serde(default)]
    pub stream: bool,
    /// With `stream`: so many pairs are in memory at a time, and shuffled with each other. More mix better, and take more memory.
    #[serde(default = "shuffle_buffer")]
    pub shuffle_buffer: usize,
    /// The most pairs that vocabularies are learned from. Where there are more, every second, third, … is taken, so that they
    /// are spread over all of the text: words that are rare enough to be missed would hardly enter a vocabulary, and counting all
    /// words of a very large corpus takes long and much memory. 0 for all pairs.
    #[serde(default = "vocabulary_sample")]
    pub vocabulary_sample: usize,
    /// Whether lines that cannot be used are left out and counted.
    #[serde(default)]
    pub skip_bad_lines: bool,
    /// Training pairs with more tokens than this on a side are left out, or cut; of an auto-encoder, longer texts are cut into pieces.
    #[serde(default = "longest_pair")]
    pub max_tokens: usize,
    /// Which tokens of a longer source are kept; where nothing is said, the pair is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncate_source: Option<TruncationSide>,
    /// The same of a longer target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncate_target: Option<TruncationSide>,
    /// Whether both sides share one vocabulary, made of both as `[data.source]` says.
    #[serde(default)]
    pub joint_vocabulary: bool,
    /// `[data.source]`: how sources become tokens
    #[serde(default)]
    pub source: TokenizerConfig,
    /// `[data.target]`: how targets become tokens
    #[serde(default)]
    pub target: TokenizerConfig,
}

pub(crate) fn shuffle_buffer() -> usize {
    100_000
}

pub(crate) fn vocabulary_sample() -> usize {
    2_000_000
}

fn longest_pair() -> usize {
    128
}

impl DataConfig {
    /// What becomes of training pairs that are too long.
    pub fn truncation(&self) -> PairTruncation {
        PairTruncation { tokens: self.max_tokens, source: self.truncate_source, target: self.truncate_target }
    }
}

/// A config that cannot be used.
#[derive(Debug, Error)]
pub enum ConfigFileError {
    /// No file, or one that cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A mistake at a place.
    #[error("{place}: {message}")]
    Wrong {
        /// File and line, or the option that gave the key.
        place: String,
        /// What is wrong.
        message: String,
        /// What is possible.
        hint: Option<String>,
    },
    /// A model that cannot be.
    #[error("{place}: {source}")]
    Model {
        /// The file.
        place: String,
        /// What is wrong.
        source: ConfigError,
    },
}

impl ConfigFileError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            ConfigFileError::Io { .. } => {
                Some("`couplet new DIR --task translate` writes one to start from".to_owned())
            }
            ConfigFileError::Wrong { hint, .. } => hint.clone(),
            ConfigFileError::Model { source, .. } => Some(source.hint()),
        }
    }

    /// Values that make no run.
    pub(crate) fn refused(name: &str, message: impl Into<String>, hint: &str) -> Self {
        ConfigFileError::Wrong {
            place: name.to_owned(),
            message: message.into(),
            hint: Some(hint.to_owned()),
        }
    }

    /// Splits serde's "unknown field `a`, expected one of `b`, `c`" into a message and a hint. A key of an earlier version, in `table`
    /// as far as that is known, has its new name in the hint.
    fn from_serde(place: String, said: &str, table: Option<&str>) -> Self {
        let said = said.trim().replace('`', "\"");
        let (message, hint) = match said.split_once(", expected ") {
            Some((message, possible)) => (message.to_owned(), Some(possible.to_owned())),
            None => (said, None),
        };
        let key = message.strip_prefix("unknown field \"").and_then(|rest| rest.strip_suffix('"'));
        let name = key.and_then(|key| new_name(table, key).or_else(|| new_name(None, key)));
        let hint = match (name, hint) {
            (Some(name), Some(possible)) => Some(format!("did you mean \"{name}\"? {possible}")),
            (_, hint) => hint,
        };
        ConfigFileError::Wrong { place, message, hint }
    }
}

impl AnyConfig {
    /// Leaves lines out that cannot be used, whether or not the config's `data.skip_bad_lines` says so.
    pub fn skip_bad_lines(&mut self) {
        match self {
            AnyConfig::Translate(config) => config.skip_bad_lines(),
            AnyConfig::Classify(config) => config.skip_bad_lines(),
            AnyConfig::LanguageModel(config) => config.data.skip_bad_lines = true,
        }
    }

    /// Reads a config file, with `key=value` overrides of any of its keys.
    pub fn read(path: &Path, overrides: &[String]) -> Result<AnyConfig, ConfigFileError> {
        AnyConfig::parse(&text_of(path)?, &path.display().to_string(), overrides)
    }

    /// As [`AnyConfig::read`], with the files of the data, which a config names from its own folder, as they are seen from here.
    pub fn read_located(path: &Path, overrides: &[String]) -> Result<AnyConfig, ConfigFileError> {
        let folder = folder_of(path);
        Ok(match AnyConfig::read(path, overrides)? {
            AnyConfig::Translate(config) => AnyConfig::Translate(config.relative_to(folder).into()),
            AnyConfig::Classify(config) => AnyConfig::Classify(config.relative_to(folder).into()),
            AnyConfig::LanguageModel(config) => AnyConfig::LanguageModel(config.relative_to(folder).into()),
        })
    }

    /// The same as [`AnyConfig::read`] from a text; `name` is what errors call it.
    pub fn parse(text: &str, name: &str, overrides: &[String]) -> Result<AnyConfig, ConfigFileError> {
        #[derive(Deserialize)]
        struct OfTask {
            task: Task,
        }
        let OfTask { task } = parse(text, name, overrides)?;
        Ok(match task {
            Task::Translate | Task::Autoencode => {
                AnyConfig::Translate(Config::parse(text, name, overrides)?.into())
            }
            Task::Classify => AnyConfig::Classify(ClassifyConfig::parse(text, name, overrides)?.into()),
            Task::LanguageModel => {
                AnyConfig::LanguageModel(LanguageConfig::parse(text, name, overrides)?.into())
            }
        })
    }
}

fn text_of(path: &Path) -> Result<String, ConfigFileError> {
    std::fs::read_to_string(path).map_err(|source| ConfigFileError::Io { path: path.to_owned(), source })
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Refuses a config for something else.
pub(crate) fn expect_task(task: Task, wanted: &[Task], name: &str) -> Result<(), ConfigFileError> {
    if wanted.contains(&task) {
        return Ok(());
    }
    let named: Vec<String> = wanted.iter().map(|wanted| format!("task = \"{wanted}\"")).collect();
    let hint = format!("a config with {}", named.join(" or "));
    Err(ConfigFileError::refused(name, format!("task = \"{task}\""), &hint))
}

/// Refuses a way to search that makes no sense.
pub(crate) fn check_search(search: &SearchConfig, name: &str) -> Result<(), ConfigFileError> {
    search.check().map_err(|error| ConfigFileError::refused(name, error.to_string(), error.hint()))
}

/// Refuses a tokenizer that cannot be.
pub(crate) fn check_tokenizer(
    config: &TokenizerConfig,
    table: &str,
    name: &str,
) -> Result<(), ConfigFileError> {
    config.check().map_err(|error| {
        ConfigFileError::refused(name, format!("{table}: {error}"), &error.hint().unwrap_or_default())
    })
}

/// Reads a config from a text, with `key=value` overrides of any of its keys; `name` is what errors call it.
pub(crate) fn parse<C: DeserializeOwned>(
    text: &str,
    name: &str,
    overrides: &[String],
) -> Result<C, ConfigFileError> {
    let at = |error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
        let place = line.map_or(name.to_owned(), |line| format!("{name}:{line}"));
        let table = error.span().and_then(|span| table_at(text, span.start));
        ConfigFileError::from_serde(place, error.message(), table)
    };
    let mut table: toml::Table = toml::from_str(text).map_err(at)?;
    // After each override as a text again: so that configs are read in one way only, each of which is much code.
    let mut texts = Vec::new();
    for each in overrides {
        set(&mut table, each)?;
        texts.push(table.to_string());
    }
    toml::from_str(texts.last().map_or(text, String::as_str)).map_err(|error| {
        let same =
            |text: &str| toml::from_str::<C>(text).err().filter(|other| other.message() == error.message());
        // The first place that has the mistake: a line of the file, or the override that brought it in.
        if let Some(in_file) = same(text) {
            return at(in_file);
        }
        let wrong = overrides.iter().zip(&texts).find(|(_, text)| same(text).is_some());
        let place = wrong.map_or(name.to_owned(), |(each, _)| format!("--set {each}"));
        let table = wrong.and_then(|(each, _)| each.split_once('=')?.0.rsplit_once('.'));
        ConfigFileError::from_serde(place, error.message(), table.map(|(table, _)| table))
    })
}

/// Returns the name of the table that a position of a config is in: that of the last header before it.
fn table_at(text: &str, position: usize) -> Option<&str> {
    let header = |line: &'_ str| line.trim().starts_with('[');
    let line = text[..position].lines().rev().find(|line| header(line))?;
    line.trim().strip_prefix('[')?.split_once(']').map(|(table, _)| table.trim())
}

/// Why a prepared corpus and a model that copies do not go together, and what to do.
pub(crate) const NOTHING_TO_COPY: &str =
    "a prepared corpus has no words to copy; train from text, with data.stream = true where it is large";

impl Config {
    /// As [`AnyConfig::read_located`], of a file that must be for translation.
    pub fn read_located(path: &Path, overrides: &[String]) -> Result<Config, ConfigFileError> {
        let config = Config::parse(&text_of(path)?, &path.display().to_string(), overrides)?;
        Ok(config.relative_to(folder_of(path)))
    }

    /// Reads a config from a text, with `key=value` overrides of any of its keys; `name` is what errors call it.
    pub fn parse(text: &str, name: &str, overrides: &[String]) -> Result<Config, ConfigFileError> {
        let mut config: Config = parse(text, name, overrides)?;
        expect_task(config.task, &[Task::Translate, Task::Autoencode], name)?;
        // What comes out is what goes in, in the same tokens.
        config.data.joint_vocabulary |= config.task == Task::Autoencode;
        config.model.check().map_err(|source| ConfigFileError::Model { place: name.to_owned(), source })?;
        config.check(name)?;
        config.train.check(name)?;
        check_search(&config.search, name)?;
        if config.data.skip_bad_lines {
            config.skip_bad_lines();
        }
        Ok(config)
    }

    /// Leaves lines out that cannot be used.
    pub fn skip_bad_lines(&mut self) {
        let data = &mut self.data;
        data.skip_bad_lines = true;
        data.train = data.train.clone().with_bad_lines(BadLines::Skip);
        data.valid = data.valid.clone().with_bad_lines(BadLines::Skip);
    }

    /// Reads a prepared corpus instead of text; `name` is what errors call the config.
    pub fn set_prepared(&mut self, folder: &Path, name: &str) -> Result<(), ConfigFileError> {
        self.data.prepared = Some(folder.to_owned());
        self.check(name)
    }

    /// With the files that it names as they are seen from a folder.
    fn relative_to(mut self, folder: &Path) -> Config {
        let data = &mut self.data;
        data.train = data.train.relative_to(folder);
        data.valid = data.valid.relative_to(folder);
        data.prepared = data.prepared.as_ref().map(|prepared| folder.join(prepared));
        data.source = data.source.relative_to(folder);
        data.target = data.target.relative_to(folder);
        self.model.encoder.embedding.relative_to(folder);
        self.model.decoder.embedding.relative_to(folder);
        self.train.relative_to(folder);
        self
    }

    fn check(&self, name: &str) -> Result<(), ConfigFileError> {
        let wrong = |message: &str, hint: &str| Err(ConfigFileError::refused(name, message, hint));
        let DataConfig { joint_vocabulary, source, target, prepared, stream, shuffle_buffer, .. } =
            &self.data;
        check_tokenizer(source, "data.source", name)?;
        check_tokenizer(target, "data.target", name)?;
        if *stream && prepared.is_some() {
            return wrong(
                "data.stream with data.prepared",
                "a prepared corpus needs no stream; leave one of them out",
            );
        }
        if prepared.is_some() && self.train.init_from.is_some() {
            let message = "data.prepared with train.init_from";
            return wrong(message, "a prepared corpus has tokenizers of its own; leave one of them out");
        }
        if self.task == Task::Autoencode && (*stream || prepared.is_some()) {
            let message = "data.stream or data.prepared with task = \"autoencode\"";
            return wrong(message, "only pairs of texts are streamed or prepared; leave it out");
        }
        if *stream && *shuffle_buffer == 0 {
            return wrong("data.shuffle_buffer = 0", "at least 1; thousands mix well");
        }
        if *stream && self.train.max_updates.is_none() && self.train.schedule.ends_at_zero() {
            let message = "data.stream with a schedule that ends with the last update";
            return wrong(
                message,
                "how many updates a stream has is not known before; set train.max_updates",
            );
        }
        let one_file = [&self.data.train, &self.data.valid].iter().all(|files| files.one_path().is_some());
        if self.data.max_tokens == 0 {
            return wrong("data.max_tokens = 0", "at least 1");
        }
        if self.task == Task::Autoencode && !one_file {
            let message = "two files of data with task = \"autoencode\"";
            return wrong(message, "what comes out is what goes in: one file with a text on each line");
        }
        if *joint_vocabulary && target != source && *target != TokenizerConfig::default() {
            let message = "data.joint_vocabulary with a [data.target] unlike [data.source]";
            return wrong(message, "one vocabulary is made as [data.source] says; leave [data.target] out");
        }
        if self.model.decoder.tie_embeddings == Tied::All && !joint_vocabulary {
            let message = "model.decoder.tie_embeddings = \"all\" without data.joint_vocabulary";
            return wrong(message, "set data.joint_vocabulary = true, or use tie_embeddings = \"output\"");
        }
        if self.model.decoder.copy && self.data.prepared.is_some() {
            let message = "model.decoder.copy with data.prepared";
            return wrong(message, NOTHING_TO_COPY);
        }
        if self.model.decoder.copy && self.task == Task::Autoencode {
            let message = "model.decoder.copy with task = \"autoencode\"";
            return wrong(message, "it would copy word after word and learn nothing; leave it out");
        }
        if self.train.best_model_metric == BestModelMetric::Metric && self.train.validation_translations == 0
        {
            let message = "train.best_model_metric = \"metric\" with train.validation_translations = 0";
            return wrong(
                message,
                "set train.validation_translations to how many lines of data.valid are translated",
            );
        }
        Ok(())
    }

    /// The files of an auto-encoder, which learns from one and is checked with the other.
    ///
    /// # Panics
    ///
    /// If it is the config of a translator.
    pub fn texts(&self) -> [&Path; 2] {
        [&self.data.train, &self.data.valid]
            .map(|files| files.one_path().expect("an auto-encoder with other files is refused"))
    }

    /// The share of a token that is spread over all tokens.
    pub fn label_smoothing(&self) -> f32 {
        self.train.label_smoothing.unwrap_or(0.1)
    }
}

impl RunConfig for Config {
    fn train(&self) -> &TrainConfig {
        &self.train
    }

    fn tokenizers(&mut self) -> [Option<&mut TokenizerConfig>; 2] {
        let DataConfig { joint_vocabulary, source, target, .. } = &mut self.data;
        [Some(source), Some(target).filter(|_| !*joint_vocabulary)]
    }

    fn embeddings(&self) -> Vec<(&'static str, &EmbeddingConfig)> {
        vec![("encoder", &self.model.encoder.embedding), ("decoder", &self.model.decoder.embedding)]
    }

    fn to_toml(&self) -> String {
        to_toml(self)
    }

    fn of_toml(text: &str) -> Option<Config> {
        toml::from_str(text).ok()
    }
}

/// A config as a text. Each implementation of [`RunConfig`] calls it for its own type: as a method of the trait, it would be
/// compiled again in every crate that trains, and is much code.
pub(crate) fn to_toml(config: &impl Serialize) -> String {
    toml::to_string(config).expect("a config is a table of plain values")
}

/// Sets one key, given as `a.b.c=value`.
fn set(table: &mut toml::Table, each: &str) -> Result<(), ConfigFileError> {
    let wrong = |message: String| ConfigFileError::Wrong {
        place: format!("--set {each}"),
        message,
        hint: Some("write key=value, for example --set model.encoder.layers=1".to_owned()),
    };
    let (path, value) = each.split_once('=').ok_or_else(|| wrong("no = in it".to_owned()))?;
    // A value that is not TOML is a text without its quotation marks.
    let value = toml::from_str::<toml::Table>(&format!("value = {value}"))
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.to_owned()));
    let mut keys: Vec<&str> = path.split('.').collect();
    let last =
        keys.pop().filter(|key| !key.is_empty()).ok_or_else(|| wrong("no key before the =".to_owned()))?;
    let mut place = table;
    for key in keys {
        let entry = place.entry(key).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        place = entry.as_table_mut().ok_or_else(|| wrong(format!("{key} is not a table")))?;
    }
    place.insert(last.to_owned(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "task = \"translate\"\n[data]\ntrain = [\"a.en\", \"a.de\"]\nvalid = \"b.tsv\"\n";

    fn error(text: &str, overrides: &[&str]) -> (String, String) {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let error = Config::parse(text, "c.toml", &overrides).unwrap_err();
        (error.to_string(), error.hint().unwrap_or_default())
    }

    #[test]
    fn little_is_enough() {
        let config = Config::parse(SMALL, "c.toml", &[]).unwrap();
        assert_eq!(config.data.valid, Files::tsv("b.tsv"));
        assert_eq!(config.train, TrainConfig::default());
        assert_eq!(Config::parse(&config.to_toml(), "again", &[]).unwrap(), config);
    }

    #[test]
    fn data_has_many_forms() {
        let written =
            "[{ csv = 'a.csv', source = 'en', target = 'de', weight = 2 }, { parallel = ['b', 'c'] }]";
        let overrides = [format!("data.train={written}"), "data.skip_bad_lines=true".to_owned()];
        let config = Config::parse(SMALL, "c.toml", &overrides).unwrap();
        assert_eq!((config.data.train.corpora().len(), config.data.train.corpora()[0].weight), (2, 2.0));
        assert_eq!(config.data.valid.bad_lines(), BadLines::Skip);
        assert_eq!(Config::parse(&config.to_toml(), "again", &[]).unwrap(), config);
        let (message, hint) = error(&SMALL.replace("\"b.tsv\"", "{ csv = \"b\", sauce = 1 }"), &[]);
        assert_eq!(message, "c.toml:4: unknown field \"sauce\"");
        assert!(hint.starts_with("one of \"parallel\", "), "{hint}");
        let (message, _) = error(SMALL, &["data.source.correct_spelling=1", "data.source.kind=char"]);
        assert_eq!(message, "c.toml: data.source: correct_spelling with kind = \"char\"");
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line_and_the_possible_ones() {
        let (message, hint) = error(&format!("{SMALL}[model.encoder]\nlayrs = 2\n"), &[]);
        assert_eq!(message, "c.toml:6: unknown field \"layrs\"");
        assert!(hint.starts_with("one of \"kind\", \"activation\", \"input\", "), "{hint}");
        assert!(hint.contains("\"layers\""), "{hint}");
    }

    #[test]
    fn an_earlier_name_of_a_key_gets_its_new_one() {
        let (message, hint) = error(&format!("{SMALL}[train]\nepochs = 2\nkeep = 3\n"), &[]);
        assert_eq!(message, "c.toml:7: unknown field \"keep\"");
        assert!(hint.starts_with("did you mean \"keep_checkpoints\"? one of \"epochs\", "), "{hint}");
        let given = ["search", "stop=never"].join(".");
        let (message, hint) = error(SMALL, &[&given]);
        assert_eq!(message, format!("--set {given}: unknown field \"stop\""));
        assert!(hint.starts_with("did you mean \"early_stopping\"? one of "), "{hint}");
    }

    #[test]
    fn a_wrong_type_is_named_with_its_line() {
        let (message, hint) = error(&format!("{SMALL}[train]\nepochs = \"ten\"\n"), &[]);
        assert_eq!((message.as_str(), hint.as_str()), ("c.toml:6: invalid type: string \"ten\"", "u64"));
    }

    #[test]
    fn any_key_can_be_set() {
        let overrides =
            ["model.encoder.layers=1", "data.valid=c.tsv", "train.learning_rate=0.5"].map(str::to_owned);
        let config = Config::parse(SMALL, "c.toml", &overrides).unwrap();
        assert_eq!((config.model.encoder.layers, config.train.learning_rate), (Some(1), 0.5));
        assert_eq!(config.data.valid, Files::tsv("c.tsv"));
        let (message, _) = error(SMALL, &["model.encoder.layers=two"]);
        assert_eq!(message, "--set model.encoder.layers=two: invalid type: string \"two\"");
        assert_eq!(error(SMALL, &["rate"]).0, "--set rate: no = in it");
        // A file that lacks what the overrides give is not what is wrong.
        let given = ["data.train=a.tsv", "data.valid=b.tsv", "train.learning_rate=fast"];
        let (message, _) = error("task = \"translate\"\n", &given);
        assert_eq!(message, "--set train.learning_rate=fast: invalid type: string \"fast\"");
    }

    #[test]
    fn the_task_decides_which_keys_there_are() {
        let classify = SMALL.replace("translate", "classify");
        assert!(matches!(AnyConfig::parse(SMALL, "c.toml", &[]), Ok(AnyConfig::Translate(_))));
        assert!(matches!(AnyConfig::parse(&classify, "c.toml", &[]), Ok(AnyConfig::Classify(_))));
        let said = |text: &str| AnyConfig::parse(text, "c.toml", &[]).unwrap_err().to_string();
        assert_eq!(
            said(&format!("{classify}[search]\nbeam_size = 2\n")),
            "c.toml:5: unknown field \"search\""
        );
        assert_eq!(said(&SMALL.replace("translate", "paint")), "c.toml:1: unknown variant \"paint\"");
    }

    #[test]
    fn tied_sources_need_a_joint_vocabulary() {
        let tied = ["model.decoder.tie_embeddings=all", "model.decoder.hidden=256"];
        assert_eq!(
            error(SMALL, &tied).0,
            "c.toml: model.decoder.tie_embeddings = \"all\" without data.joint_vocabulary"
        );
        let joint = "data.joint_vocabulary=true";
        let both = [tied[0], tied[1], joint].map(str::to_owned);
        assert!(Config::parse(SMALL, "c.toml", &both).is_ok());
        let (message, _) = error(SMALL, &[joint, "data.target.kind=char"]);
        assert_eq!(message, "c.toml: data.joint_vocabulary with a [data.target] unlike [data.source]");
    }
}
