//! Tests of whole runs, one module a task.

mod classify;
mod pretrain;
mod translate;
