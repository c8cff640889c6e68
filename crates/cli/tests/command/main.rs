//! The command line as a user meets it.

mod bad_data;
mod bad_model;
mod bench;
mod device;
mod help;
mod path;
mod readme;
mod support;
