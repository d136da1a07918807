//! Devices by name, and which one suits a network.

use crate::team;
use serde::{Deserialize, Serialize};
use tractable::{Device, Layer, Network};

/// A device without its threads, which do not change results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum DeviceName {
    #[default]
    Cpu,
    // An NVIDIA GPU. Plain comments here and below: with doc comments `clap` would make help three times as long.
    Cuda,
    // The same, with large products rounded to TF32.
    CudaFast,
    // A GPU if there is one and the network is large enough for it, otherwise the CPU.
    Auto,
    Reference,
}

/// Floating-point operations per batch above which a GPU is faster: a GPU needs at least about 80 microseconds for any batch, often
/// twice that, and two cores do about this many in that time.
const WORTH_A_GPU: f64 = 3e7;

/// The GPU of this process: the processes on one machine are assigned its GPUs in turn.
fn gpu() -> usize {
    turn(team::place_here(), Device::gpus().len())
}

fn turn(place: usize, gpus: usize) -> usize {
    place % gpus.max(1)
}

impl DeviceName {
    /// Whether this is a GPU on this machine, in whatever mode.
    pub(crate) fn is_gpu(self) -> bool {
        match self {
            DeviceName::Cuda | DeviceName::CudaFast => true,
            DeviceName::Auto => !Device::gpus().is_empty(),
            DeviceName::Cpu | DeviceName::Reference => false,
        }
    }

    /// The device for any kind of work; `Auto` is a GPU if there is one.
    pub(crate) fn with(self, threads: usize) -> tractable::Result<Device> {
        match self {
            DeviceName::Cpu => Ok(Device::cpu(threads)),
            DeviceName::Cuda => Device::cuda(gpu()),
            DeviceName::CudaFast => format!("cuda-fast:{}", gpu()).parse(),
            DeviceName::Auto => Ok(Device::cuda(gpu()).unwrap_or_else(|_| Device::cpu(threads))),
            DeviceName::Reference => Ok(Device::reference()),
        }
    }

    /// The device for training a network in batches; `net` builds the network, on any device.
    pub(crate) fn to_train(
        self,
        threads: usize,
        batch: usize,
        net: impl FnOnce() -> tractable::Result<Network>,
    ) -> tractable::Result<Device> {
        match self {
            DeviceName::Auto if self.is_gpu() => suited(&net()?, batch)?.with(threads),
            _ => self.with(threads),
        }
    }
}

/// The device that `Auto` is for a network that learns in batches, on a machine with a GPU.
fn suited(net: &Network, batch: usize) -> tractable::Result<DeviceName> {
    let work = flops_of_learning(net)? * batch as f64;
    Ok(if work < WORTH_A_GPU { DeviceName::Cpu } else { DeviceName::Auto })
}

/// Floating-point operations to learn one sample: for every use of a weight, three multiply-adds in the forward pass, two
/// in the backward pass and two in the update; the first layer's exact inputs need two forward and none backward.
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
        // Without any GPU, the error names the first.
        assert_eq!(turn(3, 0), 0);
    }

    #[test]
    fn a_small_network_stays_on_the_cpu() {
        let net = |width| Network::mlp([1, width, width, 1], tractable::Activation::Relu).build().unwrap();
        assert_eq!(suited(&net(8), 16).unwrap(), DeviceName::Cpu);
        assert_eq!(suited(&net(512), 1024).unwrap(), DeviceName::Auto);
    }
}
