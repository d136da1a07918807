//! The reference device: f64, plain loops, one thread. Never optimised; every other device is compared
//! with it. Read this to learn what a kernel does.
//!
//! Layout: states `[row][channel][y][x]`, weights `[out][in]` or `[out][in][y][x]`.

mod average;
mod derivative;
mod parts;

use parts::{Norm, RowStore, Scratch, Spread, State, Sums, Weights, positions};

use super::*;
use std::ops::Range;
use tractable_core::error::Result;
use tractable_core::moments::{Activation, noise, observe, product, rows, smooth, softmax};
use tractable_core::workers::Numbers;

/// The CPU in f64, on one thread.
#[derive(Debug)]
pub struct Reference;

impl Reference {
    /// Posterior minus prior of a map's parameters by the plain sum, given a batch's inputs and innovations.
    pub fn deltas(map: Map, p: &Parameters, x: &[f64], d_mean: &[f64], d_var: &[f64]) -> Parameters {
        let state = |shape, mean: &[f64]| State { mean: mean.to_vec(), ..Reference.state(shape) };
        let z = State { d_mean: d_mean.to_vec(), d_var: d_var.to_vec(), ..state(map.output, d_mean) };
        let mut sum = Weights { map, p: p.clone() }.sums(&state(map.input, x), &z);
        let scale = |sum: &mut [f64], var: &[f64], power: i32| {
            sum.iter_mut().zip(var).for_each(|(s, v)| *s *= v.powi(power));
        };
        scale(&mut sum.mean, &p.var, 1);
        scale(&mut sum.var, &p.var, 2);
        scale(&mut sum.bias_mean, &p.bias_var, 1);
        scale(&mut sum.bias_var, &p.bias_var, 2);
        sum
    }
}

impl States for Reference {
    type State = State;
    type Scratch = Scratch;

    fn is_double(&self) -> bool {
        true
    }

    fn numbers(&self, shape: Shape) -> usize {
        7 * shape.len()
    }

    fn state(&self, shape: Shape) -> State {
        State { shape, ..State::default() }
    }

    fn like(&self, state: &State, spare: &mut State) {
        spare.like(state);
    }

    fn write(&self, state: &mut State, mean: &[f64], var: Option<&[f64]>) -> Result<()> {
        state.mean = mean.to_vec();
        state.var = var.map_or(vec![0.0; mean.len()], <[f64]>::to_vec);
        state.slope = vec![1.0; mean.len()];
        state.own = vec![0.0; mean.len()];
        state.d_mean = vec![0.0; mean.len()];
        state.d_var = vec![0.0; mean.len()];
        Ok(())
    }

    fn read(&self, state: &State, field: Field) -> Result<Vec<f64>> {
        Ok(state.field(field).to_vec())
    }
}

impl Tables for Reference {
    type RowStore = RowStore;

    fn table(&self, shape: Shape, rows: usize) -> Result<RowStore> {
        Ok(RowStore { width: shape.len(), values: vec![0.0; rows * shape.len()] })
    }

    fn table_write(&self, table: &mut RowStore, first: usize, values: &[f64]) -> Result<()> {
        table.values[first * table.width..][..values.len()].copy_from_slice(values);
        Ok(())
    }

    fn gather(&self, table: &RowStore, rows: &[usize], state: &mut State) {
        let values: Vec<f64> =
            rows.iter().flat_map(|r| &table.values[r * table.width..][..table.width]).copied().collect();
        self.write(state, &values, None).expect("memory of the host");
    }
}

impl Checks for Reference {
    type Status = Noted;

    fn status(&self, status: &mut Noted) -> Result<Noted> {
        Ok(std::mem::take(status))
    }

    fn check_states(&self, states: &[State], status: &mut Noted) {
        let broken = |number: usize| states[number].broken(PRIOR, number);
        if broken(states.len() - 1).is_some() {
            status.note((0..states.len()).find_map(broken));
        }
    }

    fn check_innovation(&self, state: &State, number: usize, status: &mut Noted) {
        status.note(state.broken(INNOVATION, number));
    }
}

impl Weighted for Reference {
    type Weights = Weights;

    fn bytes(&self, map: &Map) -> u64 {
        map.output.channels as u64 * (map.fan_in() as u64 + 1) * 16
    }

