//! The layers of a recurrent decoder, with attention or without.

use crate::attention::Attention;
use crate::config::{AttentionConfig, InputFeeding, QueryKind};
use crate::layer::{DropoutSite, RecurrentLayer};
use crate::pass::Pass;
use crate::shortcut::Shortcut;
use couplet_tensor::ops::{Memory, Scan, ScanState, concat_columns, gather_rows, steps_before};
use couplet_tensor::{Direction, SequenceLayout, Tensor, Var};
use std::slice::SliceIndex;
use std::sync::Arc;

/// A stack of recurrent layers, and how it looks at the source.
///
/// 1. The layers up to the one that looks read what enters the step, and what was seen where it is fed back.
/// 2. The layers above it, where there are any, read the one below and what was seen: `[s_below; c]`.
///
/// Only the first part can be inside the loop of the attention; the layers above it go over whole sequences.
#[derive(Clone, Debug)]
pub(crate) struct Layers {
    pub(crate) layers: Vec<RecurrentLayer>,
    pub(crate) sight: Sight,
    /// How many layers there are up to the one that looks: all of them, or one.
    pub(crate) below: usize,
    /// What they read of the layer below is added to the output of some layers.
    pub(crate) shortcut: Shortcut,
    /// Of what each layer above the one that looks reads of the layer below.
    pub(crate) dropouts: Vec<DropoutSite>,
}

/// How a decoder looks at the source.
#[derive(Clone, Debug)]
pub(crate) enum Sight {
    /// Not at all.
    Blind,
    /// Its states look, and what they see goes nowhere but into the prediction.
    After(Attention),
    /// What they see enters the next step.
    Fed { attention: Attention, query: QueryKind },
}

/// Where the layers stand.
#[derive(Clone, Debug)]
pub(crate) struct LayersState {
    /// The state of each layer, part by part.
    layers: Vec<Vec<Var>>,
    /// What enters the next step, where anything does.
    seen: Option<Seen>,
    /// The row of these that each row of the next step goes on from: in a search, several hypotheses have one parent.
    from: Vec<u32>,
    /// What each row of the next step looks at.
    memory: Option<Memory>,
    /// How much each step of the source was looked at so far, where attention depends on it.
    covered: Option<Var>,
    /// Which look at the source is next.
    look: usize,
}

/// What was seen: rows × width, and with which weights: rows × heads·source steps.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) context: Var,
    pub(crate) weights: Var,
}

/// What the layers give for some rows.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// The output of the topmost layer: rows × hidden.
    pub(crate) states: Var,
    /// What each row looked at.
    pub(crate) seen: Option<Seen>,
}

impl Sight {
    pub(crate) fn new(attention: Option<Attention>, config: &AttentionConfig) -> Sight {
        match attention {
            None => Sight::Blind,
            Some(attention) if config.input_feeding == InputFeeding::Context => {
                Sight::Fed { attention, query: config.query }
            }
            Some(attention) => Sight::After(attention),
        }
    }

    pub(crate) fn attention(&self) -> Option<&Attention> {
        match self {
            Sight::Blind => None,
            Sight::After(attention) | Sight::Fed { attention, .. } => Some(attention),
        }
    }

    /// Whether it looks before the first step.
    fn asks_before(&self) -> bool {
        matches!(self, Sight::Fed { query: QueryKind::Previous, .. })
    }
}

impl Seen {
    /// Row `index[i]` as row `i`.
    fn select(&self, index: &[u32]) -> Seen {
        Seen { context: gather_rows(&self.context, index), weights: gather_rows(&self.weights, index) }
    }

    /// What entered each step: what was seen in the step before it, and `first` in the first one.
    fn one_step_later(&self, first: &Seen, rows: &SequenceLayout) -> Seen {
        Seen {
            context: steps_before(&self.context, rows, &first.context),
            weights: steps_before(&self.weights, rows, &first.weights),
        }
    }
}

