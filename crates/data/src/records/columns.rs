//! Which columns of a table are meant.

use std::path::Path;

use crate::DataError;
use crate::corpora::Column;

/// The most columns that a hint lists.
const LISTED: usize = 20;

/// Whether a table's first line has to name its columns.
pub(super) fn are_named(columns: &[Column]) -> bool {
    columns.iter().any(|column| matches!(column, Column::Name(_)))
}

/// The places of the columns, counted from 0; `names` is the first line of a table that has such a line.
pub(super) fn places(path: &Path, columns: &[Column], names: &[String]) -> Result<Vec<usize>, DataError> {
    let place = |column: &Column| match column {
        Column::Number(number) => Ok(number - 1),
        Column::Name(name) => names.iter().position(|each| each == name).ok_or_else(|| DataError::NoColumn {
            path: path.into(),
            column: name.clone(),
            known: names.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", "),
        }),
    };
    columns.iter().map(place).collect()
}
