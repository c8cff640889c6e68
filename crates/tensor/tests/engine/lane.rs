//! The elementary functions over all of `f32`: the bounds that stand in the documentation of `Vector`.

use crate::support::isas;
use couplet_tensor::Isa;
use couplet_tensor::lane::{Kernel, LANES, Vector};

#[derive(Clone, Copy, Debug)]
enum Function {
    Exp,
    Tanh,
    Sigmoid,
}

/// A function of every number, in place.
struct Map<'a>(Function, &'a mut [f32]);

impl Kernel for Map<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        for chunk in self.1.chunks_mut(LANES) {
            let x = V::load(chunk);
            let y = match self.0 {
                Function::Exp => x.exp(),
                Function::Tanh => x.tanh(),
                Function::Sigmoid => x.sigmoid(),
            };
            y.store(chunk);
        }
    }
}

impl Function {
    fn of(self, isa: Isa, x: &[f32]) -> Vec<f32> {
        let mut y = x.to_vec();
        isa.run(Map(self, &mut y));
        y
    }

    fn exact(self, x: f32) -> f64 {
        let x = f64::from(x);
        match self {
            Function::Exp => x.exp(),
            Function::Tanh => x.tanh(),
            Function::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        }
    }
}

/// Patterns of bits this far apart: an odd number, so that all mantissas take their turn.
const STRIDE: usize = (1 << 9) + 1;

/// Every so many-th `f32`, all exponents and both signs, and the edges of ranges.
fn everywhere() -> impl Iterator<Item = f32> {
    let edges = [0.0, f32::MIN_POSITIVE, f32::from_bits(1), f32::MAX, 1.0, 7.905_311, 9.02, 87.0];
    let more = [87.3365, 87.34, 88.37, 88.722_83, 88.722_84, 89.0, 103.97, 104.0, 104.1];
    let edges = edges.into_iter().chain(more);
    let around = |x: f32| [x.next_down(), x, x.next_up()];
    let edges = edges.flat_map(around).flat_map(|x| [x, -x]);
    (0..=u32::MAX).step_by(STRIDE).map(f32::from_bits).chain(edges).filter(|x| !x.is_nan())
}

/// All numbers where the functions are neither 1, nor linear, nor at their limits.
fn densely() -> impl Iterator<Item = f32> {
    let (low, high) = (2f32.powi(-14).to_bits(), 128f32.to_bits());
    (low..high).map(f32::from_bits).flat_map(|x| [x, -x])
}

/// The distance of two neighboring `f32` where `exact` is.
fn ulp(exact: f64) -> f64 {
    let exponent = (exact.abs().to_bits() >> 52) as i32 - 1023;
    2f64.powi(exponent.max(-126) - 23)
}

/// How far a result is off from the exact one.
type Measure = fn(f32, f64) -> f64;

fn absolute(got: f32, exact: f64) -> f64 {
    // Without this, NaN would be smaller than no error at all.
    if got.is_nan() { f64::INFINITY } else { (f64::from(got) - exact).abs() }
}

/// None where both are beyond the largest number.
fn in_ulp(got: f32, exact: f64) -> f64 {
    let both_infinite = got.is_infinite() && (exact as f32).is_infinite();
    if both_infinite { 0.0 } else { absolute(got, exact) / ulp(exact) }
}

/// The largest error of a function over some numbers, and where it is.
fn worst(
    function: Function,
    isa: Isa,
    measure: Measure,
    mut numbers: impl Iterator<Item = f32>,
) -> (f64, f32) {
    let mut worst = (0.0, 0.0);
    loop {
        // Block by block: all numbers at once would need gigabytes.
        let block: Vec<f32> = numbers.by_ref().take(4096).collect();
        if block.is_empty() {
            return worst;
        }
        for (&x, y) in block.iter().zip(function.of(isa, &block)) {
            let error = measure(y, function.exact(x));
            if error > worst.0 {
                worst = (error, x);
            }
        }
    }
}

/// A part of the table: a function's largest error, in some measure, where `inside` holds.
struct Claim {
    function: Function,
    measure: Measure,
    bound: f64,
    inside: fn(f32) -> bool,
}

/// Where the result of `exp` is a normal number.
const NORMAL: f32 = -87.336_54;
const SMALLEST: f64 = f32::from_bits(1) as f64;

