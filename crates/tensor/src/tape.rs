//! Values that remember how they came to be, and the way back.

#[cfg(feature = "cuda")]
use crate::cuda::Pointer;
use crate::device::{Device, on_device};
use crate::params::{Param, Params};
use crate::product::{Packed, Update};
use crate::profile::{self, Phase};
use crate::tensor::{Block, Slot, Tensor};
use std::cell::RefCell;
use std::fmt;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A record of operations, from which gradients are computed.
#[derive(Clone, Default)]
pub struct Tape(Rc<RefCell<Record>>);

struct Record {
    /// No other record has it: a variable of another tape, or from before the last backward pass, is told by it.
    id: u64,
    steps: Vec<Back>,
    sources: Vec<Source>,
}

impl Default for Record {
    fn default() -> Record {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Record { id: NEXT.fetch_add(1, Ordering::Relaxed), steps: Vec::new(), sources: Vec::new() }
    }
}

/// The way back of one operation.
type Back = Box<dyn FnOnce(&mut Gradients)>;

/// What a node's gradient belongs to.
#[derive(Clone, Copy)]
enum Source {
    Value,
    Param(Param),
}

/// A tensor that may be on a tape. Without a tape it is only the tensor, and operations on it keep nothing.
#[derive(Clone)]
pub struct Var {
    value: Tensor,
    node: Option<Node>,
}

#[derive(Clone)]
struct Node {
    /// Weak, since the tape keeps variables: it goes when its owner lets it go.
    tape: Weak<RefCell<Record>>,
    record: u64,
    index: usize,
}

impl Tape {
    /// An empty tape.
    pub fn new() -> Tape {
        Tape::default()
    }

    /// A value whose gradient can be asked for after the backward pass.
    pub fn leaf(&self, value: Tensor) -> Var {
        self.track(value, Source::Value)
    }

    /// A parameter, whose gradient goes to its [`Params`]; one that is frozen is a constant.
    pub fn param(&self, params: &Params, param: Param) -> Var {
        if params.is_frozen(param) {
            return Var::constant(params.tensor(param));
        }
        self.track(params.tensor(param), Source::Param(param))
    }

    fn track(&self, value: Tensor, source: Source) -> Var {
        let mut record = self.0.borrow_mut();
        record.sources.push(source);
        let (tape, index) = (Rc::downgrade(&self.0), record.sources.len() - 1);
        Var { value, node: Some(Node { tape, record: record.id, index }) }
    }

    /// Walks the tape back from `loss`, a single number, and adds the gradients of parameters to `params`.
    /// The tape is empty afterwards, and its variables are constants; the gradients of its leaves are returned.
    pub fn backward(&self, loss: &Var, params: &mut Params) -> Gradients<'static> {
        let one = Tensor::new(loss.value.device(), 1, 1, &[1.0]);
        assert_eq!(loss.value.shape(), (1, 1), "a loss is one number");
        self.backward_from(&[(loss, one)], params)
    }

    /// As [`Tape::backward`], from any values with gradients that are given.
    pub fn backward_from(&self, from: &[(&Var, Tensor)], params: &mut Params) -> Gradients<'static> {
        let Record { id, steps, sources } = std::mem::take(&mut *self.0.borrow_mut());
        // The way back multiplies with weights that are packed the other way round, where memory is used most.
        params.clear_packs();
        let mut gradients =
            Gradients { record: id, slots: vec![None; sources.len()], sources, params: Some(params) };
        for (var, gradient) in from {
            // A constant has no way back; a variable of another tape is a mistake.
            let other = var.node.is_some() && !gradients.wants(var);
            assert!(!other, "the way back begins at a variable that is not on this tape");
            gradients.add(var, gradient.clone());
        }
        for step in steps.into_iter().rev() {
            step(&mut gradients);
        }
        Gradients { params: None, ..gradients }
    }
}

impl Var {
    /// A value that is on no tape.
    pub fn constant(value: Tensor) -> Var {
        Var { value, node: None }
    }

    /// The tensor.
    pub fn value(&self) -> &Tensor {
        &self.value
    }

    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        self.value.shape()
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.value.rows()
    }

    /// How many columns it has.
    pub fn columns(&self) -> usize {
        self.value.columns()
    }

    /// Where it lives.
    pub fn device(&self) -> &Device {
        self.value.device()
    }

    /// A packed copy of a block of a weight. A search uses it again at each step, so it is kept; on a tape, an operation over whole
    /// sequences uses it once before the weight changes, and it would lie in the way where memory is used most.
    pub(crate) fn packed(&self, block: Block) -> Arc<Packed> {
        self.value.packed(block, self.node.is_none())
    }

    /// A packed copy of the whole weight.
    pub(crate) fn packed_whole(&self, transposed: bool) -> Arc<Packed> {
        self.value.packed_whole(transposed, self.node.is_none())
    }

    /// Whether it is on a tape that is still there.
    pub fn is_tracked(&self) -> bool {
        self.tape().is_some()
    }

    fn tape(&self) -> Option<Tape> {
        let node = self.node.as_ref()?;
        node.tape.upgrade().map(Tape).filter(|tape| tape.0.borrow().id == node.record)
    }
}

