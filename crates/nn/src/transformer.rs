//! The parts of a Transformer, which its reader and its writer share: positions, attention, feed-forward layers, and the sums and
//! norms between them. Parameters have PyTorch's names, but that attention to the source keeps its queries' weights apart from those
//! of keys and values, since the source's states may have another width.

use crate::config::{FeedForwardKind, NormPlace, PositionKind};
use crate::layer::{Dropout, DropoutSite, Linear};
use crate::pass::Pass;
use couplet_tensor::activation::Relu;
use couplet_tensor::ops::dense::{GatedGelu, Gelu};
use couplet_tensor::ops::rotary::RotaryConfig;
use couplet_tensor::ops::{
    AnyScore, KvView, Memory, MemorySegment, MultiHead, add, attend, attend_cached, column_block,
    cross_attention, dense, embedding, layer_norm, residual_norm, rotary, rotary_step, scale, self_attention,
};
use couplet_tensor::score::Dot;
use couplet_tensor::{Init, Param, Params, SequenceLayout, Tensor, Var};
use std::sync::Arc;

/// Positions that are learned; a later one is told as the last of them.
const LEARNED: usize = 1024;

/// How tokens' vectors are told their places.
#[derive(Clone, Debug)]
pub(crate) struct Positions {
    /// What the vectors are multiplied by before.
    scale: Option<f32>,
    kind: PositionKind,
    learned: Option<Param>,
}

impl Positions {
    /// Adds `name.positions.weight` where they are learned.
    pub(crate) fn new(
        params: &mut Params,
        name: &str,
        kind: PositionKind,
        scale: Option<f32>,
        width: usize,
    ) -> Positions {
        let add = || params.add(&format!("{name}.positions.weight"), LEARNED, width, Init::Uniform(0.1));
        Positions { scale, kind, learned: (kind == PositionKind::Learned).then(add) }
    }

    /// The vectors of packed tokens, of which the first of each sequence has the place `first`.
    pub(crate) fn forward(&self, pass: &Pass, x: &Var, rows: &SequenceLayout, first: usize) -> Var {
        let x = self.scale.map_or_else(|| x.clone(), |factor| scale(x, factor));
        let (table, last) = match self.kind {
            PositionKind::None | PositionKind::Rotary => return x,
            PositionKind::Sinusoidal => (sinusoidal(&x, rows.steps(), first), usize::MAX),
            PositionKind::Learned => {
                (pass.var(self.learned.expect("learned positions have a weight")), LEARNED - 1)
            }
        };
        // A table of sines begins at the first place itself.
        let begin = if self.kind == PositionKind::Learned { first } else { 0 };
        let index: Vec<u32> = rows.places().map(|(_, step)| (begin + step).min(last) as u32).collect();
        add(&x, &embedding(&table, &index))
    }
}

/// `sin(t / 10000^(2i / width))` and its cosine side by side, for so many places from `first` on: places × width.
fn sinusoidal(x: &Var, places: usize, first: usize) -> Var {
    let width = x.columns();
    let number = |place: usize, column: usize| {
        let pair = (column / 2 * 2) as f64 / width as f64;
        let angle = (first + place) as f64 / 10_000f64.powf(pair);
        (if column.is_multiple_of(2) { angle.sin() } else { angle.cos() }) as f32
    };
    let numbers: Vec<f32> =
        (0..places).flat_map(|place| (0..width).map(move |column| number(place, column))).collect();
    Var::constant(Tensor::new(x.device(), places, width, &numbers))
}

/// Attention of a sequence to itself.
#[derive(Clone, Debug)]
pub(crate) struct OwnAttention {
    /// Queries, keys and values.
    input: Linear,
    output: Linear,
    how: MultiHead,
    width: usize,
    rotary: bool,
}

/// What of a sequence is there when a step is taken: the steps before, and where each row was in them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before<'a> {
    pub(crate) steps: &'a [Tensor],
    pub(crate) rows: &'a [Vec<u32>],
}

impl OwnAttention {
    pub(crate) fn new(
        params: &mut Params,
        name: &str,
        width: usize,
        heads: usize,
        causal: bool,
        positions: PositionKind,
    ) -> Self {
        let [weight, bias] = ["weight", "bias"].map(|part| format!("{name}.in_proj_{part}"));
        OwnAttention {
            input: Linear::glorot(params, &weight, Some(&bias), width, 3 * width),
            output: output(params, name, width),
            how: MultiHead { heads, scale: 1.0 / ((width / heads) as f32).sqrt(), causal },
            width,
            rotary: positions == PositionKind::Rotary,
        }
    }

    /// Queries, keys and values of rows, of which the first of each sequence has the place `first`.
    fn asked(&self, pass: &Pass, x: &Var, rows: &Arc<SequenceLayout>, first: usize) -> Var {
        let x = self.input.forward(pass, x); // [rows, 3·width]
        if !self.rotary {
            return x;
        }
        let config = RotaryConfig { depth: self.width / self.how.heads, columns: 2 * self.width };
        if first > 0 {
            rotary_step(&x, &vec![first as u32; x.rows()], config)
        } else {
            rotary(&x, rows, config)
        }
    }

