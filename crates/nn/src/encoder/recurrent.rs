use super::{Encoded, SelfAttendingLayer, last_states};
use crate::cell::Cell;
use crate::config::EncoderConfig;
use crate::layer::{Dropout, DropoutSite, RecurrentLayer};
use crate::pass::Pass;
use crate::shortcut::Shortcut;
use couplet_tensor::ops::{Recurrent, column_block, concat_columns};
use couplet_tensor::{Direction, Params, SequenceLayout, Var};
use std::sync::Arc;

/// A stack of recurrent layers, each in one direction or in both: layer k reads the states of layer k − 1.
#[derive(Clone, Debug)]
pub struct RecurrentReader {
    /// For each layer, one reader for each direction.
    layers: Vec<Vec<(Direction, Layer)>>,
    /// Of the output of each layer.
    dropouts: Vec<DropoutSite>,
    /// What they read is added to the output of some layers.
    shortcut: Shortcut,
}

/// A layer in one direction.
#[derive(Clone, Debug)]
enum Layer {
    Plain(RecurrentLayer),
    SelfAttending(SelfAttendingLayer),
}

impl Layer {
    /// Goes over packed sequences, from a state that a plain layer ended in before or from zero.
    fn forward(
        &self,
        pass: &Pass,
        x: &Var,
        rows: &Arc<SequenceLayout>,
        direction: Direction,
        start: Option<&[Var]>,
    ) -> Recurrent {
        match self {
            Layer::Plain(layer) => layer.forward(pass, x, rows, direction, start),
            Layer::SelfAttending(layer) => {
                assert!(start.is_none(), "a layer that looks back goes on from all of its states");
                layer.forward(pass, x, rows, direction)
            }
        }
    }
}

impl RecurrentReader {
    /// Adds the parameters of the layers, for an input of so many numbers a token.
    pub fn new(params: &mut Params, config: &EncoderConfig, cell: Cell, inputs: usize) -> Self {
        // A source that is read backwards is read from its end, and its states stay where its tokens are.
        let directions = |layer: usize| -> &[(Direction, &str)] {
            match (config.bidirectional.at(layer), config.reverse) {
                (true, _) => &[(Direction::Forward, ""), (Direction::Backward, "_reverse")],
                (false, false) => &[(Direction::Forward, "")],
                (false, true) => &[(Direction::Backward, "")],
            }
        };
        let inputs = std::iter::once(inputs).chain(config.widths());
        let layers = config.units().into_iter().zip(inputs).enumerate().map(|(layer, (units, inputs))| {
            let reader = |&(direction, suffix): &(Direction, &str)| {
                let suffix = format!("l{layer}{suffix}");
                let layer = match config.self_attention {
                    None => {
                        Layer::Plain(RecurrentLayer::new(params, "encoder", &suffix, cell, inputs, units))
                    }
                    Some(score) => Layer::SelfAttending(SelfAttendingLayer::new(
                        params, &suffix, cell, score, inputs, units,
                    )),
                };
                (direction, layer)
            };
            directions(layer).iter().map(reader).collect()
        });
        let layers: Vec<_> = layers.collect();
        let dropout = Dropout::of_numbers(config.dropout, config.variational_dropout);
        let site = |layer| DropoutSite::new(params, &format!("encoder.l{layer}.dropout"), dropout);
        let dropouts = (0..layers.len()).map(site).collect();
        let (from, share) = (config.residual_from, config.stochastic_depth);
        let shortcut = Shortcut::new(params, "encoder", layers.len(), from, share);
        RecurrentReader { layers, dropouts, shortcut }
    }

    /// Reads what its tokens are, from the states in which its layers ended before or from zero.
    pub fn forward(
        &self,
        pass: &Pass,
        x: Var,
        rows: Arc<SequenceLayout>,
        before: Option<&[Vec<Var>]>,
    ) -> Encoded {
        let (mut states, mut last, mut end) = (x, Vec::new(), None);
        for (layer, readers) in self.layers.iter().enumerate() {
            let start = before.map(|before| &before[layer][..]);
            let read: Vec<Recurrent> = readers
                .iter()
                .map(|(direction, reader)| reader.forward(pass, &states, &rows, *direction, start))
                .collect();
            let joined = concat_columns(&read.iter().map(|read| &read.states).collect::<Vec<_>>());
            let dropped = pass.dropout(joined, &rows, &self.dropouts[layer]);
            let below = states;
            states = self.shortcut.join(pass, layer, dropped, &below, &rows); // [source rows, width]
            let parts = 0..read[0].last.len();
            let join =
                |part: usize| concat_columns(&read.iter().map(|read| &read.last[part]).collect::<Vec<_>>());
            let ended: Vec<Var> = parts.map(join).collect(); // [batch, width]
            let is_around = layer + 1 == self.layers.len() && self.shortcut.is_around(layer);
            end = is_around.then(|| self.end(pass, readers, &ended[0], &below, &rows)); // [batch, width]
            last.push(ended);
        }
        Encoded { states, rows, last, end, values: None }
    }

    /// The topmost layer's last state together with what it read there, each direction at its own end.
    fn end(
        &self,
        pass: &Pass,
        readers: &[(Direction, Layer)],
        last: &Var,
        below: &Var,
        rows: &SequenceLayout,
    ) -> Var {
        let width = below.columns() / readers.len();
        let read: Vec<Var> = readers
            .iter()
            .enumerate()
            .map(|(number, (direction, _))| {
                let columns = number * width..(number + 1) * width;
                last_states(&column_block(below, columns), rows, *direction)
            })
            .collect();
        let read = concat_columns(&read.iter().collect::<Vec<_>>()); // [batch, width]
        let once = Arc::new(SequenceLayout::with_examples(&vec![1; rows.batch()], rows.examples()));
        self.shortcut.join(pass, self.layers.len() - 1, last.clone(), &read, &once)
    }
}
