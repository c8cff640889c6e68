//! What a run says of itself: `train.jsonl`, TensorBoard, and whoever looks on.

use crate::error::{TrainError, write_error};
use crate::event::Event;
use crate::tensorboard::EventFile;
use couplet_search::Folder;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where events go. A log that cannot be written does not stop a run: the observer is told, once.
pub(crate) struct Log<'a> {
    observer: &'a mut dyn FnMut(&Event),
    lines: Option<(PathBuf, File)>,
    events: Option<(PathBuf, EventFile)>,
}

impl<'a> Log<'a> {
    /// Events for an observer alone.
    pub(crate) fn new(observer: &'a mut dyn FnMut(&Event)) -> Log<'a> {
        Log { observer, lines: None, events: None }
    }

    /// Events for the files of a folder too: new ones, or those that a run goes on with.
    pub(crate) fn into_folder(
        mut self,
        folder: &Folder,
        on: bool,
        tensorboard: bool,
    ) -> Result<Self, TrainError> {
        let path = folder.log();
        let file = if on { open_behind_last_line(&path) } else { File::create(&path) };
        self.lines = Some((path.clone(), file.map_err(write_error(&path))?));
        if tensorboard {
            let path = folder.tensorboard();
            let file = EventFile::create(&path).map_err(write_error(&path))?;
            self.events = Some((path, file));
        }
        Ok(self)
    }

    pub(crate) fn say(&mut self, event: &Event) {
        (self.observer)(event);
        let mut failed = Vec::new();
        if let Some((path, file)) = &mut self.lines {
            let mut line = serde_json::to_string(event).expect("an event is plain values");
            line.push('\n');
            if let Err(error) = file.write_all(line.as_bytes()) {
                failed.push(format!("{}: {error}", path.display()));
                self.lines = None;
            }
        }
        if let Some((path, file)) = &mut self.events
            && let Err(error) = file.write(event)
        {
            failed.push(format!("{}: {error}", path.display()));
            self.events = None;
        }
        for message in failed {
            (self.observer)(&Event::SaveFailed {
                update: 0,
                message: format!("{message}; no more is logged"),
            });
        }
    }
}

/// A run that was killed may have left half a line: it goes.
fn open_behind_last_line(path: &Path) -> std::io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let whole = fs::read(path)?.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    file.set_len(whole as u64)?;
    Ok(file)
}