impl LayersState {
    /// A row for each row of the next step.
    fn new(layers: Vec<Vec<Var>>, seen: Option<Seen>, memory: Option<Memory>) -> LayersState {
        let from = (0..layers[0][0].rows() as u32).collect();
        LayersState { layers, seen, from, memory, covered: None, look: 0 }
    }

    /// Row `rows[i]` as row `i`: some may be gone, some may be there several times. The sources are not copied, and a state that
    /// several rows go on from is there once.
    pub(crate) fn select(&self, rows: &[u32]) -> LayersState {
        let from: Vec<u32> = rows.iter().map(|&row| self.from[row as usize]).collect();
        let mut parents = from.clone();
        parents.sort_unstable();
        parents.dedup();
        let place = |parent| parents.partition_point(|&other| other < parent) as u32;
        let of = |memory: &Memory| rows.iter().map(|&row| memory.of[row as usize]).collect();
        LayersState {
            layers: pick(&self.layers, &parents),
            seen: self.seen.as_ref().map(|seen| seen.select(&parents)),
            from: from.into_iter().map(place).collect(),
            memory: self.memory.as_ref().map(|memory| Memory { of: of(memory), ..memory.clone() }),
            covered: self.covered.as_ref().map(|covered| gather_rows(covered, &parents)),
            look: self.look,
        }
    }

    /// Where the layers inside the loop of the attention stand.
    fn scan_state(&self, layers: Vec<Vec<Var>>, seen: &Seen) -> ScanState {
        let (context, covered) = (seen.context.clone(), self.covered.clone());
        let steps = vec![self.look as u32; context.rows()];
        ScanState { layers, context, covered, steps }
    }

    /// The states of some layers, a row for each row of the next step.
    fn pick(&self, layers: impl SliceIndex<[Vec<Var>], Output = [Vec<Var>]>) -> Vec<Vec<Var>> {
        pick(&self.layers[layers], &self.from)
    }
}

/// Some rows of layers' states.
fn pick(layers: &[Vec<Var>], rows: &[u32]) -> Vec<Vec<Var>> {
    let of_layer = |layer: &Vec<Var>| layer.iter().map(|part| gather_rows(part, rows)).collect();
    layers.iter().map(of_layer).collect()
}

impl Layers {
    /// Where they stand before the first step, from the first states of the layers: the context that enters the first step is
    /// zero, or what the first state sees where the previous state asks.
    pub(crate) fn start(&self, pass: &Pass, layers: Vec<Vec<Var>>, memory: Option<Memory>) -> LayersState {
        let asking = &layers[self.below - 1][0];
        let seen = memory.as_ref().and_then(|memory| match &self.sight {
            Sight::Blind | Sight::After(_) => None,
            Sight::Fed { query: QueryKind::Current, .. } => {
                let zeros = |columns| Var::constant(Tensor::zeros(asking.device(), asking.rows(), columns));
                let (context, weights) = (zeros(memory.columns().1), zeros(memory.weight_columns()));
                Some(Seen { context, weights })
            }
            Sight::Fed { attention, query: QueryKind::Previous } => {
                let [context, weights] = attention.forward(pass, asking, &vec![0; asking.rows()], memory);
                Some(Seen { context, weights })
            }
        });
        // What the first state has seen, it has looked at.
        let looked = seen.as_ref().filter(|_| self.sight.asks_before());
        let look = usize::from(looked.is_some());
        let counts = self.sight.attention().is_some_and(Attention::has_coverage);
        let covered = looked.filter(|_| counts).map(|seen| seen.weights.clone());
        LayersState { covered, look, ..LayersState::new(layers, seen, memory) }
    }

