//! Pictures of what a model does: numbers in, SVG or text for a terminal out.
//!
//! A [`Heatmap`] shows where a model looks: a row for each token that it wrote, a column for each token that it read, and
//! the darker a cell, the more of the row's attention went there. [`Heatmap::to_svg`] draws it for a page, in a file that
//! needs no other and follows the page into dark mode. [`Heatmap::to_terminal`] draws it with characters, in lines that
//! are no longer than the terminal is wide.
//!
//! [`Curves`] show how numbers change: a panel for each kind of number, all over the same axis. [`to_png`] makes pixels of any of the
//! SVG files.
//!
//! Labels may be of any script and hold anything: they are measured as they are displayed (a Chinese character is two
//! columns wide), cut where they are long, and what a terminal or an XML file cannot hold is replaced. The same input
//! gives the same bytes.
//!
//! # An example
//!
//! ```
//! use couplet_plot::{Colour, Heatmap};
//!
//! let heatmap = Heatmap {
//!     source: ["the", "cat", "in", "the", "garden"].map(String::from).to_vec(),
//!     target: ["花园", "里", "的", "猫"].map(String::from).to_vec(),
//!     weights: vec![
//!         vec![0.0, 0.0, 0.1, 0.2, 0.7],
//!         vec![0.0, 0.0, 0.9, 0.0, 0.1],
//!         vec![0.0, 0.2, 0.5, 0.3, 0.0],
//!         vec![0.1, 0.9, 0.0, 0.0, 0.0],
//!     ],
//! };
//! assert!(heatmap.to_svg().starts_with("<svg"));
//! assert_eq!(
//!     heatmap.to_terminal(80, Colour::None),
//!     "     ╭ the
//!      │ ╭ cat
//!      │ │ ╭ in
//!      │ │ │ ╭ the
//!      │ │ │ │ ╭ garden
//! 花园 · · ░░░░▓▓
//!   里 · · ██· ░░
//!   的 · ░░▒▒▒▒·
//!   猫 ░░██· · ·
//! "
//! );
//! ```
//!
//! # Mistakes
//!
//! Weights that do not fit the labels are a bug of the caller: drawing panics and names both shapes. Nothing else can go
//! wrong, so nothing returns an error but [`to_png`].

mod curves;
mod heatmap;
mod label;
mod png;
mod svg;

pub use curves::{Curves, Panel, Series};
pub use heatmap::{Colour, Heatmap};
pub use png::{PngError, to_png};