impl fmt::Debug for Tape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a tape of {} operations", self.0.borrow().steps.len())
    }
}

impl fmt::Debug for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// Puts the results of an operation onto the tape of its inputs, with the way back.
///
/// `backward` gets the gradients of the outputs (`None` for one that nothing depends on) and adds those of the inputs. It is
/// not called where all of them are `None`, and is dropped at once, with all that it keeps, where no input is on a tape.
///
/// ```
/// use couplet_tensor::{Device, Params, Tape, Tensor, record};
///
/// let device = Device::cpu();
/// let tape = Tape::new();
/// let x = tape.leaf(Tensor::new(&device, 1, 1, &[3.0]));
/// let square = Tensor::new(&device, 1, 1, &[9.0]);
/// let [y] = record(&[&x], [square], {
///     let x = x.clone();
///     move |gradients, [dy]| {
///         let dx = 2.0 * x.value().item() * dy.map_or(0.0, |dy| dy.item());
///         gradients.add(&x, Tensor::new(x.device(), 1, 1, &[dx]));
///     }
/// });
/// let gradients = tape.backward(&y, &mut Params::new(&device, 0));
/// assert_eq!(gradients.of(&x).unwrap().item(), 6.0);
/// ```
pub fn record<const N: usize>(
    inputs: &[&Var],
    outputs: [Tensor; N],
    backward: impl FnOnce(&mut Gradients, [Option<Tensor>; N]) + 'static,
) -> [Var; N] {
    let outputs = record_all(inputs, outputs.into(), |gradients, upstream| {
        backward(gradients, upstream.try_into().expect("a gradient for each output"));
    });
    outputs.try_into().expect("a variable for each output")
}

/// As [`record`], for an operation whose number of outputs depends on its types.
pub fn record_all(
    inputs: &[&Var],
    outputs: Vec<Tensor>,
    backward: impl FnOnce(&mut Gradients, Vec<Option<Tensor>>) + 'static,
) -> Vec<Var> {
    let Some(tape) = inputs.iter().find_map(|input| input.tape()) else {
        return outputs.into_iter().map(Var::constant).collect();
    };
    assert!(
        inputs.iter().filter_map(|input| input.tape()).all(|other| Rc::ptr_eq(&other.0, &tape.0)),
        "the inputs of an operation are on different tapes"
    );
    let outputs: Vec<Var> = outputs.into_iter().map(|output| tape.track(output, Source::Value)).collect();
    let first = outputs[0].node.as_ref().expect("just tracked").index;
    let indices = first..first + outputs.len();
    let name = profile::current();
    tape.0.borrow_mut().steps.push(Box::new(move |gradients| {
        let upstream: Vec<_> = gradients.slots[indices].iter_mut().map(Option::take).collect();
        if let Some(one) = upstream.iter().flatten().next() {
            let _span = name.map(|name| profile::enter(name, Phase::Backward, one.device()));
            backward(gradients, upstream);
        }
    }));
    outputs
}

/// Whether an operation on these inputs will have to go back.
pub(crate) fn any_tracked(inputs: &[&Var]) -> bool {
    inputs.iter().any(|input| input.is_tracked())
}

/// The gradients of a backward pass.
pub struct Gradients<'p> {
    /// The record that they belong to.
    record: u64,
    slots: Vec<Option<Tensor>>,
    sources: Vec<Source>,
    params: Option<&'p mut Params>,
}

impl fmt::Debug for Gradients<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.slots.iter().flatten()).finish()
    }
}

