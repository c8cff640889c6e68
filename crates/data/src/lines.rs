//! The lines of a file: plain or packed, UTF-8 with or without a byte order mark, one at a time.

use std::fmt;
use std::io::{self, BufRead, Cursor, Read};
use std::path::{Path, PathBuf};

use crate::DataError;
use crate::unpack::Bytes;

/// How far into a file a line feed is looked for, before its lines are taken to end with carriage returns alone.
const LONGEST_FIRST_LINE: u64 = 64 * 1024;

/// The lines of a file or a stream, without their ends, read as they are asked for.
///
/// Lines end with LF or CRLF. Where the first 64 KiB have no LF but a CR, they end with a CR alone, as on old Macs;
/// anywhere else, a lone CR is a character like another, so that one that strayed into a text does not move all lines after it.
///
/// A line is empty where the file has an empty line; whether that is a mistake is for the reader to say. After a line that is not
/// UTF-8 the next one can be read; after any other error there are no further lines.
pub struct Lines {
    bytes: Bytes,
    /// What ends a line, once that is known.
    end: Option<u8>,
    line: usize,
    done: bool,
}

impl Lines {
    /// Opens a file; `-` is the standard input.
    pub fn open(path: impl AsRef<Path>) -> Result<Lines, DataError> {
        Bytes::open(path.as_ref()).map(Lines::new)
    }

    /// Reads a stream, such as the standard input; `name` stands for it in errors.
    pub fn read(name: impl Into<PathBuf>, stream: impl Read + Send + 'static) -> Result<Lines, DataError> {
        Bytes::read(name.into(), stream).map(Lines::new)
    }

    fn new(bytes: Bytes) -> Lines {
        Lines { bytes, end: None, line: 0, done: false }
    }

    /// The name of the file or stream.
    pub fn path(&self) -> &Path {
        &self.bytes.path
    }

    /// How many lines have been read: the number of the last one, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    fn next_line(&mut self) -> Result<Option<String>, DataError> {
        self.line += 1;
        let bytes = self.next_bytes().map_err(|error| {
            self.done = true;
            self.bytes.error(self.line, error)
        })?;
        match bytes {
            Some(bytes) => self.decode(bytes).map(Some),
            None => {
                self.done = true;
                self.line -= 1;
                Ok(None)
            }
        }
    }

    fn next_bytes(&mut self) -> io::Result<Option<Vec<u8>>> {
        let end = match self.end {
            Some(end) => end,
            None => self.find_end()?,
        };
        let mut bytes = Vec::new();
        if self.bytes.reader.read_until(end, &mut bytes)? == 0 {
            return Ok(None);
        }
        if bytes.last() == Some(&end) {
            bytes.pop();
            if end == b'\n' && bytes.last() == Some(&b'\r') {
                bytes.pop();
            }
        }
        Ok(Some(bytes))
    }

    /// Looks at the first line for what ends it.
    fn find_end(&mut self) -> io::Result<u8> {
        let mut start = Vec::new();
        self.bytes.reader.by_ref().take(LONGEST_FIRST_LINE).read_until(b'\n', &mut start)?;
        let has_cr = match start.split_last() {
            // The LF of this CR may be the next byte.
            Some((b'\r', before)) if start.len() as u64 == LONGEST_FIRST_LINE => before.contains(&b'\r'),
            _ => start.contains(&b'\r'),
        };
        let end = if has_cr && start.last() != Some(&b'\n') { b'\r' } else { b'\n' };
        self.end = Some(end);
        let rest = self.bytes.take_reader();
        self.bytes.reader = Box::new(Cursor::new(start).chain(rest));
        Ok(end)
    }

    fn decode(&self, bytes: Vec<u8>) -> Result<String, DataError> {
        String::from_utf8(bytes).map_err(|error| {
            let utf16 = [b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| error.as_bytes().starts_with(*mark));
            DataError::InvalidUtf8 {
                path: self.path().into(),
                line: self.line,
                byte: error.utf8_error().valid_up_to() + 1,
                utf16: self.line == 1 && utf16,
            }
        })
    }
}

