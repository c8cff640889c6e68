//! The command line as a user meets it.

mod bad_data;
mod bad_model;
mod bench;
mod classify;
mod compare;
mod copying;
mod device;
mod embed;
mod features;
mod help;
mod keys;
mod limit;
mod metrics;
mod notes;
mod path;
mod pictures;
mod prepare;
mod pretraining;
mod readme;
mod resume;
mod search;
mod support;
mod text;
mod watching;
