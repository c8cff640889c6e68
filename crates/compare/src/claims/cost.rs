//! Cost by the length of the source.

use super::{Claim, panels, picture, series, table};
use crate::cost::{Cost, WRITTEN, line_through};
use crate::run::Entry;
use crate::spread::Spread;
use crate::times::Times;
use couplet_plot::{Panel, Series};

pub(super) fn claim(entries: &[Entry]) -> Claim {
    let text = format!(
        "The time to write {WRITTEN} tokens for some sources at once, as the sources grow. With attention a step looks at all `m` states of the \
         reader, so that `t` steps cost `t·(a + b·m)`; without, they cost `t·a`. The last two columns are `a` and `b`, fitted, for one source.{}\n\n",
        devices(entries)
    );
    let tokens =
        |cost: Option<&Cost>| cost.map_or(String::new(), |cost| format!("{} tokens, ms", cost.tokens));
    let measured = entries.iter().map(costs).find(|costs| !costs.is_empty()).unwrap_or_default();
    let shortest = tokens(measured.first());
    let longest = tokens(measured.last());
    let header = ["model", &shortest, &longest, "growth", "`a`, µs", "`b`, µs"];
    let rows: Vec<Vec<String>> = entries.iter().filter_map(row).collect();
    Claim {
        title: "Attention costs O(m·t)".to_owned(),
        text: text + &table(&header, &rows),
        picture: picture(
            "cost-by-length",
            "Cost by the length of the source",
            "tokens of the source",
            [
                from_zero(&format!("writing {WRITTEN} tokens, ms"), entries, |cost| cost.writing),
                from_zero("reading, ms", entries, |cost| Some(cost.reading)),
                from_zero("learning, forwards and back, ms", entries, |cost| Some(cost.learning)),
            ],
        ),
    }
}

/// How the times were taken.
fn devices(entries: &[Entry]) -> String {
    let said = |times: &Times| format!("{} sources on {}", times.sources, times.device);
    let mut all: Vec<String> = entries.iter().filter_map(|entry| entry.times.as_ref()).map(said).collect();
    all.dedup();
    if all.is_empty() { String::new() } else { format!(" Measured with {}.", all.join(", with ")) }
}

fn costs(entry: &Entry) -> &[Cost] {
    entry.times.as_ref().map_or(&[], |times| &times.costs)
}

/// Panels that begin at nothing: so that twice the time looks like twice the time.
fn from_zero(name: &str, entries: &[Entry], figure: fn(&Cost) -> Option<f64>) -> Vec<Panel> {
    let mut panels = panels(name, entries, |entry| curve(entry, figure));
    panels.iter_mut().for_each(|panel| panel.reach.push(0.0));
    panels
}

fn curve(entry: &Entry, figure: fn(&Cost) -> Option<f64>) -> Option<Series> {
    let point = |cost: &Cost| (cost.tokens as f64, figure(cost).and_then(|ms| Spread::of(&[ms])));
    series(entry, costs(entry).iter().map(point))
}

/// The times of the shortest and the longest sources, and the line through all.
fn row(entry: &Entry) -> Option<Vec<String>> {
    let points: Vec<[f64; 2]> =
        costs(entry).iter().filter_map(|cost| Some([cost.tokens as f64, cost.writing?])).collect();
    let [fixed, slope] = line_through(&points)?;
    let (first, last) = (points.first()?[1], points.last()?[1]);
    let steps = WRITTEN * entry.times.as_ref()?.sources;
    // What rounds to nothing has no sign.
    let microseconds_a_step = |ms: f64| format!("{:.2}", 1e3 * ms / steps as f64).replace("-0.00", "0.00");
    Some(vec![
        entry.name.clone(),
        format!("{first:.2}"),
        format!("{last:.2}"),
        format!("× {:.2}", last / first),
        microseconds_a_step(fixed),
        microseconds_a_step(slope),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::tests::two;
    use super::*;

    /// 20 ms at 5 tokens and 51 ms at 160: 0.2 ms more for each token, and 19 ms without one. For 20 tokens and 8 sources, a step of
    /// one takes 19 / 160 ms and 0.2 / 160 ms for each token.
    #[test]
    fn costs_by_hand() {
        let mut entries = two();
        let cost = |tokens, writing| Cost { tokens, reading: 1.0, writing: Some(writing), learning: 2.0 };
        let costs = vec![cost(5, 20.0), cost(160, 51.0)];
        entries[1].times = Some(Times {
            config: String::new(),
            device: "cpu".to_owned(),
            tokens_per_second: Vec::new(),
            sources: 8,
            costs,
        });
        let text = claim(&entries).text;
        assert!(text.contains("| model | 5 tokens, ms | 160 tokens, ms |"), "{text}");
        assert!(text.contains("| looks | 20.00 | 51.00 | × 2.55 | 118.75 | 1.25 |"), "{text}");
        assert!(
            !text.contains("| plain |") && text.contains("for one source. Measured with 8 sources on cpu.\n"),
            "{text}"
        );
    }
}
