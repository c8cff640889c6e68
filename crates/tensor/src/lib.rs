//! The engine of couplet: tensors on a device, operations as large as what a sequence model computes, and the way back.
//!
//! # The story
//!
//! 1. A [`Device`] has memory and something that computes: the processor, with a pool of threads and the best instructions
//!    that it has, or an NVIDIA GPU, with the feature `cuda` ([`cuda`]).
//! 2. A [`Tensor`] is a matrix of `f32` on a device. Its memory comes from lists of free blocks by size, so that a training
//!    step takes no memory for tensors from the system after the first one.
//! 3. Sequences of different lengths are *packed*, not padded: [`SequenceLayout`] says which row of a tensor is which step of which
//!    sequence. No work is done for what is not there, and no mask can be forgotten.
//! 4. The weights of a model lie in one flat store, [`Params`], by name.
//! 5. An operation of [`ops`] takes [`Var`]s and returns them. Where one of them is on a [`Tape`], the operation leaves its
//!    way back there; where none is, the same function keeps nothing: training and inference are the same code.
//! 6. The large operations are a recurrent layer ([`ops::recurrent()`]) and a decoder with attention ([`ops::scan`]). They own
//!    the time loop, the products and the threads, and take any [`cell`] and any [`score`] ([`ops::AnyCell`],
//!    [`ops::AnyScore`]): pointwise mathematics that is written once, over a [`lane`]: for tests in `f64`, for vectors of the
//!    processor, and as source for a GPU.
//! 7. [`Tape::backward`] brings the gradients into the store, and an [`optimizer`] makes new weights of them.
//! 8. [`profile`] says where the time of all this goes.
//!
//! On the processor, results are the same bits for any number of threads, and a sentence's are the same alone as in any batch;
//! see [`product`]. On a GPU, the same batch gives the same bits again.
//!
//! # An example
//!
//! A layer that learns to double its input:
//!
//! ```
//! use couplet_tensor::ops::{add, linear, multiply_elements, scale};
//! use couplet_tensor::optimizer::Optimizer;
//! use couplet_tensor::{Device, Init, Params, Tape, Tensor, Var};
//!
//! let device = Device::cpu();
//! let mut params = Params::new(&device, 42);
//! let weight = params.add("weight", 1, 1, Init::Uniform(1.0));
//! let x = Var::constant(Tensor::new(&device, 1, 1, &[3.0]));
//! let wanted = Var::constant(Tensor::new(&device, 1, 1, &[6.0]));
//!
//! let mut adam = Optimizer::adam();
//! for _ in 0..200 {
//!     let tape = Tape::new();
//!     let y = linear(&x, &tape.param(&params, weight), None);
//!     let error = add(&y, &scale(&wanted, -1.0));
//!     let loss = multiply_elements(&error, &error);
//!     tape.backward(&loss, &mut params);
//!     adam.step(&mut params, 0.1);
//! }
//! assert!((params.tensor(weight).item() - 2.0).abs() < 1e-2);
//! ```
//!
//! A whole translator, with its forward pass on one screen, is the example `encoder_decoder`.
//!
//! # Mistakes
//!
//! Shapes that do not fit are a bug of the caller: operations panic and name both shapes. Nothing here reads files or other
//! input, so nothing but the opening of a GPU returns an error; [`cuda`] says what happens when one fails later.

pub mod activation;
mod aligned_buffer;
pub mod cell;
#[cfg(feature = "cuda")]
pub mod cuda;
mod device;
pub mod lane;
mod layout;
mod memory;
pub mod ops;
pub mod optimizer;
mod params;
mod pool;
pub mod product;
pub mod profile;
pub mod random;
pub mod score;
pub mod selftest;
mod shared;
mod shared_rows;
mod tape;
mod tensor;
mod type_name;

#[cfg(feature = "cuda")]
pub use cuda::Cuda;
pub use device::{Cpu, Device, DeviceChoice, DeviceError, Precision, UnknownName};
pub use lane::Isa;
pub use layout::{Direction, SequenceLayout, Step};
pub use memory::{Blocks, OutOfMemory, trim_heap};
pub use params::{Init, Param, Params};
pub use product::{Mat, Update, multiply};
pub use shared_rows::SharedRows;
pub use tape::{Gradients, Tape, Var, record, record_all};
pub use tensor::Tensor;
