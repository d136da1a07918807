//! Safetensors files, written at once and read in pieces: the header first, then tensors in parts, so that
//! reading a model takes little more memory than the model. Files are not trusted.

use super::checksum::Checksum;
use super::header::{self, Header, Info};
use std::cmp::Reverse;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use tractable_core::error::{Error, Result};

/// Numbers of 64 bits.
pub const F64: &str = "F64";
pub(crate) const F32: &str = "F32";
/// Bytes.
pub const U8: &str = "U8";

/// Bytes that are compared with the checksum at once.
const AT_ONCE: usize = 1 << 16;

/// A tensor to be written: its name, type, shape and bytes.
pub(crate) type Tensor = (String, &'static str, Vec<usize>, Vec<u8>);

/// A file of some format and version, with one more entry of metadata. Wide numbers come first, so that all are
/// aligned, and names are sorted: equal tensors are equal files. A file that could not be read again is an error.
pub fn to_file(
    format: &str,
    version: &str,
    (name, text): (&str, &str),
    mut tensors: Vec<Tensor>,
) -> std::result::Result<Vec<u8>, String> {
    let mut header = Header::default();
    let library = env!("CARGO_PKG_VERSION");
    for (name, text) in [("format", format), ("version", version), ("library", library), (name, text)] {
        header.metadata.insert(name.into(), text.into());
    }
    let width = |dtype| [U8, F32, F64].iter().position(|d| *d == dtype);
    tensors.sort_by(|a, b| (Reverse(width(a.1)), &a.0).cmp(&(Reverse(width(b.1)), &b.0)));
    let mut end = 0;
    for (name, dtype, shape, bytes) in &tensors {
        let data_offsets = (end, end + bytes.len() as u64);
        end = data_offsets.1;
        let info = Info { data_offsets, dtype: dtype.to_string(), shape: shape.clone() };
        header.tensors.insert(name.clone(), info);
    }
    let mut sum = Checksum::of(&header);
    tensors.iter().for_each(|(.., bytes)| sum.add(bytes));
    sum.keep(&mut header);
    let mut header = header.to_json();
    // Tensors are aligned.
    header.resize(header.len().next_multiple_of(8), b' ');
    Header::read(&header)?;
    let mut file = [&(header.len() as u64).to_le_bytes(), &header[..]].concat();
    tensors.iter().for_each(|(.., bytes)| file.extend(bytes));
    Ok(file)
}

/// Where the bytes of a model are: in an open file or in memory.
#[derive(Clone, Copy)]
pub enum Bytes<'a> {
    /// In a file.
    File(&'a File),
    /// In memory.
    Memory(&'a [u8]),
}

impl Bytes<'_> {
    fn read(self, from: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        match self {
            Bytes::File(mut file) => {
                file.seek(SeekFrom::Start(from)).and_then(|_| file.read_exact(&mut bytes))?
            }
            Bytes::Memory(all) => {
                let some = all.get(from as usize..).and_then(|rest| rest.get(..length));
                bytes.copy_from_slice(some.ok_or(io::ErrorKind::UnexpectedEof)?);
            }
        }
        Ok(bytes)
    }
}

/// An open file with a checked header: tensors have no gaps, do not overlap and end with the
/// file.
pub struct Tensors<'a> {
    path: &'a Path,
    file: Bytes<'a>,
    header: Header,
    /// Where the first tensor begins.
    start: u64,
}

impl<'a> Tensors<'a> {
    /// Opens this range of a file; `what` is the error if it is not such a file.
    pub fn open(path: &'a Path, file: Bytes<'a>, at: Range<u64>, what: &str) -> Result<Self> {
        let refuse = |why: String| Error::Model {
            path: path.into(),
            at: "header".into(),
            why: format!("{what}: {why}"),
        };
        let Some(rest) = (at.end - at.start).checked_sub(8) else {
            return Err(refuse("it is too short for a header".into()));
        };
        let size = bytes(path, file, at.start, 8)?;
        let size = u64::from_le_bytes(size.try_into().expect("eight bytes"));
        if size > rest.min(header::MOST_BYTES) {
            let most = header::MOST_BYTES;
            return Err(refuse(format!(
                "a header of {size} bytes; the file has {rest}, and the limit is {most}"
            )));
        }
        let header = bytes(path, file, at.start + 8, size as usize)?;
        let header = Header::read(&header).map_err(refuse)?;
        let (said, there) = (header.data_bytes().map_err(refuse)?, rest - size);
        if said != there {
            return Err(refuse(format!("its header describes {said} bytes, but the file has {there}")));
        }
        let tensors = Tensors { path, file, header, start: at.start + 8 + size };
        tensors.check(at.end)?;
        Ok(tensors)
    }

    /// Whether all is as it was when the file was written, to this end.
    fn check(&self, end: u64) -> Result<()> {
        let Some(said) = Checksum::said(&self.header) else { return Ok(()) };
        let mut sum = Checksum::of(&self.header);
        for from in (self.start..end).step_by(AT_ONCE) {
            sum.add(&bytes(self.path, self.file, from, AT_ONCE.min((end - from) as usize))?);
        }
        if sum.text() == said {
            return Ok(());
        }
        let why = "it does not fit the content: the file is damaged, or was changed after it was saved";
        Err(Error::Model { path: self.path.into(), at: "checksum".into(), why: why.into() })
    }

    /// An entry of the metadata.
    pub fn entry(&self, name: &str) -> Option<&str> {
        self.header.metadata.get(name).map(String::as_str)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.header.tensors.keys()
    }

    /// The type, shape and place of a tensor.
    pub fn info(&self, name: &str) -> Option<&Info> {
        self.header.tensors.get(name)
    }

    /// Where the bytes of a tensor are.
    pub fn place(&self, info: &Info) -> Range<u64> {
        self.start + info.data_offsets.0..self.start + info.data_offsets.1
    }

    /// Some numbers of a tensor of f32 or f64.
    pub fn numbers(&self, info: &Info, which: Range<usize>) -> Result<Vec<f64>> {
        let size = if info.dtype == F64 { 8 } else { 4 };
        let from = self.place(info).start + (which.start * size) as u64;
        let bytes = bytes(self.path, self.file, from, which.len() * size)?;
        Ok(match size {
            8 => bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
            _ => bytes.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
        })
    }
}

fn bytes(path: &Path, file: Bytes<'_>, from: u64, length: usize) -> Result<Vec<u8>> {
    file.read(from, length).map_err(|source| Error::File { path: path.into(), doing: "read it", source })
}
