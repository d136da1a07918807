//! What the harness recomputes, on the vectors and recordings of `tests/data`.

mod contributing;
mod golden;
mod json;
mod physics;
