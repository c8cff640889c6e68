//! How well a model predicts pairs that it does not learn from.

use crate::corpus::Examples;
use couplet_data::in_order;
use couplet_nn::{ForwardPass, Seq2Seq};
use couplet_tensor::Params;

/// The mean loss of a target token, the end included, without smoothing.
pub fn mean_loss(model: &Seq2Seq, params: &Params, examples: &Examples, batch_tokens: usize) -> f64 {
    let (mut sum, mut tokens) = (0.0, 0);
    for numbers in in_order(&examples.costs(), batch_tokens) {
        let batch = examples.batch(&numbers, model);
        let losses = model.loss(&ForwardPass::inference(params), &batch, 0.0).per_target;
        sum += losses.to_vec().iter().map(|&loss| f64::from(loss)).sum::<f64>();
        tokens += batch.targets();
    }
    sum / tokens.max(1) as f64
}
