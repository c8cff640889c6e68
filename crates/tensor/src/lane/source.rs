//! A lane that writes CUDA instead of computing.
//!
//! Every operation on a [`Symbol`] writes a line of source and returns the name of its result. So the mathematics of a cell or
//! a score, run once over symbols, becomes the body of a device function: the same formulas on every device.

use super::Lane;
use std::cell::RefCell;
use std::fmt::Write;
use std::ops::{Add, Mul, Neg, Sub};

thread_local! {
    static BODY: RefCell<Body> = RefCell::default();
}

#[derive(Default)]
struct Body {
    lines: String,
    symbols: u32,
}

/// A number of the function that is being written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol(u32);

impl Symbol {
    /// The number that an expression stands for.
    pub(crate) fn of(expression: &str) -> Symbol {
        BODY.with_borrow_mut(|body| {
            let symbol = Symbol(body.symbols);
            body.symbols += 1;
            writeln!(body.lines, "    const float t{} = {expression};", symbol.0)
                .expect("writing to a string cannot fail");
            symbol
        })
    }

    /// Writes it to a place.
    pub(crate) fn store(self, place: &str) {
        self.line(&format!("{place} ="));
    }

    /// Makes it the function's result.
    pub(crate) fn give_back(self) {
        self.line("return");
    }

    fn line(self, before: &str) {
        BODY.with_borrow_mut(|body| {
            writeln!(body.lines, "    {before} t{};", self.0).expect("writing to a string cannot fail");
        });
    }

    fn binary(self, operator: &str, other: Symbol) -> Symbol {
        Symbol::of(&format!("t{} {operator} t{}", self.0, other.0))
    }
}

/// The device function of this signature whose body `write` writes.
pub(crate) fn function(signature: &str, write: impl FnOnce()) -> String {
    BODY.with_borrow_mut(|body| *body = Body::default());
    write();
    let body = BODY.take();
    format!("__device__ __forceinline__ {signature} {{\n{}}}\n", body.lines)
}

impl Add for Symbol {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.binary("+", other)
    }
}

impl Sub for Symbol {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.binary("-", other)
    }
}

impl Mul for Symbol {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        self.binary("*", other)
    }
}

impl Neg for Symbol {
    type Output = Self;
    fn neg(self) -> Self {
        Symbol::of(&format!("-t{}", self.0))
    }
}

impl Lane for Symbol {
    fn lit(x: f32) -> Self {
        // The bits, since not every number has a literal.
        Symbol::of(&format!("__int_as_float(0x{:08x}) /* {x} */", x.to_bits()))
    }

    fn mul_add(self, b: Self, c: Self) -> Self {
        Symbol::of(&format!("fmaf(t{}, t{}, t{})", self.0, b.0, c.0))
    }

    fn max(self, other: Self) -> Self {
        Symbol::of(&format!("fmaxf(t{}, t{})", self.0, other.0))
    }

    fn positive(self) -> Self {
        Symbol::of(&format!("t{} > 0.0f ? 1.0f : 0.0f", self.0))
    }

    fn exp(self) -> Self {
        Symbol::of(&format!("expf(t{})", self.0))
    }

    fn tanh(self) -> Self {
        Symbol::of(&format!("tanhf(t{})", self.0))
    }

    fn sigmoid(self) -> Self {
        Symbol::of(&format!("1.0f / (1.0f + expf(-t{}))", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_becomes_a_function() {
        let text = function("float f(float x)", || {
            let x = Symbol::of("x");
            (x * x - Symbol::lit(1.0)).tanh().store("y");
        });
        let wanted = "__device__ __forceinline__ float f(float x) {
    const float t0 = x;
    const float t1 = t0 * t0;
    const float t2 = __int_as_float(0x3f800000) /* 1 */;
    const float t3 = t1 - t2;
    const float t4 = tanhf(t3);
    y = t4;
}
";
        assert_eq!(text, wanted);
    }
}
