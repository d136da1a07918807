//! The inside of the program: how it is built, and what fuzzing has found.

mod architecture;
mod attack;
mod corpora;
