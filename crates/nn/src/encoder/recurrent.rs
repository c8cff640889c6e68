use super::Encoded;
use crate::config::EncoderConfig;
use crate::layer::{Embedding, RecurrentLayer};
use crate::pass::Pass;
use crate::tokens::Packed;
use couplet_tensor::cell::Lstm;
use couplet_tensor::ops::{Recurrent, concat_columns, recurrent};
use couplet_tensor::{Direction, Params};

/// The numbers under which the encoder's layers drop.
const DROPOUT: u32 = 100;

/// A stack of recurrent layers, in one direction or in both: layer k reads the states of layer k − 1.
#[derive(Clone, Debug)]
pub struct RecurrentEncoder {
    embedding: Embedding,
    /// For each layer, one reader for each direction.
    layers: Vec<Vec<RecurrentLayer>>,
    dropout: f32,
}

impl RecurrentEncoder {
    /// Adds the encoder's parameters.
    pub fn new(params: &mut Params, config: &EncoderConfig, vocabulary: usize) -> Self {
        let directions: &[&str] = if config.bidirectional { &["", "_reverse"] } else { &[""] };
        let embedding = Embedding::new(params, "encoder.embedding", vocabulary, config.embedding);
        let layers = (0..config.layers).map(|layer| {
            let inputs = if layer == 0 { config.embedding } else { config.width() };
            let reader = |direction: &&str| {
                let suffix = format!("l{layer}{direction}");
                RecurrentLayer::new::<Lstm>(params, "encoder", &suffix, inputs, config.hidden)
            };
            directions.iter().map(reader).collect()
        });
        RecurrentEncoder { layers: layers.collect(), embedding, dropout: config.dropout }
    }

    /// Reads packed sources.
    pub fn forward(&self, pass: &Pass, source: &Packed) -> Encoded {
        let rows = &source.rows;
        let embedded = self.embedding.forward(pass, &source.tokens); // [source rows, embedding]
        let mut states = pass.dropout(embedded, rows, self.dropout, DROPOUT);
        let mut last = Vec::new();
        for (layer, readers) in (1..).zip(&self.layers) {
            let directions = [Direction::Forward, Direction::Backward];
            let read: Vec<Recurrent> = readers
                .iter()
                .zip(directions)
                .map(|(reader, direction)| {
                    recurrent::<Lstm>(&states, rows, direction, &reader.weights(pass), None)
                })
                .collect();
            let joined = concat_columns(&read.iter().map(|read| &read.states).collect::<Vec<_>>());
            states = pass.dropout(joined, rows, self.dropout, DROPOUT + layer); // [source rows, width]
            let parts = 0..read[0].last.len();
            let join =
                |part: usize| concat_columns(&read.iter().map(|read| &read.last[part]).collect::<Vec<_>>());
            last.push(parts.map(join).collect()); // [batch, width]
        }
        Encoded { states, rows: source.rows.clone(), last }
    }
}
