//! The layers of a recurrent decoder and its attention, step by step and over whole sequences.
//!
//! With input feeding, the layers up to the one that attends and the attention are one operation of the engine, the scan; layers above it
//! go over whole sequences. Without, attention of all states is computed at once.

use super::DecoderInputs;
use crate::attention::{Attention, AttentionOutput};
use crate::builder::ModelBuilder;
use crate::config::{AttentionConfig, DecoderConfig, InputFeeding, QueryKind, QueryLayer};
use crate::forward::ForwardPass;
use crate::layers::{DropoutSite, RecurrentLayer, Residual};
use crate::state::select_rows;
use couplet_tensor::ops::{Memory, Scan, ScanState, concat_columns, steps_before};
use couplet_tensor::{Direction, SequenceLayout, Tensor, Var};
use std::ops::Range;
use std::sync::Arc;

/// The layers of the decoder and its attention: steps 2 to 4.
#[derive(Clone, Debug)]
pub(super) struct Recurrence {
    pub(super) layers: Vec<RecurrentLayer>,
    pub(super) attention: Option<Attention>,
    input_feeding: InputFeeding,
    query: QueryKind,
    /// The number of layers up to the one that attends. With input feeding, these and the attention are one loop, the scan.
    attending: usize,
    residual: Residual,
    /// Dropout of the input of each layer above the one that attends.
    dropouts: Vec<DropoutSite>,
}

/// The state that the layers continue from.
#[derive(Clone, Debug)]
pub(super) struct Carried {
    /// The state of each layer, such as an LSTM's `h` and `c`: parents × hidden each
    pub(super) layers: Vec<Vec<Var>>,
    /// With input feeding, the attention of the step before: parents × value width, and × heads·source steps
    pub(super) attended: Option<AttentionOutput>,
    /// The sum of the attention weights so far, for a score that sees it: parents × heads·source steps
    pub(super) coverage: Option<Var>,
}

/// The rows of one step.
pub(super) struct StepRows<'a> {
    /// The row of [`Carried`] that each row continues from.
    pub(super) parents: &'a [u32],
    pub(super) positions: &'a [u32],
    pub(super) memory: Option<&'a Memory>,
}

/// The output of the last layer, and the attention that it goes with.
pub(super) struct LayerOutput {
    pub(super) hidden: Var,
    pub(super) attention: Option<AttentionOutput>,
}

impl Recurrence {
    /// Adds `decoder.weight_ih_l0` and so on, and `attention`; the widths are those of the input and of the attention's context.
    pub(super) fn new(
        root: &mut ModelBuilder,
        inputs: &DecoderInputs,
        [input, attended]: [usize; 2],
    ) -> Recurrence {
        let DecoderConfig { layers: count, hidden, residual_from, stochastic_depth, .. } =
            inputs.config.decoder;
        let AttentionConfig { input_feeding, query, query_layer, .. } = inputs.config.attention;
        let has_attention = inputs.config.attention.score().is_some();
        let attending = if query_layer == QueryLayer::First && has_attention { 1 } else { count };
        let fed = if input_feeding == InputFeeding::Context { attended } else { 0 };
        let cell = inputs.config.decoder.cell().expect("the list gives recurrent kinds a cell");
        let b = &mut root.child("decoder");
        let layer = |layer: usize| {
            let width = match layer {
                0 => input + fed,
                _ if layer < attending => hidden,
                _ => hidden + attended,
            };
            RecurrentLayer::new(b, &format!("l{layer}"), cell, width, hidden)
        };
        let layers = (0..count).map(layer).collect();
        let dropout = inputs.config.decoder.dropout();
        let site = |layer: usize| b.dropout(&format!("l{layer}.dropout"), dropout);
        let dropouts = (attending - 1..count - 1).map(site).collect();
        let residual = Residual::new(b, count, residual_from, stochastic_depth);
        let b = root.child("attention");
        let attention = Attention::new(b, &inputs.config.attention, inputs.encoder.width(), hidden);
        Recurrence { layers, attention, input_feeding, query, attending, residual, dropouts }
    }

    /// Returns true with input feeding.
    pub(super) fn is_fed(&self) -> bool {
        self.attention.is_some() && self.input_feeding == InputFeeding::Context
    }

