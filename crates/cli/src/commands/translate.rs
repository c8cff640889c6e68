use crate::device::DeviceArguments;
use crate::failure::{Failure, Outcome};
use couplet_data::{Lines, WholeFile};
use couplet_search::{Folder, LONGEST_SOURCE, Loaded, Translator};
use std::io::{self, BufWriter, ErrorKind, Stdout, Write};
use std::path::{Path, PathBuf};

/// Lines that are read before they are translated: enough to batch lines of like lengths.
const CHUNK: usize = 512;

/// Translate, a line in, a line out.
#[derive(clap::Args)]
#[command(after_help = "Example: echo \"Tom chases Jerry\" | couplet translate --model my-model")]
pub(crate) struct Arguments {
    /// The model folder.
    #[arg(long)]
    model: PathBuf,
    /// Read from a file, plain or gzip [default: standard input]
    #[arg(long)]
    input: Option<PathBuf>,
    /// Write to a file [default: standard output]
    #[arg(long)]
    output: Option<PathBuf>,
    /// Hypotheses that are followed at once; 1 is greedy [default: the config's]
    #[arg(long)]
    beam: Option<usize>,
    #[command(flatten)]
    device: DeviceArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let loaded = Loaded::open(&Folder::new(&arguments.model), &arguments.device.open()?)?;
    let mut search = loaded.search.clone();
    search.beam = arguments.beam.unwrap_or(search.beam).max(1);
    let translator = Translator::from(&loaded);
    let mut lines = match &arguments.input {
        Some(path) => Lines::open(path)?,
        None => Lines::read("standard input", io::stdin())?,
    };
    let mut out = Output::open(arguments.output.as_deref())?;
    let mut first = 1;
    loop {
        let chunk = lines.by_ref().take(CHUNK).collect::<Result<Vec<String>, _>>()?;
        if chunk.is_empty() {
            break;
        }
        for (number, translation) in (first..).zip(translator.translate(&chunk, &search)) {
            if translation.cut {
                eprintln!(
                    "warning: line {number} is longer than {LONGEST_SOURCE} tokens; the rest of it was left out"
                );
            }
            if !out.line(&translation.text)? {
                return Ok(());
            }
        }
        first += chunk.len();
        if !out.flush()? {
            return Ok(());
        }
    }
    out.finish()
}

/// Where lines go.
enum Output {
    Stdout(BufWriter<Stdout>),
    File(PathBuf, WholeFile),
}

impl Output {
    fn open(path: Option<&Path>) -> Result<Output, Failure> {
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
    fn line(&mut self, text: &str) -> Result<bool, Failure> {
        let written = writeln!(self.writer(), "{text}");
        self.check(written)
    }

    fn flush(&mut self) -> Result<bool, Failure> {
        let flushed = self.writer().flush();
        self.check(flushed)
    }

    fn check(&self, result: io::Result<()>) -> Result<bool, Failure> {
        match result {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Failure::io(self.name(), &error)),
        }
    }

    fn name(&self) -> &Path {
        match self {
            Output::Stdout(_) => Path::new("standard output"),
            Output::File(path, _) => path,
        }
    }

    fn finish(self) -> Outcome {
        match self {
            Output::Stdout(_) => Ok(()),
            Output::File(path, file) => file.finish().map_err(|error| Failure::io(&path, &error)),
        }
    }
}
