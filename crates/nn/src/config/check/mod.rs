//! Refuses what makes no model, by name, before any data is read: the rooms say what makes no reader, no writer, no whole.

mod decoder;
mod encoder;
mod model;
#[cfg(test)]
mod tests;

use super::PositionKind;
use crate::cell::CellKind;
use thiserror::Error;

/// A config that makes no model.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ConfigError {
    /// A size of nothing.
    #[error("{key} = 0")]
    Zero {
        /// The key.
        key: &'static str,
    },
    /// A rate outside of its range.
    #[error("{key} = {value}")]
    Dropout {
        /// The key.
        key: &'static str,
        /// What was given.
        value: f32,
    },
    /// Values that do not go together.
    #[error("{what}")]
    Together {
        /// Which ones.
        what: String,
        /// What to do about it.
        hint: String,
    },
}

impl ConfigError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            ConfigError::Zero { .. } => "a size of at least 1".to_owned(),
            ConfigError::Dropout { .. } => "a share from 0 to below 1".to_owned(),
            ConfigError::Together { hint, .. } => hint.clone(),
        }
    }
}
/// Refuses values that do not go together.
pub(in crate::config) fn refuse_if(
    wrong: bool,
    what: impl Into<String>,
    hint: impl Into<String>,
) -> Result<(), ConfigError> {
    if wrong { Err(ConfigError::Together { what: what.into(), hint: hint.into() }) } else { Ok(()) }
}

/// Refuses a key that only some kinds have.
pub(super) fn check_key<K: PartialEq>(
    part: &str,
    key: &str,
    chosen: bool,
    kind: &K,
    of: &[(K, &str)],
) -> Result<(), ConfigError> {
    let names: Vec<String> = of.iter().map(|(_, name)| format!("\"{name}\"")).collect();
    refuse_if(
        chosen && of.iter().all(|(of, _)| of != kind),
        format!("{part}.{key} without {part}.kind = {}", names.join(" or ")),
        "leave it out, or choose that kind",
    )
}

/// Refuses to turn queries and keys that are not steps of one sequence.
pub(super) fn check_turned(part: &str, positions: PositionKind, kind: &str) -> Result<(), ConfigError> {
    refuse_if(
        positions == PositionKind::Rotary,
        format!("{part}.positions = \"rotary\" with {part}.kind = \"{kind}\""),
        "only steps that look at each other have a distance; use \"sinusoidal\" or \"learned\"",
    )
}

/// Refuses heads that do not share states of a width.
pub(super) fn check_heads(
    part: &str,
    width: usize,
    heads: usize,
    positions: PositionKind,
) -> Result<(), ConfigError> {
    refuse_if(heads == 0, format!("{part}.heads = 0"), "a size of at least 1")?;
    refuse_if(
        !width.is_multiple_of(heads),
        format!("{part}.heads = {heads} does not divide states of {width} numbers"),
        "each head takes an equal part; change heads or the width",
    )?;
    refuse_if(
        positions == PositionKind::Rotary && !(width / heads).is_multiple_of(2),
        format!("{part}.positions = \"rotary\" with heads of {} numbers", width / heads),
        "pairs of numbers are turned; give each head an even number",
    )
}

pub(in crate::config) fn check_sizes(
    sizes: impl IntoIterator<Item = (&'static str, usize)>,
) -> Result<(), ConfigError> {
    match sizes.into_iter().find(|(_, size)| *size == 0) {
        Some((key, _)) => Err(ConfigError::Zero { key }),
        None => Ok(()),
    }
}

pub(in crate::config) fn check_share(key: &'static str, value: f32) -> Result<(), ConfigError> {
    if (0.0..1.0).contains(&value) { Ok(()) } else { Err(ConfigError::Dropout { key, value }) }
}

/// Refuses to leave layers out where nothing leads past them.
pub(super) fn check_shortcut(part: &str, layer_dropout: f32) -> Result<(), ConfigError> {
    refuse_if(
        layer_dropout > 0.0,
        format!("{part}.stochastic_depth without {part}.residual_from"),
        "a sequence can only go past layers to whose output their input is added; set residual_from",
    )
}

/// Refuses choices that a cell does not have.
pub(super) fn check_cell(
    part: &str,
    kind: Option<CellKind>,
    activation: bool,
    forget_bias: bool,
) -> Result<(), ConfigError> {
    refuse_if(
        activation && kind != Some(CellKind::Rnn),
        format!("{part}.activation without {part}.kind = \"rnn\""),
        "only the simple cell has a choice of activation; leave it out",
    )?;
    refuse_if(
        forget_bias && kind != Some(CellKind::Lstm),
        format!("{part}.forget_bias without {part}.kind = \"lstm\""),
        "only the LSTM has a forget gate; leave it out",
    )
}
