//! Observations on the fast device.

use super::Cpu;
use super::state::State;
use crate::{NoiseSums, NoiseVar, Observing, Seen};
use tractable_core::error::Result;
use tractable_core::moments::{noise, observe, softmax};

impl Observing for Cpu {
    fn observe(&self, output: &mut State, seen: Seen<'_>) {
        if matches!(seen.noise, NoiseVar::Softmax) {
            return observe_class(output, seen);
        }
        let (channels, pixels) = (output.shape.channels, output.shape.pixels());
        let width = output.shape.len();
        for row in 0..output.rows {
            for c in 0..channels {
                for p in 0..pixels {
                    let here = row * output.sample() + p * output.stride + c;
                    let (column, there) = (c * pixels + p, row * width + c * pixels + p);
                    let noise = seen.noise.at(row, column, width) as f32;
                    let is_seen = seen.seen.is_none_or(|s| s[there]);
                    let innovation =
                        observe::innovation(output.mean[here], output.var[here], seen.y[there] as f32, noise);
                    (output.d_mean[here], output.d_var[here]) = if is_seen { innovation } else { (0.0, 0.0) };
                }
            }
        }
    }

    fn infer_noise(
        &self,
        output: &mut State,
        mut head: Option<&mut State>,
        seen: Seen<'_>,
        sums: &mut NoiseSums,
    ) {
        let (channels, pixels) = (output.shape.channels, output.shape.pixels());
        let width = output.shape.len();
        for row in 0..output.rows {
            for c in 0..channels {
                for p in 0..pixels {
                    let here = row * output.sample() + p * output.stride + c;
                    let (column, there) = (c * pixels + p, row * width + c * pixels + p);
                    let is_seen = seen.seen.is_none_or(|s| s[there]);
                    let log = head.as_ref().map(|h| row * h.sample() + p * h.stride + c);
                    let noise_var = match (log, &head) {
                        (Some(at), Some(h)) => noise::expected(h.mean[at], h.var[at]),
                        _ => seen.noise.at(row, column, width) as f32,
                    };
                    let square =
                        noise::square(output.mean[here], output.var[here], seen.y[there] as f32, noise_var);
                    if is_seen {
                        sums.add(column, f64::from(square.mean));
                    }
                    if let (Some(at), Some(h)) = (log, &mut head) {
                        let d = noise::log_innovation(noise_var, h.var[at], square);
                        (h.d_mean[at], h.d_var[at]) = if is_seen { d } else { (0.0, 0.0) };
                    }
                }
            }
        }
    }

    fn innovate(&self, output: &mut State, d_mean: &[f64]) -> Result<()> {
        let (n, mut to) = (output.rows * output.sample(), std::mem::take(&mut output.d_mean));
        to[..n].fill(0.0);
        output.places(output.rows, |here, there| to[here] = d_mean[there] as f32);
        output.d_mean = to;
        output.d_var[..n].fill(0.0);
        output.d_finite = false;
        Ok(())
    }
}

/// T90 and T91: the probabilities are in the place of the innovations until all are there.
fn observe_class(output: &mut State, seen: Seen<'_>) {
    let width = output.shape.channels;
    for row in 0..output.rows {
        let at = row * output.sample()..row * output.sample() + width;
        let (mean, var, y) = (&output.mean[at.clone()], &output.var[at.clone()], &seen.y[row * width..]);
        let (d_mean, d_var) = (&mut output.d_mean[at.clone()], &mut output.d_var[at]);
        softmax::probabilities(mean, var, d_mean);
        for c in 0..width {
            let is_seen = seen.seen.is_none_or(|s| s[row * width + c]);
            let innovation = softmax::innovation(d_mean[c], var[c], y[c] as f32);
            (d_mean[c], d_var[c]) = if is_seen { innovation } else { (0.0, 0.0) };
        }
    }
}
