//! Derivatives on the fast device: the sums over branches (T31) factored into matrix products (T35).
//!
//! With the parts `M V R` and `q1 q2 q3` of the node above, its factors `h t b` (bend, pair, twist), and for the unit
//! below `m v` (mean and variance of its slope), `x = mu_a m`, `f = bend cov_az`, `k = 2 twist cov_az^2`, a branch is
//!
//! ```text
//! K = x h var_w + f t w^2 + k b w^3,   mean = m w M + K R,   rest = w M,   and so on
//! ```
//!
//! so every sum over the units above is one of [`TERMS`] products of a power of the weights and a number of the unit
//! above, combined afterwards with the numbers of the unit below. Which of them are not zero depends on which of
//! the two layers is curved.

use super::lines::Lines;
use super::state::State;
use super::tile::{LINE, PANEL, load, store};
use super::weights::Weights;
use super::window::Scratch;
use super::{Cpu, Loop, Shared, turn};
use crate::{Derivatives, Units};
use pulp::{Simd, WithSimd};
use tractable_core::error::Result;
use tractable_core::moments::derivative::{Curve, Gate, Unit, UnitDerivative, repaired};
use tractable_core::moments::{Activation, Formulae, Moments};

/// The derivative by the units of one layer, laid out like its state, and the slopes of these units.
#[derive(Default)]
pub struct Derivative {
    rows: usize,
    width: usize,
    /// Numbers from one row to the next.
    stride: usize,
    /// The parts of a [`UnitDerivative`], in its order.
    nodes: [Lines; 7],
    /// Those of a [`Curve`].
    curves: [Lines; 4],
}

/// Buffers of one map, kept from batch to batch.
#[derive(Default)]
pub(super) struct Work {
    /// Means and variances of the weights, turned round.
    turned: Lines,
    /// Numbers of the units above, `[group][row][unit][term]`.
    numbers: [Lines; 4],
    /// Pair and twist of the units above where they are not their own.
    factors: [Lines; 2],
}

/// Places in [`Derivative::nodes`].
const MEAN: usize = 0;
const VAR: usize = 1;
const COV: usize = 2;

/// Terms of the four groups: always there; where the layer above is curved; where slopes of both layers are
/// correlated, first and second order.
const GROUPS: [usize; 4] = [5, 6, 7, 9];
const TERMS: usize = 27;
/// Rows a tile has at most.
const ROWS: usize = 4;

impl Derivative {
    fn like(&mut self, z: &State) {
        (self.rows, self.width, self.stride) = (z.rows, z.shape.channels, z.sample());
        let n = self.rows * self.stride;
        self.nodes.iter_mut().chain(&mut self.curves).for_each(|v| v.grow(n));
    }

    fn node(&self, at: usize) -> UnitDerivative<f32> {
        let [mean, var, cov, rest, mean_mean, mean_rest, rest_rest] =
            self.nodes.each_ref().map(|part| part[at]);
        UnitDerivative { mean, var, cov, rest, mean_mean, mean_rest, rest_rest }
    }

    fn set_node(&mut self, at: usize, n: UnitDerivative<f32>) {
        let parts = [n.mean, n.var, n.cov, n.rest, n.mean_mean, n.mean_rest, n.rest_rest];
        self.nodes.iter_mut().zip(parts).for_each(|(to, part)| to[at] = part);
    }
}

impl Units<'_, State> {
    #[inline(always)]
    fn moments(&self, at: usize) -> Moments<f32> {
        let slope = if self.activation == Activation::Identity { 1.0 } else { self.a.slope[at] };
        Moments { mean: self.a.mean[at], var: self.a.var[at], slope }
    }
}

