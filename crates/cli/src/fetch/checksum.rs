//! Published checksums, and whether a file has the right one.

use flate2::read::MultiGzDecoder;
use md5::Md5;
use sha1::Sha1;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// A published checksum in hexadecimal. It detects damage, not forgery.
#[derive(Clone, Copy)]
pub(crate) enum Digest {
    Md5(&'static str),
    Sha1(&'static str),
}

impl Digest {
    pub(super) fn holds(self, bytes: impl Read) -> io::Result<bool> {
        match self {
            Digest::Md5(known) => Ok(hex::<Md5>(bytes)? == known),
            Digest::Sha1(known) => Ok(hex::<Sha1>(bytes)? == known),
        }
    }

    /// Of a file as it is.
    pub(super) fn holds_for(self, path: &Path) -> io::Result<bool> {
        self.holds(File::open(path)?)
    }

    /// Of a file's content, which may be packed with gzip. What cannot be unpacked does not hold.
    pub(super) fn holds_for_content(self, path: &Path) -> io::Result<bool> {
        let mut file = BufReader::new(File::open(path)?);
        if io::BufRead::fill_buf(&mut file)?.starts_with(&[0x1f, 0x8b]) {
            return Ok(self.holds(MultiGzDecoder::new(file)).unwrap_or(false));
        }
        self.holds(file)
    }
}

fn hex<D: md5::Digest>(mut bytes: impl Read) -> io::Result<String> {
    let (mut hash, mut buffer) = (D::new(), vec![0; 1 << 16]);
    loop {
        match bytes.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => hash.update(&buffer[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(hash.finalize().iter().map(|b| format!("{b:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standards() {
        assert!(Digest::Md5("900150983cd24fb0d6963f7d28e17f72").holds(&b"abc"[..]).unwrap());
        assert!(Digest::Sha1("a9993e364706816aba3e25717850c26c9cd0d89d").holds(&b"abc"[..]).unwrap());
        assert!(!Digest::Md5("900150983cd24fb0d6963f7d28e17f72").holds(&b"abd"[..]).unwrap());
    }
}
