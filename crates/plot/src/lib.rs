//! Pictures of what a model does: numbers in, SVG, PNG or text for a terminal out.
//!
//! [`Attention`] shows where a model looks, in one of two views. A *heatmap* has a row for each token that the model wrote and a
//! column for each that it read; the darker a cell, the more of the row's attention went there. *Lines* lead from what was read
//! to what was written; the thicker a line, the more attention. [`Attention::to_svg`] draws for a page, in a file that needs
//! no other and follows the page into dark mode. [`Attention::to_terminal`] draws with characters, in lines that are no
//! longer than the terminal is wide.
//!
//! [`Curves`] show how numbers change, and how far they spread: a panel for each kind of number, all over the same axis. [`Bars`] show
//! numbers beside each other, and a [`Scatter`] points with names. [`to_png`] makes pixels of any of the SVG files, with the [`Fonts`] of the system, and says which characters none of
//! them has.
//!
//! Labels may be of any script and hold anything: they are measured as they are displayed (a Chinese character is two
//! columns wide), cut where they are long, and what a terminal or an XML file cannot hold is replaced. The same input
//! gives the same bytes.
//!
//! # An example
//!
//! ```
//! use couplet_plot::{Attention, Background, Color, View};
//!
//! let attention = Attention {
//!     source: ["Tom", "chases", "Jerry"].map(String::from).to_vec(),
//!     target: ["汤姆", "追逐", "杰瑞"].map(String::from).to_vec(),
//!     weights: vec![vec![0.6, 0.2, 0.2], vec![0.2, 0.7, 0.1], vec![0.3, 0.2, 0.5]],
//! };
//! assert!(attention.to_svg(View::Lines, Background::Page).starts_with("<svg"));
//! assert_eq!(
//!     attention.to_terminal(View::Heatmap, 80, Color::None),
//!     "     ╭ Tom
//!      │ ╭ chases
//!      │ │ ╭ Jerry
//! 汤姆 ▓▓░░░░
//! 追逐 ░░▓▓░░
//! 杰瑞 ▒▒░░▓▓
//!
//!      ░░ ≥ 0.05  ▒▒ ≥ 0.25  ▓▓ ≥ 0.5  ██ ≥ 0.75
//! "
//! );
//! ```
//!
//! # Mistakes
//!
//! Weights that do not fit the labels are a bug of the caller: drawing panics and names both shapes. Nothing else can go
//! wrong, so nothing returns an error but [`to_png`].

mod attention;
mod bars;
mod braille;
mod curves;
mod fonts;
mod label;
mod png;
mod scatter;
mod svg;

pub use attention::{Attention, Color, ShapeError, View};
pub use bars::{Bar, Bars, Group};
pub use curves::{Curves, Panel, Scale, Series};
pub use fonts::Fonts;
pub use png::{Png, PngError, to_png};
pub use scatter::{Point, Scatter};
pub use svg::Background;
