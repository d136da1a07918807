//! The checksum of a file, among its metadata: a bit that flips on a disk or on the way is found when the file is read. It is no
//! signature: whoever changes a file on purpose can write another one.

// FNV-1a with 64 bits, as 16 hexadecimal digits, of the header as JSON (metadata without the checksum, then tensors, both sorted) and
// of all tensors in the order of the file. It depends on what the header says, not on how it is written. Files of builds that wrote
// none are read without.

use super::header::Header;
use std::io::{self, Write};
use tractable_core::fnv;

/// The name of the entry.
const NAME: &str = "checksum";

pub(super) struct Checksum(u64);

impl Checksum {
    /// Begins with a header; tensors follow.
    pub(super) fn of(header: &Header) -> Self {
        let mut sum = Checksum(fnv::EMPTY);
        let metadata: Vec<_> = header.metadata.iter().filter(|(name, _)| *name != NAME).collect();
        serde_json::to_writer(&mut sum, &(metadata, &header.tensors)).expect("names, texts and numbers");
        sum
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0 = fnv::fnv1a_64(self.0, bytes.iter().copied());
    }

    /// Writes it into the header.
    pub(super) fn keep(&self, header: &mut Header) {
        header.metadata.insert(NAME.into(), self.text());
    }

    /// What a header says it should be, if it says so.
    pub(super) fn said(header: &Header) -> Option<&str> {
        header.metadata.get(NAME).map(String::as_str)
    }

    pub(super) fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}

impl Write for Checksum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
