//! A data set on the network's device: tables are standardised once and gathered by index, images stay bytes and become
//! numbers one batch at a time.

use super::{Network, Spec};
use crate::engine::{Batch, Entries, Observed, OnDevice};
use crate::output::{ClassUnits, Noise, Observation, ObservationBuffer, Prediction};
use std::ops::Range;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Input;
use tractable_core::metrics::Tails;
use tractable_core::rng::ChaCha8Rng;
use tractable_core::workers::{self, Doing, Transport};
use tractable_data::{Dataset, Images, Target, grey, unit};
use tractable_devices::{Change, NoiseVar};

/// Data to learn from, batch by batch.
pub struct Resident<'d> {
    inputs: Inputs<'d>,
    targets: Targets<'d>,
    /// The targets of a batch.
    observed: ObservationBuffer,
    /// The current weight of a batch.
    weight: f64,
}

enum Inputs<'d> {
    Table(OnDevice),
    /// Some are missing: means and variances stay here, in the network's units.
    Uncertain {
        mean: Vec<f64>,
        var: Vec<f64>,
        batch: [Vec<f64>; 2],
    },
    Images {
        images: &'d Images,
        changes: Option<Box<ChaCha8Rng>>,
        batch: Vec<f64>,
    },
    /// On a device that keeps them as bytes.
    Bytes {
        on_device: OnDevice,
        images: &'d Images,
        changes: Option<Box<ChaCha8Rng>>,
        drawn: Vec<Change>,
    },
}

