//! Accuracy by the place in the source.

use super::{Claim, Ends, of_runs, panels, picture, series, table_of_ends, verdict};
use crate::places::PARTS;
use crate::run::Entry;
use crate::spread::Spread;

const SAID: &str = "Target tokens that are right, in %, of those that answer the first and the last tenth of a source of more than 10 tokens, \
                    as if both sides went on at the same pace";

pub(super) fn claim(entries: &[Entry]) -> Claim {
    let ends: Vec<Ends> = entries.iter().filter_map(ends).collect();
    let curve = |entry: &Entry| {
        let point = |part: usize| ((part as f64 + 0.5) / PARTS as f64, accuracy(entry, part));
        series(entry, (0..PARTS).map(point))
    };
    Claim {
        title: "Without attention, early words are washed out".to_owned(),
        text: verdict(SAID, &ends) + &table_of_ends(["first tenth right, %", "last tenth"], &ends),
        picture: picture(
            "accuracy-by-position",
            "Accuracy by the place in the source",
            "place in the source, from its beginning to its end",
            [panels("target tokens right, %", entries, curve)],
        ),
    }
}

fn accuracy(entry: &Entry, part: usize) -> Option<Spread> {
    of_runs(entry, |quality| quality.by_part.iter().find(|of| of.part == part).map(|of| of.token_accuracy))
}

fn ends(entry: &Entry) -> Option<Ends<'_>> {
    Some(Ends { entry, first: accuracy(entry, 0)?, last: accuracy(entry, PARTS - 1)? })
}

#[cfg(test)]
mod tests {
    use super::super::tests::two;
    use super::*;
    use crate::quality::OfPart;

    /// 80 % at the beginning and 60 % at the end: three quarters are left.
    #[test]
    fn parts_by_hand() {
        let mut entries = two();
        let of = |part, token_accuracy| OfPart { part, tokens: 50, token_accuracy };
        entries[1].runs[0].quality.by_part = vec![of(0, 80.0), of(9, 60.0)];
        let Claim { text, picture, .. } = claim(&entries);
        assert!(text.contains("| looks | 80.0 | 60.0 | 75 % |") && !text.contains("| plain |"), "{text}");
        assert!(text.contains("mean of the models: with attention 80.0 → 60.0 (75 %)."), "{text}");
        assert_eq!(picture.unwrap().1.panels[0].series[0].points, [[0.05, 80.0], [0.95, 60.0]]);
    }
}
