//! The program `tractable`: Gaussian networks from the command line. `verbs.rs` lists the verbs, `cmd` has what they do, the other folders
//! what several of them share.
//!
//! Not an interface: its items are public for the harness.

pub mod attack;
pub mod cmd;
pub mod console;
mod csv;
mod escape;
pub mod fetch;
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
mod verbs;
mod view;

pub use settings::DeviceName;
pub use verbs::run;