    pub(super) fn has_coverage(&self) -> bool {
        self.attention.as_ref().is_some_and(Attention::has_coverage)
    }

    /// Returns 1 if the initial state attends before the first step: later steps of local attention are one further.
    fn first_query(&self) -> u32 {
        u32::from(self.is_fed() && self.query == QueryKind::Previous)
    }

    /// The state before the first step: the context that enters it is zero, or that of the initial state where the previous state
    /// is the query.
    pub(super) fn start(&self, fwd: &ForwardPass, layers: Vec<Vec<Var>>, memory: Option<&Memory>) -> Carried {
        let attention = self.attention.as_ref().filter(|_| self.is_fed()).zip(memory);
        let Some((attention, memory)) = attention else {
            return Carried { layers, attended: None, coverage: None };
        };
        let state = &layers[self.attending - 1][0]; // [rows, hidden]
        let zeros = |columns| Var::constant(Tensor::zeros(state.device(), state.rows(), columns));
        let none = || AttentionOutput {
            context: zeros(memory.columns().1),
            weights: zeros(memory.weight_columns()),
        };
        let attended = match self.query {
            QueryKind::Current => none(),
            QueryKind::Previous => attention.forward(fwd, state, &vec![0; state.rows()], memory),
        };
        let coverage = self.has_coverage().then(|| attended.weights.clone());
        Carried { layers, attended: Some(attended), coverage }
    }

    /// One step: `x` has a row for each row of the step.
    pub(super) fn step(
        &self,
        fwd: &ForwardPass,
        x: &Var,
        carried: Carried,
        rows: &StepRows,
    ) -> (LayerOutput, Carried) {
        let pick = |layers: &[Vec<Var>]| -> Vec<Vec<Var>> {
            let of_layer =
                |layer: &Vec<Var>| layer.iter().map(|part| select_rows(part, rows.parents)).collect();
            layers.iter().map(of_layer).collect()
        };
        let one_step = Arc::new(SequenceLayout::new(&vec![1; x.rows()]));
        let above = pick(&carried.layers[self.attending..]); // [rows, hidden] each
        let (output, mut next) = match (&self.attention, rows.memory) {
            // 2. and 3. With input feeding: one step of the scan.
            (Some(attention), Some(memory)) if self.is_fed() => {
                let before = self.scan_state(&carried, rows.parents, rows.positions); // [parents, …]
                let (after, weights) = self.scan(fwd, attention).advance(x, &before, rows.parents, memory);
                let now = AttentionOutput { context: after.context, weights }; // c_i, [rows, value width]
                let hidden = after.layers[self.attending - 1][0].clone(); // s_i, [rows, hidden]
                let used = match self.query {
                    QueryKind::Current => now.clone(),
                    QueryKind::Previous => carried.attended.expect("it is fed").select(rows.parents), // c_{i-1}
                };
                let next = Carried { layers: after.layers, attended: Some(now), coverage: after.covered };
                (LayerOutput { hidden, attention: Some(used) }, next)
            }
            // 2. and 3. Without: the layers, then attention of their new state.
            _ => {
                let initial = pick(&carried.layers[..self.attending]);
                let attend = |attention: &Attention, hidden: &Var| {
                    Some(attention.forward(fwd, hidden, rows.positions, rows.memory?))
                };
                let (output, layers) = self.lower(fwd, x, &one_step, &initial, attend);
                (output, Carried { layers, attended: None, coverage: None })
            }
        };
        // 4. The layers above.
        let (hidden, last) = self.stack(fwd, &output, &one_step, self.attending..self.layers.len(), &above);
        next.layers.extend(last);
        (LayerOutput { hidden, ..output }, next)
    }

