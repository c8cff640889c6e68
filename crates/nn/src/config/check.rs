//! What makes no model, by name, before any data is read. Each module checks its own settings when it is built; here is what they share.

use super::PositionKind;
use thiserror::Error;

/// A config that makes no model: the keys that cannot be so.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{what}")]
pub struct ConfigError {
    what: String,
    hint: String,
}

impl ConfigError {
    /// How to fix it.
    pub fn hint(&self) -> String {
        self.hint.clone()
    }
}

/// Rejects values that cannot be combined.
pub(crate) fn reject_if(
    invalid: bool,
    what: impl Into<String>,
    hint: impl Into<String>,
) -> Result<(), ConfigError> {
    if invalid { Err(ConfigError { what: what.into(), hint: hint.into() }) } else { Ok(()) }
}

/// Rejects rotary positions where queries and keys are no steps of one sequence.
pub(crate) fn check_not_rotary(table: &str, positions: PositionKind, kind: &str) -> Result<(), ConfigError> {
    reject_if(
        positions == PositionKind::Rotary,
        format!("{table}.positions = \"rotary\" cannot be combined with {table}.kind = \"{kind}\""),
        "only steps of one sequence have a distance; use \"sinusoidal\" or \"learned\"",
    )
}

/// Rejects heads that do not divide states of a width.
pub(crate) fn check_heads(
    table: &str,
    width: usize,
    heads: usize,
    positions: PositionKind,
) -> Result<(), ConfigError> {
    check_sizes([(&*format!("{table}.heads"), heads)])?;
    reject_if(
        !width.is_multiple_of(heads),
        format!("{table}.heads = {heads} does not divide states of width {width}"),
        "each head takes an equal part; change heads or the width",
    )?;
    reject_if(
        positions == PositionKind::Rotary && !(width / heads).is_multiple_of(2),
        format!("{table}.positions = \"rotary\" needs heads of an even width, not of {}", width / heads),
        "pairs of columns are rotated; change heads or the width",
    )
}

/// Rejects sizes of 0.
pub(crate) fn check_sizes<'a>(sizes: impl IntoIterator<Item = (&'a str, usize)>) -> Result<(), ConfigError> {
    sizes.into_iter().try_for_each(|(key, size)| {
        reject_if(size == 0, format!("{key} must not be 0"), "a size of at least 1")
    })
}

/// Rejects what is no fraction from 0 to below 1.
pub(crate) fn check_fraction(key: &str, value: f32) -> Result<(), ConfigError> {
    let is_fraction = (0.0..1.0).contains(&value);
    reject_if(!is_fraction, format!("{key} must not be {value}"), "a fraction from 0 to below 1")
}

/// Rejects stochastic depth of layers without a residual connection.
pub(crate) fn check_stochastic_depth(table: &str, rate: f32) -> Result<(), ConfigError> {
    reject_if(
        rate > 0.0,
        format!("{table}.stochastic_depth needs {table}.residual_from"),
        "a sequence can only skip layers to whose output their input is added; set residual_from",
    )
}
