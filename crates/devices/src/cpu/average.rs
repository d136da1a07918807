//! Averages of parameters on the fast device.

use super::norm::Norm;
use super::tile::{LINE, PANEL};
use super::weights::Weights;
use super::window::Scratch;
use super::{Cpu, Loop, Shared};
use crate::{Averages, Noted};

/// Lines that one task takes.
const BLOCK: usize = 512;

impl Averages for Cpu {
    fn map_average(&self, latest: &Weights, average: &mut Weights, share: f64, status: &mut Noted) {
        if status.broken.is_some() {
            return;
        }
        for (from, to) in [(&latest.panels, &mut average.panels), (&latest.bias, &mut average.bias)] {
            let from = from.as_chunks::<LINE>().0;
            let (lines, to) = (from.len(), Shared(to.as_mut_ptr()));
            self.share(lines * LINE, lines.div_ceil(BLOCK), &|task, _| {
                let some = task * BLOCK..lines.min((task + 1) * BLOCK);
                self.arch.dispatch(Loop(
                    #[inline(always)]
                    || {
                        for line in some.clone() {
                            // SAFETY: this task's own lines, as many as there are to follow.
                            let to = unsafe { &mut *(to.at(line * LINE) as *mut [f32; LINE]) };
                            let ((mean, var), (m, v)) = (from[line].split_at(PANEL), to.split_at_mut(PANEL));
                            follow(mean, m, share as f32);
                            v.copy_from_slice(var);
                        }
                    },
                ))
            });
        }
    }

    fn normalize_average(&self, latest: &Norm, average: &mut Norm, share: f64, status: &mut Noted) {
        if status.broken.is_some() {
            return;
        }
        for (from, to) in [(&latest.scale, &mut average.scale), (&latest.shift, &mut average.shift)] {
            follow(&from[0], &mut to[0], share as f32);
            to[1].copy_from_slice(&from[1]);
        }
        average.running.clone_from(&latest.running);
    }

    fn normalize_restate(&self, norm: &mut Norm, s: &Scratch, share: f64) {
        norm.running.restate(&s.standard.mean, &s.standard.var, share);
    }
}

/// T81.
#[inline(always)]
fn follow(latest: &[f32], average: &mut [f32], share: f32) {
    if share >= 1.0 {
        return average.copy_from_slice(latest);
    }
    for (latest, average) in latest.iter().zip(average) {
        *average += share * (latest - *average);
    }
}
