//! The bytes of a file or a stream: unpacked where it is gzip or zstd, without a byte order mark.

use std::error::Error as _;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::DataError;

/// What packed files begin with. The name is not asked: a file may be packed whatever it is called.
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const BUFFER: usize = 64 * 1024;

/// The path that stands for the standard input.
pub const STANDARD_INPUT: &str = "-";

/// Whether a path stands for the standard input.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    path == Path::new(STANDARD_INPUT)
}

/// What errors call a file.
pub(crate) fn shown(path: &Path) -> &Path {
    if is_standard_input(path) { Path::new("standard input") } else { path }
}

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// By gzip, one member or several.
    Gzip,
    /// By zstd, one frame or several.
    Zstd,
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
        })
    }
}

/// The bytes of a file, and what is needed to say what is wrong with them.
pub(crate) struct Bytes {
    pub(crate) path: PathBuf,
    pub(crate) reader: Box<dyn BufRead + Send>,
    packing: Option<Packing>,
}

impl Bytes {
    /// Opens a file, or the standard input.
    pub(crate) fn open(path: &Path) -> Result<Bytes, DataError> {
        if is_standard_input(path) {
            return Bytes::read(shown(path).into(), io::stdin());
        }
        Bytes::read(path.into(), open_file(path)?)
    }

    /// Reads a stream; `path` stands for it in errors.
    pub(crate) fn read(path: PathBuf, mut stream: impl Read + Send + 'static) -> Result<Bytes, DataError> {
        let start = match begin(&mut stream, &[GZIP, ZSTD]) {
            Ok(start) => start,
            Err(source) => return Err(DataError::Unreadable { path, source }),
        };
        let packing = [(GZIP, Packing::Gzip), (ZSTD, Packing::Zstd)];
        let packing = packing.iter().find(|(mark, _)| start == *mark).map(|&(_, packing)| packing);
        let packed = BufReader::with_capacity(BUFFER, Cursor::new(start).chain(stream));
        let reader: Box<dyn BufRead + Send> = match packing {
            None => Box::new(packed),
            Some(Packing::Gzip) => Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(packed))),
            Some(Packing::Zstd) => Box::new(BufReader::with_capacity(BUFFER, Frames::new(packed))),
        };
        Bytes { path, reader, packing }.without_mark()
    }

    fn without_mark(mut self) -> Result<Bytes, DataError> {
        let start = begin(&mut self.reader, &[BYTE_ORDER_MARK]).map_err(|error| self.error(1, error))?;
        if start != BYTE_ORDER_MARK {
            self.reader = Box::new(Cursor::new(start).chain(self.reader));
        }
        Ok(self)
    }

    /// Hands the bytes over, and stays to name what is wrong with them.
    pub(crate) fn take_reader(&mut self) -> Box<dyn BufRead + Send> {
        std::mem::replace(&mut self.reader, Box::new(io::empty()))
    }

    /// What went wrong while a line was read.
    pub(crate) fn error(&self, line: usize, source: io::Error) -> DataError {
        let path = self.path.clone();
        match (self.packing, source.kind()) {
            (Some(packing), ErrorKind::UnexpectedEof) => DataError::Truncated { path, line, packing },
            (Some(packing), ErrorKind::InvalidData | ErrorKind::InvalidInput) => {
                DataError::Damaged { path, line, packing, reason: source.to_string() }
            }
            _ => DataError::Unreadable { path, source },
        }
    }
}

/// The bytes of a file as [`Lines`](crate::Lines) sees them, unpacked, for what is not made of lines. `-` is the standard input.
pub fn open_unpacked(path: &Path) -> Result<Box<dyn BufRead + Send>, DataError> {
    Bytes::open(path).map(|bytes| bytes.reader)
}

/// Opens a file that should be there.
fn open_file(path: &Path) -> Result<File, DataError> {
    File::open(path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => DataError::Missing { path: path.into() },
        _ => DataError::Unreadable { path: path.into(), source },
    })
}

/// A checksum of a file as it is, packed or not, after another one. What cannot be read twice, a pipe for example, is left alone.
pub fn add_file_to_checksum(sum: u32, path: &Path) -> Result<u32, DataError> {
    if path.metadata().is_ok_and(|about| !about.is_file()) {
        return Ok(sum);
    }
    let mut reader = BufReader::with_capacity(BUFFER, open_file(path)?);
    let mut sum = sum;
    loop {
        let bytes =
            reader.fill_buf().map_err(|source| DataError::Unreadable { path: path.into(), source })?;
        if bytes.is_empty() {
            return Ok(sum);
        }
        sum = crc32c::crc32c_append(sum, bytes);
        let read = bytes.len();
        reader.consume(read);
    }
}

/// The first bytes of a stream, as many as it takes to see whether they are one of these marks. Not one more: somebody may be
/// typing the stream, and waits for an answer to a line.
fn begin(stream: &mut impl Read, marks: &[&[u8]]) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    while marks.iter().any(|mark| mark.len() > start.len() && mark.starts_with(&start)) {
        if stream.by_ref().take(1).read_to_end(&mut start)? == 0 {
            break;
        }
    }
    Ok(start)
}

/// All frames of a zstd file, one after the other, each against its checksum.
struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    inside: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(source: R) -> Frames<R> {
        Frames { source, decoder: FrameDecoder::new(), inside: false }
    }

    /// Whether there is another frame.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => {
                    self.inside = true;
                    return Ok(true);
                }
                // Room for the data of other programs, which some have at the start.
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(plain(&error)),
            }
        }
        Ok(false)
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.inside = false;
        match self.decoder.get_checksum_from_data() {
            Some(sum) if self.decoder.get_calculated_checksum() != Some(sum) => {
                Err(io::Error::new(ErrorKind::InvalidData, "its checksum is another"))
            }
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.inside && !self.next_frame()? {
                return Ok(0);
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, one).map_err(|error| plain(&error))?;
            }
            match self.decoder.read(buffer)? {
                0 if !buffer.is_empty() => self.end_frame()?,
                read => return Ok(read),
            }
        }
    }
}

/// Whether the file was too short or its bytes were wrong: the decoder wraps the former several times.
fn plain(error: &FrameDecoderError) -> io::Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(each) = cause {
        let is_end = |error: &io::Error| error.kind() == ErrorKind::UnexpectedEof;
        if each.downcast_ref::<io::Error>().is_some_and(is_end) {
            return ErrorKind::UnexpectedEof.into();
        }
        cause = each.source();
    }
    io::Error::new(ErrorKind::InvalidData, error.source().map_or(error.to_string(), ToString::to_string))
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bytes").field("path", &self.path).finish_non_exhaustive()
    }
}
