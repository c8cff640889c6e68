//! Lists of kinds: the enum that a config names, and what is known of each kind.

use crate::cell::CellKind;
use crate::config::{ConfigError, reject_if};

/// A list of kinds: an enum with `ALL` of its variants, and for each of them an entry.
macro_rules! kinds {
    ($(#[$meta:meta])* $name:ident: $entry:ty { $($(#[$doc:meta])* $kind:ident => $value:expr,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[$doc])* $kind,)*
        }

        impl $name {
            /// All kinds.
            pub(crate) const ALL: &[$name] = &[$($name::$kind),*];

            pub(crate) fn entry(self) -> $entry {
                match self {
                    $($name::$kind => $value,)*
                }
            }
        }
    };
}
pub(crate) use kinds;

/// The keys of a kind of encoder or decoder.
#[derive(Clone, Copy)]
pub(crate) struct KindKeys {
    /// The kind's name in a config.
    pub(crate) name: &'static str,
    /// The keys that it has in addition to those of every kind and those of its cell.
    pub(crate) keys: &'static [&'static str],
    /// The cell of its layers.
    pub(crate) cell: Option<CellKind>,
}

impl KindKeys {
    pub(crate) fn has(self, key: &str) -> bool {
        self.keys.contains(&key) || self.cell.is_some_and(|cell| cell.keys().contains(&key))
    }

    /// Rejects a key that was set, if this kind does not have it, and names those of all kinds that have it.
    pub(crate) fn check(
        self,
        table: &str,
        key: &str,
        all: impl Iterator<Item = KindKeys>,
    ) -> Result<(), ConfigError> {
        let path = if key.contains('.') { key.to_owned() } else { format!("{table}.{key}") };
        let names: Vec<String> =
            all.filter(|kind| kind.has(key)).map(|kind| format!("\"{}\"", kind.name)).collect();
        reject_if(
            !self.has(key),
            format!("{path} cannot be combined with {table}.kind = \"{}\"", self.name),
            format!("remove it, or choose a kind that has it: {}", names.join(", ")),
        )
    }
}
