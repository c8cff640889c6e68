//! Table, pictures and their numbers, as files.

use crate::claims::{Claim, claims_of};
use crate::error::CompareError;
use crate::outcome::save;
use crate::run::Entry;
use crate::table::Table;
use couplet_data::write_whole;
use couplet_plot::{Background, Curves};
use std::path::{Path, PathBuf};

/// Writes `table.md`, `table.json`, a page `README.md` with all claims, and their pictures with the numbers beside them. Returns the
/// pictures.
pub fn write_report(
    out: &Path,
    entries: &[Entry],
    background: Background,
) -> Result<Vec<PathBuf>, CompareError> {
    let (table, claims) = (Table::of(entries), claims_of(entries));
    write(&out.join("table.md"), &table.to_markdown())?;
    save(&out.join("table.json"), &table)?;
    let mut pictures = Vec::new();
    for (file, curves) in claims.iter().filter_map(|claim| claim.picture.as_ref()) {
        let path = out.join(format!("{file}.svg"));
        write(&path, &curves.to_svg(background))?;
        write(&path.with_extension("tsv"), &to_tsv(curves))?;
        pictures.push(path);
    }
    write(&out.join("README.md"), &page(entries, &table, &claims))?;
    Ok(pictures)
}

fn write(path: &Path, text: &str) -> Result<(), CompareError> {
    write_whole(path, text.as_bytes()).map_err(CompareError::io(path))
}

fn page(entries: &[Entry], table: &Table, claims: &[Claim]) -> String {
    let runs = entries.iter().flat_map(|entry| &entry.runs);
    let lines = runs.map(|run| run.quality.lines).max().unwrap_or(0);
    let most = match entries.iter().map(|entry| entry.runs.len()).max().unwrap_or(0) {
        0 => "no run yet".to_owned(),
        1 => "one run of each model".to_owned(),
        runs => {
            format!("up to {runs} runs of each model: figures are means with the sample standard deviation")
        }
    };
    let mut page = format!(
        "# A comparison\n\n{}\nMeasured with {lines} lines; {most}. Seconds are those of the whole training, whatever else the machine did; \
         tokens a second are those of updates alone, measured three times with the first seed.\n",
        table.to_markdown()
    );
    for Claim { title, text, picture } in claims {
        page += &format!("\n## {title}\n\n");
        if let Some((file, curves)) = picture {
            page += &format!("![{}]({file}.svg)\n\n", curves.title);
        }
        page += text;
    }
    page
}

/// The numbers of a picture: a line for each point.
fn to_tsv(curves: &Curves) -> String {
    let mut text = format!("panel\tcurve\t{}\tmean\tspread\n", curves.axis);
    for panel in &curves.panels {
        for series in &panel.series {
            let spread = series.spread.iter().copied().chain(std::iter::repeat(0.0));
            for (&[x, y], spread) in series.points.iter().zip(spread) {
                text += &format!("{}\t{}\t{x}\t{y}\t{spread}\n", panel.name, series.name);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::entry;

    #[test]
    fn a_report_is_written_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let entries = [entry("a", "[model.attention]\nscore = 'none'\n", &[10.0, 12.0])];
        let pictures = write_report(folder.path(), &entries, Background::Page).unwrap();
        let names: Vec<_> = pictures.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        assert_eq!(names, ["quality-by-length.svg", "norms-by-step.svg"]);
        let page = std::fs::read_to_string(folder.path().join("README.md")).unwrap();
        assert!(page.contains("| a | 1000 | 30 |"), "{page}");
        assert!(page.contains("![Norms of states and gradients](norms-by-step.svg)"), "{page}");
        let numbers = std::fs::read_to_string(folder.path().join("quality-by-length.tsv")).unwrap();
        assert!(
            numbers.starts_with("panel\tcurve\ttokens of the source\tmean\tspread\nBLEU\ta\t4\t22\t2.8"),
            "{numbers}"
        );
        assert!(folder.path().join("table.json").exists() && folder.path().join("table.md").exists());
    }
}
