//! A JSON object on each line.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Row, Wanted, is_empty, on_one_line};
use crate::corpora::Column;
use crate::unpack::shown;
use crate::{DataError, Lines};

/// Some values of each object.
pub(super) struct Objects {
    lines: Lines,
    path: PathBuf,
    keys: Vec<String>,
    wanted: Wanted,
}

impl Objects {
    pub(super) fn open(path: &Path, wanted: Wanted) -> Result<Objects, DataError> {
        let key = |column: &Column| match column {
            Column::Name(name) => name.clone(),
            Column::Number(number) => number.to_string(),
        };
        Ok(Objects {
            lines: Lines::open(path)?,
            path: shown(path).into(),
            keys: wanted.columns.iter().map(key).collect(),
            wanted,
        })
    }

    fn row(&self, text: &str) -> Result<Row, DataError> {
        let (path, line) = (self.path.clone(), self.lines.line());
        if is_empty(text) {
            return Err(DataError::EmptyLine { path, line });
        }
        let object: Value = serde_json::from_str(text).map_err(|error| DataError::NotJson {
            path,
            line,
            reason: in_the_line(&error),
        })?;
        let fields = self.keys.iter().enumerate().map(|(index, key)| self.field(&object, index, key));
        Ok(Row { fields: fields.collect::<Result<_, _>>()?, line })
    }

    /// The value of a key. What stands beside a text may be `null`, or not there.
    fn field(&self, object: &Value, index: usize, key: &str) -> Result<String, DataError> {
        let (path, line, key_of) = (self.path.clone(), self.lines.line(), key.to_owned());
        let text = match value_of(object, key) {
            None | Some(Value::Null) if index >= self.wanted.texts => String::new(),
            None => {
                return Err(DataError::NoKey { path, line, key: key_of, known: keys_of(object) });
            }
            Some(Value::String(text)) => on_one_line(text.clone()),
            Some(plain @ (Value::Number(_) | Value::Bool(_))) => plain.to_string(),
            Some(_) => return Err(DataError::NotText { path, line, key: key_of }),
        };
        if self.wanted.refuses(index, &text) {
            return Err(DataError::EmptyValue { path, line, key: key_of });
        }
        Ok(text)
    }
}

impl Iterator for Objects {
    type Item = Result<Row, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.lines.next()?;
        Some(line.and_then(|text| self.row(&text)))
    }
}

/// The value of a key; where there is none of that name, a dot leads into an object: `translation.en`.
fn value_of<'a>(object: &'a Value, key: &str) -> Option<&'a Value> {
    object.get(key).or_else(|| {
        let (outer, inner) = key.split_once('.')?;
        value_of(object.get(outer)?, inner)
    })
}

fn keys_of(object: &Value) -> String {
    object.as_object().map_or_else(String::new, |map| map.keys().cloned().collect::<Vec<_>>().join(", "))
}

/// What the parser says without its place, which is a line of one line.
fn in_the_line(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or_default();
    format!("{said} (byte {})", error.column())
}
