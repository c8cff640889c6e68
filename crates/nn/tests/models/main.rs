//! Tests of whole models: what they promise, and their numbers beside PyTorch's.

mod classifier;
mod copying;
mod fixture;
mod freeze;
mod joining;
mod pytorch;
mod seq2seq;
mod streams;
mod without_recurrence;