impl Gradients<'_> {
    /// The gradient of a leaf; `None` where nothing depends on it.
    pub fn of(&self, var: &Var) -> Option<&Tensor> {
        self.slots[self.index(var)?].as_ref()
    }

    /// The place of a variable's gradient; none for one that is not of this record.
    fn index(&self, var: &Var) -> Option<usize> {
        var.node.as_ref().filter(|node| node.record == self.record).map(|node| node.index)
    }

    /// Whether anybody asks for the gradient of `var`.
    pub fn wants(&self, var: &Var) -> bool {
        self.index(var).is_some()
    }

    /// Adds to the gradient of `var`.
    pub fn add(&mut self, var: &Var, gradient: Tensor) {
        assert_eq!(var.shape(), gradient.shape(), "the gradient of a tensor has its shape");
        let Some(index) = self.index(var) else { return };
        match self.sources[index] {
            Source::Value if self.slots[index].is_none() => self.slots[index] = Some(gradient),
            _ => on_device!(gradient.device(),
            _cpu => self.write(var, |sum, update| update.apply(sum, gradient.data())),
            cuda => self.write_cuda(var, |sum, update| {
                let length = gradient.rows() * gradient.columns();
                crate::ops::arrange::cuda::put_numbers(cuda, sum, gradient.pointer(), length, update);
            })),
        }
    }

    /// Lets `f` write the gradient of `var` in place: it sets all numbers, or adds to them, as it is told.
    /// Nothing happens where nobody asks for it.
    pub(crate) fn write(&mut self, var: &Var, f: impl FnOnce(&mut [f32], Update)) {
        if let Some((slot, update)) = self.slot(var) {
            f(slot.data_mut(), update);
        }
    }

    /// As [`Gradients::write`], for a gradient on a GPU.
    #[cfg(feature = "cuda")]
    pub(crate) fn write_cuda(&mut self, var: &Var, f: impl FnOnce(Pointer, Update)) {
        if let Some((slot, update)) = self.slot(var) {
            f(slot.pointer(), update);
        }
    }

    fn slot(&mut self, var: &Var) -> Option<(Slot<'_>, Update)> {
        let index = self.index(var)?;
        let (rows, columns) = var.shape();
        if let Source::Param(param) = self.sources[index] {
            return Some(self.params.as_mut().expect("a backward pass is under way").gradient_slot(param));
        }
        let slot = &mut self.slots[index];
        let update = if slot.is_some() { Update::Add } else { Update::Set };
        let tensor = slot.get_or_insert_with(|| Tensor::scratch(var.device(), rows, columns));
        Some((Slot { tensor, range: 0..rows * columns }, update))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{add, multiply_elements};
    use crate::params::Init;

    fn leaf(tape: &Tape, number: f32) -> Var {
        tape.leaf(Tensor::new(&Device::cpu_with(1, crate::Isa::Portable), 1, 1, &[number]))
    }

    /// 32 × 32 numbers take 4 KiB.
    #[test]
    fn packed_copies_are_kept_where_there_is_no_tape() {
        let device = Device::cpu();
        let mut params = Params::new(&device, 1);
        let weight = params.add("w", 32, 32, Init::Uniform(1.0));
        params.flat(); // the weights themselves are there from their first use on
        let before = device.memory().bytes_used();
        drop(Tape::new().param(&params, weight).packed_whole(true));
        assert_eq!(device.memory().bytes_used(), before);
        drop(Var::constant(params.tensor(weight)).packed_whole(true));
        assert_eq!(device.memory().bytes_used(), before + 4096);
    }

    /// `y = a·w` with `a` from a tape that is gone, as a state carried from one update to the next: dw = a.
    #[test]
    fn a_variable_of_another_tape_is_a_constant() {
        let carried = leaf(&Tape::new(), 3.0);
        let tape = Tape::new();
        let w = leaf(&tape, 5.0);
        let y = multiply_elements(&carried, &w);
        let gradients = tape.backward(&y, &mut Params::new(y.device(), 0));
        assert_eq!(gradients.of(&w).map(Tensor::item), Some(3.0));
        assert!(gradients.of(&carried).is_none());
    }

    #[test]
    fn after_the_way_back_variables_are_constants() {
        let tape = Tape::new();
        let old = leaf(&tape, 3.0);
        let y = multiply_elements(&old, &old);
        let mut params = Params::new(y.device(), 0);
        assert_eq!(tape.backward(&y, &mut params).of(&old).map(Tensor::item), Some(6.0));
        let new = leaf(&tape, 5.0);
        let z = multiply_elements(&old, &new);
        let gradients = tape.backward(&z, &mut params);
        assert_eq!(gradients.of(&new).map(Tensor::item), Some(3.0));
        assert!(gradients.of(&old).is_none());
    }

    #[test]
    #[should_panic(expected = "not on this tape")]
    fn a_loss_of_another_tape_is_refused() {
        let (tape, other) = (Tape::new(), Tape::new());
        let x = leaf(&other, 1.0);
        let loss = add(&x, &x);
        tape.backward(&loss, &mut Params::new(loss.device(), 0));
    }
}
