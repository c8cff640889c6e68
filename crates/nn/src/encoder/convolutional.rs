use crate::config::EncoderConfig;
use crate::convolution::{GatedConvolution, projection};
use crate::layer::{Dropout, DropoutSite, Linear};
use crate::pass::Pass;
use couplet_tensor::ops::{Window, scaled_residual};
use couplet_tensor::{Params, SequenceLayout, Var};
use std::sync::Arc;

/// Layers of gated convolutions: each token sees as many to its left as to its right, and with every layer more of them.
#[derive(Clone, Debug)]
pub struct ConvolutionalReader {
    /// From the tokens' vectors to the layers' width.
    first: Linear,
    layers: Vec<GatedConvolution>,
    /// Of what each layer reads.
    dropouts: Vec<DropoutSite>,
    /// Back to the width of the tokens' vectors.
    last: Linear,
}

impl ConvolutionalReader {
    /// Adds `encoder.fc1.weight`, `encoder.layers.0.convolution.weight` and so on.
    pub fn new(params: &mut Params, config: &EncoderConfig) -> Self {
        let dropout = Dropout::of_numbers(config.dropout, config.variational_dropout);
        let (width, units, side) = (config.embedding.size, config.units(), config.kernel() / 2);
        let window = Window { before: side, after: side };
        let hidden = units[0];
        let first = projection(params, "encoder.fc1", width, hidden, dropout);
        let layer = |layer: usize| {
            let name = format!("encoder.layers.{layer}.convolution");
            GatedConvolution::new(params, &name, window, hidden, dropout.rate)
        };
        let layers = (0..units.len()).map(layer).collect();
        let site = |layer| DropoutSite::new(params, &format!("encoder.layers.{layer}.dropout"), dropout);
        let dropouts = (0..units.len()).map(site).collect();
        let last = projection(params, "encoder.fc2", hidden, width, Dropout { rate: 0.0, ..dropout });
        ConvolutionalReader { first, layers, dropouts, last }
    }

    /// Reads what its tokens are: the states, and what a convolutional writer takes from them, the tokens' own vectors added.
    pub fn forward(&self, pass: &Pass, x: &Var, rows: &Arc<SequenceLayout>) -> [Var; 2] {
        let first = self.first.forward(pass, x); // [source rows, hidden]
        let read = self.layers.iter().zip(&self.dropouts).fold(first, |x, (layer, site)| {
            let read = pass.dropout(x.clone(), rows, site);
            scaled_residual(&layer.sequence(pass, &read, rows), &x)
        });
        let states = self.last.forward(pass, &read); // [source rows, embedding]
        let values = scaled_residual(&states, x);
        [states, values]
    }
}
