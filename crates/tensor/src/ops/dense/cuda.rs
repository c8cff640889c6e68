use super::{HiddenUnit, for_all_units};
use crate::activation::for_all_activations;
use crate::cuda::{Cuda, Launch, Source, variant};
use crate::lane::source::{Symbol, function};
use crate::ops::dropout::DropoutMask;
use crate::ops::dropout::cuda::Dropping;
use crate::tensor::Tensor;

/// A unit as source, with its gradients.
fn write<U: HiddenUnit>() -> String {
    let forward = function("float unit_value(float u, float gate)", || {
        U::value(Symbol::of("u"), Symbol::of("gate")).give_back();
    });
    let signature = "void unit_back(float u, float gate, float dy, float* du, float* dgate)";
    let backward = function(signature, || {
        let [du, dgate] = U::back(Symbol::of("u"), Symbol::of("gate"), Symbol::of("dy"));
        du.store("*du");
        dgate.store("*dgate");
    });
    forward + &backward
}

pub(crate) fn source<U: HiddenUnit>() -> Source<'static> {
    Source { name: "dense", text: include_str!("dense.cu"), variant: variant::<U>(), generate: &write::<U> }
}

/// The kernels of all units.
pub(crate) fn sources() -> impl Iterator<Item = Source<'static>> {
    let activations = for_all_activations!(A => source::<A>());
    activations.into_iter().chain(for_all_units!(U => source::<U>()))
}

/// The units of sums, and the sums where they are needed again.
pub(crate) fn forward<U: HiddenUnit>(
    cuda: &Cuda,
    mut sums: Tensor,
    dropped: Option<&DropoutMask>,
) -> (Tensor, Option<Tensor>) {
    let (rows, width) = sums.shape();
    let units = if U::GATED { width / 2 } else { width };
    let mut other = U::FROM_SUM.then(|| Tensor::scratch(sums.device(), rows, units));
    if rows * units > 0 {
        let (dropping, _packed) = Dropping::new(sums.device(), dropped);
        let from = sums.pointer();
        let to = other.as_mut().unwrap_or(&mut sums).pointer_mut();
        let arguments =
            [to.into(), from.into(), rows.into(), units.into(), U::GATED.into(), (&dropping).into()];
        // SAFETY: `units` numbers for each row, twice as many sums where there are gates.
        unsafe {
            cuda.launch(cuda.kernel(&source::<U>(), "forward"), Launch::over(rows * units), &arguments);
        };
    }
    match other {
        Some(y) => (y, Some(sums)),
        None => (sums, None),
    }
}

/// The gradient of the sums. `kept` are the sums, or the units where those suffice.
pub(crate) fn backward<U: HiddenUnit>(
    cuda: &Cuda,
    kept: &Tensor,
    mut dy: Tensor,
    dropped: Option<&DropoutMask>,
) -> Tensor {
    let (rows, units) = dy.shape();
    let mut both = U::GATED.then(|| Tensor::scratch(dy.device(), rows, 2 * units));
    if rows * units > 0 {
        let (dropping, _packed) = Dropping::new(dy.device(), dropped);
        let from = dy.pointer();
        let to = both.as_mut().unwrap_or(&mut dy).pointer_mut();
        // Where the gradient was shared, it has moved to a block of its own.
        let from = if U::GATED { from } else { to };
        let arguments = [
            to.into(),
            from.into(),
            kept.pointer().into(),
            rows.into(),
            units.into(),
            U::GATED.into(),
            (&dropping).into(),
        ];
        // SAFETY: as in the forward pass.
        unsafe {
            cuda.launch(cuda.kernel(&source::<U>(), "backward"), Launch::over(rows * units), &arguments);
        };
    }
    both.unwrap_or(dy)
}
