//! The lines of a file: plain or gzip, UTF-8 with or without a byte order mark, one at a time.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::DataError;

/// The first two bytes of every gzip file. The name is not asked: a file may be compressed whatever it is called.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const BUFFER: usize = 64 * 1024;

/// The lines of a file or a stream, without their ends (LF or CRLF), read as they are asked for.
///
/// A line is empty where the file has an empty line; whether that is a mistake is for the reader to say. After an error
/// there are no further lines.
pub struct Lines {
    path: PathBuf,
    reader: Box<dyn BufRead + Send>,
    gzip: bool,
    line: usize,
    done: bool,
}

impl Lines {
    /// Opens a file.
    pub fn open(path: impl Into<PathBuf>) -> Result<Lines, DataError> {
        let path = path.into();
        match File::open(&path) {
            Ok(file) => Lines::read(path, file),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(DataError::Missing { path }),
            Err(source) => Err(DataError::Unreadable { path, source }),
        }
    }

    /// Reads a stream, such as the standard input; `name` stands for it in errors.
    pub fn read(
        name: impl Into<PathBuf>,
        mut stream: impl Read + Send + 'static,
    ) -> Result<Lines, DataError> {
        let path = name.into();
        let mut start = Vec::new();
        if let Err(source) = stream.by_ref().take(GZIP.len() as u64).read_to_end(&mut start) {
            return Err(DataError::Unreadable { path, source });
        }
        let gzip = start == GZIP;
        let whole = BufReader::with_capacity(BUFFER, Cursor::new(start).chain(stream));
        let reader: Box<dyn BufRead + Send> = if gzip {
            Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(whole)))
        } else {
            Box::new(whole)
        };
        Ok(Lines { path, reader, gzip, line: 0, done: false })
    }

    /// The name of the file or stream.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many lines have been read: the number of the last one, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    fn next_line(&mut self) -> Result<Option<String>, DataError> {
        let mut bytes = Vec::new();
        self.line += 1;
        let read = self.reader.read_until(b'\n', &mut bytes).map_err(|error| self.unreadable(error))?;
        if read == 0 {
            self.line -= 1;
            return Ok(None);
        }
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
            if bytes.last() == Some(&b'\r') {
                bytes.pop();
            }
        }
        self.decode(bytes).map(Some)
    }

    fn decode(&self, bytes: Vec<u8>) -> Result<String, DataError> {
        let mut text = String::from_utf8(bytes).map_err(|error| DataError::InvalidUtf8 {
            path: self.path.clone(),
            line: self.line,
            byte: error.utf8_error().valid_up_to() + 1,
            utf16: self.line == 1
                && (error.as_bytes().starts_with(b"\xff\xfe") || error.as_bytes().starts_with(b"\xfe\xff")),
        })?;
        if self.line == 1 && text.as_bytes().starts_with(BYTE_ORDER_MARK) {
            text.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(text)
    }

    fn unreadable(&self, source: std::io::Error) -> DataError {
        let (path, line) = (self.path.clone(), self.line);
        match source.kind() {
            ErrorKind::UnexpectedEof if self.gzip => DataError::TruncatedGzip { path, line },
            ErrorKind::InvalidData | ErrorKind::InvalidInput if self.gzip => {
                DataError::DamagedGzip { path, line, reason: source.to_string() }
            }
            _ => DataError::Unreadable { path, source },
        }
    }
}

impl Iterator for Lines {
    type Item = Result<String, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let line = self.next_line().transpose();
        self.done = !matches!(line, Some(Ok(_)));
        line
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("path", &self.path).field("line", &self.line).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn lines(bytes: &[u8]) -> Result<Vec<String>, DataError> {
        Lines::read("text", Cursor::new(bytes.to_vec()))?.collect()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Text that does not compress well, so that cutting the file off cuts text off.
    fn long_text() -> Vec<u8> {
        let mut random = crate::random::Random::new(1);
        (0..20_000).flat_map(|_| format!("{:x}\n", random.next_u64()).into_bytes()).collect()
    }

    #[test]
    fn ends_of_lines_are_not_part_of_them() {
        assert_eq!(lines(b"a\nb\r\n\nc").unwrap(), ["a", "b", "", "c"]);
        assert_eq!(lines(b"a\n").unwrap(), ["a"]);
        assert_eq!(lines(b"\n").unwrap(), [""]);
        assert_eq!(lines(b"x\ry\n").unwrap(), ["x\ry"]);
        assert!(lines(b"").unwrap().is_empty());
    }

    #[test]
    fn a_byte_order_mark_is_skipped_at_the_start_only() {
        assert_eq!(lines("\u{feff}a\n\u{feff}b".as_bytes()).unwrap(), ["a", "\u{feff}b"]);
    }

    #[test]
    fn gzip_is_recognised_by_its_bytes_and_may_have_members() {
        let mut bytes = gzip("Der Hund\nund".as_bytes());
        bytes.extend(gzip(" eine Katze\r\nbellen".as_bytes()));
        assert_eq!(lines(&bytes).unwrap(), ["Der Hund", "und eine Katze", "bellen"]);
        assert!(lines(&gzip(b"")).unwrap().is_empty());
    }

    #[test]
    fn a_stream_may_come_byte_by_byte() {
        struct Slow(Cursor<Vec<u8>>);
        impl Read for Slow {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let end = buffer.len().min(1);
                self.0.read(&mut buffer[..end])
            }
        }
        let slow = |bytes| Lines::read("slow", Slow(Cursor::new(bytes))).unwrap();
        let text: Vec<_> = slow(gzip(b"one\ntwo")).collect::<Result<_, _>>().unwrap();
        assert_eq!(text, ["one", "two"]);
        assert_eq!(slow(b"x".to_vec()).count(), 1);
    }

    #[test]
    fn invalid_utf8_is_named_by_line_and_byte() {
        let error = lines(b"fine\nna\xefve\n").unwrap_err();
        assert_eq!(error.to_string(), "text:2: byte 3 of the line is not UTF-8");
        let error = lines(b"\xff\xfea\0\n\0").unwrap_err();
        assert!(error.hint().unwrap().contains("UTF-16"), "{error}");
    }

    #[test]
    fn a_truncated_gzip_file_is_named() {
        let whole = gzip(&long_text());
        for end in [2, 9, 12, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
            let error = lines(&whole[..end]).unwrap_err();
            assert!(matches!(error, DataError::TruncatedGzip { .. }), "{end}: {error}");
        }
    }

    #[test]
    fn a_damaged_gzip_file_is_named() {
        let mut bytes = gzip(&long_text());
        let middle = bytes.len() / 2;
        bytes[middle..middle + 8].copy_from_slice(&[0xff; 8]);
        let error = lines(&bytes).unwrap_err();
        assert!(matches!(error, DataError::DamagedGzip { .. }), "{error:?}");
    }

    #[test]
    fn after_an_error_there_is_nothing() {
        let mut lines = Lines::read("text", Cursor::new(b"\xff\nfine\n".to_vec())).unwrap();
        assert!(lines.next().unwrap().is_err());
        assert!(lines.next().is_none());
    }

    #[test]
    fn a_missing_file_and_a_folder_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let missing = Lines::open(folder.path().join("nowhere")).unwrap_err();
        assert!(matches!(missing, DataError::Missing { .. }), "{missing}");
        assert!(missing.to_string().contains("nowhere"));
        let is_folder = Lines::open(folder.path()).unwrap_err();
        assert!(matches!(is_folder, DataError::Unreadable { .. }), "{is_folder}");
    }
}
