//! Several models with the same vocabulary that write one output: what they expect next is the mean of their probabilities.

use crate::model::{Model, Next, Step};

/// Models that write together.
#[derive(Clone, Debug)]
pub struct Ensemble<M>(Vec<M>);

impl<M> Ensemble<M> {
    /// Of some models; they must have the same vocabulary and the same ends.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn new(models: Vec<M>) -> Ensemble<M> {
        assert!(!models.is_empty(), "an ensemble of at least one model");
        Ensemble(models)
    }
}

impl<M: Model> Model for Ensemble<M> {
    type State = Vec<M::State>;
    type Next = Vec<Vec<f32>>;

    fn start(&self, sources: &[&[u32]]) -> Self::State {
        self.0.iter().map(|model| model.start(sources)).collect()
    }

    fn step(&self, tokens: &[u32], state: &Self::State) -> Step<Self::State, Self::Next> {
        let steps = self.0.iter().zip(state).map(|(model, state)| model.step(tokens, state));
        let (mut states, mut all, mut looked) = (Vec::new(), Vec::new(), Vec::new());
        for Step { state, next, attention } in steps {
            states.push(state);
            all.push(next.log_probabilities());
            looked.extend(Some(attention).filter(|attention| !attention.is_empty()));
        }
        let row = |row: usize| mean_probability(&all.iter().map(|rows| &rows[row][..]).collect::<Vec<_>>());
        Step { state: states, next: (0..tokens.len()).map(row).collect(), attention: mean(&looked) }
    }

    fn select(&self, state: &Self::State, rows: &[u32]) -> Self::State {
        self.0.iter().zip(state).map(|(model, state)| model.select(state, rows)).collect()
    }

    fn ends(&self) -> (u32, u32) {
        self.0[0].ends()
    }
}

/// Token by token the logarithm of the mean probability.
fn mean_probability(models: &[&[f32]]) -> Vec<f32> {
    // A model that does not copy has nothing behind the vocabulary.
    let log_p = |row: &[f32], token: usize| row.get(token).copied().unwrap_or(f32::NEG_INFINITY);
    let of_token = |token: usize| {
        let largest = models.iter().map(|row| log_p(row, token)).fold(f32::NEG_INFINITY, f32::max);
        if largest == f32::NEG_INFINITY {
            return largest;
        }
        let sum: f32 = models.iter().map(|row| (log_p(row, token) - largest).exp()).sum();
        largest + (sum / models.len() as f32).ln()
    };
    let longest = models.iter().map(|row| row.len()).max().unwrap_or(0);
    (0..longest).map(of_token).collect()
}

/// Number by number the mean; nothing where there is nothing.
fn mean(all: &[Vec<f32>]) -> Vec<f32> {
    let places = all.first().map_or(0, Vec::len);
    (0..places).map(|place| all.iter().map(|each| each[place]).sum::<f32>() / all.len() as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A model that copies has 0.5 for a word that the other does not know: 0.25.
    #[test]
    fn only_one_of_them_copies() {
        let mean = mean_probability(&[&[0.5f32.ln(), 0.5f32.ln()], &[0.0]]);
        assert!((mean[0].exp() - 0.75).abs() < 1e-6 && (mean[1].exp() - 0.25).abs() < 1e-6);
    }

    /// (0.2 + 0.6) / 2 = 0.4, (0.8 + 0.4) / 2 = 0.6; what is impossible for both stays impossible.
    #[test]
    fn the_mean_of_probabilities() {
        let models = [[0.2f32, 0.8, 0.0], [0.6, 0.4, 0.0]].map(|row| row.map(f32::ln));
        let mean = mean_probability(&[&models[0], &models[1]]);
        assert!((mean[0].exp() - 0.4).abs() < 1e-6 && (mean[1].exp() - 0.6).abs() < 1e-6);
        assert_eq!(mean[2], f32::NEG_INFINITY);
    }
}