impl Iterator for Lines {
    type Item = Result<String, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done { None } else { self.next_line().transpose() }
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("path", &self.path()).field("line", &self.line).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;
    use crate::unpack::Packing;

    fn lines(bytes: &[u8]) -> Result<Vec<String>, DataError> {
        Lines::read("text", Cursor::new(bytes.to_vec()))?.collect()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
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
        assert!(lines(b"").unwrap().is_empty());
    }

    #[test]
    fn a_lone_carriage_return_ends_lines_where_nothing_else_does() {
        assert_eq!(lines(b"a\rb\r\rc").unwrap(), ["a", "b", "", "c"]);
        assert_eq!(lines(b"a\rb\nc\rd\n").unwrap(), ["a\rb", "c\rd"]);
        let long = "x".repeat(LONGEST_FIRST_LINE as usize - 1);
        assert_eq!(lines(format!("{long}\r\ny\n").as_bytes()).unwrap(), [&long, "y"]);
        assert_eq!(lines(format!("{long}\ry\n").as_bytes()).unwrap(), [format!("{long}\ry")]);
        assert_eq!(lines(format!("{long}x\ry\n").as_bytes()).unwrap().len(), 1);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_at_the_start_only() {
        assert_eq!(lines("\u{feff}a\n\u{feff}b".as_bytes()).unwrap(), ["a", "\u{feff}b"]);
    }

    #[test]
    fn gzip_is_recognized_by_its_bytes_and_may_have_members() {
        let mut bytes = gzip("Der Hund\nund".as_bytes());
        bytes.extend(gzip(" eine Katze\r\nbellen".as_bytes()));
        assert_eq!(lines(&bytes).unwrap(), ["Der Hund", "und eine Katze", "bellen"]);
        assert!(lines(&gzip(b"")).unwrap().is_empty());
    }

    /// A frame that is to be skipped has the mark `0x184d2a50` and its length before it, both with the lowest byte first.
    #[test]
    fn zstd_is_recognized_by_its_bytes_and_may_have_frames() {
        let mut bytes = zstd("\u{feff}Der Hund\nund".as_bytes());
        bytes.extend(b"\x50\x2a\x4d\x18\x03\0\0\0abc");
        bytes.extend(zstd(b" eine Katze\r\nbellen"));
        assert_eq!(lines(&bytes).unwrap(), ["Der Hund", "und eine Katze", "bellen"]);
        assert!(lines(&zstd(b"")).unwrap().is_empty());
    }

    #[test]
    fn a_stream_may_come_byte_by_byte() {
        struct Slow(Cursor<Vec<u8>>);
        impl Read for Slow {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
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
    fn a_truncated_file_is_named() {
        for (whole, is) in [(gzip(&long_text()), Packing::Gzip), (zstd(&long_text()), Packing::Zstd)] {
            for end in [4, 9, 12, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
                let error = lines(&whole[..end]).unwrap_err();
                assert!(
                    matches!(error, DataError::Truncated { packing, .. } if packing == is),
                    "{is} {end}: {error}"
                );
            }
        }
    }

    #[test]
    fn a_damaged_file_is_named() {
        for (mut bytes, is) in [(gzip(&long_text()), Packing::Gzip), (zstd(&long_text()), Packing::Zstd)] {
            let middle = bytes.len() / 2;
            bytes[middle..middle + 8].copy_from_slice(&[0xff; 8]);
            let error = lines(&bytes).unwrap_err();
            assert!(matches!(error, DataError::Damaged { packing, .. } if packing == is), "{is}: {error:?}");
        }
    }

    #[test]
    fn a_line_that_is_not_utf8_is_not_the_end() {
        let mut lines = Lines::read("text", Cursor::new(b"\xff\nfine\n".to_vec())).unwrap();
        assert!(lines.next().unwrap().is_err());
        assert_eq!(lines.next().unwrap().unwrap(), "fine");
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
