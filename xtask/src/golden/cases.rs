//! The cases as their file has them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use toml::{Table, Value};

use super::adapter::Adapter;
use super::names::NAMES;
use super::paths::{leaves, merge, remove};

/// The files of cases, and the table that brings each to the names of today.
const FILES: [(&str, Adapter); 2] = [("cases.toml", Adapter(NAMES)), ("added.toml", Adapter(&[]))];

/// A file of cases.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CaseFile {
    parts: BTreeMap<String, Table>,
    families: BTreeMap<String, Family>,
    pub(crate) commands: BTreeMap<String, String>,
    pub(crate) json: BTreeMap<String, Vec<String>>,
    pub(crate) log: BTreeMap<String, Vec<String>>,
    #[serde(rename = "case")]
    pub(crate) cases: Vec<Case>,
    #[serde(skip)]
    pub(crate) adapter: Adapter,
}

/// What a kind of case is trained with, and what is run with its model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    parts: Vec<String>,
    run: Vec<String>,
}

/// A case.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// Nothing is trained without one.
    pub(crate) family: Option<String>,
    /// The parts of its config in place of the family's.
    parts: Vec<String>,
    drop: Vec<String>,
    set: Table,
    /// Command lines that come before the training.
    pub(crate) before: Vec<String>,
    /// Further words of the training's command line.
    pub(crate) train: Vec<String>,
    /// The update after which the training is stopped and resumed.
    pub(crate) stop_after: Option<u64>,
    pub(crate) threads: Option<usize>,
    /// Names of commands in place of the family's.
    run: Vec<String>,
    /// Command lines of its own by name.
    commands: BTreeMap<String, String>,
    pub(crate) same_as: Option<SameAs>,
}

/// A case whose values are the same.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SameAs {
    pub(crate) case: String,
    /// Which of them; all where it is empty.
    #[serde(default)]
    pub(crate) values: Vec<String>,
}

impl CaseFile {
    /// Reads all files of a folder.
    pub(crate) fn read_all(folder: &Path) -> Result<Vec<CaseFile>> {
        FILES.iter().map(|(name, adapter)| CaseFile::read(&folder.join(name), *adapter)).collect()
    }

    fn read(path: &Path, adapter: Adapter) -> Result<CaseFile> {
        let text = fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
        let file: CaseFile = toml::from_str(&text).with_context(|| format!("{}", path.display()))?;
        Ok(CaseFile { adapter, ..file })
    }

    fn family(&self, case: &Case) -> Result<Option<&Family>> {
        let Some(name) = &case.family else { return Ok(None) };
        let found = self.families.get(name);
        found.map(Some).with_context(|| format!("case {}: there is no family \"{name}\"", case.name))
    }

    /// The config that a case is trained with, in the names of its file; none where nothing is trained.
    pub(crate) fn config(&self, case: &Case) -> Result<Option<Table>> {
        let Some(family) = self.family(case)? else { return Ok(None) };
        let mut config = Table::new();
        for part in if case.parts.is_empty() { &family.parts } else { &case.parts } {
            match self.parts.get(part) {
                Some(part) => merge(&mut config, part),
                None => bail!("case {}: there is no part \"{part}\"", case.name),
            }
        }
        for path in &case.drop {
            if remove(&mut config, path).is_none() {
                bail!("case {}: there is no {path} to drop", case.name);
            }
        }
        merge(&mut config, &case.set);
        Ok(Some(config))
    }

    /// The commands that are run with a case's model, by name.
    pub(crate) fn commands(&self, case: &Case) -> Result<Vec<(String, String)>> {
        let family = self.family(case)?.map_or(&[][..], |family| &family.run);
        let names = if case.run.is_empty() { family } else { &case.run };
        let command = |name: &String| match self.commands.get(name) {
            Some(line) => Ok((name.clone(), line.clone())),
            None => bail!("case {}: there is no command \"{name}\"", case.name),
        };
        let own = case.commands.iter().map(|(name, line)| Ok((name.clone(), line.clone())));
        names.iter().map(command).chain(own).collect()
    }

    /// The cases that a case needs: those that it names in `{cases}/NAME`, and the one that it is the same as.
    pub(crate) fn needs(&self, case: &Case) -> Result<Vec<String>> {
        let config = Value::Table(self.config(case)?.unwrap_or_default());
        let values = leaves("", &config).into_iter().map(|(_, value)| value);
        let commands = self.commands(case)?.into_iter().map(|(_, line)| line);
        let texts = values.chain(commands).chain(case.before.clone());
        let mut needs: Vec<String> = texts.flat_map(|text| named(&text)).collect();
        needs.extend(case.same_as.iter().map(|same| same.case.clone()));
        Ok(needs)
    }
}

/// The cases that a text names.
fn named(text: &str) -> Vec<String> {
    text.split("{cases}/").skip(1).filter_map(|rest| Some(rest.split('/').next()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> CaseFile {
        toml::from_str(text).unwrap()
    }

    /// `a = 1, b = { c = 2, d = 3 }` without `b.c`, and with `b.d = 4` over it.
    #[test]
    fn a_config_is_put_together_from_parts() {
        let file = file(
            "parts = { one = { a = 1 }, two = { b = { c = 2, d = 3 } } }
             families = { f = { parts = ['one', 'two'], run = [] } }
             case = [{ name = 'x', family = 'f', drop = ['b.c'], set = { b.d = 4 } }]",
        );
        let config = file.config(&file.cases[0]).unwrap().unwrap();
        assert_eq!(config, toml::from_str("a = 1\nb = { d = 4 }").unwrap());
    }

    #[test]
    fn a_case_needs_those_that_it_names() {
        let file = file(
            "case = [{ name = 'x', commands = { a = 'run {cases}/y/model {cases}/z/model' }, same_as = { case = 'w' } }]",
        );
        assert_eq!(file.needs(&file.cases[0]).unwrap(), ["y", "z", "w"]);
    }
}
