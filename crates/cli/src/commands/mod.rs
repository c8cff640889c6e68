//! The verbs, one a file.

pub(crate) mod attend;
pub(crate) mod average;
pub(crate) mod bench;
pub(crate) mod classify;
pub(crate) mod compare;
pub(crate) mod demo;
pub(crate) mod embed;
pub(crate) mod evaluate;
pub(crate) mod generate;
pub(crate) mod inspect;
mod lines;
pub(crate) mod metrics;
pub(crate) mod new;
pub(crate) mod plot;
pub(crate) mod predict;
pub(crate) mod prepare;
pub(crate) mod score;
mod search;
pub(crate) mod selftest;
pub(crate) mod train;
pub(crate) mod translate;
pub(crate) mod vocab;