    /// One step: `x` holds a row for each row of the state.
    pub(crate) fn step(&self, pass: &Pass, x: &Var, state: &LayersState) -> (Written, LayersState) {
        let rows = one_step(x.rows());
        let (written, mut layers, fed, covered) = match (&self.sight, &state.memory, &state.seen) {
            (Sight::Fed { attention, query }, Some(memory), Some(seen)) => {
                let layers = state.layers[..self.below].to_vec();
                let before = state.scan_state(layers, seen);
                let (after, weights) = self.scan(pass, attention).advance(x, &before, &state.from, memory);
                let states = after.layers[self.below - 1][0].clone();
                let now = Seen { context: after.context, weights };
                let read = match query {
                    QueryKind::Current => now.clone(),
                    QueryKind::Previous => seen.select(&state.from),
                };
                (Written { states, seen: Some(read) }, after.layers, Some(now), after.covered)
            }
            _ => {
                let first = state.pick(..self.below);
                let (states, layers) = self.stack(pass, x, &rows, &first);
                let looks = vec![state.look as u32; x.rows()];
                let seen = self.look(pass, &states, &looks, state.memory.as_ref());
                (Written { states, seen }, layers, None, None)
            }
        };
        let (written, above) = self.above(pass, written, &rows, &state.pick(self.below..));
        layers.extend(above);
        let after = LayersState::new(layers, fed, state.memory.clone());
        (written, LayersState { covered, look: state.look + 1, ..after })
    }

    /// All steps of packed targets; row `i` of the state belongs to place `i`.
    pub(crate) fn sequence(
        &self,
        pass: &Pass,
        x: &Var,
        rows: &Arc<SequenceLayout>,
        state: &LayersState,
    ) -> Written {
        let (first, above) = state.layers.split_at(self.below);
        let written = match (&self.sight, &state.memory, &state.seen) {
            (Sight::Fed { attention, query }, Some(memory), Some(seen)) => {
                let start = state.scan_state(first.to_vec(), seen);
                let scanned = self.scan(pass, attention).sequence(x, rows, &start, memory);
                let now = Seen { context: scanned.contexts, weights: scanned.weights };
                let read = match query {
                    QueryKind::Current => now,
                    QueryKind::Previous => now.one_step_later(seen, rows),
                };
                Written { states: scanned.states, seen: Some(read) }
            }
            _ => {
                let (states, _) = self.stack(pass, x, rows, first);
                let of_row = |(place, _): (usize, usize), memory: &Memory| memory.of[place];
                let memory = state.memory.as_ref().map(|memory| Memory {
                    of: rows.places().map(|at| of_row(at, memory)).collect(),
                    ..memory.clone()
                });
                let looks: Vec<u32> = rows.places().map(|(_, step)| (state.look + step) as u32).collect();
                let seen = self.look(pass, &states, &looks, memory.as_ref());
                Written { states, seen }
            }
        };
        self.above(pass, written, rows, above).0
    }

    /// The layers up to the one that looks, over packed sequences: the states of the last of them, and how each ended, part by
    /// part.
    fn stack(
        &self,
        pass: &Pass,
        x: &Var,
        rows: &Arc<SequenceLayout>,
        first: &[Vec<Var>],
    ) -> (Var, Vec<Vec<Var>>) {
        let (mut states, mut last) = (x.clone(), Vec::new());
        for (number, first) in first.iter().enumerate() {
            let read = self.layers[number].forward(pass, &states, rows, Direction::Forward, Some(first));
            states = self.shortcut.join(pass, number, read.states, &states, rows); // [rows, hidden]
            last.push(read.last);
        }
        (states, last)
    }

    /// The layers above the one that looks, over packed sequences: `s = layer([s_below; c])`, and how each ended.
    fn above(
        &self,
        pass: &Pass,
        written: Written,
        rows: &Arc<SequenceLayout>,
        first: &[Vec<Var>],
    ) -> (Written, Vec<Vec<Var>>) {
        let Written { mut states, seen } = written;
        let mut last = Vec::new();
        for ((number, first), site) in (self.below..).zip(first).zip(&self.dropouts) {
            let below = pass.dropout(states.clone(), rows, site); // [rows, hidden]
            let context = seen.iter().map(|seen| &seen.context);
            let x = concat_columns(&std::iter::once(&below).chain(context).collect::<Vec<_>>());
            let read = self.layers[number].forward(pass, &x, rows, Direction::Forward, Some(first));
            states = self.shortcut.join(pass, number, read.states, &states, rows); // [rows, hidden]
            last.push(read.last);
        }
        (Written { states, seen }, last)
    }