    /// All steps of packed targets; row `i` of what is carried belongs to sequence `i`.
    pub(super) fn forward(
        &self,
        fwd: &ForwardPass,
        x: &Var,
        layout: &Arc<SequenceLayout>,
        carried: &Carried,
        memory: Option<&Memory>,
    ) -> LayerOutput {
        let (lower, upper) = carried.layers.split_at(self.attending);
        let output = match (&self.attention, memory, &carried.attended) {
            (Some(attention), Some(memory), Some(first)) => {
                let sequences: Vec<u32> = (0..layout.batch() as u32).collect();
                let start = self.scan_state(carried, &sequences, &vec![0; layout.batch()]);
                let scanned = self.scan(fwd, attention).sequence(x, layout, &start, memory);
                let now = AttentionOutput { context: scanned.contexts, weights: scanned.weights };
                let used = match self.query {
                    QueryKind::Current => now,
                    QueryKind::Previous => now.one_step_later(first, layout),
                };
                LayerOutput { hidden: scanned.states, attention: Some(used) }
            }
            _ => {
                let attend = |attention: &Attention, hidden: &Var| {
                    let memory = memory?;
                    let of = layout.places().map(|(sequence, _)| memory.of[sequence]).collect();
                    let memory = Memory { of, ..memory.clone() };
                    let steps: Vec<u32> = layout.places().map(|(_, step)| step as u32).collect();
                    Some(attention.forward(fwd, hidden, &steps, &memory))
                };
                self.lower(fwd, x, layout, lower, attend).0
            }
        };
        let (hidden, _) = self.stack(fwd, &output, layout, self.attending..self.layers.len(), upper);
        LayerOutput { hidden, ..output }
    }

    /// Some layers over packed sequences, from the states of one before them: `s = f(s_below)`, or `s = f([s_below; c])` above the one that
    /// attends. Returns the states of the last of them, and the final states of each.
    fn stack(
        &self,
        fwd: &ForwardPass,
        below: &LayerOutput,
        layout: &Arc<SequenceLayout>,
        layers: Range<usize>,
        initial: &[Vec<Var>],
    ) -> (Var, Vec<Vec<Var>>) {
        let (mut hidden, mut last) = (below.hidden.clone(), Vec::new());
        for (layer, initial) in layers.zip(initial) {
            let x = match layer.checked_sub(self.attending) {
                None => hidden.clone(), // [rows, hidden of the layer below]
                Some(above) => {
                    let dropped = fwd.dropout(hidden.clone(), layout, &self.dropouts[above]);
                    let context = below.attention.iter().map(|attention| &attention.context);
                    concat_columns(&std::iter::once(&dropped).chain(context).collect::<Vec<_>>()) // [rows, hidden + value width]
                }
            };
            let output = self.layers[layer].forward(fwd, &x, layout, Direction::Forward, Some(initial));
            hidden = self.residual.add(fwd, layer, output.states, &hidden, layout); // [rows, hidden]
            last.push(output.last);
        }
        (hidden, last)
    }

    /// The layers up to the one that attends without input feeding, and attention of all their states at once. Row `i` takes step
    /// `steps[i]` of its target and attends to source `memory.of[i]`.
    fn lower(
        &self,
        fwd: &ForwardPass,
        x: &Var,
        layout: &Arc<SequenceLayout>,
        initial: &[Vec<Var>],
        attend: impl FnOnce(&Attention, &Var) -> Option<AttentionOutput>,
    ) -> (LayerOutput, Vec<Vec<Var>>) {
        let x = LayerOutput { hidden: x.clone(), attention: None };
        let (hidden, last) = self.stack(fwd, &x, layout, 0..self.attending, initial);
        let attention = self.attention.as_ref().and_then(|attention| attend(attention, &hidden));
        (LayerOutput { hidden, attention }, last)
    }

    /// The layers up to the one that attends and attention, whose context is fed back, as the engine's one operation.
    fn scan(&self, fwd: &ForwardPass, attention: &Attention) -> Scan {
        let layers = self.layers[..self.attending].iter().map(|layer| layer.weights(fwd)).collect();
        let [query, vector] = attention.weights(fwd);
        let cell = self.layers[0].cell();
        let focus = attention.modifiers(fwd);
        Scan { cell, score: attention.score().engine(), layers, query, vector, focus }
    }

