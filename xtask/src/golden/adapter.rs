//! The frozen cases in the names of today: every translation goes through one table.

use super::names::{Kind, Row, find};
use super::paths::{insert, join, last, parsed, text_of};
use toml::{Table, Value};

/// Translates by a table; an empty one changes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Adapter(pub(crate) &'static [Row]);

impl Adapter {
    pub(crate) fn name(self, kind: Kind, old: &str) -> String {
        find(self.0, kind, old).unwrap_or(old).to_owned()
    }
    /// The path of a key, by the row of the key itself or else of the closest table around it.
    fn key(self, task: &str, path: &str) -> String {
        let row =
            |old: &str| find(self.0, Kind::Key, &format!("{task}:{old}")).or(find(self.0, Kind::Key, old));
        let heads = path.match_indices('.').map(|(dot, _)| &path[..dot]).chain([path]);
        match heads.filter_map(|head| Some((head, row(head)?))).next_back() {
            Some((_, "")) => String::new(),
            Some((head, new)) => new.to_owned() + &path[head.len()..],
            None => path.to_owned(),
        }
    }

    /// The entries of a config, or of the table at a path of one, as keys of `new`.
    pub(crate) fn config(self, task: &str, path: &str, old: &Table, new: &mut Table) {
        for (path, value) in old.iter().map(|(key, value)| (join(path, key), value)) {
            match (value, self.key(task, &path)) {
                (Value::Table(table), _) => self.config(task, &path, table, new),
                (_, key) if key.is_empty() => {}
                (value, key) => insert(new, &key, self.value(task, &path, value)),
            }
        }
    }

    fn value(self, task: &str, path: &str, old: &Value) -> Value {
        let entry = |(key, value): (&String, &Value)| {
            let path = join(path, key);
            (last(&self.key(task, &path)).to_owned(), self.value(task, &path, value))
        };
        match old {
            Value::Array(old) => old.iter().map(|x| self.value(task, path, x)).collect::<Vec<_>>().into(),
            Value::Table(table) => Value::Table(table.iter().map(entry).collect()),
            old => find(self.0, Kind::Value, &format!("{path}={}", text_of(old))).map_or(old.clone(), parsed),
        }
    }

    /// A command line without the program. What has an empty new name is dropped.
    pub(crate) fn command(self, words: &[String]) -> Vec<String> {
        let (mut new, mut flag) = (vec![self.name(Kind::Command, &words[0])], "");
        let value = |of: &str, old: &str| text_of(&self.value("", of, &old.into()));
        for word in &words[1..] {
            let (left, right) = word.split_once('=').map_or((&word[..], None), |(a, b)| (a, Some(b)));
            let name = match flag {
                "--set" => self.key("", left),
                _ if left.starts_with("--") => self.name(Kind::Flag, left),
                _ => value(flag, left),
            };
            new.push(right.map_or(name.clone(), |right| format!("{name}={}", value(left, right))));
            flag = left;
        }
        new.retain(|word| !word.is_empty());
        new
    }
}
