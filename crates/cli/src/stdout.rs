//! What a command says: `print!` and `println!` as they are everywhere, but for a standard output that takes no more. That is no
//! mistake of the program, so it is no panic: where nobody reads any more, as behind `| head`, the command ends, and a full disk is an
//! error like any other. Either way the stack unwinds with a [`Closed`] to `panics::caught`, which knows what it means.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

/// What standard output is called in messages.
pub(crate) const NAME: &str = "standard output";

/// Why standard output took no more.
#[derive(Debug)]
pub(crate) struct Closed(pub(crate) io::Error);

/// Whether an error says that nobody reads any more.
pub(crate) fn is_unread(error: &io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe
}

/// Prints, or unwinds.
pub(crate) fn print(text: Arguments) {
    if let Err(error) = io::stdout().write_fmt(text) {
        std::panic::resume_unwind(Box::new(Closed(error)));
    }
}

macro_rules! print {
    ($($text:tt)*) => { $crate::stdout::print(format_args!($($text)*)) };
}

macro_rules! println {
    () => { print!("\n") };
    ($($text:tt)*) => { print!("{}\n", format_args!($($text)*)) };
}