impl Cpu {
    /// What the products need of the units above, group by group.
    fn numbers_above(
        &self,
        work: &mut Work,
        groups: usize,
        below: Activation,
        above: &Units<'_, State>,
        d: &Derivative,
        gate: Gate,
    ) {
        let Work { numbers: [always, curved, first, second], factors, .. } = work;
        let [_, _, bend, twist] = d.curves.each_ref().map(|v| &v[..]);
        // Bend, pair and twist: mostly those of the units themselves.
        let [h, t, b] = match gate {
            Gate::Both => [bend, bend, twist],
            Gate::Input => {
                factors.iter_mut().for_each(|v| v.grow(d.rows * d.stride));
                let [pairs, twists] = factors;
                for at in 0..d.rows * d.stride {
                    let unit = Unit { var_z: above.z.var[at], ..Unit::default() };
                    let [_, pair, twist] = gate.factors(below, &unit, above.moments(at));
                    (pairs[at], twists[at]) = (pair, twist);
                }
                [bend, &pairs[..], &twists[..]]
            }
        };
        for row in 0..d.rows {
            let (here, there) =
                (row * d.stride..row * d.stride + d.width, row * d.width..(row + 1) * d.width);
            let [mean, var, _, rest, q1, q2, q3] = d.nodes.each_ref().map(|v| &v[here.clone()]);
            let [h, t, b] = [h, t, b].map(|v| &v[here.clone()]);
            let always = &mut always.as_chunks_mut::<5>().0[there.clone()];
            self.arch.dispatch(Loop(
                #[inline(always)]
                || {
                    for i in 0..always.len() {
                        let all = var[i] + q1[i];
                        always[i] = [mean[i], mean[i] * mean[i], all, all, var[i]];
                    }
                },
            ));
            if groups > 1 {
                let curved = &mut curved.as_chunks_mut::<6>().0[there.clone()];
                self.arch.dispatch(Loop(
                    #[inline(always)]
                    || {
                        for i in 0..curved.len() {
                            let hr = h[i] * rest[i];
                            curved[i] = [hr, hr, h[i] * q2[i], h[i] * h[i] * q3[i], mean[i] * hr, hr * hr];
                        }
                    },
                ));
            }
            if groups == 4 {
                let first = &mut first.as_chunks_mut::<7>().0[there.clone()];
                let second = &mut second.as_chunks_mut::<9>().0[there];
                for i in 0..first.len() {
                    let (h, t, b, m, q2, q3) = (h[i], t[i], b[i], mean[i], q2[i], q3[i]);
                    let (hr, tr, br) = (h * rest[i], t * rest[i], b * rest[i]);
                    first[i] = [tr, t * q2, t * t * q3, h * t * q3, m * tr, tr * tr, hr * tr];
                    let (hb, tb) = (h * b * q3, t * b * q3);
                    second[i] = [br, b * q2, b * b * q3, hb, tb, m * br, br * br, hr * br, tr * br];
                }
            }
        }
    }
}

impl Derivatives for Cpu {
    type Derivative = Derivative;

    fn derivative_output(&self, units: Units<'_, State>, output: usize, d: &mut Derivative) {
        d.like(units.z);
        units.activation.run(Curves(self, &units, d));
        for row in 0..d.rows {
            for unit in 0..d.width {
                let at = row * d.stride + unit;
                let u = Unit::new(units.activation, units.z.mean[at], units.z.var[at], units.moments(at));
                d.set_node(at, UnitDerivative::output(&u, if unit == output { 1.0 } else { 0.0 }));
            }
        }
    }

