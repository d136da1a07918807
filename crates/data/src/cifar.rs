//! The binary batches of CIFAR-10, plain or gzip: records of one label byte and three 32 by 32 planes.

use super::data_error::data_error;
use super::idx::{check_labels, open};
use super::images::Images;
use std::io::{ErrorKind, Read};
use std::path::Path;
use tractable_core::error::{Error, Result};
use tractable_core::shape::Shape;

const PIXELS: usize = 3 * 32 * 32;
const RECORD: usize = 1 + PIXELS;

/// Reads files in the format of `cifar-10-batches-bin` as one set.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("data_batch_1.bin");
/// std::fs::write(&path, [vec![3], vec![200; 3 * 32 * 32]].concat())?; // one grey cat
/// let images = tractable::data::cifar_batches(&[&path], tractable::data::CIFAR10.map(String::from).to_vec())?;
/// assert_eq!(images.class_names()[images.label(0)], "cat");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cifar_batches(paths: &[impl AsRef<Path>], names: Vec<String>) -> Result<Images> {
    let files = paths.iter().map(|p| open(p.as_ref())).collect::<Result<Vec<_>>>()?;
    // Plain files say how much they hold.
    let plain = files.iter().map(|(_, most)| most).filter(|&most| most % RECORD as u64 == 0);
    let records = plain.map(|most| (most / RECORD as u64) as usize).sum::<usize>();
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    if pixels.try_reserve_exact(records * PIXELS).is_err() {
        return Err(Error::invalid("images", format!("not enough memory for {records}")));
    }
    for (path, (mut bytes, most)) in paths.iter().zip(files) {
        let path = path.as_ref();
        let refuse = |why: String| Err(data_error(path, 0, None, why));
        let first = labels.len();
        let mut record = [0; RECORD];
        loop {
            let mut got = 0;
            while got < RECORD {
                match bytes.read(&mut record[got..]) {
                    Ok(0) => break,
                    Ok(n) => got += n,
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::UnexpectedEof) => {
                        return refuse(format!("damaged gzip file ({e}); download it again"));
                    }
                    Err(source) => return Err(Error::File { path: path.into(), doing: "read it", source }),
                }
            }
            match got {
                0 => break,
                RECORD if (labels.len() - first) as u64 >= most / RECORD as u64 => {
                    return refuse("more images than a file of its size can hold".into());
                }
                RECORD => {
                    labels.push(record[0]);
                    pixels.extend_from_slice(&record[1..]);
                }
                _ => {
                    let why = "truncated, or not CIFAR-10's binary format: it must be records of 3073 bytes";
                    return refuse(format!("{why}, and {got} bytes are left over"));
                }
            }
        }
        if labels.len() == first {
            return refuse("the file is empty".into());
        }
        check_labels(path, &labels[first..], names.len())?;
    }
    Images::new(Shape::image(3, 32, 32), pixels, labels.into_iter().map(u16::from).collect(), names)
}
