//! One figure of several runs: its mean, and how far the runs lie apart.

use serde::Serialize;

/// A mean, and the sample standard deviation of what it is the mean of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// `Σx / n`
    pub mean: f64,
    /// `√(Σ(x − mean)² / (n − 1))`; none for a single number.
    pub deviation: Option<f64>,
}

impl Spread {
    /// Of some numbers; none where there are none.
    pub fn of(numbers: &[f64]) -> Option<Spread> {
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let squares: f64 = numbers.iter().map(|x| (x - mean).powi(2)).sum();
        let deviation = (numbers.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
        (!numbers.is_empty()).then_some(Spread { mean, deviation })
    }

    /// To be read, with so many places: `12.3 ± 0.4`.
    pub fn shown(&self, places: usize) -> String {
        match self.deviation {
            Some(deviation) => format!("{:.places$} ± {deviation:.places$}", self.mean),
            None => format!("{:.places$}", self.mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of 1, 2 and 6 is 3, the squares are 4, 1 and 9: √(14 / 2) = 2.6458.
    #[test]
    fn mean_and_deviation_by_hand() {
        let spread = Spread::of(&[1.0, 2.0, 6.0]).unwrap();
        assert_eq!(spread.mean, 3.0);
        assert!((spread.deviation.unwrap() - 7f64.sqrt()).abs() < 1e-12);
        assert_eq!(spread.shown(1), "3.0 ± 2.6");
        assert_eq!(Spread::of(&[2.5]), Some(Spread { mean: 2.5, deviation: None }));
        assert_eq!(Spread::of(&[2.5]).unwrap().shown(2), "2.50");
        assert_eq!(Spread::of(&[]), None);
    }
}
