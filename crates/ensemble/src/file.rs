//! A model's file: a safetensors file whose tensors are the bytes of its networks' files and the numbers of lines and Gaussian processes;
//! its metadata hold the rest as JSON.

use super::candidate::{Calibrated, Candidate};
use super::fit::LeftOut;
use super::folds::{FOLDS, NONE};
use super::line::{About, Line};
use super::member::{Form, Member};
use super::process::{self, Process, Readings};
use super::{Ensemble, Spec, weights};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tractable_core::error::{Error, Result};
use tractable_core::files;
use tractable_devices::Device;
use tractable_network::checkpoint::tensors::{Bytes, F64, Tensors, U8, to_file};
use tractable_network::checkpoint::{MEMORY, MOST_BYTES};
use tractable_network::network::Network;
use tractable_network::output::Output;

const FORMAT: &str = "tractable-ensemble";
/// What this build writes; it reads versions 1 and 2 too.
const VERSION: &str = "3";
/// Models that a file may have.
const MOST_MEMBERS: usize = 1000;

/// What is not in the networks' own files.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rest {
    spec: Spec,
    candidates: Vec<CandidateEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CandidateEntry {
    name: String,
    log: bool,
    /// Until version 2: how its doubt was worked out.
    #[serde(default, skip_serializing, rename = "by_rows")]
    _by_rows: bool,
    weights: Vec<f64>,
    calibration: Calibrated,
    members: Vec<Place>,
}

/// A model's place in its candidate.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    fold: usize,
    weight: f64,
    /// Until version 2: rows that its doubt away from the data was worked out from.
    #[serde(default, skip_serializing)]
    kept: Vec<usize>,
    #[serde(default, skip_serializing, rename = "before")]
    _before: serde_json::Value,
    /// Of lines, one entry an output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lines: Vec<About>,
    /// Likewise of Gaussian processes,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    processes: Vec<process::About>,
    /// and the column of each of their inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    columns: Vec<usize>,
}