    /// All steps of packed sequences.
    pub(crate) fn sequence(&self, pass: &Pass, x: &Var, rows: &Arc<SequenceLayout>) -> Var {
        let (context, _) = self_attention(&self.asked(pass, x, rows, 0), rows, self.how, false);
        self.output.forward(pass, &context)
    }

    /// One step: what it gives, and what later steps look at. `before.rows` already tells of this step.
    pub(crate) fn step(
        &self,
        pass: &Pass,
        x: &Var,
        rows: &Arc<SequenceLayout>,
        before: Before,
    ) -> (Var, Vec<Tensor>) {
        let asked = self.asked(pass, x, rows, before.steps.len());
        let steps = [before.steps, &[asked.value().clone()]].concat();
        let kept: Vec<_> = steps.iter().cloned().map(Some).collect();
        let places: Vec<Vec<[u32; 2]>> =
            before.rows.iter().map(|row| (0..).zip(row).map(|(step, &row)| [step, row]).collect()).collect();
        let past = KvView::Steps { steps: &kept, rows: &places };
        let [context, _] = attend_cached(asked.value(), self.width, past, self.how);
        (self.output.forward(pass, &Var::constant(context)), steps)
    }
}

fn output(params: &mut Params, name: &str, width: usize) -> Linear {
    let [weight, bias] = ["weight", "bias"].map(|part| format!("{name}.out_proj.{part}"));
    Linear::glorot(params, &weight, Some(&bias), width, width)
}

/// Attention of a sequence to the source.
#[derive(Clone, Debug)]
pub(crate) struct SourceAttention {
    query: Linear,
    /// Keys and values.
    memory: Linear,
    output: Linear,
    how: MultiHead,
}

/// What is looked at: keys and values of packed sources, and which of them each row, or each place of a sequence, reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read<'a> {
    pub(crate) memory: &'a Var,
    pub(crate) sources: &'a Arc<SequenceLayout>,
    pub(crate) of: &'a Arc<[u32]>,
}

impl SourceAttention {
    pub(crate) fn new(params: &mut Params, name: &str, width: usize, heads: usize, of_source: usize) -> Self {
        let mut project = |part: &str, inputs: usize, outputs: usize| {
            let [weight, bias] = ["weight", "bias"].map(|of| format!("{name}.{part}.{of}"));
            Linear::glorot(params, &weight, Some(&bias), inputs, outputs)
        };
        SourceAttention {
            query: project("q_proj", width, width),
            memory: project("kv_proj", of_source, 2 * width),
            output: output(params, name, width),
            how: MultiHead { heads, scale: 1.0 / ((width / heads) as f32).sqrt(), causal: false },
        }
    }

    /// Keys and values of a source's states, made once for all steps.
    pub(crate) fn memory(&self, pass: &Pass, states: &Var) -> Var {
        self.memory.forward(pass, states)
    }

    /// All steps of packed sequences, and where they looked, if that is asked for.
    pub(crate) fn sequence(
        &self,
        pass: &Pass,
        x: &Var,
        rows: &Arc<SequenceLayout>,
        read: Read,
        weights: bool,
    ) -> (Var, Option<Tensor>) {
        let query = self.query.forward(pass, x);
        let (context, weights) =
            cross_attention((&query, rows), (read.memory, read.sources), read.of, self.how, weights);
        (self.output.forward(pass, &context), weights)
    }

    /// As [`sequence`](SourceAttention::sequence), with weights that are learned from: for a writer that copies what it looks at.
    pub(crate) fn pointing(&self, pass: &Pass, x: &Var, rows: &SequenceLayout, read: Read) -> [Var; 2] {
        let MultiHead { heads, scale: factor, .. } = self.how;
        let query = scale(&self.query.forward(pass, x), factor);
        let width = query.columns();
        let [keys, values] = [0..width, width..2 * width].map(|columns| column_block(read.memory, columns)); // [source rows, width]
        let of = rows.places().map(|(place, _)| read.of[place]).collect();
        let memory = Memory::new(MemorySegment { keys, values, layout: Arc::clone(read.sources) }, heads, of);
        let [context, weights] = attend(AnyScore::of::<Dot>(), &query, None, &memory);
        [self.output.forward(pass, &context), weights]
    }

    /// One step, and where it looked.
    pub(crate) fn step(&self, pass: &Pass, x: &Var, read: Read) -> (Var, Tensor) {
        let query = self.query.forward(pass, x);
        let past = KvView::Sources { segments: &[(read.memory.value(), read.sources)], of: read.of };
        let [context, weights] = attend_cached(query.value(), query.columns(), past, self.how);
        (self.output.forward(pass, &Var::constant(context)), weights)
    }
}

/// A layer of hidden units, and back to the width of the states.
#[derive(Clone, Debug)]
pub(crate) struct FeedForward {
    first: Linear,
    second: Linear,
    kind: FeedForwardKind,
    /// Of the hidden units.
    dropout: DropoutSite,
}

