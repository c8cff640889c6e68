//! What is claimed of these models, with the figures that speak for it or against it.

mod change;
mod cost;
mod explosion;
mod input;
mod length;
mod part;

use crate::markdown;
use crate::quality::{Metric, Quality};
use crate::run::Entry;
use crate::spread::Spread;
use couplet_plot::{Curves, Panel, Scale, Series};

/// Something that is claimed.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// What is said.
    pub title: String,
    /// What was measured, as Markdown.
    pub text: String,
    /// The file's name without its ending, and the picture.
    pub picture: Option<(&'static str, Curves)>,
}

/// All claims, with the figures of these models.
pub fn claims_of(entries: &[Entry]) -> Vec<Claim> {
    let of_models = [length::claim, part::claim, change::claim, cost::claim, input::claim];
    of_models.into_iter().map(|claim| claim(entries)).chain([explosion::claim()]).collect()
}

/// What models are called that look at their source while they write, and those that do not.
const KINDS: [(&str, bool); 2] = [("without attention", false), ("with attention", true)];

/// What the scores of models are called.
fn score_name(entries: &[Entry]) -> &'static str {
    let run = entries.iter().flat_map(|entry| &entry.runs).next();
    run.map_or("score", |run| Metric::name(run.quality.metric))
}

/// A key of a config, as text.
fn key<'a>(entry: &'a Entry, table: &str, key: &str) -> Option<&'a str> {
    entry.config.get("model")?.get(table)?.get(key)?.as_str()
}

/// Whether a model looks at its source while it writes; none where it does not write.
fn attends(entry: &Entry) -> Option<bool> {
    let writer = key(entry, "decoder", "kind")?;
    let by_itself = ["attention", "transformer", "conv"].contains(&writer);
    Some(by_itself || key(entry, "attention", "score").is_some_and(|score| score != "none"))
}

/// A figure of all runs of a model.
fn of_runs(entry: &Entry, figure: impl Fn(&Quality) -> Option<f64>) -> Option<Spread> {
    entry.spread(|run| figure(&run.quality))
}

/// A model's figures at one end of something and at the other.
struct Ends<'a> {
    entry: &'a Entry,
    first: Spread,
    last: Spread,
}

/// The mean of both ends, over the models without attention and over those with it: one line that speaks for a claim or against it.
fn verdict(said: &str, ends: &[Ends]) -> String {
    let of_group = |(name, wanted): (&str, bool)| {
        let group: Vec<&Ends> = ends.iter().filter(|ends| attends(ends.entry) == Some(wanted)).collect();
        let mean =
            |end: fn(&Ends) -> f64| Spread::of(&group.iter().map(|ends| end(ends)).collect::<Vec<_>>());
        let (first, last) = (mean(|ends| ends.first.mean)?, mean(|ends| ends.last.mean)?);
        Some(format!("{name} {:.1} → {:.1} ({})", first.mean, last.mean, percent_of(last.mean, first.mean)))
    };
    let groups: Vec<String> = KINDS.into_iter().filter_map(of_group).collect();
    if groups.is_empty() {
        String::new()
    } else {
        format!("{said}, mean of the models: {}.\n\n", groups.join("; "))
    }
}

fn percent_of(part: f64, all: f64) -> String {
    if all == 0.0 { "–".to_owned() } else { format!("{:.0} %", 100.0 * part / all) }
}

/// A row for each model: its figures at both ends, and the last in percent of the first.
fn table_of_ends(header: [&str; 2], ends: &[Ends]) -> String {
    let row = |ends: &Ends| {
        let left = percent_of(ends.last.mean, ends.first.mean);
        vec![ends.entry.name.clone(), ends.first.shown(1), ends.last.shown(1), left]
    };
    table(&["model", header[0], header[1], "last of first"], &ends.iter().map(row).collect::<Vec<_>>())
}

/// A Markdown table of models.
fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() { "No model has these figures.\n".to_owned() } else { markdown::table(header, rows) }
}

