//! What becomes of the state of a recurrent layer that is told nothing, step by step: `h_t = f(A·h_{t-1})`; and of the gradient on its
//! way back.
//!
//! Without an activation, `h_t = A^t·h_0`: where the largest eigenvalue of `A` is above 1 in size the state explodes, below 1 it
//! vanishes. The gradient goes the same way through `Aᵀ`, and with tanh also through its slope, which is at most 1.
//!
//! ```
//! use couplet_compare::norms::{Norms, Squash};
//! use couplet_tensor::Device;
//!
//! let norms = Norms::measured(&Device::cpu(), &[0.5], &[1.0], Squash::None, 3);
//! assert_eq!(norms.states, [1.0, 0.5, 0.25, 0.125]);
//! assert_eq!(norms.gradients, [0.125, 0.25, 0.5, 1.0]);
//! ```

use couplet_data::random::Random;
use couplet_tensor::ops::{add, linear, tanh};
use couplet_tensor::{Device, Params, Tape, Tensor};

/// Units of the layer that is measured.
const UNITS: usize = 64;
/// Steps that it makes: the hundred of `A^100·h_0`.
pub(crate) const STEPS: usize = 100;
/// The sizes of the largest eigenvalue of `A`.
pub(crate) const RADII: [f64; 3] = [0.8, 1.0, 1.2];
/// The radius is found from the `2^SQUARINGS`th power of the matrix.
const SQUARINGS: i32 = 20;

/// What is done with `A·h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Squash {
    /// `tanh`
    Tanh,
    /// Nothing.
    None,
}

/// How large states and gradients are, step by step.
#[derive(Clone, Debug, PartialEq)]
pub struct Norms {
    /// `|h_t| / |h_0|` for `t` from 0 to the last step `T`.
    pub states: Vec<f64>,
    /// `|∂L/∂h_t| / |∂L/∂h_T|` for the same steps.
    pub gradients: Vec<f64>,
}

impl Norms {
    /// Runs a layer with the square matrix `a`, row by row, from the state `start`. The gradient that comes in at the end has the
    /// numbers of the first state.
    pub fn measured(device: &Device, a: &[f32], start: &[f32], squash: Squash, steps: usize) -> Norms {
        let units = start.len();
        let tape = Tape::new();
        let matrix = tape.leaf(Tensor::new(device, units, units, a));
        // Nothing is added to each state: what the gradient of that nothing is, is the state's.
        let nothing = || tape.leaf(Tensor::zeros(device, 1, units));
        let mut states = vec![tape.leaf(Tensor::new(device, 1, units, start))];
        let mut asked = vec![states[0].clone()];
        for step in 0..steps {
            let sum = linear(&states[step], &matrix, None);
            let squashed = match squash {
                Squash::Tanh => tanh(&sum),
                Squash::None => sum,
            };
            let added = nothing();
            states.push(add(&squashed, &added));
            asked.push(added);
        }
        let end = Tensor::new(device, 1, units, start);
        let gradients = tape.backward_from(&[(&states[steps], end)], &mut Params::new(device, 0));
        let gradient = |var| gradients.of(var).map_or(0.0, norm);
        Norms {
            states: relative(states.iter().map(|state| norm(state.value())).collect(), 0),
            gradients: relative(asked.iter().map(gradient).collect(), steps),
        }
    }

    /// Of a random layer whose matrix has its largest eigenvalue at `radius`.
    pub(crate) fn of_radius(device: &Device, radius: f64, squash: Squash) -> Norms {
        let mut random = Random::new(1);
        let mut numbers = |count: usize| -> Vec<f64> {
            let number = |random: &mut Random| random.next_u64() as f64 / u64::MAX as f64 * 2.0 - 1.0;
            (0..count).map(|_| number(&mut random)).collect()
        };
        let (matrix, start) = (numbers(UNITS * UNITS), numbers(UNITS));
        let scale = radius / spectral_radius(&matrix, UNITS);
        let matrix: Vec<f32> = matrix.iter().map(|x| (x * scale) as f32).collect();
        let start: Vec<f32> = start.iter().map(|&x| x as f32).collect();
        Norms::measured(device, &matrix, &start, squash, STEPS)
    }
}

fn norm(tensor: &Tensor) -> f64 {
    tensor.to_vec().iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()
}

fn relative(norms: Vec<f64>, to: usize) -> Vec<f64> {
    let one = norms[to];
    norms.into_iter().map(|norm| norm / one).collect()
}

/// The size of a square matrix's largest eigenvalue: the limit of `|A^k|^(1/k)`.
fn spectral_radius(matrix: &[f64], n: usize) -> f64 {
    // A^(2^i) is e^logarithm times `power`, whose norm is kept at 1.
    let (mut power, mut logarithm) = (matrix.to_vec(), 0.0);
    for squaring in 0..=SQUARINGS {
        if squaring > 0 {
            power = product(&power, &power, n);
            logarithm *= 2.0;
        }
        let norm = power.iter().map(|x| x * x).sum::<f64>().sqrt();
        power.iter_mut().for_each(|x| *x /= norm);
        logarithm += norm.ln();
    }
    (logarithm / 2f64.powi(SQUARINGS)).exp()
}

fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let cell = |place: usize| {
        let (row, column) = (place / n, place % n);
        (0..n).map(|k| a[row * n + k] * b[k * n + column]).sum()
    };
    (0..n * n).map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One unit, A = 0.5: the state after t steps is 0.5^t, and so is the gradient t steps before the end.
    #[test]
    fn one_unit_by_hand() {
        let norms = Norms::measured(&Device::cpu(), &[0.5], &[1.0], Squash::None, 10);
        for (t, state) in norms.states.iter().enumerate() {
            assert_eq!(*state, 0.5f64.powi(t as i32));
            assert_eq!(norms.gradients[10 - t], 0.5f64.powi(t as i32));
        }
    }

    /// tanh(2·1) = 0.9640 and tanh(2·0.9640) = 0.9586; on the way back, each step multiplies with 2·(1 − h²).
    #[test]
    fn one_unit_with_tanh_by_hand() {
        let norms = Norms::measured(&Device::cpu(), &[2.0], &[1.0], Squash::Tanh, 2);
        let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-4, "{found}, {wanted}");
        close(norms.states[1], 0.9640);
        close(norms.states[2], 0.9586);
        close(norms.gradients[1], 2.0 * (1.0 - 0.9586f64.powi(2)));
        close(norms.gradients[0], norms.gradients[1] * 2.0 * (1.0 - 0.9640f64.powi(2)));
    }

    /// A turn by a right angle with a factor 3 has the eigenvalues 3i and −3i; a triangle has those on its diagonal.
    #[test]
    fn radii_by_hand() {
        assert!((spectral_radius(&[0.0, -3.0, 3.0, 0.0], 2) - 3.0).abs() < 1e-6);
        assert!((spectral_radius(&[0.5, 100.0, 0.0, -0.25], 2) - 0.5).abs() < 1e-4);
    }

    /// 0.8^100 = 2·10⁻¹⁰ and 1.2^100 = 8·10⁷, give or take what the start has of the largest eigenvalue's direction; tanh bounds the state.
    #[test]
    fn states_explode_vanish_or_are_bounded() {
        let last = |radius, squash| Norms::of_radius(&Device::cpu(), radius, squash).states[STEPS];
        assert!(last(0.8, Squash::None) < 1e-8);
        assert!(last(1.2, Squash::None) > 1e6);
        assert!((0.01..2.0).contains(&last(1.2, Squash::Tanh)));
    }
}
