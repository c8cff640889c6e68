//! Tests of searching: every combination of a model's parts, and text in, text out.

mod combinations;
mod copying;
mod fixture;
mod requests;
mod translator;
