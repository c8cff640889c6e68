//! The parameters of a model, in one flat store.
//!
//! All weights lie behind each other, and so do all gradients and all moments: clipping and an optimizer's step are one pass.
//!
//! The store is laid out in the order of the parameters' names, and a parameter's initial values follow from its name: a model has the
//! same bits, and its gradients the same norm, in whatever order its modules were built. So the store is made at its first use.

use crate::device::Device;
use crate::lane::Isa;
use crate::product::Update;
use crate::random::{Paths, Stream, unit};
use crate::tensor::{Packs, Slot, Tensor};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

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
    paths: Paths,
    /// Made at the first use of a weight.
    store: OnceLock<Store>,
    /// Made at the first backward pass.
    gradients: Option<Tensor>,
}

struct Entry {
    name: String,
    /// The random stream of its name.
    stream: u64,
    rows: usize,
    columns: usize,
    init: Init,
    /// Values that replace initial ones.
    filled: Vec<(Range<usize>, f32)>,
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

/// The weights of all parameters.
struct Store {
    /// The parameters in the order of their names, which is that of the store.
    order: Vec<usize>,
    /// The first element of each parameter, in the order in which they were added.
    starts: Vec<usize>,
    /// `1 × elements`, those between the parameters included.
    weights: Tensor,
}

impl Entry {
    fn count(&self) -> usize {
        self.rows * self.columns
    }

    fn initial(&self, seed: u64) -> Vec<f32> {
        let mut values = vec![0.0; self.count()];
        match self.init {
            Init::Constant(x) => values.fill(x),
            Init::Uniform(bound) => {
                let stream = Stream::new(seed, self.stream);
                for (i, four) in values.chunks_mut(4).enumerate() {
                    let words = stream.at([i as u32, 0, 0, 0]);
                    four.iter_mut().zip(words).for_each(|(x, word)| *x = (unit(word) * 2.0 - 1.0) * bound);
                }
            }
        }
        self.filled.iter().for_each(|(range, value)| values[range.clone()].fill(*value));
        values
    }
}

impl Store {
    /// Lays parameters out; all values are zero.
    fn zeros(device: &Device, entries: &[Entry]) -> Store {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_unstable_by(|&a, &b| entries[a].name.cmp(&entries[b].name));
        let (mut starts, mut length) = (vec![0; entries.len()], 0);
        for &which in &order {
            starts[which] = length;
            length += entries[which].count().next_multiple_of(ALIGNMENT);
        }
        Store { order, starts, weights: Tensor::zeros(device, 1, length) }
    }

    /// Lays parameters out and samples their initial values; those of an earlier store keep their values.
    fn new(device: &Device, seed: u64, entries: &[Entry], earlier: Option<&Store>) -> Store {
        let mut store = Store::zeros(device, entries);
        for (which, entry) in entries.iter().enumerate() {
            let start = store.starts[which];
            match earlier.filter(|earlier| which < earlier.starts.len()) {
                Some(earlier) => {
                    store.weights.write_from(start, &earlier.weights, earlier.span(which, entry));
                }
                None => store.weights.write(start, &entry.initial(seed)),
            }
        }
        store
    }

    fn length(&self) -> usize {
        self.weights.columns()
    }

    fn span(&self, which: usize, entry: &Entry) -> Range<usize> {
        self.starts[which]..self.starts[which] + entry.count()
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
            paths: Paths::default(),
            store: OnceLock::new(),
            gradients: None,
        }
    }

    /// Parameters for a plan of a model: names and shapes, of which no values are sampled unless they are used.
    pub fn planned() -> Params {
        Params::new(&Device::cpu_with(1, Isa::Portable), 0)
    }

    /// Adds a matrix under a name of its own, which decides its initial values and its position in the store.
    ///
    /// # Panics
    /// If there is such a name already, or another one with the same [hash](crate::random::hash_path); and after a backward pass.
    pub fn add(&mut self, name: &str, rows: usize, columns: usize, init: Init) -> Param {
        assert!(self.find(name).is_none(), "two parameters called {name:?}");
        assert!(self.gradients.is_none(), "parameter {name:?} comes after training has begun");
        let stream = self.paths.claim(name);
        self.entries.push(Entry {
            name: name.to_owned(),
            stream,
            rows,
            columns,
            init,
            filled: Vec::new(),
            packs: Arc::default(),
            frozen_for: 0,
            begun: false,
        });
        if let Some(earlier) = self.store.take() {
            self.store = Store::new(&self.device, self.seed, &self.entries, Some(&earlier)).into();
        }
        Param(self.entries.len() - 1)
    }

