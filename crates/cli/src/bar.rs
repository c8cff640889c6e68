//! How far something is, on stderr: a bar on a terminal, plain lines in a log.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Between two changes of a bar, and between two plain lines.
const BAR_EVERY: Duration = Duration::from_millis(100);
const LINE_EVERY: Duration = Duration::from_secs(10);

/// A bar, or the plain lines in its place.
pub(crate) struct Bar {
    bar: Option<ProgressBar>,
    last: Option<Instant>,
}

impl Bar {
    /// `behind` is what stands behind the bar, in indicatif's words.
    pub(crate) fn new(behind: &str) -> Bar {
        let bar = std::io::stderr().is_terminal().then(|| {
            let color = if wants_color() { ".cyan" } else { "" };
            let style = ProgressStyle::with_template(&format!("{{bar:30{color}}} {behind}"));
            ProgressBar::new(0).with_style(style.expect("a template of known words"))
        });
        Bar { bar, last: None }
    }

    /// The same for what is often done before anything needs to be said.
    pub(crate) fn patient(behind: &str) -> Bar {
        Bar { last: Some(Instant::now()), ..Bar::new(behind) }
    }

    /// Says how far it is, unless that was just said. `text` is told whether it stands alone, without a bar.
    pub(crate) fn show(&mut self, done: u64, text: impl FnOnce(bool) -> String) {
        let every = if self.bar.is_some() { BAR_EVERY } else { LINE_EVERY };
        if self.last.is_some_and(|last| last.elapsed() < every) {
            return;
        }
        self.last = Some(Instant::now());
        match &self.bar {
            Some(bar) => {
                bar.set_position(done);
                bar.set_message(text(false));
            }
            None => say(&text(true)),
        }
    }

    /// So much is to be done.
    pub(crate) fn plan(&self, all: u64) {
        self.bar.iter().for_each(|bar| bar.set_length(all));
    }

    /// What was done before does not count for the time that is left.
    pub(crate) fn go_on_from(&self, done: u64) {
        self.bar.iter().for_each(|bar| {
            bar.set_position(done);
            bar.reset_eta();
        });
    }

    /// A line that stays.
    pub(crate) fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => say(text),
        }
    }

    /// Takes the bar away. Lines come after it.
    pub(crate) fn finish(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }
}

/// Nobody may be there to read it any more: that is no reason to stop.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Color on a terminal, unless the user does not want any.
pub(crate) fn wants_color() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