enum Targets<'d> {
    /// All of them, in the network's units.
    Values(ObservationBuffer),
    Labels(ClassUnits, &'d [usize]),
    Images(ClassUnits, &'d Images),
    /// On a device that keeps them.
    OnDevice(OnDevice),
}

/// Rows standardised at a time.
const AT_ONCE: usize = 4096;

impl Network {
    /// The rows of a table, on the device.
    #[doc(hidden)]
    pub fn resident_table<'d>(&self, data: &'d Dataset) -> Result<Resident<'d>> {
        let inputs = self.resident_inputs(data.input())?;
        let targets = match data.target() {
            Target::Labels { labels, .. } => Targets::Labels(self.spec.output.class_units()?, labels),
            target => {
                let (mut all, noise) = (ObservationBuffer::default(), self.spec.default_noise());
                let (seen, most) = (Observation::from(target), self.largest());
                all.fill(&seen, noise, self.output(), self.output_scaler(), data.rows(), most)?;
                Targets::Values(all)
            }
        };
        let targets = self.resident_targets(targets, data.rows())?;
        Ok(Resident { inputs, targets, observed: ObservationBuffer::default(), weight: 1.0 })
    }

    /// Puts targets on the device if it keeps them. Inferring noise needs them on the host.
    fn resident_targets<'d>(&self, targets: Targets<'d>, rows: usize) -> Result<Targets<'d>> {
        if !self.engine.keeps_data() || self.spec.output.noise() != Noise::Known {
            return Ok(targets);
        }
        let (mut all, units) = (ObservationBuffer::default(), self.spec.output.units());
        let all = match &targets {
            Targets::Values(values) => values,
            Targets::Labels(classes, labels) => {
                all.label(*classes, labels.iter().copied());
                &all
            }
            Targets::Images(classes, images) => {
                all.label(*classes, (0..rows).map(|r| images.label(r)));
                &all
            }
            Targets::OnDevice(_) => return Ok(targets),
        };
        // If every entry has its own noise, the noise stays with its row.
        if matches!(all.observed(units).noise, Some(NoiseVar::PerEntry(_))) {
            return Ok(targets);
        }
        let is_seen = |i: usize| all.seen().is_none_or(|s| s[i]);
        let y = all.y().iter().enumerate().map(|(i, &y)| if is_seen(i) { y } else { f64::NAN });
        let y: Vec<f64> = y.collect();
        Ok(Targets::OnDevice(self.engine.targets(&y)?))
    }

    fn resident_bytes<'d>(&self, images: &'d Images) -> Result<Option<Inputs<'d>>> {
        let bytes = self.image_bytes(images)?;
        Ok(bytes.map(|on_device| Inputs::Bytes { on_device, images, changes: None, drawn: Vec::new() }))
    }

    /// Images as bytes on the device, if it keeps them and all pixels of a channel have the same scale.
    pub(super) fn image_bytes(&self, images: &Images) -> Result<Option<OnDevice>> {
        let (shape, scaler) = (images.shape(), self.spec.input_scaler.as_ref());
        let plane = shape.height * shape.width;
        let of_channel = |v: &[f64], c: usize| {
            let all = &v[c * plane..][..plane];
            all.iter().all(|v| *v == all[0]).then_some(all[0])
        };
        let scales: Option<Vec<[f64; 2]>> = (0..shape.channels)
            .map(|c| match scaler {
                None => Some([0.0, 1.0]),
                Some(s) => Some([of_channel(s.mean(), c)?, of_channel(s.std(), c)?]),
            })
            .collect();
        let (Some(scales), true) = (scales, self.engine.keeps_data()) else { return Ok(None) };
        let scaled =
            scales.iter().flat_map(|[mean, std]| (0..=255).map(move |p| ((unit(p) - mean) / std) as f32));
        let holes = images.augmented().is_some_and(|a| a.cutout > 0);
        let planes = images.bytes().chunks_exact(plane).enumerate().filter(|_| holes);
        let greys = planes.map(|(i, plane)| {
            let [mean, std] = scales[i % shape.channels];
            ((grey(plane) - mean) / std) as f32
        });
        let (scaled, greys) = (scaled.collect::<Vec<_>>(), greys.collect::<Vec<_>>());
        self.engine.images(shape, images.bytes(), &scaled, &greys)
    }

    fn resident_inputs<'d>(&self, x: Input<'_>) -> Result<Inputs<'d>> {
        let mut buffers = Default::default();
        if x.var().is_some() {
            self.standardize(x, &mut buffers);
            if self.spec.input_scaler.is_none() {
                buffers = [x.mean().to_vec(), x.var().map_or(Vec::new(), <[f64]>::to_vec)];
            }
            let [mean, var] = buffers;
            return Ok(Inputs::Uncertain { mean, var, batch: Default::default() });
        }
        let mut table = self.engine.table(x.rows())?;
        for from in (0..x.rows()).step_by(AT_ONCE) {
            let some = x.rows_between(from, x.rows().min(from + AT_ONCE));
            self.engine.table_write(&mut table, from, self.standardize(some, &mut buffers).0)?;
        }
        Ok(Inputs::Table(table))
    }

    pub(crate) fn resident_images<'d>(&self, images: &'d Images) -> Result<Resident<'d>> {
        let inputs = match self.resident_bytes(images)? {
            Some(inputs) => inputs,
            None => Inputs::Images { images, changes: None, batch: Vec::new() },
        };
        let targets =
            self.resident_targets(Targets::Images(self.spec.output.class_units()?, images), images.len())?;
        Ok(Resident { inputs, targets, observed: ObservationBuffer::default(), weight: 1.0 })
    }

    /// Updates the weights with some rows; [`learned`](Network::learned) reports the outcome.
    #[doc(hidden)]
    pub fn learn_rows(&mut self, data: &mut Resident<'_>, rows: &[usize]) -> Result<()> {
        let update = self.update(data.weight);
        let (batch, seen) = data.gather(&self.spec, rows, 0..rows.len());
        self.engine.learn(batch, seen, update, rows.len())?;
        self.updated(rows.len());
        Ok(())
    }

    /// Moves running statistics by this share towards those of some rows.
    pub(crate) fn restate(&mut self, data: &mut Resident<'_>, rows: &[usize], share: f64) -> Result<()> {
        let (batch, _) = data.gather(&self.spec, rows, 0..rows.len());
        self.engine.restate(batch, share)
    }

    /// Updates the weights with some rows, of which each worker takes an equal part: the result is that of
    /// [`learn_rows`](Network::learn_rows) up to rounding, and the same on all workers.
    pub(crate) fn learn_rows_together(
        &mut self,
        data: &mut Resident<'_>,
        rows: &[usize],
        workers: &dyn Transport,
    ) -> Result<()> {
        let (rank, ranks) = (workers.rank(), workers.ranks());
        // Too few to share: every worker learns all of them.
        if ranks == 1 || rows.len() < ranks {
            return self.learn_rows(data, rows);
        }
        let mine = rank * rows.len() / ranks..(rank + 1) * rows.len() / ranks;
        let (mut sums, weight) = (self.sums(), data.weight);
        sums.rows = mine.len();
        let (batch, seen) = data.gather(&self.spec, rows, mine);
        let mut together = |numbers: &mut [f64]| workers::add_few(workers, Doing::Normalizing, numbers);
        self.engine.accumulate(batch, seen, &mut sums.layers, Some(&mut together))?;
        self.add_sums_together(&mut sums, workers)?;
        self.apply_weighted(&sums, weight)
    }

    /// [`predict`](Network::predict) for images. A GPU takes their bytes and converts them itself.
    ///
    /// ```
    /// # use tractable::{Layer, Network, data};
    /// let digits = data::digits(3, 0)?;
    /// let net = Network::builder(digits.shape()).layer(Layer::linear(10)).classes(10).build()?;
    /// assert_eq!(net.predict_images(&digits)?, net.predict(&digits.matrix(0..3)?)?);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn predict_images(&self, images: &Images) -> Result<Prediction> {
        let (input, shape) = (self.spec.input, images.shape());
        if shape != input && !(input.is_flat() && shape.len() == input.len()) {
            return Err(Error::shape("images", format!("images of {input}"), shape));
        }
        let (output, bytes) = (self.graph.output(), self.image_bytes(images)?);
        let all: Vec<usize> = (0..images.len()).collect();
        let [mean, var, noise] = self.in_parts(images.len(), |rows| {
            let Some(bytes) = &bytes else {
                let x = images.matrix(rows)?;
                return self.predict_standard(Input::from(&x));
            };
            let (n, mut pass) = (rows.len(), self.engine.pass());
            pass.set(Batch::Images(bytes, &all[rows], &[]))?;
            pass.run(&self.forward, None)?;
            let [mean, var] = pass.read_prior(output)?;
            Ok([mean, var, self.noise_of(&*pass, n)?])
        })?;
        let noise = self.scaler_at(output).map_or(noise.clone(), |s| s.undo_var(&noise));
        let out = self.in_users_units([mean, var], images.len(), output)?;
        Prediction::new(out, noise, vec![Tails::Normal])
    }
}

