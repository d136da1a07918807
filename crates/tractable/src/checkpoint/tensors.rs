//! A safetensors file read piece by piece: its header at once, its tensors a few numbers at a time, so that reading a
//! model takes little more memory than the model. The file is not trusted.

use super::header;
use crate::error::{Error, Result};
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

/// An open file whose header was read and checked: tensors have no hole between them, do not overlap and end where the
/// file does.
pub(crate) struct Tensors<'a> {
    path: &'a Path,
    file: &'a File,
    metadata: Metadata,
    /// Where the first tensor begins.
    start: u64,
}

impl<'a> Tensors<'a> {
    /// What lies at these places of a file; `what` it is not, if it is no such file.
    pub(crate) fn open(path: &'a Path, file: &'a File, at: Range<u64>, what: &str) -> Result<Self> {
        let refuse = |why: String| Error::Model {
            path: path.into(),
            at: "header".into(),
            why: format!("{what}: {why}"),
        };
        let Some(rest) = (at.end - at.start).checked_sub(8) else {
            return Err(refuse("it is too short to say how long its header is".into()));
        };
        let size = bytes(path, file, at.start, 8)?;
        let size = u64::from_le_bytes(size.try_into().expect("eight bytes"));
        if size > rest.min(header::MOST_BYTES) {
            let most = header::MOST_BYTES;
            return Err(refuse(format!(
                "a header of {size} bytes; {rest} are there, and at most {most} are read"
            )));
        }
        let header = bytes(path, file, at.start + 8, size as usize)?;
        header::check(&header).map_err(refuse)?;
        let metadata: Metadata = serde_json::from_slice(&header).map_err(|e| refuse(e.to_string()))?;
        // Again, since commas may be written in other ways in a text.
        for text in metadata.metadata().iter().flatten().map(|(_, text)| text) {
            header::affordable(text.as_bytes()).map_err(refuse)?;
        }
        let (said, there) = (metadata.data_len() as u64, rest - size);
        if said != there {
            return Err(refuse(format!("its header tells of {said} bytes, and {there} are there")));
        }
        Ok(Tensors { path, file, metadata, start: at.start + 8 + size })
    }

    /// An entry of the metadata.
    pub(crate) fn entry(&self, name: &str) -> Option<&str> {
        self.metadata.metadata().as_ref()?.get(name).map(String::as_str)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.metadata.offset_keys()
    }

    pub(crate) fn info(&self, name: &str) -> Option<&TensorInfo> {
        self.metadata.info(name)
    }

    /// Where the bytes of a tensor are.
    pub(crate) fn place(&self, info: &TensorInfo) -> Range<u64> {
        self.start + info.data_offsets.0 as u64..self.start + info.data_offsets.1 as u64
    }

    /// Some numbers of a tensor of f32 or f64.
    pub(crate) fn numbers(&self, info: &TensorInfo, which: Range<usize>) -> Result<Vec<f64>> {
        let size = if info.dtype == Dtype::F64 { 8 } else { 4 };
        let from = self.place(info).start + (which.start * size) as u64;
        let bytes = bytes(self.path, self.file, from, which.len() * size)?;
        Ok(match size {
            8 => bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
            _ => bytes.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
        })
    }
}

fn bytes(path: &Path, mut file: &File, from: u64, length: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let read = file.seek(SeekFrom::Start(from)).and_then(|_| file.read_exact(&mut bytes));
    read.map_err(|source| Error::File { path: path.into(), doing: "read it", source })?;
    Ok(bytes)
}
