//! The kernels a device must offer, and the devices.
//!
//! `reference` computes in f64 with plain loops: read it to understand the kernels. `cpu` computes in f32 and is
//! fast. Both call the same formulae in [`tractable_core::moments`]. `cuda` computes in f32 on a GPU, with its own kernels. Nothing
//! above this crate knows a device's memory layout: samples go in and come out as f64, channel by channel.
//!
//! Each kind of kernel is a trait with a file of its own here, and every device implements it in a file of that name.
//! [`Backend`] is all of them. `*_back` turns the innovations of a layer's output into those of its input; `*_accumulate` sums
//! the updates of the parameters, `*_apply` computes the posterior. Only `*_apply` and `*_learn`, which does both, change
//! parameters, and not after an error in the status. Kernels return nothing: they may still be running when the call ends.
//! Functions that read numbers or allocate wait, and can fail.

mod average;
#[cfg(test)]
mod conformance;
#[allow(unsafe_code, reason = "vector instructions, and one owner per number")]
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod derivative;
mod device;
mod join;
mod map;
mod norm;
mod observe;
mod pool;
mod reference;
mod rows;
mod states;
mod status;
mod sums;
mod tables;
mod unitwise;
mod update;
mod walk;
mod weights;

pub use average::Averages;
pub use cpu::Cpu;
pub use derivative::{Derivatives, Units};
pub use device::{Device, Handle};
pub use join::Joins;
pub use map::{Map, Maps};
use norm::Pooled;
pub use norm::{Norms, Statistics, Together};
pub use observe::{NoiseSums, NoiseVar, Observing, Seen};
pub use pool::{Pool, Pooling};
pub use reference::Reference;
pub use rows::Rows;
pub use states::{Field, INNOVATION, PRIOR, Purpose, States};
pub use status::{Broken, Checks, Noted, Tally};
pub use sums::Summed;
pub use tables::{DataSets, Tables};
pub use tractable_core::shape::{Change, Shape, Window};
pub use unitwise::Unitwise;
pub use update::{Learning, Priors, Step, Steps, Update, UpdateRule};
pub use walk::{Slots, Walk, WalkForm, Walks};
pub use weights::{Parameters, Weighted};

/// All kernels of a device, and those that it may lack.
pub trait Backend:
    Tables + Maps + Learning + Averages + Derivatives + Norms + Pooling + Unitwise + Observing + Rows + Sized
{
    /// Whole data sets on the device.
    fn data_sets(&self) -> Option<&dyn DataSets<Self>> {
        None
    }

    /// Fused first layers.
    fn fused(&self) -> Option<&dyn Joins<Self>> {
        None
    }

    /// Searches that stay on the device.
    fn walks(&self) -> Option<&dyn Walks<Self>> {
        None
    }
}
