//! The names that have changed since the frozen cases were written: a row for each.

/// The kind of thing that a row renames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A key of a config by its path, a table with all below it included; `TASK:PATH` for the configs of one task only. An empty new
    /// name drops the key.
    Key,
    /// A value: `PATH=VALUE` of a config, `--FLAG=VALUE` of a command line, `EVENT.KEY=VALUE` of JSON. The new one is written as in a config.
    Value,
    /// A subcommand of the program.
    Command,
    /// An option of the command line. An empty new name drops it, as it does a value; one with `=` stands for an option and its value.
    Flag,
    /// An event of the log.
    Event,
    /// A key of JSON after its event or subcommand, both of which keep their old names here: `step.rate`.
    Json,
    /// A file of a model folder.
    File,
}

/// A name of the frozen cases and what it is today.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row(pub(crate) Kind, pub(crate) &'static str, pub(crate) &'static str);

/// All of them.
pub(crate) const NAMES: &[Row] = &[];

/// The new name of the row with an old one.
pub(crate) fn find(rows: &[Row], kind: Kind, old: &str) -> Option<&'static str> {
    rows.iter().find(|row| row.0 == kind && row.1 == old).map(|row| row.2)
}

/// The old name of a value that the program prints at a path, `end.reason` for example.
pub(crate) fn printed(rows: &[Row], path: &str, new: &str) -> String {
    let old = |row: &Row| row.1.strip_prefix(path)?.strip_prefix('=').filter(|_| row.2 == new);
    rows.iter().filter(|row| row.0 == Kind::Value).find_map(old).unwrap_or(new).to_owned()
}
