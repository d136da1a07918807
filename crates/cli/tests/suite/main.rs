//! The inside of the program: attacks, and what fuzzing has found.

mod attack;
mod corpora;
