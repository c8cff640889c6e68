//! A case's run: the program trains a model and uses it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use toml::Table;

use super::adapter::Adapter;
use super::cases::{Case, CaseFile};
use super::names::{Kind, NAMES};
use super::{checksum, record};

/// What is compared of a case, by name.
pub(crate) type CaseValues = BTreeMap<String, Value>;

/// The lines of an error message that are shown.
const SHOWN_LINES: usize = 6;

/// What this code says to the program is in the names of the frozen cases.
const OWN: Adapter = Adapter(NAMES);

/// The program, and where its models go.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) binary: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) cases: PathBuf,
    /// Threads of all cases in place of their own.
    pub(crate) threads: Option<usize>,
}

/// A case that is being run.
struct Run<'a> {
    program: &'a Program,
    file: &'a CaseFile,
    case: &'a Case,
    out: PathBuf,
    values: CaseValues,
}

impl Program {
    /// Runs a case in an empty folder.
    pub(crate) fn run(&self, file: &CaseFile, case: &Case) -> Result<CaseValues> {
        let out = self.cases.join(&case.name);
        if out.exists() {
            fs::remove_dir_all(&out).with_context(|| format!("could not empty {}", out.display()))?;
        }
        fs::create_dir_all(&out).with_context(|| format!("could not make {}", out.display()))?;
        let mut run = Run { program: self, file, case, out, values: CaseValues::new() };
        run.all()?;
        Ok(run.values)
    }
}

impl Run<'_> {
    fn all(&mut self) -> Result<()> {
        let config = self.file.config(self.case)?;
        if let Some(config) = &config {
            self.write_config(config)?;
        }
        for line in &self.case.before {
            self.record("before", line, "")?;
        }
        if config.is_some() {
            self.train()?;
        }
        let threads = self.case.threads.unwrap_or(1);
        let options = format!("--threads {} --device cpu", self.program.threads.unwrap_or(threads));
        for (name, line) in self.file.commands(self.case)? {
            self.record(&name, &line, &options)?;
        }
        Ok(())
    }

    fn write_config(&self, config: &Table) -> Result<()> {
        let task = config.get("task").and_then(toml::Value::as_str).unwrap_or_default();
        let mut adapted = Table::new();
        self.file.adapter.config(task, "", config, &mut adapted);
        let path = self.out.join("config.toml");
        fs::write(&path, self.located(&adapted.to_string()))
            .with_context(|| format!("could not write {}", path.display()))
    }

    /// Trains for no update and for all of them, and records both.
    fn train(&mut self) -> Result<()> {
        let threads = self.program.threads.or(self.case.threads).unwrap_or(1);
        let more: Vec<String> = self.case.train.clone();
        let train = |out: &str, options: &str| {
            let line = format!(
                "train {{out}}/config.toml --out {{out}}/{out} {options} --threads {threads} --device cpu"
            );
            let more = self.file.adapter.command(&[vec![String::new()], more.clone()].concat());
            self.output(&[OWN.command(&words(&line)), more].concat(), None).map(drop)
        };
        train("initial", "--set train.steps=0")?;
        match self.case.stop_after {
            None => train("model", "")?,
            Some(update) => {
                train("model", &format!("--set train.steps={update}"))?;
                train("model", "--resume")?;
            }
        }
        for (folder, weights, log) in [("initial", "initial", "initial-log"), ("model", "weights", "log")] {
            let file = |name: &str| self.out.join(folder).join(OWN.name(Kind::File, name));
            let path = file("train.jsonl");
            let text =
                fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
            let found = [
                (weights, Value::String(checksum::of_weights(&file("model.safetensors"))?)),
                (log, record::log(self.file, &text)?),
            ];
            self.values.extend(found.map(|(name, value)| (name.to_owned(), value)));
        }
        Ok(())
    }

    /// Runs a command line, with options of this code behind it, and records what it prints.
    fn record(&mut self, name: &str, line: &str, options: &str) -> Result<()> {
        let (line, input) =
            line.split_once('<').map_or((line, None), |(line, input)| (line, Some(input.trim())));
        let old = words(line);
        let mut new = self.file.adapter.command(&old);
        if !options.is_empty() {
            new.extend(OWN.command(&words(&format!("{} {options}", old[0]))).drain(1..));
        }
        let output = self.output(&new, input)?;
        if old.iter().any(|word| word == "--json") {
            let values = record::json(self.file, &old[0], &output)?;
            self.values.extend(values.into_iter().map(|(key, value)| (format!("{name}.{key}"), value)));
        } else if !options.is_empty() {
            let lines = output.lines().map(str::to_owned).collect();
            self.values.insert(name.to_owned(), record::lines(lines));
        }
        Ok(())
    }

    fn output(&self, words: &[String], input: Option<&str>) -> Result<String> {
        let input = match input.map(|path| self.located(path)) {
            Some(path) => File::open(&path).with_context(|| format!("could not read {path}"))?.into(),
            None => Stdio::null(),
        };
        let words: Vec<String> = words.iter().map(|word| self.located(word)).collect();
        let output = Command::new(&self.program.binary)
            .args(&words)
            .stdin(input)
            .output()
            .with_context(|| format!("could not start {}", self.program.binary.display()))?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            let skipped = message.lines().count().saturating_sub(SHOWN_LINES);
            let shown: Vec<&str> = message.lines().skip(skipped).collect();
            bail!("`couplet {}` failed ({}):\n{}", words.join(" "), output.status, shown.join("\n"));
        }
        String::from_utf8(output.stdout).context("the output is not UTF-8")
    }

    /// A text with the folders that it stands for.
    fn located(&self, text: &str) -> String {
        let folders =
            [("{data}", &self.program.data), ("{out}", &self.out), ("{cases}", &self.program.cases)];
        let put = |text: String, (name, folder): (&str, &PathBuf)| text.replace(name, &shown(folder));
        folders.into_iter().fold(text.to_owned(), put)
    }
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// A folder as a config has it: with slashes, on every system.
fn shown(folder: &Path) -> String {
    folder.display().to_string().replace('\\', "/")
}
