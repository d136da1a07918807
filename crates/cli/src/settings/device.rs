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
    // A GPU if there is one and a batch has enough work for it, otherwise the CPU.
    Auto,
    Reference,
}

/// Floating-point operations per batch above which a GPU is faster: a GPU needs at least about 80 microseconds for any batch, often
/// twice that, and two cores do about this many in that time.
const WORTH_A_GPU: f64 = 3e7;
/// Rows that a GPU is given at a time, at most, where it does not train.
const AT_ONCE: usize = 1024;

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

    /// The device for small work; `Auto` is the CPU.
    pub fn with(self, threads: usize) -> tractable::Result<Device> {
        match self {
            DeviceName::Cpu | DeviceName::Auto => Ok(Device::cpu(threads)),
            DeviceName::Cuda => Ok(Device::cuda(gpu())?.with_threads(threads)),
            DeviceName::CudaFast => {
                Ok(format!("cuda-fast:{}", gpu()).parse::<Device>()?.with_threads(threads))
            }
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
            DeviceName::Auto if self.is_gpu() && pays(flops_of_learning(&net()?)?, batch) => {
                Ok(gpu_or_cpu(threads))
            }
            _ => self.with(threads),
        }
    }

    /// Whether a network, on the device of [`with`](DeviceName::with), is better moved to a GPU for passes of up to this many rows.
    pub(crate) fn moves(self, net: &Network, rows: usize) -> tractable::Result<bool> {
        let may = self == DeviceName::Auto && self.is_gpu();
        Ok(may && pays(flops_of_a_pass(net)?, rows.min(AT_ONCE)))
    }
}

/// The first choice where a GPU pays.
pub(crate) fn gpu_or_cpu(threads: usize) -> Device {
    Device::cuda(gpu()).map_or_else(|_| Device::cpu(threads), |gpu| gpu.with_threads(threads))
}

/// Whether a GPU is faster for this many rows at a time.
fn pays(flops_of_a_row: f64, rows: usize) -> bool {
    flops_of_a_row * rows as f64 >= WORTH_A_GPU
}

/// Floating-point operations to learn one sample: for every use of a weight, three multiply-adds in the forward pass, two
/// in the backward pass and two in the update; the first layer's exact inputs need two forward and none backward.
pub(crate) fn flops_of_learning(net: &Network) -> tractable::Result<f64> {
    flops(net, 8.0, 14.0)
}

/// The same for the forward pass alone.
fn flops_of_a_pass(net: &Network) -> tractable::Result<f64> {
    flops(net, 4.0, 6.0)
}

/// Operations per use of a weight of the first layer, and of the others, summed up.
fn flops(net: &Network, first: f64, others: f64) -> tractable::Result<f64> {
    let mut shape = net.input();
    let mut flops = 0.0;
    for layer in net.layers() {
        let output = layer.output(shape)?;
        let uses = match layer {
            Layer::Linear { outputs } => shape.len() * outputs,
            Layer::Conv2d { window, .. } => output.len() * shape.channels * window.kernel * window.kernel,
            _ => 0,
        };
        flops += uses as f64 * if flops == 0.0 { first } else { others };
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
        let learns = |width, batch| pays(flops_of_learning(&net(width)).unwrap(), batch);
        let passes = |width, rows| pays(flops_of_a_pass(&net(width)).unwrap(), rows);
        assert_eq!([learns(8, 16), learns(512, 1024)], [false, true]);
        assert_eq!([passes(8, AT_ONCE), passes(512, 1), passes(512, AT_ONCE)], [false, false, true]);
        // A pass is less than half of learning.
        assert_eq!([passes(512, 10), learns(512, 10)], [false, true]);
    }

    #[test]
    fn auto_is_the_cpu_for_small_work() {
        assert_eq!(DeviceName::Auto.with(1).unwrap().to_string(), Device::cpu(1).to_string());
    }
}
