//! A JSON object on each line.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Empty, Row, is_empty, on_one_line};
use crate::corpora::Column;
use crate::{DataError, Lines};

/// Some values of each object.
pub(super) struct Objects {
    lines: Lines,
    path: PathBuf,
    keys: Vec<String>,
    empty: Empty,
}

impl Objects {
    pub(super) fn open(path: &Path, keys: &[Column], empty: Empty) -> Result<Objects, DataError> {
        let key = |column: &Column| match column {
            Column::Name(name) => name.clone(),
            Column::Number(number) => number.to_string(),
        };
        Ok(Objects {
            lines: Lines::open(path)?,
            path: path.into(),
            keys: keys.iter().map(key).collect(),
            empty,
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
        let fields = self.keys.iter().map(|key| self.field(&object, key)).collect::<Result<_, _>>()?;
        Ok(Row { fields, line })
    }

    fn field(&self, object: &Value, key: &str) -> Result<String, DataError> {
        let (path, line, key_of) = (self.path.clone(), self.lines.line(), key.to_owned());
        let text = match value_of(object, key) {
            None => {
                return Err(DataError::NoKey { path, line, key: key_of, known: keys_of(object) });
            }
            Some(Value::String(text)) => on_one_line(text.clone()),
            Some(plain @ (Value::Number(_) | Value::Bool(_))) => plain.to_string(),
            Some(_) => return Err(DataError::NotText { path, line, key: key_of }),
        };
        if self.empty == Empty::Refuse && is_empty(&text) {
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