    fn weights(&self, map: Map) -> Result<Weights> {
        let outputs = map.output.channels;
        let (w, b) = (vec![0.0; outputs * map.fan_in()], vec![0.0; outputs]);
        Ok(Weights { map, p: Parameters { mean: w.clone(), var: w, bias_mean: b.clone(), bias_var: b } })
    }

    fn set_weights(&self, weights: &mut Weights, outputs: Range<usize>, p: &Parameters) -> Result<()> {
        let (own, n) = (&mut weights.p, weights.map.fan_in());
        let at = outputs.start * n..outputs.end * n;
        own.mean[at.clone()].copy_from_slice(&p.mean);
        own.var[at].copy_from_slice(&p.var);
        own.bias_mean[outputs.clone()].copy_from_slice(&p.bias_mean);
        own.bias_var[outputs].copy_from_slice(&p.bias_var);
        Ok(())
    }

    fn weights_parameters(&self, weights: &Weights, outputs: Range<usize>) -> Result<Parameters> {
        let (p, each) = (&weights.p, weights.map.fan_in());
        let outputs = outputs.start..outputs.end.min(p.bias_mean.len());
        let inputs = outputs.start * each..outputs.end * each;
        let [mean, var] = [&p.mean, &p.var].map(|v| v[inputs.clone()].to_vec());
        let [bias_mean, bias_var] = [&p.bias_mean, &p.bias_var].map(|v| v[outputs.clone()].to_vec());
        Ok(Parameters { mean, var, bias_mean, bias_var })
    }
}

impl Maps for Reference {
    fn map(&self, w: &Weights, _: &mut Scratch, x: &State, z: &mut State, _: Purpose) {
        z.like(x);
        z.slope.fill(1.0);
        for unit in 0..z.mean.len() {
            z.mean[unit] = w.p.bias_mean[w.bias(unit)];
            z.var[unit] = w.p.bias_var[w.bias(unit)];
            z.own[unit] = w.p.bias_var[w.bias(unit)];
        }
        let [mut mean, mut var, mut own] = [&mut z.mean, &mut z.var, &mut z.own].map(std::mem::take);
        w.each(x, z, |out, from, weight| {
            let (mu_w, var_w) = (w.p.mean[weight], w.p.var[weight]);
            let (mu_a, var_a) = (x.mean[from], x.var[from]);
            mean[out] += product::term_mean(mu_w, mu_a); // T15
            let second_a = product::second_moment(mu_a, var_a);
            var[out] += product::term_var(mu_w, var_w, var_a, second_a); // T16
            own[out] += var_w * second_a; // T44
        });
        (z.mean, z.var, z.own) = (mean, var, own);
    }

    fn map_back(&self, w: &Weights, _: &mut Scratch, z: &State, x: &mut State) {
        let mut d_mean = vec![0.0; x.mean.len()];
        let mut d_var = vec![0.0; x.mean.len()];
        w.each(x, z, |out, from, weight| {
            let mu_w = w.p.mean[weight];
            d_mean[from] += mu_w * z.d_mean[out]; // T24
            d_var[from] += mu_w * mu_w * z.d_var[out];
        });
        (x.d_mean, x.d_var) = (d_mean, d_var);
    }
}

impl Learning for Reference {
    fn map_sums(&self, w: &Weights) -> Sums {
        Sums::zeros(&w.p, 0)
    }

    fn map_accumulate(&self, w: &Weights, _: &mut Scratch, x: &State, z: &State, sums: &mut Sums) {
        sums.add(&w.sums(x, z));
    }

    fn map_apply(&self, w: &mut Weights, sums: &Sums, steps: Steps, status: &mut Noted) {
        w.p.learn(&sums.p, steps, status);
    }

    fn map_learn(
        &self,
        w: &mut Weights,
        _: &mut Scratch,
        x: &State,
        z: &State,
        steps: Steps,
        status: &mut Noted,
    ) {
        let sums = w.sums(x, z);
        w.p.learn(&sums, steps, status);
    }
}

