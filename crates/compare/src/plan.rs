//! What is compared: configs, seeds, data, and for how long each model is trained.

use crate::error::CompareError;
use crate::passages;
use couplet_data::{DataError, Files, add_file_to_checksum};
use couplet_search::Folder;
use couplet_train::{AnyConfig, ClassifyConfig, Config, RunConfig, Task, TrainConfig};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// More epochs, and more updates, than any budget allows.
const ENDLESS_EPOCHS: u64 = 1_000_000;
const ENDLESS_STEPS: u64 = 1_000_000_000_000;
/// The file of a prepared corpus that has the checksums of the others.
const PREPARED: &str = "prepared.toml";

/// A comparison.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The config files, in the order of the table.
    pub configs: Vec<PathBuf>,
    /// Where models, table and pictures go.
    pub out: PathBuf,
    /// How many runs each config has; their seeds are 1, 2 and so on.
    pub seeds: u64,
    /// When a run ends.
    pub budget: Budget,
    /// What all models learn from and are checked with; without it, what the configs name, or else passages that come with the program.
    pub data: Option<Sets>,
    /// What all models are measured with; without it, what they are checked with, or the passages' own test set.
    pub test: Option<[PathBuf; 2]>,
    /// Lines of `data` and `test` are joined to passages of up to so many words.
    pub passages: Option<usize>,
    /// Keys of all configs, as `key=value`: they come last.
    pub overrides: Vec<String>,
    /// Whether speed and cost are measured. Comparisons side by side would measure each other.
    pub times: bool,
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// As its config says: after some epochs, or when validation does not get better any more.
    OfConfig,
    /// After so many updates.
    Steps(u64),
    /// After so many minutes.
    Minutes(f64),
}

/// Two files each, of sources and targets, or of texts and labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sets {
    /// What models learn from.
    pub train: [PathBuf; 2],
    /// What they are checked with.
    pub valid: [PathBuf; 2],
}

/// A config of a task whose models can be compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Comparable {
    /// Text to text.
    Translate(Box<Config>),
    /// Text to a label.
    Classify(Box<ClassifyConfig>),
}

/// One run of a model.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Its whole config.
    pub(crate) config: Comparable,
    /// The same, with the test set in the place of the validation set.
    pub(crate) test: Comparable,
}

impl Run {
    /// A checksum of the corpora that it learns from and is checked and measured with.
    pub(crate) fn checksum(&self) -> Result<u32, DataError> {
        let learned = match self.config.prepared() {
            Some(folder) => add_file_to_checksum(0, &folder.join(PREPARED))?,
            None => self.config.data().into_iter().try_fold(0, |sum, files| files.add_to_checksum(sum))?,
        };
        let [_, test] = self.test.data();
        test.add_to_checksum(learned)
    }

    /// Whether a run of an earlier call has the same configs, keys that came later with their defaults.
    pub(crate) fn is_of(&self, configs: &[String; 2]) -> bool {
        [&self.config, &self.test].into_iter().zip(configs).all(|(now, before)| now.is_what(before))
    }
}

impl Budget {
    /// Its own limit, in the place of all that the configs have.
    fn overrides(self) -> Vec<String> {
        let (steps, minutes) = match self {
            Budget::OfConfig => return Vec::new(),
            Budget::Steps(steps) => (steps, f64::INFINITY),
            Budget::Minutes(minutes) => (ENDLESS_STEPS, minutes),
        };
        vec![
            format!("train.max_updates={steps}"),
            format!("train.minutes={minutes:?}"),
            format!("train.epochs={ENDLESS_EPOCHS}"),
            "train.patience=0".to_owned(),
        ]
    }
}

impl Plan {
    /// The names of the models: those of the config files without their endings.
    pub fn names(&self) -> Vec<String> {
        self.configs.iter().map(|path| name_of(path)).collect()
    }

    /// Refuses models that would share a folder.
    pub(crate) fn check(&self) -> Result<(), CompareError> {
        for (i, second) in self.configs.iter().enumerate() {
            if let Some(first) = self.configs[..i].iter().find(|first| name_of(first) == name_of(second)) {
                return Err(CompareError::SameName { first: first.clone(), second: second.clone() });
            }
        }
        Ok(())
    }

    /// With passages in the place of lines, where that is asked for: they are joined once for all runs.
    pub(crate) fn joined(&self) -> Result<Plan, CompareError> {
        let (Some(Sets { train, valid }), Some(most)) = (&self.data, self.passages) else {
            return Ok(self.clone());
        };
        let joined = |name, files| passages::write_joined(&self.out, name, files, most);
        let data = Some(Sets { train: joined("train", train)?, valid: joined("valid", valid)? });
        let test = self.test.as_ref().map(|files| joined("test", files)).transpose()?;
        Ok(Plan { data, test, ..self.clone() })
    }

