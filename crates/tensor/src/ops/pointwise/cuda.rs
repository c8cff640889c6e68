use super::{Binary, Unary};
use crate::cuda::{Arg, Cuda, Launch, Source, hash};
use crate::lane::source::{Symbol, function};
use crate::tensor::Tensor;

/// A function of one number as source, with its gradient.
pub(crate) fn write_unary<F: Unary>(f: F) -> String {
    let forward = function("float unary_forward(float x)", || f.forward(Symbol::of("x")).give_back());
    let backward = function("float unary_backward(float y, float dy)", || {
        f.backward(Symbol::of("y"), Symbol::of("dy")).give_back();
    });
    forward + &backward
}

/// A function of two numbers as source, with its gradients.
pub(crate) fn write_binary<F: Binary>(f: F) -> String {
    let forward = function("float binary_forward(float a, float b)", || {
        f.forward(Symbol::of("a"), Symbol::of("b")).give_back();
    });
    let backward = function("void binary_backward(float a, float b, float dy, float* da, float* db)", || {
        let [da, db] = f.backward(Symbol::of("a"), Symbol::of("b"), Symbol::of("dy"));
        da.store("*da");
        db.store("*db");
    });
    forward + &backward
}

/// Runs a kernel over so many numbers. A function may hold numbers of its own: it is known by what is written of it.
fn run(
    cuda: &Cuda,
    name: &'static str,
    text: &'static str,
    written: &str,
    kernel: &'static str,
    arguments: &[Arg],
    count: usize,
) {
    let source = Source { name, text, variant: hash(&written), generate: &|| written.to_owned() };
    if count > 0 {
        // SAFETY: all tensors of the callers have `count` numbers.
        unsafe { cuda.launch(cuda.kernel(&source, kernel), Launch::over(count), arguments) };
    }
}

const UNARY: &str = include_str!("unary.cu");
const BINARY: &str = include_str!("binary.cu");

/// The source of a function's kernels.
pub(crate) fn whole_unary<F: Unary>(f: F) -> (&'static str, String) {
    ("unary", Source { name: "unary", text: UNARY, variant: 0, generate: &|| write_unary(f) }.whole())
}

/// The source of a function's kernels.
pub(crate) fn whole_binary<F: Binary>(f: F) -> (&'static str, String) {
    ("binary", Source { name: "binary", text: BINARY, variant: 0, generate: &|| write_binary(f) }.whole())
}

fn count(x: &Tensor) -> usize {
    x.rows() * x.columns()
}

pub(super) fn unary<F: Unary>(cuda: &Cuda, x: &Tensor, f: F) -> Tensor {
    let mut y = Tensor::scratch(x.device(), x.rows(), x.columns());
    let arguments = [y.pointer_mut().into(), x.pointer().into(), count(x).into()];
    run(cuda, "unary", UNARY, &write_unary(f), "forward", &arguments, count(x));
    y
}

pub(super) fn unary_back<F: Unary>(cuda: &Cuda, y: &Tensor, mut dy: Tensor, f: F) -> Tensor {
    let arguments = [dy.pointer_mut().into(), y.pointer().into(), count(y).into()];
    run(cuda, "unary", UNARY, &write_unary(f), "backward", &arguments, count(y));
    dy
}

pub(super) fn binary<F: Binary>(cuda: &Cuda, a: &Tensor, b: &Tensor, f: F) -> Tensor {
    let mut y = Tensor::scratch(a.device(), a.rows(), a.columns());
    let arguments = [y.pointer_mut().into(), a.pointer().into(), b.pointer().into(), count(a).into()];
    run(cuda, "binary", BINARY, &write_binary(f), "forward", &arguments, count(a));
    y
}

pub(super) fn binary_back<F: Binary>(
    cuda: &Cuda,
    a: &Tensor,
    b: &Tensor,
    mut dy: Tensor,
    f: F,
) -> [Tensor; 2] {
    let mut db = Tensor::scratch(a.device(), a.rows(), a.columns());
    let arguments = [
        dy.pointer_mut().into(),
        db.pointer_mut().into(),
        a.pointer().into(),
        b.pointer().into(),
        count(a).into(),
    ];
    run(cuda, "binary", BINARY, &write_binary(f), "backward", &arguments, count(a));
    [dy, db]
}
