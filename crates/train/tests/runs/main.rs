//! Tests of whole runs, one module a task.

mod classify;
mod copying;
mod features;
mod pretrain;
mod translate;