    /// The folder of a model's run.
    pub(crate) fn folder(&self, name: &str, seed: u64) -> Folder {
        Folder::new(self.out.join(name).join(format!("seed-{seed}")))
    }

    /// The folders of a model's runs that there are, in the order of their seeds.
    pub(crate) fn folders(&self, name: &str) -> Vec<Folder> {
        let files = std::fs::read_dir(self.out.join(name)).into_iter().flatten().flatten();
        let seed = |name: String| name.strip_prefix("seed-")?.parse::<u64>().ok();
        let mut seeds: Vec<u64> =
            files.filter_map(|file| seed(file.file_name().into_string().ok()?)).collect();
        seeds.sort_unstable();
        seeds.into_iter().map(|seed| self.folder(name, seed)).collect()
    }

    /// Why one of its configs cannot stand beside the first: they differ in a key.
    pub(crate) fn other_data(&self, key: &'static str, number: usize, first: usize) -> CompareError {
        let [path, first] = [number, first].map(|number| self.configs[number].clone());
        CompareError::OtherData { path, key, first }
    }

    /// Reads a config, as it is for a seed.
    pub(crate) fn run(&self, path: &Path, seed: u64) -> Result<Run, CompareError> {
        let mut overrides = self.budget.overrides();
        overrides.push(format!("train.seed={seed}"));
        let (data, test) = self.files(path)?;
        if let Some(Sets { train, valid }) = &data {
            overrides.extend([set("data.train", train), set("data.valid", valid)]);
        }
        overrides.extend(self.overrides.iter().cloned());
        let config = Comparable::read(path, &overrides)?;
        let path = path.to_owned();
        if self.data.is_some() && config.prepared().is_some() {
            return Err(CompareError::Prepared { path });
        }
        if self.passages.is_some() && matches!(config, Comparable::Classify(_)) {
            return Err(CompareError::JoinedLabels { path });
        }
        let train = config.train();
        if train.seed != seed {
            return Err(CompareError::Seed);
        }
        if train.max_updates == Some(ENDLESS_STEPS) && train.schedule.ends_at_zero() {
            return Err(CompareError::NoLastUpdate { path });
        }
        overrides.extend(test.map(|files| set("data.valid", &files)));
        Ok(Run { config, test: Comparable::read(&path, &overrides)? })
    }

    /// The files that take the place of those of a config, and those of a test set.
    fn files(&self, path: &Path) -> Result<(Option<Sets>, Option<[PathBuf; 2]>), CompareError> {
        Ok(match &self.data {
            None if self.wants_passages(path) => {
                let [train, valid, test] = passages::write_own(&self.out)?;
                (Some(Sets { train, valid }), Some(self.test.clone().unwrap_or(test)))
            }
            data => (data.clone(), self.test.clone()),
        })
    }

    /// Whether neither a config that translates nor an override says what to learn from. What is wrong with a file, its reading says.
    fn wants_passages(&self, path: &Path) -> bool {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let table: Table = text.parse().unwrap_or_default();
        let translates = table.get("task").and_then(Value::as_str) == Some("translate");
        let data = table.get("data").and_then(Value::as_table);
        let said = |key: &str| {
            let prefix = format!("data.{key}=");
            data.is_some_and(|data| data.contains_key(key))
                || self.overrides.iter().any(|each| each.starts_with(&prefix))
        };
        translates && !said("train") && !said("prepared")
    }
}

/// An override with two files, which a config would seek in its own folder if they were not absolute.
fn set(key: &str, files: &[PathBuf; 2]) -> String {
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let files = files.each_ref().map(|path| Value::String(absolute(path).to_string_lossy().into_owned()));
    format!("{key}={}", Value::Array(files.to_vec()))
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// When a run ends, as a config says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limits {
    steps: Option<u64>,
    epochs: u64,
    minutes: Option<f64>,
    patience: Option<u32>,
    /// Whether the rate falls to zero at the last update.
    falls: bool,
}

impl Limits {
    /// What is no limit does not count.
    pub(crate) fn of(train: &TrainConfig) -> Limits {
        Limits {
            steps: train.max_updates.filter(|&steps| steps < ENDLESS_STEPS),
            epochs: train.epochs,
            minutes: train.minutes.filter(|minutes| minutes.is_finite()),
            patience: Some(train.patience).filter(|&patience| patience > 0),
            falls: train.schedule.ends_at_zero(),
        }
    }

    /// Whether a run with these outlasts validations that end one with the others.
    pub(crate) fn is_more_patient_than(self, other: Limits) -> bool {
        let patience = |limits: Limits| limits.patience.unwrap_or(u32::MAX);
        patience(self) > patience(other)
    }

