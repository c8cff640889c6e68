//! What is compared: configs, seeds, data, and for how long each model is trained.

use crate::error::CompareError;
use crate::passages;
use couplet_search::Folder;
use couplet_train::{AnyConfig, ClassifyConfig, Config, RunConfig, Task};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// More epochs than any budget of updates or minutes allows.
const ENDLESS: u64 = 1_000_000;

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

impl Budget {
    fn overrides(self) -> Vec<String> {
        let limit = match self {
            Budget::OfConfig => return Vec::new(),
            Budget::Steps(steps) => format!("train.steps={steps}"),
            Budget::Minutes(minutes) => format!("train.minutes={minutes:?}"),
        };
        vec![limit, format!("train.epochs={ENDLESS}"), "train.patience=0".to_owned()]
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

    /// The folder of a model's run.
    pub(crate) fn folder(&self, name: &str, seed: u64) -> Folder {
        Folder::new(self.out.join(name).join(format!("seed-{seed}")))
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
        overrides.extend(test.map(|files| set("data.valid", &files)));
        Ok(Run { config, test: Comparable::read(path, &overrides)? })
    }

    /// The files that take the place of those of a config, and those of a test set.
    fn files(&self, path: &Path) -> Result<(Option<Sets>, Option<[PathBuf; 2]>), CompareError> {
        Ok(match (&self.data, self.passages) {
            (Some(Sets { train, valid }), Some(most)) => {
                let joined = |name, files| passages::write_joined(&self.out, name, files, most);
                let data = Sets { train: joined("train", train)?, valid: joined("valid", valid)? };
                (Some(data), self.test.as_ref().map(|files| joined("test", files)).transpose()?)
            }
            (Some(sets), None) => (Some(sets.clone()), self.test.clone()),
            (None, _) if self.wants_passages(path) => {
                let [train, valid, test] = passages::write_own(&self.out)?;
                (Some(Sets { train, valid }), Some(self.test.clone().unwrap_or(test)))
            }
            (None, _) => (None, self.test.clone()),
        })
    }

    /// Whether neither a config that translates nor an override says what to learn from. What is wrong with a file, its reading says.
    fn wants_passages(&self, path: &Path) -> bool {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let table: Table = text.parse().unwrap_or_default();
        let translates = table.get("task").and_then(Value::as_str) == Some("translate");
        let named =
            table.get("data").and_then(Value::as_table).is_some_and(|data| data.contains_key("train"));
        let overridden = self.overrides.iter().any(|each| each.starts_with("data.train="));
        translates && !named && !overridden
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
        assert_eq!(value(&config, "train.steps").as_integer(), Some(7));
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
