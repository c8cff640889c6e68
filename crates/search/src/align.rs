//! Which token of an output belongs to which of its source, read from where the model looked.

use std::fmt;
use std::str::FromStr;

/// How links are read from the weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Align {
    /// One for each token of the output: to the place that it looked at most.
    Hard,
    /// To every place that it looked at so much, or more.
    Soft(f32),
}

impl FromStr for Align {
    type Err = String;

    /// `hard`, or a threshold.
    fn from_str(text: &str) -> Result<Align, String> {
        if text == "hard" {
            return Ok(Align::Hard);
        }
        let threshold = text.parse().ok().filter(|threshold| (0.0..=1.0).contains(threshold));
        threshold.map(Align::Soft).ok_or("hard, or a threshold from 0 to 1".to_owned())
    }
}

/// Links between places of a source and of an output, both counted from 0.
///
/// ```
/// use couplet_search::{Align, Alignment};
///
/// let attention = [vec![0.9, 0.1], vec![0.4, 0.6]];
/// assert_eq!(Alignment::new(&attention, Align::Hard).to_string(), "0-0 1-1");
/// assert_eq!(Alignment::new(&attention, Align::Soft(0.3)).to_string(), "0-0 0-1 1-1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alignment(pub Vec<(usize, usize)>);

impl Alignment {
    /// From the weights: for each token of the output, how much each of the source was looked at.
    pub fn new(attention: &[Vec<f32>], align: Align) -> Alignment {
        let links = attention.iter().enumerate().flat_map(|(target, row)| {
            let most = most_looked_at(row);
            let is_linked = move |(place, weight): (usize, &f32)| match align {
                Align::Hard => Some(place) == most,
                Align::Soft(threshold) => *weight >= threshold,
            };
            row.iter().enumerate().filter(move |&each| is_linked(each)).map(move |(place, _)| (place, target))
        });
        Alignment(links.collect())
    }
}

/// The place that was looked at most; of equal ones, the first.
pub(crate) fn most_looked_at(weights: &[f32]) -> Option<usize> {
    let better = |best: usize, place: usize| if weights[place] > weights[best] { place } else { best };
    (0..weights.len()).reduce(better)
}

/// In the format of Pharaoh, in the order of the output: `0-0 1-2`.
impl fmt::Display for Alignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let links: Vec<String> = self.0.iter().map(|(source, target)| format!("{source}-{target}")).collect();
        f.write_str(&links.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hard_and_soft_links() {
        let attention = vec![vec![0.1, 0.7, 0.2], vec![0.4, 0.2, 0.4]];
        let links = |align: &str| Alignment::new(&attention, align.parse().expect("a way")).to_string();
        assert_eq!(links("hard"), "1-0 0-1");
        assert_eq!(links("0.4"), "1-0 0-1 2-1");
        assert_eq!(links("0.9"), "");
        assert!("2".parse::<Align>().is_err() && "soft".parse::<Align>().is_err());
    }
}
