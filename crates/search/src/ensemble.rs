//! Ensembles: several models with the same vocabulary, whose probabilities are averaged.

use crate::model::{AutoregressiveModel, ModelStep, SearchInput, TokenAttention, TokenScores};
use crate::model::{ScoreRequest, StepRequest};

/// Models that generate together.
#[derive(Clone, Debug)]
pub struct Ensemble<M>(Vec<M>);

impl<M> Ensemble<M> {
    /// Joins models, which must have the same vocabulary and the same begin-of-sequence and end-of-sequence tokens.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn new(models: Vec<M>) -> Ensemble<M> {
        assert!(!models.is_empty(), "an ensemble of at least one model");
        Ensemble(models)
    }
}

impl<M: AutoregressiveModel> AutoregressiveModel for Ensemble<M> {
    type State = Vec<M::State>;

    fn init(&self, inputs: &[&SearchInput]) -> (Self::State, Vec<Vec<f32>>) {
        let (states, prompts): (_, Vec<_>) = self.0.iter().map(|model| model.init(inputs)).unzip();
        let prompt =
            |i: usize| mean_probability(&prompts.iter().map(|each| &each[i][..]).collect::<Vec<_>>());
        (states, (0..inputs.len()).map(prompt).collect())
    }

    fn step(&self, tokens: &[u32], state: &Self::State, request: &StepRequest) -> ModelStep<Self::State> {
        let all = vec![ScoreRequest::All; tokens.len()];
        let whole = StepRequest { scores: all, attention: request.attention };
        let (mut states, mut scores, mut attention) = (Vec::new(), Vec::new(), Vec::new());
        for (model, state) in self.0.iter().zip(state) {
            let step = model.step(tokens, state, &whole);
            states.push(step.state);
            scores.push(step.scores);
            attention.extend(step.attention);
        }
        let mean = |(row, &request): (usize, &ScoreRequest)| {
            let rows: Vec<&[f32]> = scores.iter().map(|each| each[row].all()).collect();
            TokenScores::new(mean_probability(&rows), request)
        };
        let scores = request.scores.iter().enumerate().map(mean).collect();
        ModelStep { state: states, scores, attention: mean_attention(&attention) }
    }

    fn select(&self, state: &Self::State, rows: &[u32]) -> Self::State {
        self.0.iter().zip(state).map(|(model, state)| model.select(state, rows)).collect()
    }

    fn append(&self, state: &mut Self::State, other: Self::State) {
        for ((model, state), other) in self.0.iter().zip(state).zip(other) {
            model.append(state, other);
        }
    }

    fn can_append(&self) -> bool {
        self.0.iter().all(AutoregressiveModel::can_append)
    }

    fn supports_prompt(&self) -> bool {
        self.0.iter().all(AutoregressiveModel::supports_prompt)
    }

    fn bos_eos(&self) -> (u32, u32) {
        self.0[0].bos_eos()
    }
}

/// Token by token the logarithm of the mean probability.
fn mean_probability(models: &[&[f32]]) -> Vec<f32> {
    // A model that does not copy has no scores beyond the vocabulary.
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

/// The mean attention weights of each row, and the first model's probability of copying; none without a model that attends.
fn mean_attention(models: &[Vec<TokenAttention>]) -> Option<Vec<TokenAttention>> {
    let row = |i: usize| {
        let mean = |j: usize| models.iter().map(|each| each[i].weights[j]).sum::<f32>() / models.len() as f32;
        let (source, copying) = (models[0][i].weights.len(), models.iter().find_map(|each| each[i].copying));
        TokenAttention { weights: (0..source).map(mean).collect(), copying }
    };
    Some((0..models.first()?.len()).map(row).collect())
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
