//! The three inner loops of the fast device: a tile of outputs kept in vector registers while the sums run.
//!
//! Weights lie in panels: for every 32 outputs, for every input in turn, a line of 32 means and 32 variances.
//! Inputs lie as pairs (mean, squared mean), and `far` behind them in the same buffer as pairs (second moment,
//! variance), so that one pointer per row reaches all of them, and where the inputs are known exactly the first
//! pairs are enough. Each tile covers a few rows (or inputs) and up to 32 neighbouring numbers. The order of the
//! sums of one element never depends on the tile's size, so that a batch and its single rows give bit-identical results.

use pulp::Simd;

/// Outputs in a panel; one line of a panel is this many means, then as many variances.
pub(super) const PANEL: usize = 32;
/// Numbers in a line of a panel.
pub(super) const LINE: usize = 2 * PANEL;
/// Numbers in a pair.
pub(super) const PAIR: usize = 2;
/// Rows of a tile, at most. Twelve accumulators a moment fit AVX-512's registers; see [`rows_of`].
pub(super) const MAX_ROWS: usize = 6;

/// Rows a tile should have with these vectors: what the register file holds.
#[inline(always)]
pub(super) fn rows_of<S: Simd>() -> usize {
    if S::REGISTER_COUNT >= 32 { MAX_ROWS } else { 3 }
}

/// The same for a pass forward that keeps a third sum.
#[inline(always)]
pub(super) fn rows_with_own<S: Simd>() -> usize {
    if S::REGISTER_COUNT >= 32 { 4 } else { 2 }
}

/// Cuts `$lanes` neighbouring numbers into strips of two vectors, the last perhaps of one, and runs `$body` with
/// the constant `$vecs` for each from number `$lane` on. What lies beyond the last number is not computed.
macro_rules! strips {
    ($s:ty, $lanes:expr, |$lane:ident, $vecs:ident| $body:expr) => {
        for $lane in (0..$lanes).step_by(2 * <$s>::F32_LANES) {
            if $lanes - $lane > <$s>::F32_LANES {
                const $vecs: usize = 2;
                $body
            } else {
                const $vecs: usize = 1;
                $body
            }
        }
    };
}

/// Calls `$body` with the constant `$n` set to the number of rows, 1 to [`MAX_ROWS`].
macro_rules! by_rows {
    ($rows:expr, $n:ident => $body:expr) => {
        match $rows {
            1 => {
                const $n: usize = 1;
                $body
            }
            2 => {
                const $n: usize = 2;
                $body
            }
            3 => {
                const $n: usize = 3;
                $body
            }
            4 => {
                const $n: usize = 4;
                $body
            }
            5 => {
                const $n: usize = 5;
                $body
            }
            _ => {
                const $n: usize = 6;
                $body
            }
        }
    };
}

/// A run of inputs that lie one after the other in memory, `at` numbers from where a row starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) at: usize,
    pub(super) len: usize,
}

#[inline(always)]
pub(super) unsafe fn load<S: Simd>(from: *const f32) -> S::f32s {
    // SAFETY: callers give pointers to a whole vector.
    unsafe { (from as *const S::f32s).read_unaligned() }
}

#[inline(always)]
pub(super) unsafe fn store<S: Simd>(to: *mut f32, v: S::f32s) {
    // SAFETY: callers give pointers to a whole vector.
    unsafe { (to as *mut S::f32s).write_unaligned(v) }
}

