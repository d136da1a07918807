//! Data from CSV files to numbers a network can learn from.
//!
//! [`csv`] reads a file into a [`Table`]; naming the target makes it a [`Dataset`]; a [`Scaler`] is
//! computed from the part that is trained on. [`CsvRows`] reads files larger than memory piece by piece,
//! for prediction.
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

mod complaint;
mod csv;
mod dataset;
mod records;
mod rows;
mod scaler;
mod source;
mod table;

pub use self::csv::csv;
pub use dataset::{Dataset, Target};
pub use rows::CsvRows;
pub use scaler::Scaler;
pub use table::Table;