    fn scan_state(&self, carried: &Carried, parents: &[u32], positions: &[u32]) -> ScanState {
        let attended = carried.attended.as_ref().expect("the context is fed back");
        let mut steps = vec![0; attended.context.rows()];
        let taken = positions.iter().map(|position| position + self.first_query());
        parents.iter().zip(taken).for_each(|(&parent, taken)| steps[parent as usize] = taken);
        ScanState {
            layers: carried.layers[..self.attending].to_vec(),
            context: attended.context.clone(),
            covered: carried.coverage.clone(),
            steps,
        }
    }
}

impl AttentionOutput {
    /// Row `rows[i]` as row `i`.
    fn select(&self, rows: &[u32]) -> AttentionOutput {
        AttentionOutput {
            context: select_rows(&self.context, rows),
            weights: select_rows(&self.weights, rows),
        }
    }

    /// The attention that entered each step: that of the step before it, and `first` in the first one.
    fn one_step_later(&self, first: &AttentionOutput, layout: &SequenceLayout) -> AttentionOutput {
        AttentionOutput {
            context: steps_before(&self.context, layout, &first.context),
            weights: steps_before(&self.weights, layout, &first.weights),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Cell, CellKind};
    use crate::layers::Dropout;
    use crate::testing::{assert_near, matrix, set};
    use couplet_tensor::ops::MemorySegment;
    use couplet_tensor::{Device, Params};

    /// One simple cell of one unit whose weights are all 1, which starts at 0.5, with the inputs 0.1 and −0.2, and attends to the states 1
    /// and −1 by the inner product. The scores of a state s are s and −s, so its weights are σ(2s) and σ(−2s), and its context is
    /// their difference, tanh(s). Where there are layers above it, they are alike, start at 0, and have a residual connection. The weight
    /// of coverage is −1.
    fn outputs(config: &str, count: usize) -> [Vec<f32>; 2] {
        outputs_for(config, count, &[0.1, -0.2])
    }

    /// The same with other inputs.
    fn outputs_for(config: &str, count: usize, inputs: &[f32]) -> [Vec<f32>; 2] {
        let config: AttentionConfig = toml::from_str(config).unwrap();
        let mut params = Params::new(&Device::cpu(), 1);
        let recurrence = recurrence(&mut params, &config, count);
        let fwd = ForwardPass::inference(&params);
        let attention = recurrence.attention.as_ref().expect("a score");
        let [keys, values] = attention.keys_values(&fwd, &matrix(&[&[1.0], &[-1.0]]));
        let segment = MemorySegment { keys, values, layout: SequenceLayout::new(&[2]).into() };
        let memory = Memory::new(segment, 1, [0].into());
        let initial = [0.5].into_iter().chain([0.0; 2]).map(|value| vec![matrix(&[&[value]])]);
        let start = recurrence.start(&fwd, initial.take(count).collect(), Some(&memory));
        let layout = SequenceLayout::new(&[inputs.len()]).into();
        let x: Vec<&[f32]> = inputs.chunks(1).collect();
        let whole = recurrence.forward(&fwd, &matrix(&x), &layout, &start, Some(&memory));
        let attended = whole.attention.expect("it attends");

        let mut carried = start;
        for (step, x) in (0u32..).zip(x) {
            let rows = StepRows { parents: &[0], positions: &[step], memory: Some(&memory) };
            let (output, next) = recurrence.step(&fwd, &matrix(&[x]), carried, &rows);
            let at = step as usize;
            assert_near(&output.hidden.value().to_vec(), &whole.hidden.value().to_vec()[at..=at]);
            let context = output.attention.expect("it attends").context;
            assert_near(&context.value().to_vec(), &attended.context.value().to_vec()[at..=at]);
            carried = next;
        }
        [whole.hidden.value().to_vec(), attended.context.value().to_vec()]
    }

    fn recurrence(params: &mut Params, config: &AttentionConfig, count: usize) -> Recurrence {
        let mut root = ModelBuilder::new(params);
        let attention = Attention::new(root.child("attention"), config, 1, 1);
        let b = &mut root.child("decoder");
        let inputs =
            |layer: usize| if config.input_feeding == InputFeeding::Context || layer > 0 { 2 } else { 1 };
        let cell = Cell::new(CellKind::Rnn, None, false, None);
        let layer = |layer: usize| RecurrentLayer::new(b, &format!("l{layer}"), cell, inputs(layer), 1);
        let layers = (0..count).map(layer).collect();
        let none = Dropout::new(0.0, false);
        let recurrence = Recurrence {
            layers,
            attention,
            input_feeding: config.input_feeding,
            query: config.query,
            attending: 1,
            dropouts: (0..count - 1).map(|layer| b.dropout(&format!("l{layer}.dropout"), none)).collect(),
            residual: Residual::new(b, count, Some(2), 0.0),
        };
        for layer in 0..count {
            let [input, state, bias] =
                ["weight_ih", "weight_hh", "bias_ih"].map(|part| format!("decoder.{part}_l{layer}"));
            set(params, &[(&input, &[1.0; 2][..inputs(layer)]), (&state, &[1.0]), (&bias, &[0.0])]);
        }
        if config.coverage {
            set(params, &[("attention.coverage", &[-1.0])]);
        }
        recurrence
    }

    /// s_1 = tanh(0.1 + 0.5 + 0) = 0.53705, c_1 = tanh(s_1) = 0.49075; s_2 = tanh(−0.2 + s_1 + c_1) = tanh(0.82780) = 0.67929,
    /// c_2 = 0.59106.
    #[test]
    fn the_current_state_is_the_query() {
        let [states, contexts] = outputs("score = 'dot'", 1);
        assert_near(&states, &[0.53705, 0.67929]);
        assert_near(&contexts, &[0.49075, 0.59106]);
    }

    /// c_1 = tanh(0.5) = 0.46212, s_1 = tanh(0.1 + 0.5 + c_1) = tanh(1.06212) = 0.78647; c_2 = tanh(s_1) = 0.65641,
    /// s_2 = tanh(−0.2 + s_1 + c_2) = tanh(1.24288) = 0.84627.
    #[test]
    fn the_previous_state_is_the_query() {
        let [states, contexts] = outputs("score = 'dot'\nquery = 'previous'", 1);
        assert_near(&states, &[0.78647, 0.84627]);
        assert_near(&contexts, &[0.46212, 0.65641]);
    }

    /// s_1 = tanh(0.6) = 0.53705, s_2 = tanh(−0.2 + s_1) = tanh(0.33705) = 0.32484; their contexts are 0.49075 and 0.31388.
    #[test]
    fn a_context_without_input_feeding() {
        let [states, contexts] = outputs("score = 'dot'\ninput_feeding = 'none'", 1);
        assert_near(&states, &[0.53705, 0.32484]);
        assert_near(&contexts, &[0.49075, 0.31388]);
    }

    /// The first layer is that of `the_current_state_is_the_query`, with s and c as there. The second one has both as input: u_1 = tanh(0.53705 +
    /// 0.49075) = 0.77302, u_2 = tanh(0.67929 + 0.59106 + u_1) = tanh(2.04338) = 0.96697; with s added to them, 1.31007 and 1.64626.
    #[test]
    fn the_first_layer_s_context_enters_the_second() {
        let [states, contexts] = outputs("score = 'dot'\nquery_layer = 'first'", 2);
        assert_near(&states, &[1.31007, 1.64626]);
        assert_near(&contexts, &[0.49075, 0.59106]);
    }

    /// The first step is that of `the_current_state_is_the_query`, with the weights 0.74538 and 0.25462. Coverage makes the keys 1 − u_1 and
    /// −1 − u_2 for u, the sum of the weights so far, so that the scores of a state s differ by s·(2 − u_1 + u_2):
    /// 0.67929·1.50925 = 1.02522 in the second step, whose weights are 0.73599 and 0.26401. s_3 = tanh(0.3 + 0.67929 + 0.47198) = 0.89594;
    /// u is then 1.48136 and 0.51864, the scores differ by 0.89594·1.03727 = 0.92934, and c_3 = tanh(0.46467) = 0.43388.
    #[test]
    fn coverage_adds_up() {
        let [states, contexts] = outputs_for("score = 'dot'\ncoverage = true", 1, &[0.1, -0.2, 0.3]);
        assert_near(&states, &[0.53705, 0.67929, 0.89594]);
        assert_near(&contexts, &[0.49075, 0.47198, 0.43388]);
    }
}
