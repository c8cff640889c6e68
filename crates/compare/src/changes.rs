//! What one change of a model does: pairs of models that differ in one thing, found by their configs.

use crate::run::Entry;
use crate::spread::Spread;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Something that is said of a change of the model, and how the change is told in two configs.
struct Change {
    /// What is said.
    claim: &'static str,
    /// The key that says it.
    key: &'static str,
    /// Its value in the one model and in the other; an empty text for any other value.
    values: [&'static str; 2],
    /// Keys that go with it, or whole tables with a dot at the end.
    beside: &'static [&'static str],
}

const CHANGES: [Change; 6] = [
    Change {
        claim: "Gates remember what a simple cell forgets",
        key: "model.encoder.kind",
        values: ["rnn", "lstm"],
        beside: &["model.decoder.kind", "model.encoder.forget_bias", "model.decoder.forget_bias"],
    },
    Change {
        claim: "Reading the source backwards helps",
        key: "model.encoder.reverse",
        values: ["false", "true"],
        beside: &[],
    },
    Change {
        claim: "Two directions are better than one",
        key: "model.encoder.bidirectional",
        values: ["false", "true"],
        beside: &["model.encoder.hidden", "model.decoder.hidden"],
    },
    Change {
        claim: "The context at every step is better than as first state alone",
        key: "model.context.to",
        values: ["init_state", ""],
        beside: &[],
    },
    Change {
        claim: "Attention is better than one context for all steps",
        key: "model.attention.score",
        values: ["none", ""],
        beside: &["model.attention.", "model.decoder.readout"],
    },
    Change {
        claim: "More layers are better than one",
        key: "model.decoder.layers",
        values: ["1", ""],
        beside: &[
            "model.encoder.layers",
            "model.encoder.residual_from",
            "model.decoder.residual_from",
            "model.encoder.stochastic_depth",
            "model.decoder.stochastic_depth",
            "model.bridge",
        ],
    },
];

/// Two models that differ in one thing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair {
    /// What is said of it.
    pub(crate) claim: &'static str,
    /// The model without the change, and the one with it.
    pub(crate) names: [String; 2],
    /// Their scores.
    pub(crate) scores: [Spread; 2],
    /// Their perplexities.
    pub(crate) perplexities: [Spread; 2],
}

/// All that is said of changes.
pub(crate) fn claims() -> impl Iterator<Item = &'static str> {
    CHANGES.iter().map(|change| change.claim)
}

/// All pairs that differ in one of the changes alone, and have runs.
pub(crate) fn pairs(entries: &[Entry]) -> Vec<Pair> {
    let models: Vec<BTreeMap<String, String>> = entries.iter().map(|entry| keys(&entry.config)).collect();
    let mut found = Vec::new();
    for change in &CHANGES {
        for (a, before) in entries.iter().enumerate() {
            for (b, after) in entries.iter().enumerate() {
                let both = [before, after];
                let scores = both.map(|entry| entry.spread(|run| Some(run.quality.score)));
                let perplexities = both.map(|entry| entry.spread(|run| Some(run.quality.perplexity())));
                if change.is_all(&models[a], &models[b])
                    && let ([Some(s0), Some(s1)], [Some(p0), Some(p1)]) = (scores, perplexities)
                {
                    let names = both.map(|entry| entry.name.clone());
                    found.push(Pair { claim: change.claim, names, scores: [s0, s1], perplexities: [p0, p1] });
                }
            }
        }
    }
    found
}

impl Change {
    /// Whether it is all that two models differ in.
    fn is_all(&self, before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> bool {
        let [from, to] = [before, after].map(|keys| keys.get(self.key).map_or("", String::as_str));
        let wanted = from == self.values[0] && from != to && ["", to].contains(&self.values[1]);
        let goes_with = |key: &String| {
            key == self.key
                || self.beside.iter().any(|&beside| {
                    if beside.ends_with('.') { key.starts_with(beside) } else { key == beside }
                })
        };
        let all = before.keys().chain(after.keys());
        wanted && all.filter(|key| before.get(*key) != after.get(*key)).all(goes_with)
    }
}

/// The keys of a config, as `model.encoder.kind`, with their values as text. The seed of a run is nothing that models differ in.
fn keys(config: &Table) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    collect("", config, &mut keys);
    keys.remove("train.seed");
    keys
}

fn collect(above: &str, table: &Table, keys: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        let path = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        match value {
            Value::Table(table) => collect(&path, table, keys),
            Value::String(text) => drop(keys.insert(path, text.clone())),
            other => drop(keys.insert(path, other.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::entry;

    const BASE: &str = "[model.encoder]\nkind = 'lstm'\nreverse = false\nhidden = 8\n[model.attention]\nscore = 'none'\n\
                        [train]\nrate = 1.0\n";

    #[test]
    fn pairs_that_differ_in_one_thing_by_hand() {
        let reversed = BASE.replace("reverse = false", "reverse = true");
        let larger = reversed.replace("hidden = 8", "hidden = 16");
        let attention = BASE.replace("score = 'none'", "score = 'dot'\nsize = 4");
        let entries = [
            entry("base", BASE, &[10.0]),
            entry("reversed", &(reversed.clone() + "seed = 2\n"), &[12.0]),
            entry("larger", &larger, &[20.0]),
            entry("attention", &attention, &[30.0]),
            entry("trained otherwise", &attention.replace("1.0", "2.0"), &[40.0]),
            entry("no run", &attention, &[]),
        ];
        let found: Vec<(&str, [String; 2])> =
            pairs(&entries).into_iter().map(|pair| (pair.claim, pair.names)).collect();
        let names = |after: &str| ["base".to_owned(), after.to_owned()];
        assert_eq!(
            found,
            [
                ("Reading the source backwards helps", names("reversed")),
                ("Attention is better than one context for all steps", names("attention")),
            ]
        );
    }
}