impl FeedForward {
    pub(crate) fn new(
        params: &mut Params,
        name: &str,
        width: usize,
        hidden: usize,
        kind: FeedForwardKind,
        dropout: Dropout,
    ) -> Self {
        let sums = if kind == FeedForwardKind::Gated { 2 * hidden } else { hidden };
        let mut linear = |part: &str, inputs: usize, outputs: usize| {
            let [weight, bias] = ["weight", "bias"].map(|of| format!("{name}.{part}.{of}"));
            Linear::glorot(params, &weight, Some(&bias), inputs, outputs)
        };
        FeedForward {
            first: linear("linear1", width, sums),
            second: linear("linear2", hidden, width),
            kind,
            dropout: DropoutSite::new(params, &format!("{name}.dropout"), dropout),
        }
    }

    /// Of rows; while training, hidden units are dropped.
    pub(crate) fn forward(&self, pass: &Pass, x: &Var, rows: &Arc<SequenceLayout>) -> Var {
        let dropped = pass.dropped(rows, &self.dropout);
        let (weight, bias) = self.first.weights(pass);
        let bias = bias.expect("it was made with one");
        let units = match self.kind {
            FeedForwardKind::Relu => dense::<Relu>,
            FeedForwardKind::Gelu => dense::<Gelu>,
            FeedForwardKind::Gated => dense::<GatedGelu>,
        };
        self.second.forward(pass, &units(x, &weight, &bias, dropped.as_ref()))
    }
}

/// The sums and norms around the sublayers of a stack.
#[derive(Clone, Debug)]
pub(crate) struct Residual {
    /// The gain and the bias of each sublayer's norm, and of the last one, behind all of them.
    norms: Vec<[Param; 2]>,
    /// Of the output of each sublayer.
    dropouts: Vec<DropoutSite>,
    place: NormPlace,
    dropout: Dropout,
}

/// What runs through a stack.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    /// What sublayers add to.
    sum: Var,
    /// What the next one reads.
    pub(crate) read: Var,
    /// How many sublayers have been passed.
    passed: usize,
}

impl Residual {
    /// Around no sublayers yet.
    pub(crate) fn new(place: NormPlace, dropout: Dropout) -> Residual {
        Residual { norms: Vec::new(), dropouts: Vec::new(), place, dropout }
    }

    /// Adds the sublayers of a layer: the norms `name.norm1.weight`, `name.norm1.bias` and so on, and the dropout sites
    /// `name.dropout1` and so on.
    pub(crate) fn add_sublayers(&mut self, params: &mut Params, name: &str, count: usize, width: usize) {
        for sublayer in 1..=count {
            self.add_norm(params, &format!("{name}.norm{sublayer}"), width);
            self.dropouts.push(DropoutSite::new(params, &format!("{name}.dropout{sublayer}"), self.dropout));
        }
    }

    /// Adds the norm of the next sublayer, or the one behind all of them: `name.weight` and `name.bias`.
    pub(crate) fn add_norm(&mut self, params: &mut Params, name: &str, width: usize) {
        let mut add =
            |part: &str, number: f32| params.add(&format!("{name}.{part}"), 1, width, Init::Constant(number));
        self.norms.push([add("weight", 1.0), add("bias", 0.0)]);
    }

    fn norm(&self, pass: &Pass, which: usize) -> [Var; 2] {
        self.norms[which].map(|param| pass.var(param))
    }

    pub(crate) fn begin(&self, pass: &Pass, x: Var) -> Stream {
        let read = match self.place {
            NormPlace::Pre => {
                let [gain, bias] = self.norm(pass, 0);
                layer_norm(&x, &gain, &bias)
            }
            NormPlace::Post => x.clone(),
        };
        Stream { sum: x, read, passed: 0 }
    }

    /// Adds what a sublayer made of what it read. Before sublayers, the norm is already that of the next one.
    pub(crate) fn join(
        &self,
        pass: &Pass,
        stream: &Stream,
        made: &Var,
        rows: &Arc<SequenceLayout>,
    ) -> Stream {
        let which = stream.passed + usize::from(self.place == NormPlace::Pre);
        let [gain, bias] = self.norm(pass, which);
        let dropped = pass.dropped(rows, &self.dropouts[stream.passed]);
        let [sum, read] = residual_norm(&stream.sum, made, dropped.as_ref(), &gain, &bias);
        let sum = if self.place == NormPlace::Pre { sum } else { read.clone() };
        Stream { sum, read, passed: stream.passed + 1 }
    }

    /// The states behind the last norm.
    pub(crate) fn end(&self, pass: &Pass, stream: Stream) -> Var {
        match self.place {
            NormPlace::Pre => stream.read,
            NormPlace::Post => {
                let [gain, bias] = self.norm(pass, self.norms.len() - 1);
                layer_norm(&stream.read, &gain, &bias)
            }
        }
    }
}
