//! A stack of recurrent layers, each in one direction or in both: layer k reads the states of layer k − 1.

use super::intra_attention::IntraAttentionLayer;
use super::{CausalEncoder, Encoded, Encoder, EncoderEntry, last_states};
use crate::builder::ModelBuilder;
use crate::cell::CellKind;
use crate::config::{
    ConfigError, EncoderConfig, PositionKind, StateShape, check_stochastic_depth, reject_if,
};
use crate::forward::ForwardPass;
use crate::kinds::KindKeys;
use crate::layers::{DropoutSite, EmbeddingScale, RecurrentLayer, Residual};
use crate::state::{DecoderState, StateTensor};
use couplet_tensor::ops::{Recurrent, column_block, concat_columns, gather_rows};
use couplet_tensor::{Direction, SequenceLayout, Var};
use std::sync::Arc;

pub(super) const fn entry(name: &'static str, cell: CellKind) -> EncoderEntry {
    EncoderEntry {
        kind: KindKeys { name, keys: &KEYS, cell: Some(cell) },
        positions: PositionKind::None,
        scale: EmbeddingScale::One,
        build: |b, config, input| Ok(Arc::new(RecurrentEncoder::new(b, config, input)?)),
    }
}

const KEYS: [&str; 6] =
    ["bidirectional", "reverse", "residual_from", "stochastic_depth", "self_attention", "layer_norm"];

#[derive(Clone, Debug)]
struct RecurrentEncoder {
    /// For each layer, its directions.
    layers: Vec<Vec<(Direction, Layer)>>,
    /// Dropout of the output of each layer.
    dropouts: Vec<DropoutSite>,
    residual: Residual,
    states: StateShape,
}

/// A layer in one direction.
#[derive(Clone, Debug)]
enum Layer {
    Plain(RecurrentLayer),
    IntraAttention(IntraAttentionLayer),
}

impl Layer {
    fn forward(
        &self,
        fwd: &ForwardPass,
        x: &Var,
        layout: &Arc<SequenceLayout>,
        direction: Direction,
        initial: Option<&[Var]>,
    ) -> Recurrent {
        match self {
            Layer::Plain(layer) => layer.forward(fwd, x, layout, direction, initial),
            Layer::IntraAttention(layer) => {
                assert!(initial.is_none(), "a layer with intra-attention continues from all of its states");
                layer.forward(fwd, x, layout, direction)
            }
        }
    }
}

impl RecurrentEncoder {
    /// Adds `weight_ih_l0` and so on; of the backward direction `weight_ih_l0_reverse`.
    fn new(b: &mut ModelBuilder, config: &EncoderConfig, input: usize) -> Result<Self, ConfigError> {
        reject_if(
            config.reverse && config.bidirectional.at(0),
            "model.encoder.reverse cannot be combined with model.encoder.bidirectional",
            "both directions are encoded already; set bidirectional = false to encode backwards only",
        )?;
        let cell = config.cell().expect("the list gives recurrent kinds a cell");
        // A source that is encoded backwards is read from its end, and its states stay where its tokens are.
        let directions = |layer: usize| -> &[(Direction, &str)] {
            match (config.bidirectional.at(layer), config.reverse) {
                (true, _) => &[(Direction::Forward, ""), (Direction::Backward, "_reverse")],
                (false, false) => &[(Direction::Forward, "")],
                (false, true) => &[(Direction::Backward, "")],
            }
        };
        let units = config.layer_sizes()?;
        let widths: Vec<usize> =
            units.iter().enumerate().map(|(layer, units)| units * directions(layer).len()).collect();
        check_residual(config, input, &widths)?;
        let inputs = std::iter::once(input).chain(widths.iter().copied());
        let layers = units.iter().zip(inputs).enumerate().map(|(layer, (&units, input))| {
            let direction = |&(direction, suffix): &(Direction, &str)| {
                let suffix = format!("l{layer}{suffix}");
                let layer = match config.self_attention {
                    None => Layer::Plain(RecurrentLayer::new(b, &suffix, cell, input, units)),
                    Some(score) => {
                        Layer::IntraAttention(IntraAttentionLayer::new(b, &suffix, cell, score, input, units))
                    }
                };
                (direction, layer)
            };
            directions(layer).iter().map(direction).collect()
        });
        let layers: Vec<_> = layers.collect();
        let dropout = config.dropout();
        let dropouts =
            (0..layers.len()).map(|layer| b.dropout(&format!("l{layer}.dropout"), dropout)).collect();
        let residual = Residual::new(b, layers.len(), config.residual_from, config.stochastic_depth);
        let states = StateShape { widths, tensors: cell.state_tensors() };
        Ok(RecurrentEncoder { layers, dropouts, residual, states })
    }