    /// Claims the random stream of a path that is no parameter's, such as a dropout site's.
    ///
    /// # Panics
    /// If the path was claimed before, or has the [hash](crate::random::hash_path) of another one.
    pub fn claim_stream(&mut self, path: &str) -> u64 {
        self.paths.claim(path)
    }

    /// Iterates over the paths that random numbers are drawn for, parameters and claimed ones, with their streams.
    pub fn streams(&self) -> impl Iterator<Item = (&str, u64)> {
        self.paths.iter()
    }

    /// Replaces some values of a parameter, `range` of its elements, by one value.
    pub fn fill(&mut self, param: Param, range: Range<usize>, value: f32) {
        let entry = &mut self.entries[param.0];
        assert!(range.end <= entry.count(), "elements {range:?} of {:?}", entry.name);
        match self.store.get_mut() {
            Some(store) => {
                let start = store.starts[param.0] + range.start;
                store.weights.write(start, &vec![value; range.len()]);
                self.forget_packs();
            }
            None => entry.filled.push((range, value)),
        }
    }

    /// Lays parameters out without sampling their initial values, which are zero: for a model whose weights are all read from a file.
    pub fn skip_init(&mut self) {
        if self.store.get().is_none() {
            self.store = Store::zeros(&self.device, &self.entries).into();
        }
    }

    fn laid_out(&self) -> &Store {
        self.store.get_or_init(|| Store::new(&self.device, self.seed, &self.entries, None))
    }

    fn laid_out_mut(&mut self) -> &mut Store {
        self.laid_out();
        self.store.get_mut().expect("laid out above")
    }

    fn span(&self, param: Param) -> Range<usize> {
        self.laid_out().span(param.0, &self.entries[param.0])
    }

    /// The device that they are on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How many numbers there are in all.
    pub fn count(&self) -> usize {
        self.entries.iter().map(Entry::count).sum()
    }

    /// All parameters, in the order in which they were added, which need not be that of the store.
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

    /// The rows and columns of a parameter.
    pub fn shape(&self, param: Param) -> (usize, usize) {
        let entry = &self.entries[param.0];
        (entry.rows, entry.columns)
    }

    /// The values of a parameter. Packed copies of it are kept until it changes.
    pub fn tensor(&self, param: Param) -> Tensor {
        let (entry, store) = (&self.entries[param.0], self.laid_out());
        store.weights.part(store.starts[param.0], entry.rows, entry.columns, Arc::clone(&entry.packs))
    }

    /// Gives a parameter other values.
    pub fn set(&mut self, param: Param, numbers: &[f32]) {
        let span = self.span(param);
        assert_eq!(numbers.len(), span.len(), "{} numbers for {:?}", numbers.len(), self.name(param));
        self.laid_out_mut().weights.write(span.start, numbers);
        self.forget_packs();
    }

    /// A copy of all weights in the order of their names, with zeros between two parameters: a row.
    pub fn flat(&self) -> Tensor {
        let (weights, length) = (self.store(), self.length());
        let mut flat = Tensor::scratch(&self.device, 1, length);
        flat.write_from(0, weights, 0..length);
        flat
    }

    /// Gives all parameters the values of such a row.
    pub fn set_flat(&mut self, flat: &Tensor) {
        let length = self.length();
        assert_eq!(flat.shape(), (1, length), "a row of weights");
        self.laid_out_mut().weights.write_from(0, flat, 0..length);
        self.forget_packs();
    }

