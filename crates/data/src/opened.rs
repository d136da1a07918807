//! Opening a text file: what may be opened at all, gzip, and what separates the cells.

use super::data_error::data_error;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use tractable_core::error::{Error, Result};

const BUFFER: usize = 1 << 16;

/// A file that is open, with what its first bytes say.
pub(super) struct Opened {
    pub(super) bytes: Box<dyn Read + Send + Sync>,
    pub(super) separator: u8,
    /// Bytes of the file; 0 where nobody knows.
    pub(super) length: u64,
}

pub(super) fn open(path: &Path) -> Result<Opened> {
    let fail = |doing| move |source| Error::File { path: path.into(), doing, source };
    // Before it is opened: opening a pipe waits for a writer.
    let about = std::fs::metadata(path).map_err(fail("open"))?;
    if !about.is_file() && !is_open_already(path, &about) {
        return Err(data_error(path, 0, None, format!("is {}, not a CSV file", kind(&about))));
    }
    let file = File::open(path).map_err(fail("open"))?;
    let length = if about.is_file() { about.len() } else { 0 };
    let mut file = BufReader::with_capacity(BUFFER, file);
    // The content decides, not the name.
    let gzip = file.fill_buf().map_err(fail("read"))?.starts_with(&[0x1f, 0x8b]);
    let (bytes, length): (Box<dyn Read + Send + Sync>, u64) = match gzip {
        #[cfg(feature = "gzip")]
        true => {
            let most = length.saturating_mul(BOMB_FROM_ONE).saturating_add(BOMB);
            (Box::new(Unpacked { bytes: flate2::bufread::MultiGzDecoder::new(file), left: most }), 0)
        }
        #[cfg(not(feature = "gzip"))]
        true => {
            return Err(data_error(path, 0, None, "compressed, which needs the feature `gzip`; unpack it"));
        }
        false => (Box::new(file), length),
    };
    let mut text = BufReader::with_capacity(BUFFER, bytes);
    let first = text.fill_buf().map_err(|e| damaged(path, e))?;
    if first.starts_with(&[0xff, 0xfe]) || first.starts_with(&[0xfe, 0xff]) {
        return Err(data_error(path, 1, None, "UTF-16; save the file as UTF-8"));
    }
    if first.contains(&0) {
        return Err(data_error(path, 1, None, "not a text file"));
    }
    let separator = separator(first);
    Ok(Opened { bytes: Box::new(text), separator, length })
}

/// A gzip file that holds more than so many bytes from each of its own, and so many in all, is a bomb.
#[cfg(feature = "gzip")]
const BOMB_FROM_ONE: u64 = 200;
#[cfg(feature = "gzip")]
const BOMB: u64 = 64 << 20;

/// What comes out of a gzip file, up to a limit.
#[cfg(feature = "gzip")]
struct Unpacked<R> {
    bytes: R,
    left: u64,
}

#[cfg(feature = "gzip")]
impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.bytes.read(out)?;
        self.left = self.left.checked_sub(n as u64).ok_or_else(|| {
            std::io::Error::new(std::io::ErrorKind::InvalidData, "it unpacks to more than a table should")
        })?;
        Ok(n)
    }
}

/// A pipe that this process was given: its standard input, or what a shell writes as `<(command)`.
#[cfg(unix)]
fn is_open_already(path: &Path, about: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let given = ["/dev/stdin", "/dev/fd/", "/proc/self/fd/"];
    let kind = about.file_type();
    let pipe = kind.is_fifo() || kind.is_socket();
    pipe && given.iter().any(|start| path.to_string_lossy().starts_with(start))
}

#[cfg(unix)]
fn kind(about: &std::fs::Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match about.file_type() {
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a named pipe",
        _ => "a device",
    }
}

#[cfg(not(unix))]
fn kind(about: &std::fs::Metadata) -> &'static str {
    if about.is_dir() { "a folder" } else { "a device" }
}

#[cfg(not(unix))]
fn is_open_already(_: &Path, _: &std::fs::Metadata) -> bool {
    false
}

/// What became of reading: a damaged file, or one that cannot be read.
pub(super) fn damaged(path: &Path, source: std::io::Error) -> Error {
    use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    match [InvalidData, InvalidInput, UnexpectedEof].contains(&source.kind()) {
        true => data_error(path, 0, None, format!("damaged gzip file ({source})")),
        false => Error::File { path: path.into(), doing: "read", source },
    }
}

/// What the first line has most of, outside quotes; a comma where there is nothing to choose from.
fn separator(text: &[u8]) -> u8 {
    let start = text.iter().position(|b| !b"\r\n\xef\xbb\xbf".contains(b)).unwrap_or(0);
    let (mut quoted, mut counts) = (false, [0; 4]);
    for byte in &text[start..] {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted => break,
            _ if quoted => {}
            _ => {
                if let Some(at) = SEPARATORS.iter().position(|s| s == byte) {
                    counts[at] += 1;
                }
            }
        }
    }
    let best = (0..4).rev().max_by_key(|&i| counts[i]).expect("there are four");
    SEPARATORS[best]
}

const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_separator_is_what_the_header_has_most_of() {
        let cases: [(&[u8], u8); 8] = [
            (b"a,b\n1;2\n", b','),
            (b"a;b;c, d\n", b';'),
            (b"\xef\xbb\xbfa\tb\n", b'\t'),
            (b"\n\"a,b,c,d\";b;c\n", b';'),
            (b"a|b|c", b'|'),
            (b"a\n1\n", b','),
            (b"", b','),
            (b"\"never closed, a, b", b','),
        ];
        for (text, wanted) in cases {
            assert_eq!(separator(text), wanted, "{}", String::from_utf8_lossy(text));
        }
    }
}