    /// What states look at, all at once: each row of the memory's map is one of them, and its own look is among `looks`.
    fn look(&self, pass: &Pass, states: &Var, looks: &[u32], memory: Option<&Memory>) -> Option<Seen> {
        let (attention, memory) = self.sight.attention().zip(memory)?;
        let [context, weights] = attention.forward(pass, states, looks, memory);
        Some(Seen { context, weights })
    }

    /// The layers and the attention whose context is fed back, as the engine's one operation.
    fn scan(&self, pass: &Pass, attention: &Attention) -> Scan {
        let layers = self.layers[..self.below].iter().map(|layer| layer.weights(pass)).collect();
        let [query, vector] = attention.weights(pass);
        let cell = self.layers[0].cell();
        let focus = attention.focusing(pass);
        Scan { cell, score: attention.score().engine(), layers, query, vector, focus }
    }
}

/// Sequences of one step each.
fn one_step(batch: usize) -> Arc<SequenceLayout> {
    Arc::new(SequenceLayout::new(&vec![1; batch]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::WriterKind;
    use crate::config::DecoderConfig;
    use crate::layer::Dropout;
    use crate::testing::{assert_near, matrix, set};
    use couplet_tensor::{Device, Params};

    /// One simple cell of one unit whose weights are all 1, which starts at 0.5, reads 0.1 and −0.2, and looks at the states 1 and
    /// −1 by the inner product. The energies of a state s are s and −s, so its weights are σ(2s) and σ(−2s), and its context is
    /// their difference, tanh(s). Where there are layers above it, they are alike, start at 0, and add what they read of the one
    /// below. What coverage is multiplied with is −1.
    fn written(config: &str, count: usize) -> [Vec<f32>; 2] {
        written_after(config, count, &[0.1, -0.2])
    }

    /// The same, which reads other numbers.
    fn written_after(config: &str, count: usize, read: &[f32]) -> [Vec<f32>; 2] {
        let config: AttentionConfig = toml::from_str(config).unwrap();
        let mut params = Params::new(&Device::cpu(), 1);
        let cell =
            DecoderConfig { kind: WriterKind::Rnn, ..DecoderConfig::default() }.cell().expect("a cell");
        let layers: Vec<RecurrentLayer> = (0..count)
            .map(|number| {
                let inputs = if config.input_feeding == InputFeeding::Context || number > 0 { 2 } else { 1 };
                let layer =
                    RecurrentLayer::new(&mut params, "decoder", &format!("l{number}"), cell, inputs, 1);
                let [input, state, bias] =
                    ["weight_ih", "weight_hh", "bias_ih"].map(|part| format!("decoder.{part}_l{number}"));
                set(&mut params, &[(&input, &[1.0; 2][..inputs]), (&state, &[1.0]), (&bias, &[0.0])]);
                layer
            })
            .collect();
        let attention = Attention::new(&mut params, &config, 1, 1).expect("a score");
        if config.coverage {
            set(&mut params, &[("attention.coverage", &[-1.0])]);
        }
        let shortcut = Shortcut::new(&mut params, "decoder", count, Some(2), 0.0);
        let none = Dropout::of_numbers(0.0, false);
        let site = |layer: usize| DropoutSite::new(&mut params, &format!("decoder.l{layer}.dropout"), none);
        let dropouts = (0..count - 1).map(site).collect();
        let pass = Pass::inference(&params);
        let memory = attention.memory(
            &pass,
            &matrix(&[&[1.0], &[-1.0]]),
            &SequenceLayout::new(&[2]).into(),
            [0].into(),
        );
        let layers =
            Layers { layers, sight: Sight::new(Some(attention), &config), below: 1, shortcut, dropouts };
        let first = [0.5].into_iter().chain([0.0; 2]).map(|number| vec![matrix(&[&[number]])]);
        let start = layers.start(&pass, first.take(count).collect(), Some(memory));
        let rows = SequenceLayout::new(&[read.len()]).into();
        let x: Vec<&[f32]> = read.chunks(1).collect();
        let written = layers.sequence(&pass, &matrix(&x), &rows, &start);
        let seen = written.seen.expect("it looks");

        let mut state = start;
        for (row, x) in x.into_iter().enumerate() {
            let (of_step, next) = layers.step(&pass, &matrix(&[x]), &state);
            assert_near(&of_step.states.value().to_vec(), &written.states.value().to_vec()[row..=row]);
            let context = of_step.seen.expect("it looks").context;
            assert_near(&context.value().to_vec(), &seen.context.value().to_vec()[row..=row]);
            state = next;
        }
        [written.states.value().to_vec(), seen.context.value().to_vec()]
    }

    /// s_1 = tanh(0.1 + 0.5 + 0) = 0.53705, c_1 = tanh(s_1) = 0.49075; s_2 = tanh(−0.2 + s_1 + c_1) = tanh(0.82780) = 0.67929,
    /// c_2 = 0.59106.
    #[test]
    fn the_new_state_asks() {
        let [states, contexts] = written("score = 'dot'", 1);
        assert_near(&states, &[0.53705, 0.67929]);
        assert_near(&contexts, &[0.49075, 0.59106]);
    }

    /// c_1 = tanh(0.5) = 0.46212, s_1 = tanh(0.1 + 0.5 + c_1) = tanh(1.06212) = 0.78647; c_2 = tanh(s_1) = 0.65641,
    /// s_2 = tanh(−0.2 + s_1 + c_2) = tanh(1.24288) = 0.84627.
    #[test]
    fn the_previous_state_asks() {
        let [states, contexts] = written("score = 'dot'\nquery = 'previous'", 1);
        assert_near(&states, &[0.78647, 0.84627]);
        assert_near(&contexts, &[0.46212, 0.65641]);
    }

    /// s_1 = tanh(0.6) = 0.53705, s_2 = tanh(−0.2 + s_1) = tanh(0.33705) = 0.32484; their contexts are 0.49075 and 0.31388.
    #[test]
    fn what_is_seen_is_not_fed() {
        let [states, contexts] = written("score = 'dot'\ninput_feeding = 'none'", 1);
        assert_near(&states, &[0.53705, 0.32484]);
        assert_near(&contexts, &[0.49075, 0.31388]);
    }

    /// The first layer is that of `the_new_state_asks`, with s and c as there. The second one reads both: u_1 = tanh(0.53705 +
    /// 0.49075) = 0.77302, u_2 = tanh(0.67929 + 0.59106 + u_1) = tanh(2.04338) = 0.96697; with s added to them, 1.31007 and 1.64626.
    #[test]
    fn what_the_first_layer_sees_enters_the_second() {
        let [states, contexts] = written("score = 'dot'\nquery_layer = 'first'", 2);
        assert_near(&states, &[1.31007, 1.64626]);
        assert_near(&contexts, &[0.49075, 0.59106]);
    }

    /// The first step is that of `the_new_state_asks`, with the weights 0.74538 and 0.25462. What was looked at makes the keys 1 − u_1 and
    /// −1 − u_2 for u, the sum of the weights so far, so that the energies of a state s differ by s·(2 − u_1 + u_2):
    /// 0.67929·1.50925 = 1.02522 in the second step, whose weights are 0.73599 and 0.26401. s_3 = tanh(0.3 + 0.67929 + 0.47198) = 0.89594;
    /// u is then 1.48136 and 0.51864, the energies differ by 0.89594·1.03727 = 0.92934, and c_3 = tanh(0.46467) = 0.43388.
    #[test]
    fn what_was_looked_at_adds_up() {
        let [states, contexts] = written_after("score = 'dot'\ncoverage = true", 1, &[0.1, -0.2, 0.3]);
        assert_near(&states, &[0.53705, 0.67929, 0.89594]);
        assert_near(&contexts, &[0.49075, 0.47198, 0.43388]);
    }
}
