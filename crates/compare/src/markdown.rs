//! Tables for a page.

/// A Markdown table; its first column are names, the others figures. A row may end early.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let header: Vec<String> = header.iter().map(ToString::to_string).collect();
    let rule = format!("|---|{}\n", "--:|".repeat(header.len() - 1));
    line(&header) + &rule + &rows.iter().map(|row| line(row)).collect::<String>()
}

/// A line, without what would end a cell.
fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.iter().map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>().join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_by_hand() {
        let rows = [vec!["a|b".to_owned(), "1".to_owned()], vec!["c".to_owned()]];
        assert_eq!(table(&["model", "BLEU"], &rows), "| model | BLEU |\n|---|--:|\n| a\\|b | 1 |\n| c |\n");
    }
}
