//! The parameters of a model, in one flat store.
//!
//! All weights lie behind each other, and so do all gradients and all moments: clipping and an optimizer's step are one pass,
//! and a checkpoint is a few long reads.

use crate::device::Device;
use crate::product::Update;
use crate::random::{Stream, unit};
use crate::tensor::{Packs, Slot, Tensor};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Every parameter begins at a multiple of so many numbers, 256 bytes: fast products want their operands so. What lies between
/// two parameters is zero, and so are its gradients and moments.
const ALIGNMENT: usize = 64;

/// A parameter of a [`Params`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Param(usize);

/// What a parameter is before training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// The same number everywhere.
    Constant(f32),
    /// Evenly distributed between the negative and the positive of it.
    Uniform(f32),
}

/// The names, shapes, weights and gradients of a model's parameters.
///
/// Parameters can be frozen, for ever or for the first steps of an optimizer: they are constants to a tape then, so that nothing is
/// computed for gradients that nobody uses, and no rule changes them or what it remembers of them.
pub struct Params {
    device: Device,
    seed: u64,
    /// How many steps an optimizer has made.
    steps: u64,
    entries: Vec<Entry>,
    /// Numbers in the store, those between the parameters included.
    length: usize,
    weights: Tensor,
    /// Made at the first backward pass.
    gradients: Option<Tensor>,
}

struct Entry {
    name: String,
    start: usize,
    rows: usize,
    columns: usize,
    packs: Arc<Packs>,
    /// How many steps of an optimizer it stays as it is.
    frozen_for: u64,
    /// Whether the gradient of this step has been begun; what is there before is left over from another step.
    begun: bool,
}

impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for entry in &self.entries {
            writeln!(f, "{} {} × {}", entry.name, entry.rows, entry.columns)?;
        }
        write!(f, "{} numbers in all", self.count())
    }
}

impl Entry {
    fn span(&self) -> Range<usize> {
        self.start..self.start + self.rows * self.columns
    }
}

/// Parameters that an optimizer changes, one behind the other in the store, and which of their steps it is to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParamSpan {
    pub(crate) span: Range<usize>,
    pub(crate) step: u64,
}

impl Params {
    /// No parameters yet; the seed decides what random ones will be.
    pub fn new(device: &Device, seed: u64) -> Params {
        Params {
            device: device.clone(),
            seed,
            steps: 0,
            entries: Vec::new(),
            length: 0,
            weights: Tensor::zeros(device, 1, 0),
            gradients: None,
        }
    }

    /// Adds a matrix under a name of its own.
    pub fn add(&mut self, name: &str, rows: usize, columns: usize, init: Init) -> Param {
        assert!(self.find(name).is_none(), "two parameters called {name:?}");
        assert!(self.gradients.is_none(), "parameter {name:?} comes after training has begun");
        let param = Param(self.entries.len());
        let start = self.length;
        self.length += (rows * columns).next_multiple_of(ALIGNMENT);
        self.make_room();
        let entry = Entry {
            name: name.to_owned(),
            start,
            rows,
            columns,
            packs: Arc::default(),
            frozen_for: 0,
            begun: false,
        };
        let stream = Stream::new(self.seed, param.0 as u32);
        let mut numbers = vec![0.0; rows * columns];
        match init {
            Init::Constant(x) => numbers.fill(x),
            Init::Uniform(bound) => {
                for (i, four) in numbers.chunks_mut(4).enumerate() {
                    let words = stream.at([i as u32, 0, 0, 0]);
                    four.iter_mut().zip(words).for_each(|(x, word)| *x = (unit(word) * 2.0 - 1.0) * bound);
                }
            }
        }
        self.weights.write(entry.start, &numbers);
        self.entries.push(entry);
        param
    }

    fn make_room(&mut self) {
        if self.weights.columns() < self.length {
            let mut larger = Tensor::zeros(&self.device, 1, self.length.next_power_of_two());
            larger.write_from(0, &self.weights, 0..self.weights.columns());
            self.weights = larger;
            // The smaller block would hardly be used again.
            self.device.memory().release();
        }
    }

    /// The device that they are on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How many numbers there are in all.
    pub fn count(&self) -> usize {
        self.entries.iter().map(|entry| entry.span().len()).sum()
    }

