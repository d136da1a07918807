//! Data from files to numbers a network can learn from: tables and images.
//!
//! [`csv`] reads a file into a [`Table`]; naming the target makes it a [`Dataset`]; a [`Scaler`] is
//! computed from the training part. [`CsvRows`] reads files larger than memory in chunks,
//! for prediction, [`CsvLabelled`] row by row with targets, and [`CsvCells`] row by row as text. These five need the feature `csv`; compressed image files need `gzip`.
//!
//! [`Images`] are labelled images: [`mnist`], [`fashion_mnist`] and [`cifar10`] read the public sets, [`idx`] and
//! [`cifar_batches`] any files in their formats, and [`digits`] needs no files.
//!
//! ```
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("housing.csv");
//! # std::fs::write(&path, "id,rooms,age,price\n1,3,20,310\n2,4,5,450\n3,2,31,200\n4,5,2,600\n")?;
//! use tractable::data;
//! let (train, test) = data::csv(&path)?.drop("id")?.target("price")?.standardize().split(0.75, 0)?;
//! assert_eq!(train.input_names(), ["rooms", "age"]);
//! assert_eq!((train.rows(), test.rows()), (3, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod augment;
#[cfg(feature = "csv")]
mod cell;
#[cfg(feature = "csv")]
mod cells;
mod cifar;
#[cfg(feature = "csv")]
mod csv;
mod data_error;
mod dataset;
#[cfg(feature = "csv")]
mod dates;
mod digits;
mod idx;
mod images;
#[cfg(feature = "csv")]
mod labelled;
#[cfg(feature = "csv")]
mod look;
#[cfg(feature = "csv")]
mod missing;
#[cfg(feature = "csv")]
mod opened;
#[cfg(feature = "csv")]
mod preparation;
#[cfg(feature = "csv")]
mod records;
mod related;
#[cfg(feature = "csv")]
mod rows;
mod scaler;
mod sets;
#[cfg(feature = "csv")]
mod source;
mod spelling;
#[cfg(feature = "csv")]
mod stream;
#[cfg(feature = "csv")]
mod table;
#[cfg(feature = "csv")]
mod text;

#[cfg(feature = "csv")]
pub use self::{
    cells::CsvCells,
    csv::{csv, csv_files},
    labelled::{CsvLabelled, LabelledRow},
    look::As,
    preparation::Preparation,
    rows::CsvRows,
    stream::CsvStream,
    table::{ColumnAbout, Table},
};
pub use augment::Augment;
pub use augment::grey;
pub use cifar::cifar_batches;
pub use dataset::{Dataset, Target};
pub use digits::digits;
pub use idx::idx;
pub use images::unit;
pub use images::{Images, PixelScaling};
pub use related::Related;
pub use scaler::Scaler;
pub use sets::{
    CIFAR10, FASHION_MNIST, cifar10, cifar10_test, fashion_mnist, fashion_mnist_test, mnist, mnist_test,
};
pub use spelling::nearest;
