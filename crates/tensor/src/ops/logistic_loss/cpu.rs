use crate::lane::Lane;
use crate::ops::cross_entropy::cpu::total;
use crate::tensor::Tensor;

/// The loss, and the unscaled loss of each row.
pub(super) fn forward(z: &Tensor, targets: &[bool], scale: f32) -> (Tensor, Tensor) {
    let softplus = |x: f32| x.max(0.0) + (-x.abs()).exp().ln_1p();
    let row = |(&z, &target): (&f32, &bool)| softplus(if target { -z } else { z });
    let losses: Vec<f32> = z.data().iter().zip(targets).map(row).collect();
    let losses = Tensor::new(z.device(), losses.len(), 1, &losses);
    (total(&losses, scale), losses)
}

/// `dz`, from the gradient of the loss.
pub(super) fn backward(z: &Tensor, targets: &[bool], scale: f32, upstream: &Tensor) -> Tensor {
    let factor = scale * upstream.item();
    // σ(z) − 1 = −σ(−z), which keeps its digits where σ(z) is almost 1.
    let row =
        |(&z, &target): (&f32, &bool)| factor * if target { -Lane::sigmoid(-z) } else { Lane::sigmoid(z) };
    let dz: Vec<f32> = z.data().iter().zip(targets).map(row).collect();
    Tensor::new(z.device(), z.rows(), 1, &dz)
}
