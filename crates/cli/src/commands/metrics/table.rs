//! Columns for a terminal.

/// How a column is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// Rows of cells in columns that are as wide as need be, with two spaces between them. Columns without anything in them are left
/// out, and so are spaces at the end of a line.
pub(super) fn aligned(columns: &[Align], rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let used: Vec<(usize, usize)> =
        (0..columns.len()).map(|column| (column, width(column))).filter(|(_, width)| *width > 0).collect();
    let mut text = String::new();
    for row in rows {
        let cells = used.iter().map(|&(column, width)| match columns[column] {
            Align::Left => format!("{:width$}", row[column]),
            Align::Right => format!("{:>width$}", row[column]),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_need_be() {
        let rows = [["a", "", "10.5", ""], ["bcd", "", "7", "x"]].map(|row| row.map(str::to_owned).to_vec());
        let columns = [Align::Left, Align::Left, Align::Right, Align::Left];
        assert_eq!(aligned(&columns, &rows), "a    10.5\nbcd     7  x\n");
    }
}