/// The same in version 1: one candidate of networks of several kinds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rest1 {
    spec: Spec1,
    members: Vec<Place1>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec1 {
    rows: usize,
    seed: u64,
    weights: Vec<f64>,
    calibration: Calibrated,
    left_out: Vec<LeftOut>,
    own: bool,
    #[serde(default)]
    by_rows: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place1 {
    kind: usize,
    fold: usize,
    kept: Vec<usize>,
}

impl Rest1 {
    fn current(self) -> Option<Rest> {
        let Spec1 { rows, seed, weights, calibration, left_out, own, by_rows } = self.spec;
        let place = |Place1 { kind, fold, kept }| {
            let (_before, lines, processes, columns) = Default::default();
            let weight = *weights.get(kind)?;
            Some(Place { fold, weight, kept, _before, lines, processes, columns })
        };
        let members = self.members.into_iter().map(place).collect::<Option<_>>()?;
        let outputs = if let Calibrated::Values(each) = &calibration { each.len() } else { 1 };
        let weights = vec![1.0; outputs];
        let one = CandidateEntry {
            name: "networks".into(),
            log: false,
            _by_rows: by_rows,
            weights,
            calibration,
            members,
        };
        let spec = Spec { rows, seed, left_out, own, ..Spec::of_own(0) };
        Some(Rest { spec, candidates: vec![one] })
    }
}

impl Ensemble {
    /// The candidates with their calibrations and the folds of their networks, as its file has them.
    pub fn entries(&self) -> impl Serialize + use<> {
        self.candidates.iter().map(entry).collect::<Vec<_>>()
    }

    /// Writes the model to one file. When this returns, the new file is on the disk; until then a crash leaves the old
    /// one.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// let path = dir.path().join("model.safetensors");
    /// model.save(&path)?;
    /// assert_eq!(Ensemble::load(&path)?.predict(data.x())?, model.predict(data.x())?);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        files::write(path.as_ref(), &self.bytes_of_file(path.as_ref())?)
    }

    /// The bytes that [`save`](Ensemble::save) would write; [`from_bytes`](Ensemble::from_bytes) reads them.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.bytes_of_file(Path::new(MEMORY))
    }

    fn bytes_of_file(&self, path: &Path) -> Result<Vec<u8>> {
        // A single network that was read as such stays one.
        if !self.is_calibrated() && self.models() == 1 {
            return self.first().bytes_of_file(path);
        }
        let refuse = |at: &str, why: String| Error::Model { path: path.into(), at: at.into(), why };
        let mut tensors = Vec::new();
        for (i, member) in self.members().enumerate() {
            let bytes = member.net.bytes_of_file(path)?;
            tensors.push((format!("network{i}"), U8, vec![bytes.len()], bytes));
            let mut numbers = |name: String, parts: [&[f64]; 2], shape: &[usize]| {
                let bytes = parts.concat().iter().flat_map(|v| v.to_le_bytes()).collect();
                tensors.push((name, F64, shape.to_vec(), bytes));
            };
            match &member.form {
                Form::Network => {}
                Form::Lines(lines) => {
                    for (output, line) in lines.iter().enumerate() {
                        let d = line.weights.len();
                        numbers(line_name(i, output), [&line.weights, &line.shape], &[d + 1, d]);
                    }
                }
                Form::Processes(processes) => {
                    let (columns, read) = processes[0].readings.parts();
                    numbers(readings_name(i), [read, &[]], &Readings::numbers(columns.len()));
                    for (output, process) in processes.iter().enumerate() {
                        let all = process.to_numbers();
                        numbers(process_name(i, output), [&all, &[]], &[all.len()]);
                    }
                }
            }
        }
        let rest = Rest { spec: self.spec.clone(), candidates: self.candidates.iter().map(entry).collect() };
        let rest = serde_json::to_string(&rest).map_err(|e| refuse("ensemble", e.to_string()))?;
        to_file(FORMAT, VERSION, ("ensemble", &rest), tensors).map_err(|why| refuse("header", why))
    }

    /// Reads a model from a file, or one network as an uncalibrated model. The file may be untrusted: nothing
    /// in it is executed, and anything invalid is refused with its location.
    ///
    /// ```
    /// use tractable::{Ensemble, Error};
    /// assert!(matches!(Ensemble::load("no/such/file").unwrap_err(), Error::File { .. }));
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Ensemble::load_on(path, Device::default())
    }

    /// [`load`](Ensemble::load), with networks that answer on a device of your own.
    ///
    /// ```
    /// # use tractable::{Activation, Device, Ensemble, Network};
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("model.safetensors");
    /// # Network::mlp([2, 8, 1], Activation::Relu).build()?.save(&path)?;
    /// let model = Ensemble::load_on(&path, Device::cpu(2))?;
    /// assert_eq!(model.networks().next().unwrap().device(), &Device::cpu(2));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn load_on(path: impl AsRef<Path>, device: impl Into<Device>) -> Result<Self> {
        let (file, length) = files::open(path.as_ref(), MOST_BYTES)?;
        Ensemble::read(path.as_ref(), Bytes::File(&file), length, &device.into())
    }

    /// [`load`](Ensemble::load) from the bytes of a file.
    ///
    /// ```
    /// # use tractable::{Activation, Ensemble, Network};
    /// let net = Network::mlp([2, 8, 1], Activation::Relu).build()?;
    /// let model = Ensemble::from_bytes(&net.to_bytes()?)?;
    /// assert!(!model.is_calibrated());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ensemble::read(Path::new(MEMORY), Bytes::Memory(bytes), bytes.len() as u64, &Device::default())
    }

    fn read(path: &Path, file: Bytes<'_>, length: u64, device: &Device) -> Result<Self> {
        let refuse = |at: &str, why: String| Error::Model { path: path.into(), at: at.into(), why };
        let tensors = Tensors::open(path, file, 0..length, "not a model file (safetensors)")?;
        let entry = |name: &str| tensors.entry(name).unwrap_or_default();
        if entry("format") != FORMAT {
            return Ensemble::of_one(Network::read(path, file, 0..length, device.clone())?);
        }
        let json = entry("ensemble");
        let rest: serde_json::Result<Option<Rest>> = match entry("version") {
            "1" => serde_json::from_str(json).map(Rest1::current),
            "2" | VERSION => serde_json::from_str(json).map(Some),
            other => {
                return Err(refuse("metadata", format!("version {other} is unknown to this build")));
            }
        };
        let rest = rest.map_err(|e| refuse("ensemble", e.to_string()))?;
        let Rest { spec, candidates: entries } =
            rest.ok_or_else(|| refuse("weights", "they do not match the networks".into()))?;
        let count = entries.iter().map(|c| c.members.len()).sum::<usize>();
        if entries.iter().any(|c| c.members.is_empty()) || !(1..=MOST_MEMBERS).contains(&count) {
            return Err(refuse("members", format!("there are {count}, not 1 to {MOST_MEMBERS}")));
        }
        let mut candidates: Vec<Candidate> = Vec::new();
        let mut number = 0..;
        for mut entry in entries {
            let mut members: Vec<Member> = Vec::new();
            for (place, i) in std::mem::take(&mut entry.members).into_iter().zip(&mut number) {
                let name = format!("network{i}");
                let info = tensors.info(&name).filter(|info| info.dtype == U8);
                let info =
                    info.ok_or_else(|| refuse(&name, "is missing or not the bytes of a model".into()))?;
                let net = Network::read(path, file, tensors.place(info), device.clone())?;
                let first = candidates.first().map(|c| &c.members[0]).or(members.first());
                check(&entry, first.map(|m| &m.net), &net, &place)
                    .map_err(|why| refuse(&name, why.into()))?;
                if members.first().is_some_and(|m| m.net.output_scaler() != net.output_scaler()) {
                    return Err(refuse(&name, "has other units than the networks before it".into()));
                }
                // Their doubt was worked out in another way: here every row has the average of it.
                if let (Calibrated::Values(each), false) = (&mut entry.calibration, place.kept.is_empty()) {
                    each.iter_mut().for_each(|c| c.average_doubt());
                }
                let numbers = |name: String, shape: &[usize]| -> Result<Vec<f64>> {
                    let info = tensors.info(&name).filter(|info| info.dtype == F64 && info.shape == shape);
                    let info = info.ok_or_else(|| refuse(&name, "is missing or has another shape".into()))?;
                    tensors.numbers(info, 0..shape.iter().product())
                };
                let d = net.input().len() + 1;
                let line = |(output, about): (usize, About)| {
                    let mut weights = numbers(line_name(i, output), &[d + 1, d])?;
                    let shape = weights.split_off(d);
                    let line = Line { weights, shape, about };
                    let finite = line.weights.iter().chain(&line.shape).all(|v| v.is_finite());
                    let sound = (finite && line.is_sound()).then_some(line);
                    sound.ok_or_else(|| refuse(&line_name(i, output), "is no line".into()))
                };
                let form = if !place.lines.is_empty() {
                    Form::Lines(place.lines.into_iter().enumerate().map(line).collect::<Result<_>>()?)
                } else if !place.processes.is_empty() {
                    let none = |name: String| refuse(&name, "is no Gaussian process".into());
                    let read = numbers(readings_name(i), &Readings::numbers(d - 1))?;
                    let readings =
                        Readings::of_parts(place.columns, read).ok_or_else(|| none(readings_name(i)))?;
                    let process = |(output, about): (usize, process::About)| {
                        let name = process_name(i, output);
                        let most = about.numbers(d - 1).ok_or_else(|| none(name.clone()))?;
                        let all = numbers(name.clone(), &[most])?;
                        Process::of_parts(about, &readings, entry.log, all).ok_or_else(|| none(name))
                    };
                    Form::Processes(
                        place.processes.into_iter().enumerate().map(process).collect::<Result<_>>()?,
                    )
                } else {
                    Form::Network
                };
                members.push(Member::new(net, form, place.fold, place.weight)?);
            }
            let of_folds = |process: &Process| process.of_folds.len() == FOLDS;
            if members[0].knows_folds() && !members[0].form.processes().iter().all(of_folds) {
                return Err(refuse("processes", "they do not know the folds".into()));
            }
            let CandidateEntry { name, log, weights, calibration, .. } = entry;
            candidates.push(Candidate { name, log, weights, calibration, members });
        }
        let sound = |output: usize| {
            let sum: f64 = candidates.iter().map(|c| c.weights[output]).sum();
            candidates.iter().all(|c| (0.0..=1.0).contains(&c.weights[output])) && (sum - 1.0).abs() < 1e-9
        };
        let outputs = candidates[0].weights.len();
        let ranged = spec.range.is_empty()
            || (spec.range.len() == outputs
                && spec.range.iter().all(|[low, high]| low <= high && (high - low).is_finite()));
        let positive = spec.range.iter().all(|[_, high]| *high > 0.0) || !candidates.iter().any(|c| c.log);
        if !(0..outputs).all(sound) || !ranged || !positive {
            return Err(refuse("weights", "they do not match the networks".into()));
        }
        weights::check_classes(&spec.class_weights, candidates[0].members[0].net.output().classes())
            .map_err(|e| refuse("class weights", e.to_string()))?;
        Ok(Ensemble { candidates, spec })
    }
}