    /// Splits a row that is laid out as the weights are, such as an average of them, into one tensor a parameter. They share its
    /// memory.
    pub fn split(&self, flat: &Tensor) -> impl Iterator<Item = (Param, Tensor)> {
        assert_eq!(flat.shape(), (1, self.length()), "a row of weights");
        self.iter().map(|param| {
            let (rows, columns) = self.shape(param);
            (param, flat.part(self.span(param).start, rows, columns, Arc::default()))
        })
    }

    /// Joins one tensor a parameter into a row that is laid out as the weights are, with zeros between two of them.
    pub fn join(&self, mut values: impl FnMut(Param) -> Vec<f32>) -> Tensor {
        let mut flat = Tensor::zeros(&self.device, 1, self.length());
        for param in self.iter() {
            let (values, span) = (values(param), self.span(param));
            assert_eq!(values.len(), span.len(), "{} numbers for {:?}", values.len(), self.name(param));
            flat.write(span.start, &values);
        }
        flat
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
        let Store { order, starts, .. } = self.laid_out();
        let ends = order.iter().skip(1).map(|&next| starts[next]).chain([self.length()]);
        for (&which, end) in order.iter().zip(ends) {
            let (frozen_for, start) = (self.entries[which].frozen_for, starts[which]);
            if frozen_for >= step {
                continue;
            }
            let step = step - frozen_for;
            match stretches.last_mut() {
                Some(last) if last.span.end == start && last.step == step => last.span.end = end,
                _ => stretches.push(ParamSpan { span: start..end, step }),
            }
        }
        stretches
    }

    /// Numbers in the store, those between the parameters included.
    pub(crate) fn length(&self) -> usize {
        self.laid_out().length()
    }

    /// All parameters in the order of the store: that of their names.
    pub(crate) fn in_store(&self) -> impl Iterator<Item = Param> {
        self.laid_out().order.iter().copied().map(Param)
    }

    /// Where a parameter lies in the store, its rows and its columns, and for how many steps it is frozen.
    pub(crate) fn placed(&self, param: Param) -> (Range<usize>, usize, usize, u64) {
        let entry = &self.entries[param.0];
        (self.span(param), entry.rows, entry.columns, entry.frozen_for)
    }

    /// The store of the weights.
    pub(crate) fn store(&self) -> &Tensor {
        &self.laid_out().weights
    }

    /// The gradient of a parameter: zeros where no backward pass has reached it.
    pub fn gradient(&self, param: Param) -> Vec<f32> {
        let entry = &self.entries[param.0];
        match &self.gradients {
            Some(gradients) if entry.begun => gradients.on_host(self.span(param)),
            _ => vec![0.0; entry.count()],
        }
    }

    /// Begins a new step: the gradients count as zero again.
    pub fn zero_gradients(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.begun = false);
    }

    /// Where to write a parameter's gradient, and whether to add to what is there.
    pub(crate) fn gradient_slot(&mut self, param: Param) -> (Slot<'_>, Update) {
        let (range, length) = (self.span(param), self.length());
        let gradients = self.gradients.get_or_insert_with(|| Tensor::zeros(&self.device, 1, length));
        let entry = &mut self.entries[param.0];
        let update = if entry.begun { Update::Add } else { Update::Set };
        entry.begun = true;
        (Slot { tensor: gradients, range }, update)
    }

    /// All gradients; zeros where no backward pass has reached.
    pub(crate) fn gradients(&mut self) -> &Tensor {
        let length = self.length();
        let store = self.store.get().expect("it has a length");
        let gradients = self.gradients.get_or_insert_with(|| Tensor::zeros(&self.device, 1, length));
        // What is frozen has zeros since they were made.
        for (which, entry) in self.entries.iter_mut().enumerate() {
            if !entry.begun && entry.frozen_for <= self.steps {
                Slot { tensor: gradients, range: store.span(which, entry) }.zero();
                entry.begun = true;
            }
        }
        gradients
    }

    /// All weights, to be changed, and all gradients.
    pub(crate) fn weights_and_gradients(&mut self) -> (Slot<'_>, &Tensor) {
        self.gradients();
        self.forget_packs();
        let range = 0..self.length();
        let store = self.store.get_mut().expect("it has a length");
        let gradients = self.gradients.as_ref().expect("made above");
        (Slot { tensor: &mut store.weights, range }, gradients)
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