impl Resident<'_> {
    /// Inputs and targets of a part of these rows. Random changes to an image do not depend on the part it is in.
    fn gather<'s>(
        &'s mut self,
        spec: &'s Spec,
        all: &'s [usize],
        part: Range<usize>,
    ) -> (Batch<'s>, Observed<'s>) {
        let (units, rows) = (spec.output.units(), &all[part.clone()]);
        let observed = &mut self.observed;
        observed.set_noise(spec.default_noise());
        match &self.targets {
            Targets::Values(all) => observed.gather(all, units, rows),
            Targets::Labels(classes, labels) => observed.label(*classes, rows.iter().map(|&r| labels[r])),
            Targets::Images(classes, images) => {
                observed.label(*classes, rows.iter().map(|&r| images.label(r)))
            }
            Targets::OnDevice(_) => {}
        }
        let batch = match &mut self.inputs {
            Inputs::Table(table) => Batch::Rows(table, rows),
            Inputs::Uncertain { mean, var, batch: [m, v] } => {
                let width = spec.input.len();
                for (all, some) in [(&*mean, &mut *m), (&*var, &mut *v)] {
                    some.clear();
                    rows.iter().for_each(|r| some.extend_from_slice(&all[r * width..(r + 1) * width]));
                }
                // A batch without a gap is learned exactly as if there were none anywhere.
                Batch::Values(m, v.iter().any(|v| *v > 0.0).then_some(v))
            }
            Inputs::Images { images, changes, batch } => {
                batch.clear();
                images.gather(all, part, changes.as_deref_mut(), batch);
                if let Some(scaler) = &spec.input_scaler {
                    scaler.apply_in_place(batch);
                }
                Batch::Values(batch, None)
            }
            Inputs::Bytes { on_device, images, changes, drawn } => {
                drawn.clear();
                if let (Some(augment), Some(rng)) = (images.augmented(), changes) {
                    drawn.extend(all.iter().map(|_| augment.draw(images.shape(), &mut **rng)));
                    drawn.truncate(part.end);
                    drawn.drain(..part.start);
                }
                Batch::Images(on_device, rows, drawn)
            }
        };
        let mut seen = self.observed.observed(units);
        if let Targets::OnDevice(targets) = &self.targets {
            seen.entries = Entries::Rows(targets, rows);
        }
        (batch, seen)
    }

    /// Sets the weight of the next batches.
    pub(crate) fn weigh(&mut self, weight: f64) {
        self.weight = weight;
    }

    /// Starts an epoch: images are augmented anew.
    pub(crate) fn begin(&mut self, seed: u64, epoch: usize) {
        if let Inputs::Images { images, changes, .. } | Inputs::Bytes { images, changes, .. } =
            &mut self.inputs
        {
            *changes = images.changes(seed, epoch).map(Box::new);
        }
    }
}