    /// The steps and the epochs at whose end the rate is zero, where it falls to that. Minutes have no say in it.
    pub(crate) fn fall_to_zero_at(self) -> Option<(Option<u64>, u64)> {
        self.falls.then_some((self.steps, self.epochs))
    }
}

impl Comparable {
    /// Reads a config file; refuses tasks that have no score besides their loss.
    pub(crate) fn read(path: &Path, overrides: &[String]) -> Result<Comparable, CompareError> {
        match AnyConfig::read_located(path, overrides)? {
            AnyConfig::Translate(config) => Ok(Comparable::Translate(config)),
            AnyConfig::Classify(config) => Ok(Comparable::Classify(config)),
            AnyConfig::LanguageModel(_) => {
                Err(CompareError::NotComparable { path: path.to_owned(), task: Task::LanguageModel })
            }
        }
    }

    /// Whether [`Comparable::to_toml`] wrote a text for the same config, in an earlier version perhaps.
    pub(crate) fn is_what(&self, text: &str) -> bool {
        let read = match self {
            Comparable::Translate(_) => Config::of_toml(text).map(|config| config.to_toml()),
            Comparable::Classify(_) => ClassifyConfig::of_toml(text).map(|config| config.to_toml()),
        };
        read.is_some_and(|read| read == self.to_toml())
    }

    /// Its table `[train]`.
    pub(crate) fn train(&self) -> &TrainConfig {
        match self {
            Comparable::Translate(config) => &config.train,
            Comparable::Classify(config) => &config.train,
        }
    }

    /// The prepared corpus that it learns from.
    pub(crate) fn prepared(&self) -> Option<&Path> {
        match self {
            Comparable::Translate(config) => config.data.prepared.as_deref(),
            Comparable::Classify(_) => None,
        }
    }

    /// What it learns from, and what it is checked with.
    pub(crate) fn data(&self) -> [&Files; 2] {
        match self {
            Comparable::Translate(config) => [&config.data.train, &config.data.valid],
            Comparable::Classify(config) => [&config.data.train, &config.data.valid],
        }
    }

    /// As TOML.
    pub(crate) fn to_toml(&self) -> String {
        match self {
            Comparable::Translate(config) => config.to_toml(),
            Comparable::Classify(config) => config.to_toml(),
        }
    }

    /// As a table of all its keys.
    pub(crate) fn to_table(&self) -> Table {
        self.to_toml().parse().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(configs: &[PathBuf], out: &Path) -> Plan {
        Plan {
            configs: configs.to_vec(),
            out: out.to_owned(),
            seeds: 1,
            budget: Budget::Steps(7),
            data: None,
            test: None,
            passages: None,
            overrides: vec!["train.patience=3".to_owned()],
            times: true,
        }
    }

    fn value<'a>(table: &'a Table, path: &str) -> &'a Value {
        let (first, rest) = path.split_once('.').unwrap();
        rest.split('.').fold(&table[first], |value, key| &value[key])
    }

    /// A config without data gets the passages; the budget and the seed are set, and what the user sets comes last.
    #[test]
    fn a_config_without_data_gets_passages() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("small.toml");
        std::fs::write(&path, "task = \"translate\"\n").unwrap();
        let out = folder.path().join("out");
        std::fs::create_dir(&out).unwrap();
        let plan = plan(std::slice::from_ref(&path), &out);
        assert_eq!(plan.names(), ["small"]);
        let run = plan.run(&path, 3).unwrap();
        let (config, test) = (run.config.to_table(), run.test.to_table());
        assert_eq!(value(&config, "train.max_updates").as_integer(), Some(7));
        assert_eq!(value(&config, "train.seed").as_integer(), Some(3));
        assert_eq!(value(&config, "train.patience").as_integer(), Some(3));
        let first = |table, key| value(table, key)[0].as_str().unwrap().to_owned();
        assert!(first(&config, "data.train").ends_with("out/data/train.source"));
        assert!(first(&config, "data.valid").ends_with("out/data/valid.source"));
        assert!(first(&test, "data.valid").ends_with("out/data/test.source"));
        assert!(Path::new(&first(&config, "data.train")).exists());
    }

    #[test]
    fn a_config_with_data_keeps_it_and_is_measured_with_its_validation_set() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.toml");
        std::fs::write(&path, "task = \"translate\"\n[data]\ntrain = \"a.tsv\"\nvalid = \"b.tsv\"\n")
            .unwrap();
        let run = plan(&[], folder.path()).run(&path, 1).unwrap();
        assert_eq!(run.config, run.test);
        assert!(!folder.path().join("data").exists());
    }

    #[test]
    fn models_need_names_of_their_own() {
        let plan = plan(&["a/x.toml".into(), "b/x.toml".into()], Path::new("out"));
        assert_eq!(plan.check().unwrap_err().to_string(), "a/x.toml and b/x.toml have the same name");
    }
}
