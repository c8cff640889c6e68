//! The verbs, one a file.

pub(crate) mod attend;
pub(crate) mod bench;
pub(crate) mod demo;
pub(crate) mod evaluate;
pub(crate) mod inspect;
pub(crate) mod new;
pub(crate) mod selftest;
pub(crate) mod train;
pub(crate) mod translate;
