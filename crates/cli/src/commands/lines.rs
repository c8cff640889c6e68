//! A line in, a line out: what all verbs that run a model over lines share.

use crate::device::DeviceArguments;
use crate::failure::{Failure, Outcome};
use crate::stdout;
use couplet_data::{Lines, STANDARD_INPUT, WholeFile};
use couplet_search::Folder;
use couplet_tensor::Device;
use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

/// Lines that are read before they are answered: enough to batch lines of like lengths.
pub(super) const CHUNK: usize = 512;

// No doc comment: clap would show it in place of the verb's own.
#[derive(clap::Args)]
pub(crate) struct LineArguments {
    /// The model folder.
    #[arg(long)]
    model: PathBuf,
    /// Read from a file, plain or gzip [default: standard input]
    #[arg(long)]
    input: Option<PathBuf>,
    /// Write to a file [default: standard output]
    #[arg(long)]
    output: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArguments,
}

impl LineArguments {
    pub(crate) fn folder(&self) -> Folder {
        Folder::new(&self.model)
    }

    pub(crate) fn device(&self) -> Result<Device, Failure> {
        self.device.open()
    }

    /// What is read: a file, or `-`.
    pub(crate) fn input(&self) -> &Path {
        self.input.as_deref().unwrap_or(Path::new(STANDARD_INPUT))
    }

    /// Reads lines, and writes what `answer` gives for them. It gets some lines at a time, with the number of the first. Returns `false` if
    /// nobody read all of the output.
    pub(crate) fn answer(
        &self,
        answer: impl FnMut(usize, &[String]) -> Result<Vec<String>, Failure>,
    ) -> Result<bool, Failure> {
        self.answer_each(Lines::open(self.input())?.map(|line| line.map_err(Failure::from)), answer)
    }

    /// The same of rows that are more than a line of text.
    pub(crate) fn answer_each<T>(
        &self,
        mut rows: impl Iterator<Item = Result<T, Failure>>,
        mut answer: impl FnMut(usize, &[T]) -> Result<Vec<String>, Failure>,
    ) -> Result<bool, Failure> {
        let mut out = Output::open(self.output.as_deref())?;
        let mut first = 1;
        loop {
            let chunk = rows.by_ref().take(CHUNK).collect::<Result<Vec<T>, _>>()?;
            if chunk.is_empty() {
                return out.finish().map(|()| true);
            }
            for text in answer(first, &chunk)? {
                if !out.line(&text)? {
                    return Ok(false);
                }
            }
            first += chunk.len();
            if !out.flush()? {
                return Ok(false);
            }
        }
    }
}

/// Where lines go.
pub(super) enum Output {
    Stdout(BufWriter<Stdout>),
    File(PathBuf, WholeFile),
}

impl Output {
    pub(super) fn open(path: Option<&Path>) -> Result<Output, Failure> {
        let Some(path) = path else { return Ok(Output::Stdout(BufWriter::new(io::stdout()))) };
        let file = WholeFile::create(path).map_err(|error| Failure::io(path, &error))?;
        Ok(Output::File(path.to_owned(), file))
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Output::Stdout(writer) => writer,
            Output::File(_, file) => file,
        }
    }

    /// Writes a line; false where nobody reads any more.
    pub(super) fn line(&mut self, text: &str) -> Result<bool, Failure> {
        let written = writeln!(self.writer(), "{text}");
        self.check(written)
    }

    pub(super) fn flush(&mut self) -> Result<bool, Failure> {
        let flushed = self.writer().flush();
        self.check(flushed)
    }

    fn check(&self, result: io::Result<()>) -> Result<bool, Failure> {
        match result {
            Ok(()) => Ok(true),
            Err(error) if stdout::is_unread(&error) => Ok(false),
            Err(error) => Err(Failure::io(self.name(), &error)),
        }
    }

    fn name(&self) -> &Path {
        match self {
            Output::Stdout(_) => Path::new(stdout::NAME),
            Output::File(path, _) => path,
        }
    }

    pub(super) fn finish(self) -> Outcome {
        match self {
            Output::Stdout(_) => Ok(()),
            Output::File(path, file) => file.finish().map_err(|error| Failure::io(&path, &error)),
        }
    }
}