    fn derivative_below(
        &self,
        w: Option<&Weights>,
        scratch: &mut Scratch,
        below: Units<'_, State>,
        above: Units<'_, State>,
        d_above: &Derivative,
        gate: Gate,
        more: bool,
        d: &mut Derivative,
    ) {
        d.like(below.z);
        below.activation.run(Curves(self, &below, d));
        let Some(w) = w else { return below_sum(&below, &above, d_above, gate, more, d) };
        let work = &mut scratch.derivative;
        let paired = match gate {
            Gate::Both => above.activation.is_curved() && below.activation.is_curved(),
            Gate::Input => matches!(below.activation, Activation::Tanh | Activation::Sigmoid),
        };
        let groups = if paired { 4 } else { 1 + usize::from(above.activation.is_curved()) };
        let (inputs, outputs) = (w.map.input.channels, w.map.output.channels);
        for (numbers, terms) in work.numbers.iter_mut().zip(GROUPS).take(groups) {
            numbers.grow(d.rows * outputs * terms);
        }
        self.numbers_above(work, groups, below.activation, &above, d_above, gate);
        let chunks = inputs.div_ceil(PANEL);
        work.turned.grow(chunks * 2 * outputs * PANEL);
        let turned = Shared(work.turned.as_mut_ptr());
        let Derivative { rows, stride, ref mut nodes, ref curves, .. } = *d;
        let nodes = nodes.each_mut().map(|v| Shared(v.as_mut_ptr()));
        let straight = below.activation == Activation::Identity;
        let slope = if straight { None } else { Some(&below.a.slope[..]) };
        let products = rows * inputs * outputs * GROUPS[..groups].iter().sum::<usize>() / 2;
        self.share(products, chunks, &|chunk, _| {
            // SAFETY: this task's own part of the buffer.
            let lines = unsafe {
                std::slice::from_raw_parts_mut(turned.at(chunk * 2 * outputs * PANEL), 2 * outputs * PANEL)
            };
            let (means, vars) = lines.split_at_mut(outputs * PANEL);
            let (from, len) = (chunk * PANEL, PANEL.min(inputs - chunk * PANEL));
            turn::turn(self.arch, &w.panels[from * LINE..], w.depth() * LINE, len, outputs, means);
            turn::turn(self.arch, &w.panels[from * LINE + PANEL..], w.depth() * LINE, len, outputs, vars);
            self.arch.dispatch(Below {
                groups,
                outputs,
                weights: [means, vars],
                numbers: &work.numbers,
                rows,
                stride,
                from,
                units: [&below.a.mean, &below.z.var],
                slope,
                curves,
                // This task alone writes these units.
                nodes: &nodes,
                more,
            });
        });
    }

    fn derivative_read(&self, d: &Derivative) -> Result<[Vec<f64>; 3]> {
        Ok([MEAN, VAR, COV].map(|part| {
            let rows = d.nodes[part].chunks_exact(d.stride).take(d.rows);
            rows.flat_map(|row| row[..d.width].iter().map(|&v| f64::from(v))).collect()
        }))
    }
}

/// Below a sum: one branch of weight 1 for every unit.
fn below_sum(
    below: &Units<'_, State>,
    above: &Units<'_, State>,
    d_above: &Derivative,
    gate: Gate,
    more: bool,
    d: &mut Derivative,
) {
    for row in 0..d.rows {
        for unit in 0..d.width {
            let (at, over) = (row * d.stride + unit, row * d_above.stride + unit);
            let mut node = if more { d.node(at) } else { UnitDerivative::default() };
            let of = |units: &Units<'_, State>, at: usize| {
                Unit::new(units.activation, units.z.mean[at], units.z.var[at], units.moments(at))
            };
            let factors = gate.factors(below.activation, &of(above, over), above.moments(over));
            node.add(1.0, 0.0, &of(below, at), &d_above.node(over), factors);
            node.var = repaired(node.var);
            d.set_node(at, node);
        }
    }
}

/// The slopes of a layer's units.
struct Curves<'a>(&'a Cpu, &'a Units<'a, State>, &'a mut Derivative);

impl Formulae<f32> for Curves<'_> {
    type Output = ();

    #[inline(always)]
    fn with(
        self,
        _: impl Fn(f32, f32) -> Moments<f32> + Sync,
        curve: impl Fn(f32, f32, Moments<f32>) -> Curve<f32>,
    ) {
        let Curves(cpu, units, d) = self;
        let n = d.rows * d.stride;
        let (z_mean, z_var, a_mean, a_var) =
            (&units.z.mean[..n], &units.z.var[..n], &units.a.mean[..n], &units.a.var[..n]);
        // Where there is no activation the slope is not looked at.
        let slope = if units.activation == Activation::Identity { a_mean } else { &units.a.slope[..n] };
        let [mean, var, bend, twist] = d.curves.each_mut().map(|v| &mut v[..n]);
        cpu.arch.dispatch(Loop(
            #[inline(always)]
            || {
                for i in 0..n {
                    let a = Moments { mean: a_mean[i], var: a_var[i], slope: slope[i] };
                    let c = curve(z_mean[i], z_var[i], a);
                    (mean[i], var[i], bend[i], twist[i]) = (c.mean, c.var, c.bend, c.twist);
                }
            },
        ));
    }
}