    /// Hidden states of packed vectors, from initial states of the layers or from zero.
    fn forward_from(
        &self,
        fwd: &ForwardPass,
        x: Var,
        layout: &Arc<SequenceLayout>,
        initial: Option<&[Vec<Var>]>,
    ) -> Encoded {
        let (mut states, mut final_states, mut summary) = (x, Vec::new(), None);
        for (layer, directions) in self.layers.iter().enumerate() {
            let initial = initial.map(|initial| &initial[layer][..]);
            let outputs: Vec<Recurrent> = directions
                .iter()
                .map(|(direction, layer)| layer.forward(fwd, &states, layout, *direction, initial))
                .collect();
            let joined = concat_columns(&outputs.iter().map(|output| &output.states).collect::<Vec<_>>());
            let dropped = fwd.dropout(joined, layout, &self.dropouts[layer]);
            let input = states;
            states = self.residual.add(fwd, layer, dropped, &input, layout); // [source rows, width]
            let last = |tensor: usize| {
                concat_columns(&outputs.iter().map(|output| &output.last[tensor]).collect::<Vec<_>>())
            };
            let last: Vec<Var> = (0..outputs[0].last.len()).map(last).collect(); // [batch, width]
            summary = Some(match self.residual.is_around(layer) && layer + 1 == self.layers.len() {
                true => self.residual_summary(fwd, directions, &last[0], &input, layout), // [batch, width]
                false => last[0].clone(),
            });
            final_states.push(last);
        }
        Encoded { states, layout: Arc::clone(layout), summary, final_states, attention_values: None }
    }

    /// The final state of the last layer with its input at that step added, for each direction at its own end.
    fn residual_summary(
        &self,
        fwd: &ForwardPass,
        directions: &[(Direction, Layer)],
        last: &Var,
        input: &Var,
        layout: &SequenceLayout,
    ) -> Var {
        let width = input.columns() / directions.len();
        let inputs: Vec<Var> = (0..)
            .zip(directions)
            .map(|(index, (direction, _))| {
                let columns = index * width..(index + 1) * width;
                last_states(&column_block(input, columns), layout, *direction)
            })
            .collect();
        let input = concat_columns(&inputs.iter().collect::<Vec<_>>()); // [batch, width]
        let once = Arc::new(SequenceLayout::with_examples(&vec![1; layout.batch()], layout.examples()));
        self.residual.add(fwd, self.layers.len() - 1, last.clone(), &input, &once)
    }

    /// Returns true if each layer has the forward direction only and no attention to its own states.
    fn is_causal(&self) -> bool {
        self.layers.iter().all(|directions| matches!(directions[..], [(Direction::Forward, Layer::Plain(_))]))
    }
}

impl Encoder for RecurrentEncoder {
    fn width(&self) -> usize {
        self.states.widths[self.states.widths.len() - 1]
    }

    fn forward(&self, fwd: &ForwardPass, x: Var, layout: &Arc<SequenceLayout>) -> Encoded {
        self.forward_from(fwd, x, layout, None)
    }

    fn final_states(&self) -> Option<StateShape> {
        Some(self.states.clone())
    }

    fn causal(&self) -> Option<&dyn CausalEncoder> {
        self.is_causal().then_some(self)
    }
}

impl CausalEncoder for RecurrentEncoder {
    fn continue_from(
        &self,
        fwd: &ForwardPass,
        x: Var,
        layout: &Arc<SequenceLayout>,
        state: &DecoderState,
    ) -> (Var, DecoderState) {
        let order = layout.sorted_indices();
        let steps = |row: u32| layout.length(row as usize) as u32;
        let earlier = |sequence: usize| state.positions().get(sequence).copied().unwrap_or(0);
        let parents = layout.unsorted_indices(); // the sequences in their given order
        let positions =
            parents.iter().enumerate().map(|(sequence, &row)| earlier(sequence) + steps(row)).collect();
        let initial = (state.rows() > 0).then(|| {
            let tensors: Vec<Var> = state.gathered().map(|tensor| gather_rows(&tensor, order)).collect();
            tensors.chunks(self.states.tensors).map(<[Var]>::to_vec).collect::<Vec<_>>()
        });
        let encoded = self.forward_from(fwd, x, layout, initial.as_deref());
        let tensors = encoded.final_states.into_iter().flatten().map(StateTensor::from).collect();
        (encoded.states, DecoderState::of_prefix(positions, parents, tensors))
    }
}

fn check_residual(config: &EncoderConfig, input: usize, widths: &[usize]) -> Result<(), ConfigError> {
    let Some(from) = config.residual_from else {
        return check_stochastic_depth("model.encoder", config.stochastic_depth);
    };
    reject_if(
        from == 0 || from > widths.len(),
        format!("model.encoder.residual_from = {from} is no layer of {}", widths.len()),
        "a layer from 1, the first, to the last one",
    )?;
    let inputs: Vec<usize> = std::iter::once(input).chain(widths.iter().copied()).collect();
    (from..=widths.len()).try_for_each(|layer| {
        let (input, output) = (inputs[layer - 1], widths[layer - 1]);
        reject_if(
            input != output,
            format!(
                "model.encoder.residual_from = {from} adds the input of layer {layer}, of width {input}, to its output, of width {output}"
            ),
            "input and output must be equally wide (both directions count)",
        )
    })
}
