use crate::activation::Activation;
use crate::lane::Lane;

/// The values of an expression for every unit of this module, as an array; every activation is a unit besides.
macro_rules! for_all_units {
    ($U:ident => $value:expr) => {
        [
            {
                type $U = $crate::ops::dense::Gelu;
                $value
            },
            {
                type $U = $crate::ops::dense::GatedGelu;
                $value
            },
            {
                type $U = $crate::ops::dense::GatedLinear;
                $value
            },
        ]
    };
}
pub(crate) use for_all_units;

/// The mathematics of a hidden unit: a function of its sum, and of its gate where it has one.
pub trait HiddenUnit: Copy + Send + Sync + 'static {
    /// The name of a layer of them in a [profile](crate::profile).
    const NAME: &'static str = "dense";
    /// Whether there is a gate.
    const GATED: bool = false;
    /// Whether the gradient needs the sum; else it needs the value.
    const FROM_SUM: bool = true;

    /// `y = a(u, gate)`
    fn value<L: Lane>(u: L, gate: L) -> L;

    /// `du` and `dgate`, from `u` and the gate, or from `y` instead of `u`.
    fn back<L: Lane>(u: L, gate: L, dy: L) -> [L; 2];
}

impl<A: Activation> HiddenUnit for A {
    const FROM_SUM: bool = false;

    #[inline(always)]
    fn value<L: Lane>(u: L, _gate: L) -> L {
        A::value(u)
    }

    #[inline(always)]
    fn back<L: Lane>(y: L, _gate: L, dy: L) -> [L; 2] {
        [dy * A::slope(y), L::lit(0.0)]
    }
}

/// `u·Φ(u)` with the normal distribution's Φ, in the usual approximation: `u/2·(1 + tanh(√(2/π)·(u + 0.044715·u³)))`.
#[derive(Clone, Copy, Debug)]
pub struct Gelu;

const ROOT: f32 = 0.797_884_6; // √(2/π)
const CUBIC: f32 = 0.044_715;

/// `(1 + tanh …)/2`, which is Φ(u), and its slope.
#[inline(always)]
fn share<L: Lane>(u: L) -> [L; 2] {
    let square = u * u;
    let t = (u * L::lit(ROOT) * square.mul_add(L::lit(CUBIC), L::lit(1.0))).tanh();
    let inner = L::lit(ROOT) * square.mul_add(L::lit(3.0 * CUBIC), L::lit(1.0));
    let half = L::lit(0.5);
    [t.mul_add(half, half), half * (L::lit(1.0) - t * t) * inner]
}

impl HiddenUnit for Gelu {
    #[inline(always)]
    fn value<L: Lane>(u: L, _gate: L) -> L {
        u * share(u)[0]
    }

    #[inline(always)]
    fn back<L: Lane>(u: L, _gate: L, dy: L) -> [L; 2] {
        let [share, slope] = share(u);
        [dy * u.mul_add(slope, share), L::lit(0.0)]
    }
}

/// `gelu(u)·gate`
#[derive(Clone, Copy, Debug)]
pub struct GatedGelu;

impl HiddenUnit for GatedGelu {
    const GATED: bool = true;

    #[inline(always)]
    fn value<L: Lane>(u: L, gate: L) -> L {
        Gelu::value(u, gate) * gate
    }

    #[inline(always)]
    fn back<L: Lane>(u: L, gate: L, dy: L) -> [L; 2] {
        let [du, _] = Gelu::back(u, gate, dy * gate);
        [du, dy * Gelu::value(u, gate)]
    }
}

/// `u·σ(gate)`
#[derive(Clone, Copy, Debug)]
pub struct GatedLinear;

impl HiddenUnit for GatedLinear {
    const GATED: bool = true;

    #[inline(always)]
    fn value<L: Lane>(u: L, gate: L) -> L {
        u * gate.sigmoid()
    }

    #[inline(always)]
    fn back<L: Lane>(u: L, gate: L, dy: L) -> [L; 2] {
        let open = gate.sigmoid();
        [dy * open, dy * u * open * (L::lit(1.0) - open)]
    }
}
