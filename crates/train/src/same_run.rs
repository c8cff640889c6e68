//! Whether a config goes on with the run of another one.

use toml::{Table, Value};

/// Keys that may differ: how long to train and what to keep, where the data lies (a checksum says whether it is the same), and
/// what the finished model is used with.
const FREE: [&str; 13] = [
    "data.train",
    "data.valid",
    "data.prepared",
    "data.skip_bad_lines",
    "train.epochs",
    "train.max_updates",
    "train.minutes",
    "train.memory_limit_gib",
    "train.patience",
    "train.checkpoint_every",
    "train.keep_checkpoints",
    "train.tensorboard",
    "search",
];

/// A key that two configs give different values, with both: `train.learning_rate`, `0.1`, `0.2`.
pub(crate) fn difference(before: &str, now: &str) -> Option<[String; 3]> {
    let table = |text: &str| text.parse::<Table>().unwrap_or_default();
    difference_apart_from(&FREE, &table(before), &table(now))
}

/// The same of any tables, with keys that may differ.
pub(crate) fn difference_apart_from(free: &[&str], before: &Table, now: &Table) -> Option<[String; 3]> {
    differing(free, "", before, now)
}

fn differing(free: &[&str], path: &str, before: &Table, now: &Table) -> Option<[String; 3]> {
    let keys = before.keys().chain(now.keys().filter(|key| !before.contains_key(*key)));
    keys.filter_map(|key| {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if free.contains(&path.as_str()) {
            return None;
        }
        match (before.get(key), now.get(key)) {
            (Some(Value::Table(before)), Some(Value::Table(now))) => differing(free, &path, before, now),
            (before, now) if before != now => {
                let said = |value: Option<&Value>| value.map_or("not set".to_owned(), ToString::to_string);
                Some([path, said(before), said(now)])
            }
            _ => None,
        }
    })
    .next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_differing_key_is_named() {
        let config =
            "[train]\nrate = 0.1\nepochs = 3\n[model.encoder]\nlayers = 2\n[search]\nbeam_size = 5\n";
        assert_eq!(difference(config, config), None);
        let free = config.replace("epochs = 3", "epochs = 30").replace("beam = 5", "beam = 1");
        assert_eq!(difference(config, &free), None);
        let deeper = config.replace("layers = 2", "layers = 3");
        let said = ["model.encoder.layers", "2", "3"].map(str::to_owned);
        assert_eq!(difference(config, &deeper), Some(said));
        let less = config.replace("layers = 2\n", "");
        let said = ["model.encoder.layers", "2", "not set"].map(str::to_owned);
        assert_eq!(difference(config, &less), Some(said));
    }
}
