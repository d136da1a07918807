//! The bytes of a text file with uniform line ends and a limit on how long a record may run.

use std::io::{self, Read};

/// The file's bytes with every line end (CRLF, CR, LF, or none at the end of the file) turned into LF.
///
/// The csv crate counts LFs only, and counts the one of a CRLF late; with this its line numbers are right.
/// It also stops a record that does not end: what a record may still take is set before each one.
pub(super) struct Source {
    file: Box<dyn Read + Send + Sync>,
    after_cr: bool,
    ended: bool,
    last: u8,
    allowance: u64,
}

impl Read for Source {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.exhausted() {
            return Err(io::Error::other("line too long"));
        }
        while !self.ended && !out.is_empty() {
            let got = match self.file.read(out) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            let kept = if got == 0 {
                self.ended = true;
                if self.last == b'\n' {
                    return Ok(0);
                }
                out[0] = b'\n';
                1
            } else {
                self.line_feeds_only(&mut out[..got])
            };
            if kept > 0 {
                self.last = out[kept - 1];
                self.allowance = self.allowance.saturating_sub(kept as u64);
                return Ok(kept);
            }
        }
        Ok(0)
    }
}

impl Source {
    pub(super) fn new(file: Box<dyn Read + Send + Sync>) -> Self {
        Self { file, after_cr: false, ended: false, last: b'\n', allowance: 0 }
    }

    /// From here on so many bytes may be read, give or take one read; then it is an error.
    pub(super) fn allow(&mut self, bytes: u64) {
        self.allowance = bytes;
    }

    /// Whether all that was allowed has been read.
    pub(super) fn exhausted(&self) -> bool {
        self.allowance == 0
    }

    /// CRLF and CR to LF, in place; how many bytes are left.
    fn line_feeds_only(&mut self, bytes: &mut [u8]) -> usize {
        if !self.after_cr && !bytes.contains(&b'\r') {
            return bytes.len();
        }
        let mut kept = 0;
        for i in 0..bytes.len() {
            let byte = bytes[i];
            if !(byte == b'\n' && self.after_cr) {
                bytes[kept] = if byte == b'\r' { b'\n' } else { byte };
                kept += 1;
            }
            self.after_cr = byte == b'\r';
        }
        kept
    }
}
