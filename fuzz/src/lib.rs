//! What is fed with arbitrary bytes: every reader of files and the reader of expressions. Each returns, whatever
//! it is given, and what it accepts is sound.

pub mod library;
pub mod program;