    /// All parameters, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Param> + use<> {
        (0..self.entries.len()).map(Param)
    }

    /// The parameter of a name.
    pub fn find(&self, name: &str) -> Option<Param> {
        self.entries.iter().position(|entry| entry.name == name).map(Param)
    }

    /// The name of a parameter.
    pub fn name(&self, param: Param) -> &str {
        &self.entries[param.0].name
    }

    /// The values of a parameter. Packed copies of it are kept until it changes.
    pub fn tensor(&self, param: Param) -> Tensor {
        let entry = &self.entries[param.0];
        self.weights.part(entry.start, entry.rows, entry.columns, Arc::clone(&entry.packs))
    }

    /// Gives a parameter other values.
    pub fn set(&mut self, param: Param, numbers: &[f32]) {
        let entry = &self.entries[param.0];
        let span = entry.span();
        assert_eq!(numbers.len(), span.len(), "{} numbers for {:?}", numbers.len(), entry.name);
        self.weights.write(span.start, numbers);
        self.forget_packs();
    }

    /// A copy of all weights behind each other, with zeros between two parameters: a row.
    pub fn flat(&self) -> Tensor {
        let mut flat = Tensor::scratch(&self.device, 1, self.length);
        flat.write_from(0, &self.weights, 0..self.length);
        flat
    }

    /// Gives all parameters the values of such a row.
    pub fn set_flat(&mut self, flat: &Tensor) {
        assert_eq!(flat.shape(), (1, self.length), "a row of weights");
        self.weights.write_from(0, flat, 0..self.length);
        self.forget_packs();
    }

    /// Keeps a parameter as it is for the first so many steps of an optimizer; without a number, for ever.
    ///
    /// # Panics
    /// After a backward pass: a parameter whose gradients have entered an optimizer's memory cannot be as if it had none.
    pub fn freeze(&mut self, param: Param, steps: Option<u64>) {
        let entry = &mut self.entries[param.0];
        assert!(self.gradients.is_none(), "parameter {:?} is frozen after training has begun", entry.name);
        entry.frozen_for = steps.unwrap_or(u64::MAX);
    }

    /// Whether a parameter stays as it is in the next step.
    pub fn is_frozen(&self, param: Param) -> bool {
        self.steps < self.entries[param.0].frozen_for
    }

    /// So many steps are made: what was frozen until then is no longer.
    pub(crate) fn set_steps(&mut self, steps: u64) {
        self.steps = steps;
    }

    /// What an optimizer changes in a step, the first being 1, in as few stretches as there can be.
    pub(crate) fn param_spans(&self, step: u64) -> Vec<ParamSpan> {
        let mut stretches: Vec<ParamSpan> = Vec::new();
        let ends = self.entries.iter().skip(1).map(|next| next.start).chain([self.length]);
        for (entry, end) in self.entries.iter().zip(ends).filter(|(entry, _)| entry.frozen_for < step) {
            let step = step - entry.frozen_for;
            match stretches.last_mut() {
                Some(last) if last.span.end == entry.start && last.step == step => last.span.end = end,
                _ => stretches.push(ParamSpan { span: entry.start..end, step }),
            }
        }
        stretches
    }

    /// Numbers in the store, those between the parameters included.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Where each parameter lies in the store, its rows and its columns, and for how many steps it is frozen.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (Range<usize>, usize, usize, u64)> {
        self.entries.iter().map(|entry| (entry.span(), entry.rows, entry.columns, entry.frozen_for))
    }

    /// The store of the weights, which may be longer than they are.
    pub(crate) fn store(&self) -> &Tensor {
        &self.weights
    }

    /// The gradient of a parameter: zeros where no backward pass has reached it.
    pub fn gradient(&self, param: Param) -> Vec<f32> {
        let entry = &self.entries[param.0];
        match &self.gradients {
            Some(gradients) if entry.begun => gradients.numbers(entry.span()),
            _ => vec![0.0; entry.rows * entry.columns],
        }
    }

    /// Begins a new step: the gradients count as zero again.
    pub fn zero_gradients(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.begun = false);
    }

    /// Where to write a parameter's gradient, and whether to add to what is there.
    pub(crate) fn gradient_slot(&mut self, param: Param) -> (Slot<'_>, Update) {
        let (device, length) = (&self.device, self.length);
        let gradients = self.gradients.get_or_insert_with(|| Tensor::zeros(device, 1, length));
        let entry = &mut self.entries[param.0];
        let update = if entry.begun { Update::Add } else { Update::Set };
        entry.begun = true;
        (Slot { tensor: gradients, range: entry.span() }, update)
    }

    /// All gradients; zeros where no backward pass has reached.
    pub(crate) fn gradients(&mut self) -> &Tensor {
        let (device, length) = (&self.device, self.length);
        let gradients = self.gradients.get_or_insert_with(|| Tensor::zeros(device, 1, length));
        // What is frozen has zeros since they were made.
        let steps = self.steps;
        let left_over = |entry: &&mut Entry| !entry.begun && entry.frozen_for <= steps;
        for entry in self.entries.iter_mut().filter(left_over) {
            Slot { tensor: gradients, range: entry.span() }.zero();
            entry.begun = true;
        }
        gradients
    }

    /// All weights, to be changed, and all gradients.
    pub(crate) fn weights_and_gradients(&mut self) -> (Slot<'_>, &Tensor) {
        self.gradients();
        self.forget_packs();
        let gradients = self.gradients.as_ref().expect("made above");
        (Slot { tensor: &mut self.weights, range: 0..self.length }, gradients)
    }

    /// Makes room: packed copies are made again when they are asked for.
    pub(crate) fn clear_packs(&self) {
        self.entries.iter().for_each(|entry| entry.packs.clear());
    }

    /// Packed copies are of the weights as they were.
    fn forget_packs(&mut self) {
        for entry in &mut self.entries {
            match Arc::get_mut(&mut entry.packs) {
                Some(packs) => packs.clear(),
                None => entry.packs = Arc::default(),
            }
        }
    }
}