/// A curve of a model: where its points are, and the spread of its runs at each.
fn series(entry: &Entry, points: impl Iterator<Item = (f64, Option<Spread>)>) -> Option<Series> {
    let points: Vec<(f64, Spread)> = points.filter_map(|(x, y)| Some((x, y?))).collect();
    (!points.is_empty()).then(|| Series {
        name: entry.name.clone(),
        points: points.iter().map(|&(x, y)| [x, y.mean]).collect(),
        spread: points.iter().map(|(_, y)| y.deviation.unwrap_or(0.0)).collect(),
    })
}

/// A panel of the models without attention and one of those with it, on the same scale: as many curves in one would hide each other.
/// One panel where all models are of one kind.
fn panels(name: &str, entries: &[Entry], of: impl Fn(&Entry) -> Option<Series>) -> Vec<Panel> {
    let named =
        |name: String, series: Vec<Series>| Panel { name, scale: Scale::Linear, reach: Vec::new(), series };
    let all: Vec<Series> = entries.iter().filter_map(&of).collect();
    let groups = KINDS.map(|(kind, wanted)| {
        let chosen = entries.iter().filter(|entry| attends(entry) == Some(wanted));
        let series: Vec<Series> = chosen.filter_map(&of).collect();
        // Names stand above a panel where there are several.
        let whose = if let [one] = &series[..] { format!(": {}", one.name) } else { String::new() };
        named(format!("{name}, {kind}{whose}"), series)
    });
    let told_apart: usize = groups.iter().map(|group| group.series.len()).sum();
    if told_apart < all.len() || groups.iter().any(|group| group.series.is_empty()) {
        return if all.is_empty() { Vec::new() } else { vec![named(name.to_owned(), all)] };
    }
    let reach: Vec<f64> = all.iter().flat_map(Series::numbers).collect();
    groups.map(|group| Panel { reach: reach.clone(), ..group }).to_vec()
}

/// A picture of the panels that there are.
fn picture(
    file: &'static str,
    title: &str,
    axis: &str,
    panels: impl IntoIterator<Item = Vec<Panel>>,
) -> Option<(&'static str, Curves)> {
    let panels: Vec<Panel> = panels.into_iter().flatten().collect();
    let curves = Curves { title: title.to_owned(), axis: axis.to_owned(), panels };
    (!curves.panels.is_empty()).then_some((file, curves))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::entry;

    const PLAIN: &str = "[model.encoder]\nkind = 'lstm'\nhidden = 8\nbidirectional = true\n[model.attention]\nscore = 'none'\n\
                         [model.decoder]\nkind = 'lstm'\n";

    /// A model without attention and with two runs, and the same with attention and one.
    pub(super) fn two() -> [Entry; 2] {
        let attention = PLAIN.replace("'none'", "'dot'");
        [entry("plain", PLAIN, &[10.0, 12.0]), entry("looks", &attention, &[20.0])]
    }

    /// One model of each kind has a panel of its own, both on one scale; two of a kind share one.
    #[test]
    fn panels_of_both_kinds() {
        let entries = two();
        let of =
            |entry: &Entry| series(entry, [(0.0, of_runs(entry, |quality| Some(quality.score)))].into_iter());
        let both = panels("BLEU", &entries, of);
        let names: Vec<&str> = both.iter().map(|panel| panel.name.as_str()).collect();
        assert_eq!(names, ["BLEU, without attention: plain", "BLEU, with attention: looks"]);
        assert!(both[0].reach == both[1].reach && both[0].reach.contains(&20.0));
        assert_eq!(panels("BLEU", &[entries[0].clone(), entries[0].clone()], of)[0].series.len(), 2);
        assert!(panels("BLEU", &[], of).is_empty());
    }

    #[test]
    fn without_any_run_there_are_claims_all_the_same() {
        let entries = [entry("a", PLAIN, &[])];
        assert_eq!(claims_of(&entries).len(), 6);
        assert_eq!(claims_of(&[]).iter().filter(|claim| claim.picture.is_some()).count(), 1);
    }
}