/// Mean and variance of `rows` outputs of one panel (T15, T16): `z = sum_k w_k a_k + b`, for its first `lanes`
/// outputs.
///
/// # Safety
/// The pairs at `rows[r] + segment` must lie in `pairs` and, unless `far` is `None` (inputs known exactly: all
/// variances are zero), `far` numbers behind; `panel` holds a line per input of the segments, `bias`
/// one line; `z_mean`/`z_var` at `z_at[r]` 32 numbers, and `own` too, which gets the part of the variance that the weights add
/// (T44), unless it is null.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) unsafe fn forward<S: Simd>(
    simd: S,
    segments: &[Segment],
    panel: *const f32,
    bias: *const f32,
    lanes: usize,
    pairs: *const f32,
    far: Option<usize>,
    rows: &[usize],
    z_at: &[usize],
    [z_mean, z_var]: [*mut f32; 2],
    own: *mut f32,
) {
    strips!(S, lanes, |lane, VECS| {
        // SAFETY: the caller's promise, for the part of the panel from `lane` on.
        unsafe {
            let (panel, bias, z) = (panel.add(lane), bias.add(lane), [z_mean.add(lane), z_var.add(lane)]);
            let own_at = own.wrapping_add(lane);
            by_rows!(rows.len(), ROWS => {
                let rows = (&*(rows.as_ptr() as *const [usize; ROWS])).map(|row| pairs.add(row * PAIR));
                let z_at = &*(z_at.as_ptr() as *const [usize; ROWS]);
                match (far, own.is_null()) {
                    (None, true) => forward_tile::<S, ROWS, VECS, true, false>(simd, segments, panel, bias, rows, 0, z_at, z, own),
                    (Some(far), true) => forward_tile::<S, ROWS, VECS, false, false>(simd, segments, panel, bias, rows, far, z_at, z, own),
                    // All of the variance is the weights'.
                    (None, false) => forward_tile::<S, ROWS, VECS, true, true>(simd, segments, panel, bias, rows, 0, z_at, z, own_at),
                    (Some(far), false) => forward_tile::<S, ROWS, VECS, false, true>(simd, segments, panel, bias, rows, far, z_at, z, own_at),
                }
            });
        }
    });
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn forward_tile<S: Simd, const ROWS: usize, const VECS: usize, const EXACT: bool, const OWN: bool>(
    simd: S,
    segments: &[Segment],
    mut line: *const f32,
    bias: *const f32,
    rows: [*const f32; ROWS],
    far: usize,
    z_at: &[usize; ROWS],
    [z_mean, z_var]: [*mut f32; 2],
    own: *mut f32,
) {
    // SAFETY: see `forward`.
    unsafe {
        let zero = simd.splat_f32s(0.0);
        let mut acc_m = [[zero; VECS]; ROWS];
        let mut acc_v = [[zero; VECS]; ROWS];
        // What the inputs' variances add, where it is told apart.
        let mut acc_x = [[zero; VECS]; ROWS];
        for v in 0..VECS {
            let (m, s) =
                (load::<S>(bias.add(v * S::F32_LANES)), load::<S>(bias.add(PANEL + v * S::F32_LANES)));
            for r in 0..ROWS {
                acc_m[r][v] = m;
                acc_v[r][v] = s;
            }
        }
        for segment in segments {
            for i in segment.at..segment.at + segment.len {
                let mut mu_w = [zero; VECS];
                let mut var_w = [zero; VECS];
                let mut sq_w = [zero; VECS];
                for v in 0..VECS {
                    mu_w[v] = load::<S>(line.add(v * S::F32_LANES));
                    var_w[v] = load::<S>(line.add(PANEL + v * S::F32_LANES));
                    sq_w[v] = simd.mul_f32s(mu_w[v], mu_w[v]);
                }
                for r in 0..ROWS {
                    let pair = rows[r].add(i * PAIR);
                    let mu_a = simd.splat_f32s(*pair);
                    for v in 0..VECS {
                        acc_m[r][v] = simd.mul_add_e_f32s(mu_a, mu_w[v], acc_m[r][v]);
                    }
                    // Of a known number the second moment is the square.
                    let second_a = simd.splat_f32s(if EXACT { *pair.add(1) } else { *pair.add(far) });
                    for v in 0..VECS {
                        acc_v[r][v] = simd.mul_add_e_f32s(second_a, var_w[v], acc_v[r][v]);
                    }
                    if !EXACT {
                        let var_a = simd.splat_f32s(*pair.add(far + 1));
                        let acc = if OWN { &mut acc_x[r] } else { &mut acc_v[r] };
                        for v in 0..VECS {
                            acc[v] = simd.mul_add_e_f32s(var_a, sq_w[v], acc[v]);
                        }
                    }
                }
                // After the last line it is beyond the weights, and not followed.
                line = line.wrapping_add(LINE);
            }
        }
        for r in 0..ROWS {
            for v in 0..VECS {
                let at = z_at[r] + v * S::F32_LANES;
                store::<S>(z_mean.add(at), acc_m[r][v]);
                if OWN {
                    store::<S>(own.add(at), acc_v[r][v]);
                    store::<S>(z_var.add(at), simd.add_f32s(acc_v[r][v], acc_x[r][v]));
                } else {
                    store::<S>(z_var.add(at), acc_v[r][v]);
                }
            }
        }
    }
}

/// Innovations of `lanes` <= 32 neighbouring inputs of `rows` rows: `sum_o w_o d_o` (T24), added to what lies at
/// `x_at[r]` when `add`, written there otherwise.
///
/// # Safety
/// `turned` holds `outputs` lines of 32 means; `rows[r]` + `outputs` lie in `d_mean`, `d_var`; 32 numbers at
/// `x_at[r]` in `x_mean`, `x_var`.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) unsafe fn backward<S: Simd>(
    simd: S,
    outputs: usize,
    turned: *const f32,
    lanes: usize,
    [d_mean, d_var]: [*const f32; 2],
    rows: &[usize],
    x_at: &[usize],
    [x_mean, x_var]: [*mut f32; 2],
    add: bool,
    means_only: bool,
) {
    strips!(S, lanes, |lane, VECS| {
        // SAFETY: the caller's promise, for the part of the lines from `lane` on.
        unsafe {
            let (turned, d, x) = (turned.add(lane), [d_mean, d_var], [x_mean.add(lane), x_var.add(lane)]);
            by_rows!(rows.len(), ROWS => {
                let rows = &*(rows.as_ptr() as *const [usize; ROWS]);
                let x_at = &*(x_at.as_ptr() as *const [usize; ROWS]);
                match means_only {
                    false => backward_tile::<S, ROWS, VECS, true>(simd, outputs, turned, d, rows, x_at, x, add),
                    true => backward_tile::<S, ROWS, VECS, false>(simd, outputs, turned, d, rows, x_at, x, add),
                }
            });
        }
    });
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn backward_tile<S: Simd, const ROWS: usize, const VECS: usize, const VAR: bool>(
    simd: S,
    outputs: usize,
    turned: *const f32,
    [d_mean, d_var]: [*const f32; 2],
    rows: &[usize; ROWS],
    x_at: &[usize; ROWS],
    [x_mean, x_var]: [*mut f32; 2],
    add: bool,
) {
    // SAFETY: see `backward`.
    unsafe {
        let zero = simd.splat_f32s(0.0);
        let mut acc_m = [[zero; VECS]; ROWS];
        let mut acc_v = [[zero; VECS]; ROWS];
        for o in 0..outputs {
            let line = turned.add(o * PANEL);
            let mut mu_w = [zero; VECS];
            let mut sq_w = [zero; VECS];
            for v in 0..VECS {
                mu_w[v] = load::<S>(line.add(v * S::F32_LANES));
                sq_w[v] = simd.mul_f32s(mu_w[v], mu_w[v]);
            }
            for r in 0..ROWS {
                let d_m = simd.splat_f32s(*d_mean.add(rows[r] + o));
                for v in 0..VECS {
                    acc_m[r][v] = simd.mul_add_e_f32s(d_m, mu_w[v], acc_m[r][v]);
                }
                if VAR {
                    let d_v = simd.splat_f32s(*d_var.add(rows[r] + o));
                    for v in 0..VECS {
                        acc_v[r][v] = simd.mul_add_e_f32s(d_v, sq_w[v], acc_v[r][v]);
                    }
                }
            }
        }
        for r in 0..ROWS {
            for v in 0..VECS {
                let at = x_at[r] + v * S::F32_LANES;
                for (to, acc) in
                    [(x_mean, acc_m[r][v]), (x_var, acc_v[r][v])].into_iter().take(1 + VAR as usize)
                {
                    let to = to.add(at);
                    store::<S>(to, if add { simd.add_f32s(load::<S>(to), acc) } else { acc });
                }
            }
        }
    }
}

/// Sums over rows for a few weights of one panel (T20): `sum a d_mean` and `sum a^2 d_var` for some inputs and
/// the first `lanes` outputs, as lines of 32 + 32 in `sums`, added to what is there unless `first`.
///
/// # Safety
/// The pairs at `rows[b] + inputs[i]` lie in `pairs`; 32 numbers lie at `b * z_stride` in `d_mean` and `d_var`;
/// `sums` holds a line per input.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) unsafe fn sums<S: Simd>(
    simd: S,
    pairs: *const f32,
    inputs: &[usize],
    rows: &[usize],
    lanes: usize,
    z_stride: usize,
    [d_mean, d_var]: [*const f32; 2],
    sums: *mut f32,
    first: bool,
) {
    strips!(S, lanes, |lane, VECS| {
        // SAFETY: the caller's promise, for the part of the lines from `lane` on.
        unsafe {
            let (d, sums) = ([d_mean.add(lane), d_var.add(lane)], sums.add(lane));
            by_rows!(inputs.len(), INPUTS => {
                let inputs = (&*(inputs.as_ptr() as *const [usize; INPUTS])).map(|i| i * PAIR);
                sums_tile::<S, INPUTS, VECS>(simd, pairs, inputs, rows, z_stride, d, sums, first)
            });
        }
    });
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn sums_tile<S: Simd, const INPUTS: usize, const VECS: usize>(
    simd: S,
    pairs: *const f32,
    inputs: [usize; INPUTS],
    rows: &[usize],
    z_stride: usize,
    [mut d_mean, mut d_var]: [*const f32; 2],
    sums: *mut f32,
    first: bool,
) {
    // SAFETY: see `sums`.
    unsafe {
        let zero = simd.splat_f32s(0.0);
        let mut acc_m = [[zero; VECS]; INPUTS];
        let mut acc_v = [[zero; VECS]; INPUTS];
        if !first {
            for i in 0..INPUTS {
                for v in 0..VECS {
                    acc_m[i][v] = load::<S>(sums.add(i * LINE + v * S::F32_LANES));
                    acc_v[i][v] = load::<S>(sums.add(i * LINE + PANEL + v * S::F32_LANES));
                }
            }
        }
        for &row in rows {
            let row = pairs.add(row * PAIR);
            let mut d_m = [zero; VECS];
            let mut d_v = [zero; VECS];
            for v in 0..VECS {
                d_m[v] = load::<S>(d_mean.add(v * S::F32_LANES));
                d_v[v] = load::<S>(d_var.add(v * S::F32_LANES));
            }
            for i in 0..INPUTS {
                let mu_a = simd.splat_f32s(*row.add(inputs[i]));
                for v in 0..VECS {
                    acc_m[i][v] = simd.mul_add_e_f32s(mu_a, d_m[v], acc_m[i][v]);
                }
                let sq_a = simd.splat_f32s(*row.add(inputs[i] + 1));
                for v in 0..VECS {
                    acc_v[i][v] = simd.mul_add_e_f32s(sq_a, d_v[v], acc_v[i][v]);
                }
            }
            d_mean = d_mean.wrapping_add(z_stride);
            d_var = d_var.wrapping_add(z_stride);
        }
        for i in 0..INPUTS {
            for v in 0..VECS {
                store::<S>(sums.add(i * LINE + v * S::F32_LANES), acc_m[i][v]);
                store::<S>(sums.add(i * LINE + PANEL + v * S::F32_LANES), acc_v[i][v]);
            }
        }
    }
}