/// The derivative by the units of one panel, all rows.
struct Below<'a> {
    groups: usize,
    outputs: usize,
    /// Means and variances, a line of 32 inputs per output.
    weights: [&'a [f32]; 2],
    numbers: &'a [Lines; 4],
    rows: usize,
    stride: usize,
    /// The first unit.
    from: usize,
    /// Mean of the activation, variance of the pre-activation.
    units: [&'a [f32]; 2],
    /// Of the activation; `None` where there is none.
    slope: Option<&'a [f32]>,
    curves: &'a [Lines; 4],
    nodes: &'a [Shared<*mut f32>; 7],
    /// Adds to the nodes that are there.
    more: bool,
}

impl WithSimd for Below<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let wide = if S::REGISTER_COUNT >= 32 { ROWS } else { 2 };
        let mut row = 0;
        let mut sums = [[[0.0; PANEL]; TERMS]; ROWS];
        while row < self.rows {
            let rows = if self.rows - row >= wide { wide } else { 1 };
            match rows {
                4 => self.sums::<S, 4>(simd, row, &mut sums),
                2 => self.sums::<S, 2>(simd, row, &mut sums),
                _ => self.sums::<S, 1>(simd, row, &mut sums),
            }
            for (r, sums) in sums.iter().enumerate().take(rows) {
                match self.groups {
                    1 => self.combine::<1>(row + r, sums),
                    2 => self.combine::<2>(row + r, sums),
                    _ => self.combine::<4>(row + r, sums),
                }
            }
            row += rows;
        }
    }
}