impl Pooling for Reference {
    fn pool(&self, pool: Pool, window: Window, x: &State, z: &mut State) {
        z.like(x);
        z.slope.fill(1.0);
        let cells = (window.kernel * window.kernel) as f64;
        for row in 0..x.rows() {
            for c in 0..x.shape.channels {
                for (down, across) in positions(z.shape) {
                    let out = z.at(row, c, down, across);
                    let (ys, xs) = window.covers(x.shape, down, across);
                    let covered = ys.flat_map(|y| xs.clone().map(move |xx| (y, xx)));
                    let units = covered.map(|(y, xx)| x.at(row, c, y, xx));
                    match pool {
                        Pool::Average => units.for_each(|unit| {
                            z.mean[out] += x.mean[unit] / cells;
                            z.var[out] += x.var[unit] / (cells * cells);
                        }),
                        // A window that covers only padding picks nothing and stays 0.
                        Pool::Max => {
                            z.picked[out] = usize::MAX;
                            for unit in units {
                                if z.picked[out] == usize::MAX || x.mean[unit] > z.mean[out] {
                                    (z.mean[out], z.var[out], z.picked[out]) =
                                        (x.mean[unit], x.var[unit], unit);
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    fn pool_back(&self, pool: Pool, window: Window, forward: &State, z: &State, x: &mut State) {
        x.clear_innovation();
        let k = z.rows() / forward.rows();
        let cells = (window.kernel * window.kernel) as f64;
        for row in 0..x.rows() {
            for c in 0..x.shape.channels {
                for (down, across) in positions(z.shape) {
                    let out = z.at(row, c, down, across);
                    let picked = forward.picked[forward.at(row / k, c, down, across)];
                    let (ys, xs) = window.covers(x.shape, down, across);
                    for (y, xx) in ys.flat_map(|y| xs.clone().map(move |xx| (y, xx))) {
                        let unit = x.at(row, c, y, xx);
                        let weight = match pool {
                            Pool::Average => 1.0 / cells,
                            Pool::Max => (picked == x.at(row / k, c, y, xx)) as u8 as f64,
                        };
                        x.d_mean[unit] += weight * z.d_mean[out];
                        x.d_var[unit] += weight * weight * z.d_var[out];
                    }
                }
            }
        }
    }
}

impl Norms for Reference {
    type Norm = Norm;

    fn norm(&self, parameters: &Parameters, statistics: &Statistics) -> Result<Norm> {
        Ok(Norm { p: parameters.clone(), running: statistics.clone() })
    }

    fn norm_parameters(&self, norm: &Norm) -> Result<(Parameters, Statistics)> {
        Ok((norm.p.clone(), norm.running.clone()))
    }

    fn normalize(&self, norm: &Norm, scratch: &mut Scratch, x: &State, z: &mut State, purpose: Purpose) {
        z.like(x);
        z.slope.fill(1.0);
        let (channels, pixels) = (x.shape.channels, x.shape.pixels());
        let per_channel = (x.rows() * pixels) as f64;
        let channel = |unit: usize| unit / pixels % channels;
        (scratch.mean, scratch.var) = (norm.running.mean.clone(), norm.running.var.clone());
        // One value per channel has no variance: use the running statistics.
        scratch.of_batch = purpose == Purpose::Learn && per_channel > 1.0;
        scratch.common.clear();
        if scratch.of_batch {
            scratch.mean.fill(0.0);
            scratch.var.fill(0.0);
            for unit in 0..x.mean.len() {
                scratch.mean[channel(unit)] += x.mean[unit] / per_channel;
            }
            for unit in 0..x.mean.len() {
                let c = channel(unit);
                let off = x.mean[unit] - scratch.mean[c];
                scratch.var[c] += (off * off + x.var[unit]) / per_channel; // T25
            }
        }
        for unit in 0..x.mean.len() {
            let c = channel(unit);
            let scale = 1.0 / (scratch.var[c] + norm.running.epsilon).sqrt();
            // T26
            let (mu_a, var_a) = ((x.mean[unit] - scratch.mean[c]) * scale, x.var[unit] * scale * scale);
            let (mu_w, var_w) = (norm.p.mean[c], norm.p.var[c]);
            z.mean[unit] = product::term_mean(mu_w, mu_a) + norm.p.bias_mean[c];
            let second_a = product::second_moment(mu_a, var_a);
            z.var[unit] = product::term_var(mu_w, var_w, var_a, second_a) + norm.p.bias_var[c];
            z.own[unit] = var_w * second_a + norm.p.bias_var[c]; // T44
        }
    }

    fn normalize_total(
        &self,
        norm: &Norm,
        s: &mut Scratch,
        x: &State,
        z: &State,
        together: Option<Together<'_>>,
    ) -> Result<()> {
        let (channels, pixels) = (x.shape.channels, x.shape.pixels());
        let mut sum = norm.p.zeros_like();
        for unit in 0..x.mean.len() {
            let c = unit / pixels % channels;
            let mu_a = s.standard(norm, c, x.mean[unit]);
            sum.mean[c] += mu_a * z.d_mean[unit];
            sum.var[c] += mu_a * mu_a * z.d_var[unit];
            sum.bias_mean[c] += z.d_mean[unit];
            sum.bias_var[c] += z.d_var[unit];
        }
        s.values = (x.rows() * pixels) as f64;
        if s.of_batch || together.is_some() {
            norm::common(s.values, [&sum.bias_mean, &sum.mean], together, &mut s.common)?;
        }
        s.total = sum;
        Ok(())
    }

    fn normalize_back(&self, norm: &Norm, s: &Scratch, of: Option<&State>, z: &State, x: &mut State) {
        let (channels, pixels) = (x.shape.channels, x.shape.pixels());
        for unit in 0..x.mean.len() {
            let c = unit / pixels % channels;
            let weight = norm.p.mean[c] / (s.var[c] + norm.running.epsilon).sqrt(); // T24
            x.d_mean[unit] = weight * z.d_mean[unit];
            x.d_var[unit] = weight * weight * z.d_var[unit];
            if !s.common.is_empty() {
                let mu_a = s.standard(norm, c, of.unwrap_or(x).mean[unit]);
                x.d_mean[unit] -= weight * (s.common[c] + mu_a * s.common[channels + c]); // T73
            }
        }
    }

    fn normalize_sums(&self, norm: &Norm) -> Sums {
        Sums::zeros(&norm.p, norm.p.mean.len())
    }

    fn normalize_accumulate(&self, _: &Norm, s: &Scratch, sums: &mut Sums) {
        sums.add(&s.total);
        sums.batch.add(&s.mean, &s.var, s.values);
    }

    fn normalize_apply(&self, norm: &mut Norm, sums: &Sums, steps: Steps, status: &mut Noted) {
        norm.p.learn(&sums.p, steps, status);
        if status.broken.is_none() {
            norm.running.follow(&sums.batch);
        }
    }
}

impl Summed for Reference {
    type Sums = Sums;

    fn clear(&self, sums: &mut Sums) {
        sums.p = sums.p.zeros_like();
        sums.batch.clear();
    }

    fn sums_read(&self, sums: &Sums, many: &mut Numbers, few: &mut Vec<f64>) -> Result<()> {
        let p = &sums.p;
        many.extend([&p.mean, &p.var, &p.bias_mean, &p.bias_var].into_iter().flatten().copied());
        sums.batch.read(sums.channels, few);
        Ok(())
    }

    fn sums_write(
        &self,
        sums: &mut Sums,
        many: &Numbers,
        mut at: usize,
        few: &mut dyn Iterator<Item = f64>,
    ) -> Result<usize> {
        let p = &mut sums.p;
        for v in [&mut p.mean, &mut p.var, &mut p.bias_mean, &mut p.bias_var].into_iter().flatten() {
            *v = many.get(at);
            at += 1;
        }
        sums.batch.write(sums.channels, few);
        Ok(at)
    }
}

impl Unitwise for Reference {
    fn activate(&self, activation: Activation, z: &State, a: &mut State, _: Purpose) {
        a.like(z);
        for unit in 0..z.mean.len() {
            let moments = activation.moments(z.mean[unit], z.var[unit]);
            (a.mean[unit], a.var[unit], a.slope[unit]) = (moments.mean, moments.var, moments.slope);
            a.own[unit] = rows::own(moments, z.var[unit]); // T44
        }
    }

    fn activate_back(&self, forward: &State, a: &State, z: &mut State) {
        let (k, width) = (a.rows() / forward.rows(), a.shape.len());
        for unit in 0..z.mean.len() {
            let slope = forward.slope[unit / width / k * width + unit % width];
            (z.d_mean[unit], z.d_var[unit]) = smooth::through_slope(slope, a.d_mean[unit], a.d_var[unit]);
        }
    }

    fn add(&self, states: &[State], numbers: &[usize], z: &mut State) {
        z.like(&states[numbers[0]]);
        z.slope.fill(1.0);
        for x in numbers.iter().map(|&n| &states[n]) {
            for unit in 0..z.mean.len() {
                z.mean[unit] += x.mean[unit];
                z.var[unit] += x.var[unit];
            }
        }
    }

    fn add_back(&self, z: &State, x: &mut State) {
        x.d_mean.copy_from_slice(&z.d_mean);
        x.d_var.copy_from_slice(&z.d_var);
    }

    fn add_innovation(&self, more: &State, x: &mut State) {
        for unit in 0..x.d_mean.len() {
            x.d_mean[unit] += more.d_mean[unit];
            x.d_var[unit] += more.d_var[unit];
        }
    }

    fn forget_innovation(&self, state: &mut State) {
        state.clear_innovation();
    }

    fn posterior(&self, state: &mut State) {
        for unit in 0..state.mean.len() {
            (state.mean[unit], state.var[unit]) =
                smooth::posterior(state.mean[unit], state.var[unit], state.d_mean[unit], state.d_var[unit]);
        }
    }
}

impl Observing for Reference {
    fn observe(&self, output: &mut State, seen: Seen<'_>) {
        let width = output.shape.len();
        let mut p = vec![0.0; output.mean.len()];
        if let NoiseVar::Softmax = seen.noise {
            let rows = output.mean.chunks(width).zip(output.var.chunks(width));
            p.chunks_mut(width).zip(rows).for_each(|(p, (mean, var))| softmax::probabilities(mean, var, p)); // T90
        }
        for unit in 0..output.mean.len() {
            let is_seen = seen.seen.is_none_or(|s| s[unit]);
            let noise = seen.noise.at(unit / width, unit % width, width);
            let (mean, var, y) = (output.mean[unit], output.var[unit], seen.y[unit]);
            let innovation = match seen.noise {
                NoiseVar::Softmax => softmax::innovation(p[unit], var, y), // T91
                _ => observe::innovation(mean, var, y, noise),
            };
            (output.d_mean[unit], output.d_var[unit]) = if is_seen { innovation } else { (0.0, 0.0) };
        }
    }

    fn infer_noise(
        &self,
        output: &mut State,
        mut head: Option<&mut State>,
        seen: Seen<'_>,
        sums: &mut NoiseSums,
    ) {
        let width = output.shape.len();
        for unit in 0..output.mean.len() {
            let is_seen = seen.seen.is_none_or(|s| s[unit]);
            let (mean, var, y) = (output.mean[unit], output.var[unit], seen.y[unit]);
            let log = head.as_ref().map(|h| (h.mean[unit], h.var[unit]));
            let noise_var = match log {
                Some((mean, var)) => noise::expected(mean, var), // T41
                None => seen.noise.at(unit / width, unit % width, width),
            };
            let square = noise::square(mean, var, y, noise_var); // T40
            if is_seen {
                sums.add(unit % width, square.mean);
            }
            if let (Some(head), Some((_, var))) = (&mut head, log) {
                let d = if is_seen { noise::log_innovation(noise_var, var, square) } else { (0.0, 0.0) }; // T42
                (head.d_mean[unit], head.d_var[unit]) = d;
            }
        }
    }

    fn innovate(&self, output: &mut State, d_mean: &[f64]) -> Result<()> {
        output.d_mean.copy_from_slice(d_mean);
        output.d_var.fill(0.0);
        Ok(())
    }
}

impl Rows for Reference {
    type Spread = Spread;

    fn rows(&self, of: &State, k: usize, rows: &mut State) {
        let n = of.mean.len() * k;
        rows.mean = vec![0.0; n];
        rows.d_mean = vec![0.0; n];
        rows.d_var = vec![0.0; n];
    }

    fn spread_begin(&self, of: &State, k: usize, spread: &mut Spread) {
        *spread = Spread { k, entries: vec![0.0; of.rows() * k * k] };
    }

    fn spread_add(&self, of: &State, field: Field, rows: &State, spread: &mut Spread) {
        let (k, width, var) = (spread.k, of.shape.len(), of.field(field));
        for (sample, entries) in spread.entries.chunks_exact_mut(k * k).enumerate() {
            for (i, entry) in entries.iter_mut().enumerate() {
                let [left, right] = [i / k, i % k].map(|row| &rows.d_mean[(sample * k + row) * width..]);
                *entry += (0..width).map(|u| left[u] * var[sample * width + u] * right[u]).sum::<f64>(); // T45
            }
        }
    }

    fn spread_read(&self, spread: &Spread) -> Result<Vec<f64>> {
        Ok(spread.entries.clone())
    }
}

impl Backend for Reference {}
