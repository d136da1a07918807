//! What the program `tractable` is made of: everything that reads, runs and shows, and the verbs in `cmd`.
//!
//! Not an interface for others: `tractable-cli` lists the verbs, `tractable-reproduce` adds one of its own.

pub mod attack;
pub mod cmd;
pub mod console;
mod csv;
mod escape;
mod fetch;
pub mod files;
pub mod image_sets;
pub mod interrupt;
pub mod jobs;
pub mod objective;
mod out;
mod page;
pub mod plot;
pub mod progress;
pub mod report;
pub mod results;
pub mod rl;
pub mod run;
pub mod scores;
mod settings;
pub mod team;
mod view;
mod watch;

pub use settings::DeviceName;
