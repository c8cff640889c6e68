//! Tests of the engine: every operation by hand, against its plain reference, and against the loop that it fuses.

mod arrange;
mod attention;
mod batches;
mod cells;
mod cross_entropy;
mod dropout;
mod embedding;
mod extension;
mod lane;
mod layer_norm;
mod likeliest;
mod linear;
mod logistic_loss;
mod optimiser;
mod pointwise;
mod pool;
mod product;
mod recurrent;
mod scan;
mod selftest;
mod softmax;
mod support;
mod whole;
