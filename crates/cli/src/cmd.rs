//! The verbs, one per file or folder: each has its flags as `Args` and does its work in `run`.

pub mod attack;
pub mod bench;
pub mod completions;
pub mod condition;
pub mod data;
pub mod demo;
pub mod evaluate;
pub mod importance;
pub mod inspect;
pub mod learn;
pub mod man;
pub mod mujoco;
pub mod optimize;
pub mod predict;
pub mod report;
pub mod rl;
pub mod train;
