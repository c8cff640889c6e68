//! Models that differ in one thing.

use super::{Claim, score_name};
use crate::changes::{Pair, claims, pairs};
use crate::run::Entry;

pub(super) fn claim(entries: &[Entry]) -> Claim {
    let (score, found) = (score_name(entries), pairs(entries));
    let lines = claims().map(|claim| {
        let of_claim = found.iter().filter(|pair| pair.claim == claim);
        match of_claim.map(|pair| line(pair, score)).collect::<String>() {
            lines if lines.is_empty() => format!("- {claim}: no two models here differ in that alone.\n"),
            lines => format!("- {claim}?\n{lines}"),
        }
    });
    Claim { title: "One change at a time".to_owned(), text: lines.collect(), picture: None }
}

fn line(pair: &Pair, score: &str) -> String {
    let Pair { names: [before, after], scores, perplexities, .. } = pair;
    let [score_before, score_after] = scores.map(|spread| spread.shown(1));
    let [perplexity_before, perplexity_after] = perplexities.map(|spread| spread.shown(2));
    let more = scores[1].mean - scores[0].mean;
    format!(
        "  - `{after}` {score_after} against `{before}` {score_before} ({score} {more:+.1}); \
         perplexity {perplexity_after} against {perplexity_before}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::two;
    use super::*;

    #[test]
    fn changes_are_lines_with_figures() {
        let text = claim(&two()).text;
        let line = "`looks` 20.0 against `plain` 11.0 ± 1.4 (BLEU +9.0); perplexity 1.00 against 1.00 ± 0.00";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("- Reading the source backwards helps: no two models here"), "{text}");
    }
}
