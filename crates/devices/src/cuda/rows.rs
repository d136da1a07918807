//! Covariance of rows, and derivatives with respect to the units of dense layers.

use super::driver::{Buffer, MOST_DOWN, arguments};
use super::map::Weights;
use super::state::{Layout, State, padded};
use super::unitwise::number;
use super::{Cuda, Scratch, driver};
use crate::{Derivatives, Field, Rows, Units};
use tractable_core::error::Result;
use tractable_core::moments::Activation;
use tractable_core::moments::derivative::Gate;

/// Covariances of `k` rows with each other, sample by sample.
#[derive(Default)]
pub struct Spread {
    k: usize,
    samples: usize,
    entries: Option<Buffer<f64>>,
    failed: Option<String>,
}

/// Seven arrays of `[rows][width]`: the parts of a `UnitDerivative`.
#[derive(Default)]
pub struct Derivative {
    n: usize,
    parts: Option<Buffer<f32>>,
    failed: Option<String>,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct SpreadArgs {
    of: Layout,
    rows: Layout,
    k: i32,
    var: u64,
    row: u64,
    entries: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq)]
struct DerivedUnits {
    of: Layout,
    activation: i32,
    z: [u64; 2],
    a: [u64; 2],
    slope: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq)]
struct DerivativeArgs {
    below: DerivedUnits,
    above: DerivedUnits,
    output: i32,
    gate_is_input: i32,
    more: i32,
    dense: i32,
    stride: i32,
    weight_stride: i32,
    w: [u64; 2],
    d_above: u64,
    d: u64,
}

// SAFETY: these are the kernels' structures; addresses come from buffers that the code below has made large enough and borrows until the launch.
arguments! {
    unsafe {
        SpreadArgs: "spread_add";
        DerivativeArgs: "derivative_output", "derivative_below";
    }
}

impl DerivedUnits {
    fn new(units: &Units<'_, State>) -> Self {
        let slope = if units.activation == Activation::Identity { 0 } else { units.a.slope.at() };
        DerivedUnits {
            of: units.z.layout(),
            activation: number(units.activation).0,
            z: [units.z.mean.at(), units.z.var.at()],
            a: [units.a.mean.at(), units.a.var.at()],
            slope,
        }
    }
}

impl Cuda {
    /// Launches a kernel unless its inputs have failed.
    fn launch_derivative(
        &self,
        kernel: &'static str,
        args: DerivativeArgs,
        units: &Units<'_, State>,
        failed: Option<String>,
        d: &mut Derivative,
    ) {
        let n = units.z.rows * units.z.shape.len();
        d.n = n;
        d.failed = failed.or_else(|| units.z.failed.clone()).or_else(|| units.a.failed.clone());
        let parts = d.parts.get_or_insert_with(|| Buffer::none(&self.gpu));
        match parts.grow(7 * n) {
            Ok(()) if d.failed.is_none() => {
                let args = DerivativeArgs { below: DerivedUnits::new(units), d: parts.at(), ..args };
                self.gpu.launch(kernel, [n.div_ceil(128), 1, 1], 128, 0, &args);
            }
            Ok(()) => {}
            Err(e) => d.failed = Some(driver::why(e)),
        }
    }
}

impl Rows for Cuda {
    type Spread = Spread;

    fn rows(&self, of: &State, k: usize, rows: &mut State) {
        rows.made_from(of, of.planes);
        rows.rows = of.rows * k;
        (rows.means_only, rows.several) = (true, k > 1);
    }

    fn spread_begin(&self, of: &State, k: usize, spread: &mut Spread) {
        (spread.k, spread.samples) = (k, of.rows);
        let many = k * k > MOST_DOWN;
        spread.failed = of.failed.clone().or_else(|| {
            many.then(|| format!("covariances of {k} outputs are more than a GPU can handle; use the CPU"))
        });
        if spread.failed.is_some() {
            return;
        }
        let entries = spread.entries.get_or_insert_with(|| Buffer::none(&self.gpu));
        match entries.grow(of.rows * k * k) {
            Ok(()) => entries.clear(of.rows * k * k),
            Err(e) => spread.failed = Some(driver::why(e)),
        }
    }

    fn spread_add(&self, of: &State, field: Field, rows: &State, spread: &mut Spread) {
        spread.failed = spread.failed.take().or_else(|| of.failed.clone()).or_else(|| rows.failed.clone());
        let (Some(entries), None) = (&spread.entries, &spread.failed) else { return };
        let args = SpreadArgs {
            of: of.layout(),
            rows: rows.layout(),
            k: spread.k as i32,
            var: of.field(field).at(),
            row: rows.d_mean.at(),
            entries: entries.at(),
        };
        self.gpu.launch("spread_add", [of.rows, spread.k * spread.k, 1], 128, 0, &args);
    }

    fn spread_read(&self, spread: &Spread) -> Result<Vec<f64>> {
        match (&spread.failed, &spread.entries) {
            (Some(why), _) => Err(driver::failed(why.clone())),
            (None, Some(entries)) => entries.read(spread.samples * spread.k * spread.k),
            (None, None) => Ok(Vec::new()),
        }
    }
}

impl Derivatives for Cuda {
    type Derivative = Derivative;

    fn derivative_output(&self, units: Units<'_, State>, output: usize, d: &mut Derivative) {
        let args = DerivativeArgs { output: output as i32, ..Default::default() };
        self.launch_derivative("derivative_output", args, &units, None, d);
    }

    fn derivative_below(
        &self,
        w: Option<&Weights>,
        _: &mut Scratch,
        below: Units<'_, State>,
        above: Units<'_, State>,
        d_above: &Derivative,
        gate: Gate,
        more: bool,
        d: &mut Derivative,
    ) {
        let args = DerivativeArgs {
            above: DerivedUnits::new(&above),
            gate_is_input: (gate == Gate::Input) as i32,
            more: more as i32,
            dense: w.is_some() as i32,
            stride: padded(below.z.shape.channels) as i32,
            weight_stride: w.map_or(0, Weights::weight_stride),
            w: w.map_or([0; 2], |w| [w.mean.at(), w.var.at()]),
            d_above: d_above.parts.as_ref().map_or(0, Buffer::at),
            ..Default::default()
        };
        // A sum that has failed stays so when more is added.
        let before = if more { d.failed.take() } else { None };
        let failed = [&above.z.failed, &above.a.failed, &d_above.failed].into_iter().find_map(Clone::clone);
        self.launch_derivative("derivative_below", args, &below, before.or(failed), d);
    }

    fn derivative_read(&self, d: &Derivative) -> Result<[Vec<f64>; 3]> {
        if let Some(why) = &d.failed {
            return Err(driver::failed(why.clone()));
        }
        let all = match &d.parts {
            None => Vec::new(),
            Some(parts) => parts.read(3 * d.n)?,
        };
        Ok([0, 1, 2].map(|j| all[j * d.n..][..d.n].iter().map(|&v| f64::from(v)).collect()))
    }
}
