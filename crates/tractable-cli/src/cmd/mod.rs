//! The verbs, one a file: each has its flags as `Args` and does its work in `run`.

pub(crate) mod attack;
pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod data;
pub(crate) mod demo;
pub(crate) mod evaluate;
pub(crate) mod inspect;
pub(crate) mod man;
pub(crate) mod mujoco;
pub(crate) mod optimize;
pub(crate) mod predict;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod rl;
pub(crate) mod train;
pub(crate) mod train_images;
pub(crate) mod verify;
pub(crate) mod watch;
