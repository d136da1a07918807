//! The public image sets by name: which files they are, and what their classes are called.

use super::cifar::cifar_batches;
use super::data_error::data_error;
use super::idx::idx;
use super::images::Images;
use std::path::{Path, PathBuf};
use tractable_core::error::Result;

/// Classes of MNIST.
const MNIST: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

/// Classes of CIFAR-10.
///
/// ```
/// assert_eq!(tractable::data::CIFAR10[9], "truck");
/// ```
pub const CIFAR10: [&str; 10] =
    ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

/// Classes of Fashion-MNIST.
///
/// ```
/// assert_eq!(tractable::data::FASHION_MNIST[8], "bag");
/// ```
pub const FASHION_MNIST: [&str; 10] =
    ["t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"];

/// Reads MNIST from the folder with its four IDX files, plain or `.gz`: training and test images.
///
/// ```no_run
/// let (train, test) = tractable::data::mnist("data/mnist")?;
/// assert_eq!((train.len(), test.len()), (60_000, 10_000));
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn mnist(folder: impl AsRef<Path>) -> Result<(Images, Images)> {
    four_files(folder.as_ref(), &MNIST)
}

/// Reads the test images of [`mnist`] alone.
///
/// ```no_run
/// assert_eq!(tractable::data::mnist_test("data/mnist")?.len(), 10_000);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn mnist_test(folder: impl AsRef<Path>) -> Result<Images> {
    two_files(folder.as_ref(), "t10k", &MNIST)
}

/// Reads Fashion-MNIST, whose files have MNIST's names and format.
///
/// ```no_run
/// let (train, test) = tractable::data::fashion_mnist("data/fashion-mnist")?;
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn fashion_mnist(folder: impl AsRef<Path>) -> Result<(Images, Images)> {
    four_files(folder.as_ref(), &FASHION_MNIST)
}

/// Reads the test images of [`fashion_mnist`] alone.
///
/// ```no_run
/// assert_eq!(tractable::data::fashion_mnist_test("data/fashion-mnist")?.len(), 10_000);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn fashion_mnist_test(folder: impl AsRef<Path>) -> Result<Images> {
    two_files(folder.as_ref(), "t10k", &FASHION_MNIST)
}

/// Reads CIFAR-10 from the folder with its six binary batches, or its parent.
///
/// ```no_run
/// let (train, test) = tractable::data::cifar10("data/cifar10")?;
/// assert_eq!((train.len(), test.len()), (50_000, 10_000));
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn cifar10(folder: impl AsRef<Path>) -> Result<(Images, Images)> {
    let folder = folder.as_ref();
    let train: Vec<PathBuf> =
        (1..=5).map(|i| find(&batches(folder), &format!("data_batch_{i}.bin"))).collect::<Result<_>>()?;
    let test = cifar10_test(folder)?;
    Ok((cifar_batches(&train, CIFAR10.map(String::from).to_vec())?, test))
}

/// Reads the test images of [`cifar10`] alone.
///
/// ```no_run
/// assert_eq!(tractable::data::cifar10_test("data/cifar10")?.len(), 10_000);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn cifar10_test(folder: impl AsRef<Path>) -> Result<Images> {
    let test = find(&batches(folder.as_ref()), "test_batch.bin")?;
    cifar_batches(&[test], CIFAR10.map(String::from).to_vec())
}

/// The folder with the binary batches.
fn batches(folder: &Path) -> PathBuf {
    let inner = folder.join("cifar-10-batches-bin");
    if inner.is_dir() { inner } else { folder.into() }
}

/// The images and labels of one part.
fn two_files(folder: &Path, part: &str, names: &[&str]) -> Result<Images> {
    let images = find(folder, &format!("{part}-images-idx3-ubyte"))?;
    let labels = find(folder, &format!("{part}-labels-idx1-ubyte"))?;
    idx(images, labels, names.iter().map(|n| n.to_string()).collect())
}

fn four_files(folder: &Path, names: &[&str]) -> Result<(Images, Images)> {
    let (train, test) = (two_files(folder, "train", names)?, two_files(folder, "t10k", names)?);
    if train.shape() != test.shape() {
        let why = format!("training images are {}, test images {}", train.shape(), test.shape());
        return Err(data_error(folder, 0, None, why));
    }
    Ok((train, test))
}

/// A file of the set, plain or gzip; some copies have a dot where others have a hyphen.
fn find(folder: &Path, name: &str) -> Result<PathBuf> {
    let dotted = name.replace("-idx", ".idx");
    let names = [name.to_string(), format!("{name}.gz"), format!("{dotted}.gz"), dotted];
    match names.iter().map(|n| folder.join(n)).find(|p| p.is_file()) {
        Some(path) => Ok(path),
        None => Err(data_error(folder, 0, None, format!("neither {name} nor {name}.gz is in this folder"))),
    }
}
