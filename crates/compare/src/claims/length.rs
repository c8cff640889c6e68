//! Quality by the length of the source.

use super::{Claim, Ends, of_runs, panels, picture, score_name, series, table_of_ends, verdict};
use crate::places::bin_name;
use crate::quality::OfLength;
use crate::run::Entry;
use crate::spread::Spread;
use couplet_plot::Series;
use std::collections::BTreeSet;

/// The score of fewer lines than this says more of the lines than of the model.
const LEAST_LINES: usize = 10;

pub(super) fn claim(entries: &[Entry]) -> Claim {
    let score = score_name(entries);
    let shared = shared_bins(entries);
    let ends: Vec<Ends> = entries.iter().filter_map(|entry| ends(entry, &shared)).collect();
    let name = |bin: Option<&usize>| bin.map_or(String::new(), |&bin| format!("{} tokens", bin_name(bin)));
    let (short, long) = (name(shared.first()), name(shared.last()));
    let said = format!("{score} of sources of {short} and of {long}");
    Claim {
        title: "Without attention, long sources get worse".to_owned(),
        text: verdict(&said, &ends) + &table_of_ends([&format!("{score}, {short}"), &long], &ends),
        picture: picture(
            "quality-by-length",
            "Quality by the length of the source",
            "tokens of the source",
            [
                panels(score, entries, |entry| curve(entry, |of| Some(of.score))),
                panels("target tokens right, %", entries, |entry| curve(entry, |of| of.token_accuracy)),
            ],
        ),
    }
}

/// The bins of a model's first run that have lines enough, or all where none has; those of the others are the same.
fn bins(entry: &Entry) -> Vec<OfLength> {
    let all = entry.runs.first().map_or(&[][..], |run| &run.quality.by_length);
    let enough: Vec<OfLength> = all.iter().filter(|of| of.lines >= LEAST_LINES).copied().collect();
    if enough.is_empty() { all.to_vec() } else { enough }
}

/// The bins that all models with runs have: where they cut sources into other tokens, not all do.
fn shared_bins(entries: &[Entry]) -> BTreeSet<usize> {
    let of_entries = entries.iter().map(bins).filter(|bins| !bins.is_empty());
    let sets = of_entries.map(|bins| bins.iter().map(|of| of.bin).collect::<BTreeSet<usize>>());
    sets.reduce(|shared, other| &shared & &other).unwrap_or_default()
}

fn in_bin(entry: &Entry, bin: usize, figure: impl Fn(&OfLength) -> Option<f64>) -> Option<Spread> {
    of_runs(entry, |quality| figure(quality.by_length.iter().find(|of| of.bin == bin)?))
}

fn curve(entry: &Entry, figure: fn(&OfLength) -> Option<f64>) -> Option<Series> {
    series(entry, bins(entry).iter().map(|of| (of.tokens, in_bin(entry, of.bin, figure))))
}

/// The scores of the shortest sources and of the longest ones.
fn ends<'a>(entry: &'a Entry, bins: &BTreeSet<usize>) -> Option<Ends<'a>> {
    let score = |&bin: &usize| in_bin(entry, bin, |of| Some(of.score));
    Some(Ends { entry, first: score(bins.first()?)?, last: score(bins.last()?)? })
}

#[cfg(test)]
mod tests {
    use super::super::tests::two;
    use super::*;

    /// Scores are 2·11 in the shortest bin and 11/2 in the longest: a quarter is left.
    #[test]
    fn lengths_by_hand() {
        let Claim { text, picture, .. } = claim(&two());
        assert!(text.contains("| plain | 22.0 ± 2.8 | 5.5 ± 0.7 | 25 % |"), "{text}");
        assert!(
            text.starts_with("BLEU of sources of 1–5 tokens and of >40 tokens, mean of the models: "),
            "{text}"
        );
        assert!(
            text.contains("without attention 22.0 → 5.5 (25 %); with attention 40.0 → 10.0 (25 %)."),
            "{text}"
        );
        let (_, curves) = picture.unwrap();
        assert_eq!(curves.panels[0].series[0].points, [[4.0, 22.0], [43.0, 5.5]]);
        assert!((curves.panels[0].series[0].spread[1] - 0.5f64.sqrt()).abs() < 1e-12);
    }

    /// Where one model has no source of more than 40 tokens, no other one's stand under that name.
    #[test]
    fn ends_are_those_of_all_models() {
        let mut entries = two();
        entries[0].runs.iter_mut().for_each(|run| run.quality.by_length.truncate(1));
        let text = claim(&entries).text;
        assert!(text.contains("| looks | 40.0 | 40.0 | 100 % |"), "{text}");
        assert!(text.contains("| model | BLEU, 1–5 tokens | 1–5 tokens |"), "{text}");
    }

    /// Ten lines are enough; nine are not, unless no bin has more.
    #[test]
    fn few_lines_say_nothing() {
        let said = |lines: [usize; 2]| {
            let mut entries = two();
            for run in entries.iter_mut().flat_map(|entry| &mut entry.runs) {
                run.quality.by_length.iter_mut().zip(lines).for_each(|(of, lines)| of.lines = lines);
            }
            claim(&entries).text
        };
        assert!(said([10, 9]).starts_with("BLEU of sources of 1–5 tokens and of 1–5 tokens"));
        assert!(said([9, 9]).starts_with("BLEU of sources of 1–5 tokens and of >40 tokens"));
    }
}
