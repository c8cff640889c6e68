//! What holds for every text.

use couplet_metrics::{
    Alignment, AlignmentErrorRate, Bleu, Bootstrap, Chrf, Compare, ErrorRate, ExactMatch, Interval,
    Likelihood, Metric, Statistics, Tags, Ter, Tokenizer,
};
use proptest::prelude::*;

/// Words of few letters, so that texts have some in common, and of many scripts, with spaces and marks between them.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["([abAB.,1-3汤姆。é'&;-]{1,4}[ \t\u{3000}]?){0,12}", "\\PC{0,20}"]
}

fn texts() -> impl Strategy<Value = Vec<(String, Vec<String>)>> {
    prop::collection::vec((text(), prop::collection::vec(text(), 1..3)), 1..8)
}

/// All metrics of texts, the settings in turn.
fn metrics() -> Vec<Box<dyn Compare<Line = str>>> {
    let mut metrics: Vec<Box<dyn Compare<Line = str>>> = vec![
        Box::new(Chrf::default()),
        Box::new(Chrf { whitespace: true, epsilon_smoothing: true, ..Chrf::plus_plus() }),
        Box::new(Ter::default()),
        Box::new(Ter { normalized: true, asian: true, ..Ter::default() }),
        Box::new(ErrorRate::words()),
        Box::new(ErrorRate::characters()),
        Box::new(ExactMatch::default()),
    ];
    metrics.extend(Tokenizer::ALL.map(|tokenizer| {
        Box::new(Bleu { tokenizer, effective_order: true, ..Bleu::default() }) as Box<dyn Compare<Line = str>>
    }));
    metrics
}

fn score(metric: &dyn Compare<Line = str>, lines: &[(String, Vec<String>)]) -> f64 {
    let (hypotheses, references): (Vec<String>, Vec<Vec<String>>) = lines.iter().cloned().unzip();
    metric.score(&Statistics::of_many(metric, &hypotheses, &references).sums())
}

/// Whether a metric finds something in a text that it could compare.
fn has_words(metric: &dyn Compare<Line = str>, text: &str) -> bool {
    !text.chars().all(|c| c.is_whitespace() || c.is_control())
        && (metric.name() != "BLEU" || !Tokenizer::Mteval13a.tokens(text).is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_text_is_itself(text in text()) {
        for metric in metrics() {
            let found = score(&*metric, &[(text.clone(), vec![text.clone()])]);
            let is_error_rate = ["TER", "WER", "CER"].contains(&&*metric.name());
            let wanted = if is_error_rate { 0.0 } else { 100.0 };
            let smoothed = metric.settings().contains(&("eff", "no".to_owned())); // an order that does not occur counts as wrong
            // sacreBLEU tokenizes references twice, which may separate a mark that the hypothesis keeps.
            let twice = metric.settings().contains(&("norm", "yes".to_owned()));
            if (is_error_rate || has_words(&*metric, &text)) && !smoothed && !twice {
                prop_assert!((found - wanted).abs() < 1e-9, "{}: {found}", metric.name());
            }
        }
    }

    #[test]
    fn the_order_of_lines_and_of_references_does_not_matter(lines in texts()) {
        let mut other: Vec<_> = lines.iter().rev().cloned().collect();
        for metric in metrics() {
            let (one, reversed) = (score(&*metric, &lines), score(&*metric, &other));
            prop_assert!((one - reversed).abs() < 1e-9, "{}: {one} and {reversed}", metric.name());
        }
        other.iter_mut().for_each(|(_, references)| references.reverse());
        for metric in [&Bleu::default() as &dyn Compare<Line = str>, &Ter::default(), &ExactMatch::default()] {
            let (one, reversed) = (score(metric, &lines), score(metric, &other));
            prop_assert!((one - reversed).abs() < 1e-9, "{}: {one} and {reversed}", metric.name());
        }
    }

    #[test]
    fn scores_are_within_their_bounds(lines in texts()) {
        for metric in metrics() {
            let found = score(&*metric, &lines);
            let bounded = ["BLEU", "exact match"].contains(&&*metric.name()) || metric.name().starts_with("chrF");
            prop_assert!(found >= 0.0 && (!bounded || found <= 100.0 + 1e-9), "{}: {found}", metric.name());
        }
    }

    #[test]
    fn error_rates_are_zero_only_for_the_same_text(hypothesis in "[ab ]{0,6}", reference in "[ab ]{0,6}") {
        let lines = [(hypothesis.clone(), vec![reference.clone()])];
        let same_words = hypothesis.split_whitespace().eq(reference.split_whitespace());
        prop_assert_eq!(score(&ErrorRate::words(), &lines) == 0.0, same_words);
        prop_assert_eq!(score(&ErrorRate::characters(), &lines) == 0.0, hypothesis.trim() == reference.trim());
        prop_assert_eq!(score(&Ter::default(), &lines) == 0.0, same_words);
    }

    #[test]
    fn moves_make_no_more_edits(lines in texts()) {
        // TER may move words, the word error rate may not.
        let lines: Vec<_> = lines.into_iter().map(|(hypothesis, references)| (hypothesis, references[..1].to_vec())).collect();
        let (ter, wer) = (Ter { case_sensitive: true, ..Ter::default() }, ErrorRate::words());
        for line in &lines {
            let counts = |metric: &dyn Compare<Line = str>| {
                Statistics::of(metric, &[&line.0], &line.1).sums()
            };
            prop_assert!(counts(&ter)[0] <= counts(&wer)[..3].iter().sum());
        }
    }

    #[test]
    fn a_seed_makes_an_interval(lines in texts(), seed: u64) {
        let (hypotheses, references): (Vec<String>, Vec<Vec<String>>) = lines.into_iter().unzip();
        let metric = Chrf::default();
        let statistics = Statistics::of_many(&metric, &hypotheses, &references);
        let interval = || Interval::of(&Bootstrap { resamples: 40, seed }.scores(&metric, &statistics));
        prop_assert_eq!(interval(), interval());
        prop_assert!(interval().low <= interval().high);
    }

    #[test]
    fn lines_that_are_not_text_are_read_or_refused(line in "[OBIES0-9?p. \t-]{0,12}|\\PC{0,20}") {
        if let Ok(tags) = Tags::parse(&line) {
            prop_assert!(tags.entities().iter().all(|entity| entity.first <= entity.last && entity.last < tags.len()));
        }
        if let Ok(alignment) = Alignment::parse(&line) {
            let sums = Statistics::of(&AlignmentErrorRate, &[&alignment], &[&alignment]).sums();
            prop_assert!((0.0..=100.0).contains(&AlignmentErrorRate.score(&sums)));
        }
        let _ = Likelihood::parse(&line);
    }
}

/// Two thousand lines are enough for several threads.
#[test]
fn threads_change_nothing() {
    let hypotheses: Vec<String> = (0..2000).map(|n| format!("line {n} has {} words", n % 7)).collect();
    let references: Vec<Vec<String>> =
        (0..2000).map(|n| vec![format!("line {n} had {} words", n % 5)]).collect();
    let one = Statistics::of_many_with(&Bleu::default(), &hypotheses, &references, 1);
    for threads in [2, 3, 16] {
        assert_eq!(Statistics::of_many_with(&Bleu::default(), &hypotheses, &references, threads), one);
    }
}
