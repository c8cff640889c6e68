//! Whether a device computes what it should: what to run first on a new card.
//!
//! [`run`] sends the same numbers through every operation of [`ops`](crate::ops), and through the
//! [`optimizer`](crate::optimizer), on the device under test and on the reference: the portable path of the processor with
//! one thread, which the tests of this crate hold against `f64`. Values and gradients are compared. The sizes are odd ones: one
//! number, none at all, no multiple of any vector or block, more rows and columns than a block of threads has.
//!
//! ```no_run
//! use couplet_tensor::{Device, Precision, selftest};
//!
//! let mut wrong = Vec::new();
//! let tolerance = selftest::tolerance(Precision::Fp32);
//! let right = selftest::run(&Device::cpu(), tolerance, &mut |finding| {
//!     wrong.extend((!finding.is_ok()).then(|| finding.operation.clone()));
//! });
//! assert!(right, "{wrong:?}");
//! ```

mod case;
mod operations;
mod sequences;

use crate::device::{Device, Precision};
use crate::lane::Isa;
use case::{Case, Expect};

/// How far rounding in `f32`, in another order, takes a result from the reference.
const ROUNDING: f32 = 3e-5;

/// Where all numbers are smaller than this, they are measured by it: what should be zero is rounding alone.
const TINY: f32 = 1e-3;

/// What came of one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Its name, with the cell and the score where it has them.
    pub operation: String,
    /// The sizes that it was tried on.
    pub sizes: Vec<String>,
    /// The largest difference of all results, relative to the largest number of the reference's result; infinite where a
    /// result is not a number.
    pub difference: f32,
    /// How large it may be.
    pub allowed: f32,
    /// The result that is furthest off, and its sizes.
    pub furthest: String,
}

impl Finding {
    /// Whether the difference is within what is allowed.
    pub fn is_ok(&self) -> bool {
        self.difference <= self.allowed
    }
}

/// How far a device that multiplies in this precision may be off.
pub fn tolerance(precision: Precision) -> f32 {
    match precision {
        Precision::Fp32 => ROUNDING,
        Precision::Tf32 => 2e-2,
        Precision::Bf16 => 1e-1,
    }
}

/// Compares every operation on `device` with the reference, and tells what it finds, one operation after the other. Returns
/// whether all is well.
///
/// The tolerance is for what multiplies matrices. All else may be off by rounding in `f32` only, and what drops out must be
/// equal.
pub fn run(device: &Device, tolerance: f32, observer: &mut dyn FnMut(&Finding)) -> bool {
    let cases: Vec<Case> = operations::cases().into_iter().chain(sequences::cases()).collect();
    let mut right = true;
    for operation in cases.chunk_by(|a, b| a.operation == b.operation) {
        let finding = compare(operation, device, tolerance);
        right &= finding.is_ok();
        observer(&finding);
    }
    right
}

/// All cases of one operation.
fn compare(cases: &[Case], device: &Device, tolerance: f32) -> Finding {
    let reference = Device::cpu_with(1, Isa::Portable);
    let mut finding = Finding {
        operation: cases[0].operation.clone(),
        sizes: cases.iter().map(|case| case.sizes.clone()).collect(),
        difference: 0.0,
        allowed: match cases[0].expect {
            Expect::Equal => 0.0,
            Expect::Rounding => tolerance.min(ROUNDING),
            Expect::Products => tolerance,
        },
        furthest: String::new(),
    };
    for case in cases {
        let (want, got) = ((case.results)(&reference), (case.results)(device));
        for ((name, want), (_, got)) in want.iter().zip(&got) {
            let difference = difference(want, got);
            if difference > finding.difference {
                finding.difference = difference;
                finding.furthest = format!("{name}, {}", case.sizes);
            }
        }
    }
    finding
}

/// The largest difference of two numbers, relative to the largest number that is wanted.
fn difference(want: &[f32], got: &[f32]) -> f32 {
    if want.len() != got.len() {
        return f32::INFINITY;
    }
    let largest = want.iter().fold(TINY, |largest, want| largest.max(want.abs()));
    want.iter().zip(got).fold(0.0, |most, (want, got)| {
        let off = (want - got).abs() / largest;
        // `max` would pass over what is not a number.
        if off.is_nan() { f32::INFINITY } else { off.max(most) }
    })
}

#[cfg(test)]
mod tests {
    use super::case::{in_words, random};
    use super::*;
    use crate::tape::{Var, record};
    use crate::tensor::Tensor;

    /// Copies its input, but puts out `value` and brings back `gradient` times what it should, on all devices but the reference.
    fn copy(value: f32, gradient: f32) -> Case {
        Case::new("copy", Expect::Rounding, "3 × 5".to_owned(), vec![random("x", 3, 5)], move |vars| {
            let broken = vars[0].device().to_string() != Device::cpu_with(1, Isa::Portable).to_string();
            let [value, gradient] = [value, gradient].map(|factor| if broken { factor } else { 1.0 });
            let times = |x: &Tensor, factor: f32| {
                let numbers: Vec<f32> = x.to_vec().iter().map(|x| x * factor).collect();
                Tensor::new(x.device(), x.rows(), x.columns(), &numbers)
            };
            let x: Var = vars[0].clone();
            let [y] = record(&[&vars[0]], [times(vars[0].value(), value)], move |gradients, [dy]| {
                dy.iter().for_each(|dy| gradients.add(&x, times(dy, gradient)));
            });
            vec![y]
        })
    }

    fn found(value: f32, gradient: f32) -> Finding {
        compare(&[copy(value, gradient)], &Device::cpu_with(2, Isa::Portable), 2e-5)
    }

    #[test]
    fn what_is_right_is_not_reported() {
        let finding = found(1.0, 1.0);
        assert!(finding.is_ok() && finding.difference == 0.0 && finding.furthest.is_empty(), "{finding:?}");
        assert_eq!((finding.operation.as_str(), finding.sizes), ("copy", vec!["3 × 5".to_owned()]));
    }

    #[test]
    fn a_wrong_value_is_noticed() {
        let finding = found(1.001, 1.0);
        assert!(!finding.is_ok() && (finding.difference - 1e-3).abs() < 1e-5, "{finding:?}");
        assert_eq!(finding.furthest, "value 0, 3 × 5");
    }

    #[test]
    fn a_wrong_gradient_is_noticed() {
        let finding = found(1.0, 0.9);
        assert!(!finding.is_ok() && (finding.difference - 0.1).abs() < 1e-5, "{finding:?}");
        assert_eq!(finding.furthest, "gradient of x, 3 × 5");
    }

    #[test]
    fn what_is_not_a_number_is_noticed() {
        assert_eq!(found(f32::NAN, 1.0).difference, f32::INFINITY);
        assert_eq!(difference(&[1.0, 2.0], &[f32::NAN, 2.0]), f32::INFINITY);
    }

    #[test]
    fn types_are_named_in_words() {
        assert_eq!(
            ["Lstm", "GatedGelu", "Linear<Sigmoid>"].map(in_words),
            ["lstm", "gated gelu", "linear sigmoid"]
        );
    }

    #[test]
    fn a_difference_by_hand() {
        // Of the largest number, 4: |1 − 1.5| / 4 = 0.125.
        assert_eq!(difference(&[1.0, -4.0], &[1.5, -4.0]), 0.125);
        assert_eq!(difference(&[], &[]), 0.0);
        assert_eq!(difference(&[1.0], &[]), f32::INFINITY);
        // What should be zero is measured by a thousandth.
        assert!((difference(&[0.0], &[1e-6]) - 1e-3).abs() < 1e-6);
    }
}