impl Ensemble {
    /// A network as it is.
    fn of_one(net: Network) -> Result<Self> {
        let member = Member::new(net, Form::Network, 0, 1.0)?;
        let candidate = Candidate::new("network", false, vec![member]);
        Ok(Ensemble { candidates: vec![candidate], spec: Spec::of_own(0) })
    }
}

fn entry(c: &Candidate) -> CandidateEntry {
    let place = |m: &Member| {
        let (mut lines, mut processes, mut columns) = Default::default();
        match &m.form {
            Form::Network => {}
            Form::Lines(of) => lines = of.iter().map(|line| line.about).collect(),
            Form::Processes(of) => {
                processes = of.iter().map(Process::about).collect();
                columns = of[0].readings.parts().0.to_vec();
            }
        }
        let (kept, _before) = Default::default();
        Place { fold: m.fold, weight: m.weight, kept, _before, lines, processes, columns }
    };
    CandidateEntry {
        name: c.name.clone(),
        log: c.log,
        _by_rows: false,
        weights: c.weights.clone(),
        calibration: c.calibration.clone(),
        members: c.members.iter().map(place).collect(),
    }
}

fn line_name(member: usize, output: usize) -> String {
    format!("network{member}.line{output}")
}

fn process_name(member: usize, output: usize) -> String {
    format!("network{member}.process{output}")
}

