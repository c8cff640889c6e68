//! Texts with columns beside them, and without labels: what a model is asked about.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::{FeatureColumns, Value};
use crate::DataError;
use crate::corpora::{Column, Format};
use crate::records::{Empty, Place, Rows, Wanted, table_rows};
use crate::unpack::shown;

/// A text, and what stands beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct FeaturedText {
    /// The text.
    pub text: String,
    /// What each column says.
    pub values: Vec<Value>,
}

/// The rows of a table, read as they are asked for. A text may be empty.
pub struct FeaturedTexts {
    rows: Rows,
    path: Arc<Path>,
    columns: FeatureColumns,
}

impl FeaturedTexts {
    /// Opens a CSV or a TSV table, as the file's name ends, or JSON objects; `-` is the standard input.
    pub fn open(path: &Path, text: &Column, columns: &FeatureColumns) -> Result<FeaturedTexts, DataError> {
        let mut all = vec![text.clone()];
        all.extend(columns.beside(&all));
        let wanted = Wanted { columns: all, texts: 1, empty: Empty::Keep };
        let rows = table_rows(&Format::of_table(path), wanted)?;
        Ok(FeaturedTexts { rows, path: shown(path).into(), columns: columns.clone() })
    }
}

impl Iterator for FeaturedTexts {
    type Item = Result<FeaturedText, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.rows.next()?;
        Some(row.and_then(|mut row| {
            let place = Place { path: Arc::clone(&self.path), line: row.line };
            let values = self.columns.values(&row.fields[1..], &place)?;
            Ok(FeaturedText { text: row.fields.swap_remove(0), values })
        }))
    }
}

impl fmt::Debug for FeaturedTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeaturedTexts").field("path", &self.path).finish_non_exhaustive()
    }
}