impl Below<'_> {
    #[inline(always)]
    fn sums<S: Simd, const R: usize>(&self, simd: S, row: usize, sums: &mut [[[f32; PANEL]; TERMS]; ROWS]) {
        self.products::<S, 5, R>(
            simd,
            row,
            0,
            0,
            sums,
            #[inline(always)]
            |w, s| {
                let w2 = simd.mul_f32s(w, w);
                [w, w2, s, w2, w2]
            },
        );
        if self.groups > 1 {
            self.products::<S, 6, R>(
                simd,
                row,
                1,
                5,
                sums,
                #[inline(always)]
                |w, s| {
                    let (sw, ss) = (simd.mul_f32s(s, w), simd.mul_f32s(s, s));
                    [s, simd.mul_f32s(w, w), sw, ss, sw, ss]
                },
            );
        }
        if self.groups == 4 {
            // Fewer rows at a time: these have many sums.
            for r in 0..R {
                let sums = &mut sums[r..];
                self.products::<S, 7, 1>(
                    simd,
                    row + r,
                    2,
                    11,
                    sums,
                    #[inline(always)]
                    |w, s| {
                        let w2 = simd.mul_f32s(w, w);
                        let (w3, w4, sw2) =
                            (simd.mul_f32s(w2, w), simd.mul_f32s(w2, w2), simd.mul_f32s(s, w2));
                        [w2, w3, w4, sw2, w3, w4, sw2]
                    },
                );
                self.products::<S, 9, 1>(
                    simd,
                    row + r,
                    3,
                    18,
                    sums,
                    #[inline(always)]
                    |w, s| {
                        let w2 = simd.mul_f32s(w, w);
                        let (w3, w4) = (simd.mul_f32s(w2, w), simd.mul_f32s(w2, w2));
                        let (w5, w6, sw3) =
                            (simd.mul_f32s(w4, w), simd.mul_f32s(w4, w2), simd.mul_f32s(s, w3));
                        [w3, w4, w6, sw3, w5, w4, w6, sw3, w5]
                    },
                );
            }
        }
    }

    /// `N` sums over the units above for `R` rows from `row` on, into the places from `at` on.
    #[inline(always)]
    fn products<S: Simd, const N: usize, const R: usize>(
        &self,
        simd: S,
        row: usize,
        group: usize,
        at: usize,
        sums: &mut [[[f32; PANEL]; TERMS]],
        terms: impl Fn(S::f32s, S::f32s) -> [S::f32s; N],
    ) {
        let numbers = &self.numbers[group][row * self.outputs * N..][..R * self.outputs * N];
        let [means, vars] = self.weights.map(|w| &w[..self.outputs * PANEL]);
        for lane in (0..PANEL).step_by(S::F32_LANES) {
            let mut acc = [[simd.splat_f32s(0.0); N]; R];
            // SAFETY: a line of 32 weights and N numbers a row lie there for every unit above, and F32_LANES of
            // each line from `lane` on.
            unsafe {
                for o in 0..self.outputs {
                    let line = o * PANEL + lane;
                    let terms =
                        terms(load::<S>(means.as_ptr().add(line)), load::<S>(vars.as_ptr().add(line)));
                    for (r, acc) in acc.iter_mut().enumerate() {
                        let numbers = numbers.as_ptr().add((r * self.outputs + o) * N);
                        for (n, acc) in acc.iter_mut().enumerate() {
                            *acc = simd.mul_add_e_f32s(simd.splat_f32s(*numbers.add(n)), terms[n], *acc);
                        }
                    }
                }
                for r in 0..R {
                    for n in 0..N {
                        store::<S>(sums[r][at + n].as_mut_ptr().add(lane), acc[r][n]);
                    }
                }
            }
        }
    }

    /// T35. The nodes of one row from their sums; those of groups that are not there are zero.
    #[inline(always)]
    fn combine<const GROUPS: usize>(&self, row: usize, sums: &[[f32; PANEL]; TERMS]) {
        let at = row * self.stride + self.from;
        let panel = |v: &[f32]| -> [f32; PANEL] { v[at..at + PANEL].try_into().expect("a panel") };
        let ([mu_a, var_z], [mean, var, bend, twist]) =
            (self.units.map(panel), self.curves.each_ref().map(|v| panel(v)));
        let slope = self.slope.map_or([1.0; PANEL], panel);
        let mut nodes = [[0.0; PANEL]; 7];
        for i in 0..PANEL {
            let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|n| sums[n][i]);
            let cov_az = slope[i] * var_z[i];
            let (m, v, x) = (mean[i], var[i], mu_a[i] * mean[i]);
            // T35
            let rest = a;
            let mut mean = m * a;
            let mut spread = (v + m * m) * c + v * d + m * m * e;
            let mut cov = bend[i] * var_z[i] * a;
            let (mut mean_mean, mut mean_rest) = (m * m * b, m * b);
            if GROUPS > 1 {
                let s = |n: usize| sums[5 + n][i];
                mean += x * s(0);
                cov += cov_az * m * s(1);
                spread += x * x * s(3) + 2.0 * m * x * s(2);
                mean_mean += x * x * s(5) + 2.0 * m * x * s(4);
                mean_rest += x * s(4);
            }
            if GROUPS == 4 {
                let (s, u) = (|n: usize| sums[11 + n][i], |n: usize| sums[18 + n][i]);
                let (f, k) = (bend[i] * cov_az, 2.0 * twist[i] * cov_az * cov_az);
                mean += f * s(0) + k * u(0);
                spread += f * f * s(2) + k * k * u(2);
                spread += 2.0 * (x * f * s(3) + x * k * u(3) + f * k * u(4) + m * (f * s(1) + k * u(1)));
                let mixed = f * s(4) + k * u(5);
                mean_mean += f * f * s(5) + k * k * u(6);
                mean_mean += 2.0 * (x * f * s(6) + x * k * u(7) + f * k * u(8) + m * mixed);
                mean_rest += mixed;
            }
            let node = [mean, repaired(spread), cov, rest, mean_mean, mean_rest, b];
            (0..7).for_each(|part| nodes[part][i] = node[part]);
        }
        for (to, node) in self.nodes.iter().zip(&nodes) {
            // SAFETY: this task's own panel of this row.
            let to = unsafe { &mut *(to.at(at) as *mut [f32; PANEL]) };
            (0..PANEL).for_each(|i| to[i] = if self.more { to[i] + node[i] } else { node[i] });
        }
    }
}
