//! The program as a user meets it: processes, exit codes, files, one line for every mistake.

mod bad_data;
mod bad_models;
#[cfg(unix)]
mod interrupt;
mod optimize;
#[cfg(unix)]
mod out;
mod resume;
mod run;
mod verbs;
