//! IDX files, plain or gzip: the format of MNIST and similar sets. Files are not trusted.

use super::data_error::data_error;
use super::images::Images;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use tractable_core::error::{Error, Result};
use tractable_core::shape::Shape;

/// Maximum side of an image.
const LONGEST_SIDE: u32 = 1 << 14;

/// Reads images and their labels from two IDX files, plain or gzip. `names` are the classes.
///
/// Sizes are compared with what the files can hold before memory is allocated.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let (a, b) = (dir.path().join("images"), dir.path().join("labels"));
/// std::fs::write(&a, [0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 7, 9])?; // one image of 1x2
/// std::fs::write(&b, [0, 0, 8, 1, 0, 0, 0, 1, 1])?; // one label
/// let images = tractable::data::idx(&a, &b, vec!["no".into(), "yes".into()])?;
/// assert_eq!((images.pixels(0), images.label(0)), (&[7, 9][..], 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn idx(images: impl AsRef<Path>, labels: impl AsRef<Path>, names: Vec<String>) -> Result<Images> {
    let (images, labels) = (images.as_ref(), labels.as_ref());
    let ([count, height, width], pixels) = read::<3>(images, "images")?;
    for side in [height, width] {
        if !(1..=LONGEST_SIDE).contains(&side) {
            let why = format!("images of {height} by {width} pixels cannot be used");
            return Err(data_error(images, 0, None, why));
        }
    }
    let ([many], bytes) = read::<1>(labels, "labels")?;
    if many != count {
        let why = format!("{many} labels, but {} has {count} images", images.display());
        return Err(data_error(labels, 0, None, why));
    }
    check_labels(labels, &bytes, names.len())?;
    let shape = Shape::image(1, height as usize, width as usize);
    Images::new(shape, pixels, bytes.into_iter().map(u16::from).collect(), names)
}

/// The first label that is not a class.
pub(super) fn check_labels(path: &Path, labels: &[u8], classes: usize) -> Result<()> {
    match labels.iter().position(|&l| usize::from(l) >= classes) {
        None => Ok(()),
        Some(at) => {
            let why = format!(
                "label {} of image {at} is not one of {classes} classes, 0 to {}",
                labels[at],
                classes.saturating_sub(1)
            );
            Err(data_error(path, 0, None, why))
        }
    }
}

/// Sizes and bytes of an IDX file of unsigned bytes with `D` dimensions.
fn read<const D: usize>(path: &Path, what: &str) -> Result<([u32; D], Vec<u8>)> {
    let fail = |source| Error::File { path: path.into(), doing: "read it", source };
    let refuse = |why: String| Err(data_error(path, 0, None, why));
    let (mut bytes, most) = open(path)?;
    let magic = match word(&mut bytes) {
        Ok(magic) => magic,
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => {
            return refuse("the file is too short for IDX".into());
        }
        Err(e) => return damaged(path, e),
    };
    if magic != 0x800 + D as u32 {
        let hint = match magic {
            0x801 => "; it contains labels: are images and labels swapped?",
            0x803 => "; it contains images: are images and labels swapped?",
            _ => "",
        };
        let expected = 0x800 + D;
        return refuse(format!("not an IDX file of {what}: it starts with {magic}, not {expected}{hint}"));
    }
    let mut sizes = [0; D];
    for size in &mut sizes {
        *size = match word(&mut bytes) {
            Ok(size) => size,
            Err(e) => return damaged(path, e),
        };
    }
    let total = sizes.iter().try_fold(1u64, |n, &s| n.checked_mul(u64::from(s)));
    let said = sizes.map(|s| s.to_string()).join(" x ");
    let total = match total {
        Some(0) => return refuse(format!("it has no {what}: its sizes are {said}")),
        Some(total) if total <= most => total as usize,
        _ => {
            let why =
                format!("truncated: its sizes are {said}, more than the file can hold; download it again");
            return refuse(why);
        }
    };
    let mut content = Vec::new();
    if content.try_reserve_exact(total).is_err() {
        return refuse(format!("not enough memory for its sizes, {said}"));
    }
    match bytes.by_ref().take(total as u64).read_to_end(&mut content) {
        Err(e) => return damaged(path, e),
        Ok(got) if got < total => {
            let why = format!("truncated: only {got} of {total} bytes of {what}; download it again");
            return refuse(why);
        }
        Ok(_) => {}
    }
    match bytes.fill_buf() {
        Ok([]) => Ok((sizes, content)),
        Ok(_) => refuse(format!("it has more bytes than its sizes, {said}")),
        // A gzip file ends with a checksum, which is looked at here.
        Err(e) if e.kind() == ErrorKind::InvalidInput || e.kind() == ErrorKind::UnexpectedEof => {
            damaged(path, e)
        }
        Err(e) => Err(fail(e)),
    }
}

fn damaged<T>(path: &Path, e: std::io::Error) -> Result<T> {
    match e.kind() {
        ErrorKind::UnexpectedEof => {
            Err(data_error(path, 0, None, "truncated: the file ends too early; download it again"))
        }
        ErrorKind::InvalidInput | ErrorKind::InvalidData => {
            Err(data_error(path, 0, None, format!("damaged gzip file ({e}); download it again")))
        }
        _ => Err(Error::File { path: path.into(), doing: "read it", source: e }),
    }
}

/// A file's content, unpacked if it is gzip, and the most bytes that can come of it.
pub(super) fn open(path: &Path) -> Result<(Box<dyn BufRead>, u64)> {
    let fail = |doing| move |source| Error::File { path: path.into(), doing, source };
    // Before it is opened: opening a pipe waits for a writer.
    let about = std::fs::metadata(path).map_err(fail("open it"))?;
    if !about.is_file() {
        return Err(data_error(path, 0, None, "not a file"));
    }
    let file = File::open(path).map_err(fail("open it"))?;
    let mut file = BufReader::with_capacity(1 << 16, file);
    // The content decides, not the name.
    let gzip = file.fill_buf().map_err(fail("read it"))?.starts_with(&[0x1f, 0x8b]);
    match gzip {
        #[cfg(feature = "gzip")]
        true => {
            let unpacked = flate2::bufread::MultiGzDecoder::new(file);
            Ok((Box::new(BufReader::with_capacity(1 << 16, unpacked)), packed(about.len())))
        }
        #[cfg(not(feature = "gzip"))]
        true => Err(data_error(path, 0, None, "compressed, which needs the feature `gzip`; unpack it")),
        false => Ok((Box::new(file), about.len())),
    }
}

/// The most bytes that are taken out of a gzip file of this length.
#[cfg(feature = "gzip")]
fn packed(length: u64) -> u64 {
    /// Deflate cannot make more than this many bytes out of one.
    const MOST_FROM_ONE: u64 = 1032;
    /// A file that holds more than so many bytes from each of its own, and so many in all, is a bomb: images have five.
    const BOMB_FROM_ONE: u64 = 16;
    const BOMB: u64 = 16 << 20;
    let believed = length.saturating_mul(BOMB_FROM_ONE).saturating_add(BOMB);
    believed.min(length.saturating_mul(MOST_FROM_ONE))
}

fn word(bytes: &mut impl Read) -> std::io::Result<u32> {
    let mut word = [0; 4];
    bytes.read_exact(&mut word)?;
    Ok(u32::from_be_bytes(word))
}
