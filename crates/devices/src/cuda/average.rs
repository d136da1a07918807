//! Averages of parameters, and statistics that are recomputed.

use super::driver::{Buffer, arguments};
use super::map::Weights;
use super::norm::Norm;
use super::status::Status;
use super::{Cuda, Scratch};
use crate::Averages;

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct AverageArgs {
    n: i32,
    share: f32,
    latest: [u64; 2],
    average: [u64; 2],
    status: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct RestateArgs {
    n: i32,
    share: f64,
    batch: [u64; 2],
    running: [u64; 2],
}

// SAFETY: these are the kernels' structures; addresses come from buffers that the code below borrows until the launch.
arguments! {
    unsafe {
        AverageArgs: "average";
        RestateArgs: "restate";
    }
}

impl Cuda {
    fn average(
        &self,
        latest: [&Buffer<f32>; 2],
        average: [&Buffer<f32>; 2],
        n: usize,
        share: f64,
        status: &mut Status,
    ) {
        let (Some(status), false) = (self.status_at(status), status.failed.is_some()) else { return };
        let [latest, average] = [latest, average].map(|buffers| buffers.map(Buffer::at));
        self.over("average", n, &AverageArgs { n: n as i32, share: share as f32, latest, average, status });
    }

    fn restate(&self, batch: [u64; 2], norm: &Norm, share: f64) {
        let (n, running) = (norm.channels, norm.running.each_ref().map(Buffer::at));
        self.over("restate", n, &RestateArgs { n: n as i32, share, batch, running });
    }
}

impl Averages for Cuda {
    fn map_average(&self, latest: &Weights, average: &mut Weights, share: f64, status: &mut Status) {
        average.change();
        let (from, to) = ([&latest.mean, &latest.var], [&average.mean, &average.var]);
        self.average(from, to, latest.plane(), share, status);
    }

    fn normalize_average(&self, latest: &Norm, average: &mut Norm, share: f64, status: &mut Status) {
        for (from, to) in [(&latest.scale, &average.scale), (&latest.shift, &average.shift)] {
            self.average(from.each_ref(), to.each_ref(), latest.channels, share, status);
        }
        self.restate(latest.running.each_ref().map(Buffer::at), average, 1.0);
    }

    fn normalize_restate(&self, norm: &mut Norm, s: &Scratch, share: f64) {
        // Without memory for the statistics the state above has failed.
        if s.at(0) != 0 && s.at(1) != 0 {
            self.restate([s.at(0), s.at(1)], norm, share);
        }
    }
}