fn readings_name(member: usize) -> String {
    format!("network{member}.readings")
}

/// Whether a network belongs to its candidate and to the first of all.
fn check(
    of: &CandidateEntry,
    first: Option<&Network>,
    net: &Network,
    place: &Place,
) -> std::result::Result<(), &'static str> {
    let outputs = match (&of.calibration, net.output()) {
        (Calibrated::Values(c), Output::Values { width, .. }) => {
            c.len() == width && of.weights.len() == width && c.iter().all(|c| c.is_sound())
        }
        (Calibrated::Classes(c), Output::Classes { .. }) => c.is_sound() && of.weights.len() == 1 && !of.log,
        _ => false,
    };
    if !outputs {
        return Err("has an output that does not fit the calibration");
    }
    let alike = first.is_none_or(|first| {
        (
            first.input(),
            first.output().units(),
            first.output().classes(),
            first.input_names(),
            first.output_names(),
        ) == (
            net.input(),
            net.output().units(),
            net.output().classes(),
            net.input_names(),
            net.output_names(),
        )
    });
    if !alike {
        return Err("has different inputs or outputs from the networks before it");
    }
    if place.fold > NONE || !(place.weight >= 0.0 && place.weight <= 1.0) {
        return Err("has no place in the model");
    }
    let bare = matches!(net.output(), Output::Values { .. }) && net.is_dense() && net.layers().len() == 1;
    let closed = [place.lines.len(), place.processes.len()];
    let fits = closed == [0, 0]
        || (bare && (closed == [net.output().units(), 0] || closed == [0, net.output().units()]));
    let columns = place.processes.is_empty() || place.columns.len() == net.input().len();
    if !(fits && columns) {
        return Err("has lines or Gaussian processes that do not fit it");
    }
    match place.processes.iter().all(|p| p.folds() == 0 || (p.folds() == FOLDS && place.fold == NONE)) {
        true => Ok(()),
        false => Err("does not say which rows it has not learned"),
    }
}
