//! Matrix products over the shapes that occur in a training step, beside the `gemm` crate's, in one run.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use clap::Parser;
use couplet_tensor::ops::linear;
use couplet_tensor::random::{Stream, unit};
use couplet_tensor::{Device, Init, Isa, Mat, Params, Tensor, Update, Var, multiply};
use std::time::Instant;

/// Each side is measured for about this long a round.
const ROUND_SECONDS: f64 = 0.15;

#[derive(Parser)]
#[command(about, after_help = "Example: bench-gemm --threads 2 --rounds 5")]
struct Arguments {
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Both sides in turn, so many times; the median is printed.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// One line of JSON instead of a table: sizes and rates of each product.
    #[arg(long)]
    json: bool,
}

/// `out[m, n] = a[m, k] · b[k, n]`, each operand stored as it is or transposed.
struct Shape {
    what: &'static str,
    m: usize,
    k: usize,
    n: usize,
    a_transposed: bool,
    b_transposed: bool,
}

const fn shape(what: &'static str, (m, k, n): (usize, usize, usize), a: bool, b: bool) -> Shape {
    Shape { what, m, k, n, a_transposed: a, b_transposed: b }
}

/// What a training step of the medium model (W1) multiplies, and one square product for comparison.
const SHAPES: [Shape; 11] = [
    shape("square", (1024, 1024, 1024), false, false),
    shape("encoder's input", (1920, 256, 1024), false, true),
    shape("encoder's state, one step", (64, 256, 1024), false, true),
    shape("decoder's state, one step", (64, 512, 2048), false, true),
    shape("decoder's state back, one step", (64, 2048, 512), false, false),
    shape("decoder's state, one sentence", (1, 512, 2048), false, true),
    shape("query, one step", (64, 512, 256), false, true),
    shape("decoder's weights' gradient", (2048, 1920, 512), true, false),
    shape("output", (1920, 512, 8000), false, true),
    shape("output back", (1920, 8000, 512), false, false),
    shape("output weights' gradient", (8000, 1920, 512), true, false),
];

struct Operands {
    a: Vec<f32>,
    b: Vec<f32>,
    out: Vec<f32>,
}

impl Operands {
    fn new(shape: &Shape) -> Operands {
        let stream = Stream::new(1, 0);
        let numbers = |side: u32, length: usize| {
            (0..length).map(|i| unit(stream.at([i as u32, side, 0, 0])[0]) - 0.5).collect()
        };
        Operands {
            a: numbers(0, shape.m * shape.k),
            b: numbers(1, shape.k * shape.n),
            out: vec![0.0; shape.m * shape.n],
        }
    }
}

fn ours(device: &Device, shape: &Shape, operands: &mut Operands) {
    let mat = |data, rows, columns, transposed| match transposed {
        true => Mat::new(data, columns, rows).transposed(),
        false => Mat::new(data, rows, columns),
    };
    let a = mat(&operands.a, shape.m, shape.k, shape.a_transposed);
    let b = mat(&operands.b, shape.k, shape.n, shape.b_transposed);
    multiply(device, &mut operands.out, a, b, Update::Set);
}

fn theirs(threads: usize, shape: &Shape, operands: &mut Operands) {
    let strides = |rows: usize, columns: usize, transposed: bool| match transposed {
        true => (1, rows as isize),
        false => (columns as isize, 1),
    };
    let (a_row, a_column) = strides(shape.m, shape.k, shape.a_transposed);
    let (b_row, b_column) = strides(shape.k, shape.n, shape.b_transposed);
    let parallelism = if threads > 1 { gemm::Parallelism::Rayon(threads) } else { gemm::Parallelism::None };
    // SAFETY: the operands have the sizes of the shape, and their strides stay inside of them.
    unsafe {
        gemm::gemm(
            shape.m,
            shape.n,
            shape.k,
            operands.out.as_mut_ptr(),
            1,
            shape.n as isize,
            false,
            operands.a.as_ptr(),
            a_column,
            a_row,
            operands.b.as_ptr(),
            b_column,
            b_row,
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// Billions of multiplications and additions a second.
fn rate(shape: &Shape, mut product: impl FnMut()) -> f64 {
    let operations = 2.0 * (shape.m * shape.k * shape.n) as f64;
    let start = Instant::now();
    let mut times = 0;
    while times < 2 || start.elapsed().as_secs_f64() < ROUND_SECONDS {
        product();
        times += 1;
    }
    operations * f64::from(times) / start.elapsed().as_secs_f64() / 1e9
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// The same product with the right operand packed beforehand, as the time loops have their weights.
fn packed(device: &Device, shape: &Shape, operands: &Operands) -> impl FnMut() + use<> {
    let mut params = Params::new(device, 0);
    let weight = params.add("weight", shape.n, shape.k, Init::Constant(0.1));
    let x = Var::constant(Tensor::new(device, shape.m, shape.k, &operands.a));
    move || {
        linear(&x, &Var::constant(params.tensor(weight)), None);
    }
}

/// The medians of a product's rates.
struct Rates {
    plain: f64,
    packed: Option<f64>,
    gemm: f64,
}

impl Rates {
    /// Both sides in turn.
    fn measure(shape: &Shape, device: &Device, arguments: &Arguments) -> Rates {
        let mut operands = Operands::new(shape);
        let mut packed = (shape.m <= 64 && shape.b_transposed).then(|| packed(device, shape, &operands));
        let (mut plain_rates, mut packed_rates, mut their_rates) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..arguments.rounds {
            plain_rates.push(rate(shape, || ours(device, shape, &mut operands)));
            their_rates.push(rate(shape, || theirs(arguments.threads, shape, &mut operands)));
            if let Some(packed) = &mut packed {
                packed_rates.push(rate(shape, packed));
            }
        }
        Rates {
            plain: median(plain_rates),
            packed: (!packed_rates.is_empty()).then(|| median(packed_rates)),
            gemm: median(their_rates),
        }
    }
}

fn print_table(device: &Device, arguments: &Arguments) {
    println!("{device:?}; gemm 0.19; GFLOP/s, medians of {} rounds in turn", arguments.rounds);
    println!("{:32} {:>18} {:>8} {:>8} {:>8} {:>7}", "", "m × k × n", "ours", "packed", "gemm", "ratio");
    for shape in &SHAPES {
        let Rates { plain, packed, gemm } = Rates::measure(shape, device, arguments);
        println!(
            "{:32} {:>18} {plain:8.1} {:>8} {gemm:8.1} {:7.2}",
            shape.what,
            format!("{} × {} × {}", shape.m, shape.k, shape.n),
            packed.map_or(String::new(), |rate| format!("{rate:.1}")),
            packed.unwrap_or(plain) / gemm,
        );
    }
}

fn json(device: &Device, arguments: &Arguments) -> serde_json::Value {
    let product = |shape: &Shape| {
        let Rates { plain, packed, gemm } = Rates::measure(shape, device, arguments);
        let Shape { what, m, k, n, .. } = *shape;
        serde_json::json!({ "what": what, "m": m, "k": k, "n": n, "ours": packed.unwrap_or(plain), "gemm": gemm })
    };
    SHAPES.iter().map(product).collect()
}

fn main() {
    let arguments = Arguments::parse();
    let device = Device::cpu_with(arguments.threads, Isa::detect());
    if arguments.json {
        println!("{}", json(&device, &arguments));
    } else {
        print_table(&device, &arguments);
    }
}
