//! The engine of couplet.

pub mod cell;
mod device;
pub mod lane;
mod memory;
pub mod ops;
pub mod optimiser;
mod params;
mod pool;
pub mod product;
pub mod random;
mod rows;
pub mod score;
mod shared;
mod tape;
mod tensor;

pub use device::{Cpu, Device};
pub use lane::Isa;
pub use memory::Blocks;
pub use params::{Init, Param, Params};
pub use product::{Mat, Update, multiply};
pub use rows::{Direction, Rows, Step};
pub use tape::{Gradients, Tape, Var, record, record_all};
pub use tensor::Tensor;
