//! Checks: the first number of a state that is not finite.

use super::state::State;
use super::{Cpu, Loop};
use crate::{Broken, Checks, Field, INNOVATION, Noted, PRIOR};
use std::sync::atomic::{AtomicBool, Ordering};
use tractable_core::error::Result;

impl Cpu {
    /// Whether the first `n` numbers are all finite.
    fn all_finite(&self, v: &[f32], n: usize) -> bool {
        let broken = AtomicBool::new(false);
        self.ranges(n, &|range| {
            let v = &v[range];
            let sum = self.arch.dispatch(Loop(
                #[inline(always)]
                || {
                    // x * 0 is 0 for finite numbers and NaN otherwise: no branch in the loop.
                    let mut sums = [0.0f32; 64];
                    let (lines, rest) = v.as_chunks::<64>();
                    lines.iter().for_each(|line| (0..64).for_each(|i| sums[i] += line[i] * 0.0));
                    rest.iter().chain(&sums).map(|v| v * 0.0).sum::<f32>()
                },
            ));
            if sum != 0.0 {
                broken.store(true, Ordering::Relaxed);
            }
        });
        !broken.into_inner()
    }

    /// The first row in which one of these fields is not finite, with that value.
    fn not_finite(&self, state: &State, fields: [Field; 2]) -> Option<(usize, f64)> {
        fields.into_iter().find_map(|field| {
            let known = state.d_finite && INNOVATION.contains(&field);
            match known || self.all_finite(state.field(field), state.rows * state.sample()) {
                // Most of the time the whole memory is finite; else padding does not count.
                true => None,
                false => state.not_finite(field),
            }
        })
    }
}

impl State {
    /// First row in which a part is not finite, padding left aside, with that value.
    fn not_finite(&self, field: Field) -> Option<(usize, f64)> {
        let (v, pixels) = (self.field(field), self.shape.pixels());
        (0..self.rows * pixels).find_map(|i| {
            let (row, pixel) = (i / pixels, i % pixels);
            let v = &v[row * self.sample() + pixel * self.stride..][..self.shape.channels];
            v.iter().find(|v| !v.is_finite()).map(|v| (row, f64::from(*v)))
        })
    }
}

impl Checks for Cpu {
    type Status = Noted;

    fn status(&self, status: &mut Noted) -> Result<Noted> {
        Ok(std::mem::take(status))
    }

    fn check_states(&self, states: &[State], status: &mut Noted) {
        let broken = |state: usize| {
            self.not_finite(&states[state], PRIOR).map(|(row, value)| Broken { state, row, value })
        };
        if broken(states.len() - 1).is_some() {
            status.note((0..states.len()).find_map(broken));
        }
    }

    fn check_innovation(&self, state: &State, number: usize, status: &mut Noted) {
        let broken = self.not_finite(state, INNOVATION);
        status.note(broken.map(|(row, value)| Broken { state: number, row, value }));
    }
}
