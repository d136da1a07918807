//! The program as a user meets it: processes, exit codes, files, one line for every mistake.

mod attack;
mod bad_data;
mod bad_models;
mod corpora;
#[cfg(unix)]
mod faults;
mod images;
#[cfg(unix)]
mod interrupt;
mod optimize;
#[cfg(unix)]
mod out;
mod resume;
mod rl;
mod run;
mod verbs;
