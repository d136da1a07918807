//! The program as a user meets it: processes, exit codes, files, one line for every mistake.

mod attack;
mod bad_data;
mod bad_models;
#[cfg(unix)]
mod browser;
#[cfg(unix)]
mod chromium;
mod condition;
mod condition_edges;
mod demo;
mod documents;
mod ensemble;
#[cfg(unix)]
mod faults;
#[cfg(unix)]
mod follow;
mod habits;
mod help;
#[cfg(unix)]
mod hostile;
mod images;
#[cfg(unix)]
mod interrupt;
mod json;
#[cfg(unix)]
mod keep;
#[cfg(unix)]
mod learn;
#[cfg(feature = "mpi")]
mod mpi;
mod optimize;
#[cfg(unix)]
mod out;
mod report;
mod resume;
mod rl;
mod rows;
mod run;
mod tables;
mod verbs;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tractable");