const CLAIMS: [Claim; 6] = [
    Claim { function: Function::Exp, measure: in_ulp, bound: 2.0, inside: |x| x >= NORMAL },
    Claim { function: Function::Exp, measure: absolute, bound: SMALLEST, inside: |x| x < NORMAL },
    Claim { function: Function::Tanh, measure: in_ulp, bound: 8.0, inside: |x| x.abs() >= 1e-36 },
    Claim { function: Function::Tanh, measure: absolute, bound: 3e-43, inside: |x| x.abs() < 1e-36 },
    Claim { function: Function::Sigmoid, measure: in_ulp, bound: 4.0, inside: |x| x >= -87.0 },
    Claim { function: Function::Sigmoid, measure: absolute, bound: 2e-38, inside: |x| x < -87.0 },
];

fn assert_claims<N: Iterator<Item = f32>>(numbers: impl Fn() -> N) {
    for Claim { function, measure, bound, inside } in CLAIMS {
        for isa in isas() {
            let (error, x) = worst(function, isa, measure, numbers().filter(|&x| inside(x)));
            assert!(error <= bound, "{function:?} with {isa:?}: off by {error:.3e} at {x:e}, not {bound:e}");
        }
    }
}

#[test]
fn errors_are_within_their_bounds() {
    assert_claims(everywhere);
}

#[test]
#[ignore = "takes two minutes; for changes of the formulas"]
fn errors_are_within_their_bounds_densely() {
    assert_claims(densely);
}

#[test]
fn infinities_give_the_limits_and_nan_gives_nan() {
    for isa in isas() {
        let ends = [f32::NEG_INFINITY, f32::INFINITY];
        assert_eq!(Function::Exp.of(isa, &ends), [0.0, f32::INFINITY]);
        assert_eq!(Function::Sigmoid.of(isa, &ends), [0.0, 1.0]);
        let tanh = Function::Tanh.of(isa, &ends);
        let error = in_ulp(tanh[1], 1.0);
        assert!(tanh[0] == -tanh[1] && tanh[1] <= 1.0 && error <= 2.0, "tanh ±∞ = {tanh:?} with {isa:?}");
        for function in [Function::Exp, Function::Tanh, Function::Sigmoid] {
            let y = function.of(isa, &[f32::NAN, -f32::NAN]);
            assert!(y.iter().all(|y| y.is_nan()), "{function:?} with {isa:?}: {y:?}");
        }
    }
}

#[test]
fn zero_by_hand() {
    // e^0 = 1, tanh 0 = 0 with its sign, 1 / (1 + 1) = 0.5
    for isa in isas() {
        assert_eq!(Function::Exp.of(isa, &[0.0, -0.0]), [1.0, 1.0]);
        let tanh = Function::Tanh.of(isa, &[0.0, -0.0]);
        assert_eq!(
            tanh.iter().map(|y| y.to_bits()).collect::<Vec<_>>(),
            [0.0f32.to_bits(), (-0.0f32).to_bits()]
        );
        assert_eq!(Function::Sigmoid.of(isa, &[0.0, -0.0]), [0.5, 0.5]);
    }
}

#[test]
fn a_part_of_a_vector_is_handled_like_a_whole_one() {
    let x: Vec<f32> = (0..23).map(|i| i as f32 / 3.0 - 4.0).collect();
    for isa in isas() {
        let whole = Function::Tanh.of(isa, &x);
        for length in 0..x.len() {
            assert_eq!(
                Function::Tanh.of(isa, &x[..length]),
                whole[..length],
                "{length} numbers with {isa:?}"
            );
        }
    }
}

/// A square of numbers, turned over its diagonal.
struct Transpose([[f32; LANES]; LANES]);

impl Kernel for Transpose {
    type Output = [[f32; LANES]; LANES];

    #[inline(always)]
    fn run<V: Vector>(self) -> Self::Output {
        V::transpose(self.0.map(|row| V::load(&row))).map(V::array)
    }
}

#[test]
fn rows_become_columns() {
    let square = std::array::from_fn(|i| std::array::from_fn(|j| (10 * i + j) as f32));
    for isa in isas() {
        let turned = isa.run(Transpose(square));
        for (i, row) in square.iter().enumerate() {
            assert_eq!(turned.map(|column| column[i]), *row, "{isa:?}");
        }
    }
}
