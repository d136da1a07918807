//! Devices by name, and which one suits a network.

use crate::team;
use serde::{Deserialize, Serialize};
use tractable::{Device, Layer, Network};

/// A device without its threads, which do not change results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DeviceName {
    #[default]
    Cpu,
    // An NVIDIA GPU, with plain comments here and below: `clap` would make help three times as long.
    Cuda,
    // The same, with large products rounded to TF32.
    CudaFast,
    // A GPU if there is one and the network is large enough for it, else the CPU.
    Auto,
    Reference,
}

/// Floating-point operations of a batch from which on a GPU is faster: it needs some 150 microseconds for any batch, in
/// which two cores do about so many.
const WORTH_A_GPU: f64 = 3e7;

/// The GPU of this process: those on one machine take its GPUs in turn.
fn gpu() -> usize {
    turn(team::place_here(), Device::gpus().len())
}

fn turn(place: usize, gpus: usize) -> usize {
    place % gpus.max(1)
}

impl DeviceName {
    /// For whatever work there is.
    pub(crate) fn with(self, threads: usize) -> tractable::Result<Device> {
        match self {
            DeviceName::Cpu => Ok(Device::cpu(threads)),
            DeviceName::Cuda => Device::cuda(gpu()),
            DeviceName::CudaFast => Device::cuda(gpu())?.fast(),
            DeviceName::Auto => Ok(Device::cuda(gpu()).unwrap_or_else(|_| Device::cpu(threads))),
            DeviceName::Reference => Ok(Device::reference()),
        }
    }

    /// For training a network in batches; `net` is the network, on any device.
    pub(crate) fn to_train(
        self,
        threads: usize,
        batch: usize,
        net: impl FnOnce() -> tractable::Result<Network>,
    ) -> tractable::Result<Device> {
        match self {
            DeviceName::Auto if !Device::gpus().is_empty() => {
                let work = flops_of_learning(&net()?)? * batch as f64;
                if work < WORTH_A_GPU { DeviceName::Cpu.with(threads) } else { self.with(threads) }
            }
            _ => self.with(threads),
        }
    }
}

/// Floating-point operations of one sample's learn: for every weight and use three multiply-adds forward, two
/// back and two in the update; the first layer's exact inputs need two forward and none back.
pub(crate) fn flops_of_learning(net: &Network) -> tractable::Result<f64> {
    let mut shape = net.input();
    let mut flops = 0.0;
    for layer in net.layers() {
        let output = layer.output(shape)?;
        let uses = match layer {
            Layer::Linear { outputs } => shape.len() * outputs,
            Layer::Conv2d { window, .. } => output.len() * shape.channels * window.kernel * window.kernel,
            _ => 0,
        };
        flops += uses as f64 * if flops == 0.0 { 8.0 } else { 14.0 };
        shape = output;
    }
    Ok(flops)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_a_machine_take_its_gpus_in_turn() {
        assert_eq!([0, 1, 2, 3, 4].map(|place| turn(place, 4)), [0, 1, 2, 3, 0]);
        // The error of a machine without any names the first.
        assert_eq!(turn(3, 0), 0);
    }

    #[test]
    fn a_small_network_stays_on_the_cpu() {
        let small = || Network::mlp([1, 8, 1], tractable::Activation::Relu).build();
        let device = DeviceName::Auto.to_train(1, 16, small).unwrap();
        assert_eq!(device, Device::cpu(1));
    }
}
