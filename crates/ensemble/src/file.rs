//! A model's file: a safetensors file whose tensors are the bytes of its networks' files and the rows that their doubt is worked
//! out from; its metadata hold the rest as JSON.

use super::folds::FOLDS;
use super::{Calibrated, Ensemble, Kept, Member, Spec};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tractable_core::error::{Error, Result};
use tractable_core::files;
use tractable_devices::Device;
use tractable_network::checkpoint::tensors::{Bytes, F64, Tensors, U8, to_file};
use tractable_network::checkpoint::{MEMORY, MOST_BYTES};
use tractable_network::network::Network;
use tractable_network::output::{Calibration, ClassCalibration, Output};

const FORMAT: &str = "tractable-ensemble";
const VERSION: &str = "1";
/// Networks that a file may have, and rows kept for each.
const MOST_MEMBERS: usize = 1000;
const MOST_KEPT: usize = 10_000;

/// What is not in the networks' own files.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rest {
    spec: Spec,
    members: Vec<Place>,
}

/// A network's place in the model.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    kind: usize,
    fold: usize,
    /// How many rows those that are kept stand for, one entry an output.
    kept: Vec<usize>,
}

impl Ensemble {
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
        if let (false, [only]) = (self.is_calibrated(), &self.members[..]) {
            return only.net.bytes_of_file(path);
        }
        let refuse = |at: &str, why: String| Error::Model { path: path.into(), at: at.into(), why };
        let mut tensors = Vec::new();
        let mut members = Vec::new();
        for (i, member) in self.members.iter().enumerate() {
            let bytes = member.net.bytes_of_file(path)?;
            tensors.push((format!("network{i}"), U8, vec![bytes.len()], bytes));
            for (output, kept) in member.kept.iter().enumerate() {
                let rows = kept.y.len();
                let numbers = kept.x.iter().chain(&kept.y).flat_map(|v| v.to_le_bytes()).collect();
                tensors.push((kept_name(i, output), F64, vec![kept.x.len() / rows + 1, rows], numbers));
            }
            let kept = member.kept.iter().map(|k| k.of_rows).collect();
            members.push(Place { kind: member.kind, fold: member.fold, kept });
        }
        let rest = Rest { spec: self.spec.clone(), members };
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
    /// assert_eq!(model.networks().next().unwrap().device(), Device::cpu(2));
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
        if entry("version") != VERSION {
            let why = format!("version {} is unknown to this build", entry("version"));
            return Err(refuse("metadata", why));
        }
        let Rest { spec, members: places }: Rest =
            serde_json::from_str(entry("ensemble")).map_err(|e| refuse("ensemble", e.to_string()))?;
        if places.is_empty() || places.len() > MOST_MEMBERS {
            return Err(refuse("members", format!("there are {}, not 1 to {MOST_MEMBERS}", places.len())));
        }
        let mut members = Vec::new();
        for (i, place) in places.into_iter().enumerate() {
            let name = format!("network{i}");
            let info = tensors.info(&name).filter(|info| info.dtype == U8);
            let info = info.ok_or_else(|| refuse(&name, "is missing or not the bytes of a model".into()))?;
            let net = Network::read(path, file, tensors.place(info), device.clone())?;
            let kept = place.kept.iter().enumerate().map(|(output, &of_rows)| {
                let name = kept_name(i, output);
                let inputs = net.input().len();
                let info = tensors.info(&name).filter(|info| info.dtype == F64);
                let info = info.ok_or_else(|| refuse(&name, "is missing".into()))?;
                let rows = match info.shape[..] {
                    [width, rows] if width == inputs + 1 && (1..=MOST_KEPT).contains(&rows) => rows,
                    _ => return Err(refuse(&name, format!("has shape {:?}", info.shape))),
                };
                let mut x = tensors.numbers(info, 0..rows * (inputs + 1))?;
                if let Some(at) = x.iter().position(|v| !v.is_finite()) {
                    return Err(refuse(&name, format!("entry {at} is {}", x[at])));
                }
                let y = x.split_off(rows * inputs);
                Ok(Kept { x, y, of_rows })
            });
            let kept = kept.collect::<Result<Vec<_>>>()?;
            check(&spec, &members, &net, &place, kept.len()).map_err(|why| refuse(&name, why.into()))?;
            members.push(Member::new(net, place.kind, place.fold, kept)?);
        }
        let sums: f64 = spec.weights.iter().sum();
        let used = (0..spec.weights.len()).filter(|&k| members.iter().any(|m| m.kind == k));
        let weight: f64 = used.map(|k| spec.weights[k]).sum();
        if spec.weights.iter().any(|w| !(0.0..=1.0).contains(w)) || sums != 1.0 || weight != 1.0 {
            return Err(refuse("weights", "they do not match the networks".into()));
        }
        Ok(Ensemble { members, spec })
    }
}

impl Ensemble {
    /// A network as it is.
    fn of_one(net: Network) -> Result<Self> {
        let calibration = match net.output() {
            Output::Values { width, .. } => Calibrated::Values(vec![Calibration::default(); width]),
            Output::Classes { .. } => Calibrated::Classes(ClassCalibration::default()),
        };
        let spec = Spec {
            rows: 0,
            seed: 0,
            weights: vec![1.0],
            calibration,
            left_out: Vec::new(),
            own: true,
            by_rows: false,
        };
        Ok(Ensemble { members: vec![Member::new(net, 0, 0, Vec::new())?], spec })
    }
}

fn kept_name(member: usize, output: usize) -> String {
    format!("network{member}.rows{output}")
}

/// Whether a network belongs to the others.
fn check(
    spec: &Spec,
    before: &[Member],
    net: &Network,
    place: &Place,
    kept: usize,
) -> std::result::Result<(), &'static str> {
    let outputs = match (&spec.calibration, net.output()) {
        (Calibrated::Values(c), Output::Values { width, .. }) => {
            c.len() == width && c.iter().all(|c| c.is_sound())
        }
        (Calibrated::Classes(c), Output::Classes { .. }) => c.is_sound(),
        _ => false,
    };
    if !outputs {
        return Err("has an output that does not fit the calibration");
    }
    let alike = before.first().is_none_or(|first| {
        let first = &first.net;
        (first.input(), first.output(), first.output_scaler(), first.input_names())
            == (net.input(), net.output(), net.output_scaler(), net.input_names())
    });
    if !alike {
        return Err("has different inputs or outputs from the networks before it");
    }
    if place.fold >= FOLDS || place.kind >= spec.weights.len() {
        return Err("has no place in the model");
    }
    let dense = net.is_dense() && matches!(net.output(), Output::Values { .. });
    match kept == 0 || (dense && kept == net.output().units()) {
        true => Ok(()),
        false => Err("has rows for outputs that it does not have"),
    }
}
