//! Model files: safetensors with JSON metadata, written crash-safely and read as if hostile.

// A model is one safetensors file: tensors `LAYER.weight.mean`, `.weight.var`, `.bias.mean`,
// `.bias.var` (`.running.mean`, `.running.var` for batch normalisation) in `[out, in]` or `[out, in,
// row, column]` order (and of a paced network, whose means are averages, `.weight.latest` and `.bias.latest`), and metadata `format`, `version`, `library`, `checksum`, `spec` (JSON: layers, names,
// inputs, output, prior, update rule, seed, noise, scalers, column names, epochs). Version 3 added
// `noise` to the output (in older files it is known), version 2 added `inputs`, the states that every
// layer reads; in version 1 layers form a chain. All versions can be read. `load` treats the file as
// hostile (SECURITY.md). An agent's file is a safetensors file whose tensors `value` and `policy` are
// the bytes of two model files.

mod checksum;
mod header;
pub mod json;
pub mod tensors;

use crate::graph::Graph;
use crate::layer::{Contents, Layer};
use crate::network::{Network, Spec};
use crate::output::{NoiseStd, Output};
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use tensors::{Bytes, F32, F64, Tensors, to_file};
use tractable_core::error::{Error, Result};
use tractable_core::files;
use tractable_devices::Device;

/// The file version this build writes. It reads older ones too: version 1 has no `inputs`, layers form a chain; version 2 has
/// no `noise` in the output, it is known.
const VERSION: &str = "3";
const OLDER: [&str; 2] = ["1", "2"];
/// Files larger than this are not opened: the largest network there may be, mean and variance as f64, is smaller.
pub const MOST_BYTES: u64 = 33 << 30;
/// Stands for the name of a file in errors about a model in memory.
pub const MEMORY: &str = "model in memory";
/// Numbers of a tensor that are read at once.
const AT_ONCE: usize = 1 << 16;

impl Network {
    /// Writes the network to a file. When this returns, the new file is on the disk; until then a crash
    /// leaves the old one.
    ///
    /// ```
    /// # use tractable::{Activation, Device, Network};
    /// # let dir = tempfile::tempdir().unwrap();
    /// let net = Network::mlp([2, 8, 1], Activation::Relu).seed(5).build()?;
    /// net.save(dir.path().join("net.safetensors"))?;
    /// let same = Network::load(dir.path().join("net.safetensors"), Device::default())?;
    /// assert_eq!(same.seed(), 5);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        files::write(path.as_ref(), &self.bytes_of_file(path.as_ref())?)
    }

    /// The bytes that [`save`](Network::save) would write.
    ///
    /// ```
    /// # use tractable::{Activation, Device, Network};
    /// let net = Network::mlp([2, 8, 1], Activation::Relu).seed(5).build()?;
    /// assert_eq!(Network::from_bytes(&net.to_bytes()?, Device::default())?.seed(), 5);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.bytes_of_file(Path::new(MEMORY))
    }

    /// [`load`](Network::load) from the bytes of a file.
    ///
    /// ```
    /// # use tractable::{Device, Error, Network};
    /// let err = Network::from_bytes(b"no model", Device::default()).unwrap_err();
    /// assert!(matches!(err, Error::Model { .. }));
    /// ```
    pub fn from_bytes(bytes: &[u8], device: impl Into<Device>) -> Result<Network> {
        let all = 0..bytes.len() as u64;
        Network::read(Path::new(MEMORY), Bytes::Memory(bytes), all, device.into())
    }

    /// The content of a file that holds the network; `path` is for errors.
    #[doc(hidden)]
    pub fn bytes_of_file(&self, path: &Path) -> Result<Vec<u8>> {
        let refuse = |at: &str, why: String| Error::Model { path: path.into(), at: at.into(), why };
        let spec = serde_json::to_string(&self.spec).map_err(|e| refuse("metadata", e.to_string()))?;
        let dtype = if self.is_double() { F64 } else { F32 };
        let mut tensors = Vec::new();
        for slots in slots(&self.spec, &self.graph)?.chunk_by(|a, b| a.layer == b.layer) {
            let contents = self.contents(slots[0].layer)?.expect("a layer with parameters");
            for slot in slots {
                let values = slot.of(&contents);
                slot.check(values, 0).map_err(|why| refuse(&slot.name, why))?;
                let dtype = if slot.is_running() { F64 } else { dtype };
                tensors.push((slot.name.clone(), dtype, slot.dims.clone(), to_bytes(values, dtype)));
            }
        }
        to_file("tractable", VERSION, ("spec", &spec), tensors).map_err(|why| refuse("header", why))
    }

    /// Reads a network from a file and puts it on a device. The file may be untrusted: nothing in it
    /// is executed, and anything invalid is refused with its location.
    ///
    /// ```
    /// # use tractable::{Device, Error, Network};
    /// let err = Network::load("no/such/file", Device::default()).unwrap_err();
    /// assert!(matches!(err, Error::File { .. }));
    /// ```
    pub fn load(path: impl AsRef<Path>, device: impl Into<Device>) -> Result<Network> {
        let path = path.as_ref();
        let (file, length) = files::open(path, MOST_BYTES)?;
        Network::read(path, Bytes::File(&file), 0..length, device.into())
    }

    /// A network from this range of a file.
    #[doc(hidden)]
    pub fn read(path: &Path, file: Bytes<'_>, at: Range<u64>, device: Device) -> Result<Network> {
        let refuse = |at: &str, why: String| Error::Model { path: path.into(), at: at.into(), why };
        let tensors = Tensors::open(path, file, at, "not a model file (safetensors)")?;
        let entry = |name: &str| {
            let missing = || refuse("metadata", format!("`{name}` is missing: not a tractable model"));
            tensors.entry(name).ok_or_else(missing)
        };
        match entry("format")? {
            "tractable" => {}
            "tractable-ensemble" => {
                let why = "this is a model of several networks; load it as an `Ensemble`";
                return Err(refuse("metadata", why.into()));
            }
            _ => return Err(refuse("metadata", "`format` is not tractable".into())),
        }
        let version = entry("version")?;
        if version != VERSION && !OLDER.contains(&version) {
            let why = format!("version {version} is unknown; this build reads 1 to {VERSION}");
            return Err(refuse("metadata", why));
        }
        let mut spec: Spec =
            serde_json::from_str(entry("spec")?).map_err(|e| refuse("spec", e.to_string()))?;
        if version == "1" {
            if !spec.inputs.is_empty() {
                return Err(refuse("spec", "version 1 has no `inputs`".into()));
            }
            spec.inputs = (0..spec.layers.len()).map(|i| vec![i]).collect();
        }
        let slots = fitting(&spec, &tensors).map_err(|(at, why)| refuse(&at, why))?;
        let room = || {
            spec.prior.check()?;
            check_names(&spec)?;
            check_calibration(&spec)?;
            NoiseStd::new(spec.noise.0.clone(), spec.output.units())?;
            check_noise_rows(&spec)?;
            if spec.averaged > 0 && spec.update.average(0).is_none() {
                return Err(Error::invalid("averaged", "only a paced network has averages"));
            }
            let mut net = Network::empty(spec.clone(), device)?;
            net.set_scalers(spec.input_scaler.clone(), spec.output_scaler.clone())?;
            Ok(net)
        };
        let mut net = room().map_err(|e: Error| refuse("spec", e.to_string()))?;
        for slots in slots.chunk_by(|a, b| a.layer == b.layer) {
            for outputs in parts(slots) {
                let mut contents = Contents::default();
                for slot in slots {
                    *slot.of_mut(&mut contents) =
                        slot.read(&tensors, outputs.clone(), net.is_double(), refuse)?;
                }
                // Of a layer without biases.
                contents.parameters.bias_mean.resize(outputs.len(), 0.0);
                contents.parameters.bias_var.resize(outputs.len(), 0.0);
                if let Some([_, bias_mean]) = &mut contents.latest {
                    bias_mean.resize(outputs.len(), 0.0);
                }
                net.fill(slots[0].layer, outputs, &contents)?;
            }
        }
        Ok(net)
    }
}

/// How much inferred noise was learned from is not known, or of every output.
fn check_noise_rows(spec: &Spec) -> Result<()> {
    let (rows, units) = (&spec.noise_rows, spec.output.units());
    if !rows.is_empty() && rows.len() != units {
        return Err(Error::shape("noise rows", format!("0 or {units}"), rows.len()));
    }
    match rows.iter().find(|n| !(**n >= 0.0 && n.is_finite())) {
        None => Ok(()),
        Some(n) => Err(Error::invalid("noise rows", format!("{n} is not a number of at least 0"))),
    }
}

/// Column names are complete or, before the first fit, absent; some class names may be missing.
fn check_names(spec: &Spec) -> Result<()> {
    let (outputs, classes) = match spec.output {
        Output::Values { width, .. } => (width, 0),
        Output::Classes { classes, .. } => (1, classes),
    };
    let fits = |names: &[String], n: usize| names.is_empty() || names.len() == n;
    if !fits(&spec.input_names, spec.input.len()) {
        return Err(Error::shape("input names", spec.input.len(), spec.input_names.len()));
    }
    #[cfg(feature = "csv")]
    if let Some(preparation) = &spec.preparation {
        preparation.check(&spec.input_names).map_err(|why| Error::invalid("preparation", why))?;
    }
    // One fit names inputs and outputs together.
    if !fits(&spec.output_names, outputs) || spec.output_names.is_empty() != spec.input_names.is_empty() {
        return Err(Error::shape("output names", outputs, spec.output_names.len()));
    }
    if spec.class_names.len() > classes {
        return Err(Error::shape("class names", format!("at most {classes}"), spec.class_names.len()));
    }
    Ok(())
}

fn check_calibration(spec: &Spec) -> Result<()> {
    let classes = matches!(spec.output, Output::Classes { .. });
    match spec.calibration.is_none_or(|c| classes && c.is_sound()) {
        true => Ok(()),
        false => Err(Error::invalid("calibration", "does not fit the output, or has invalid values")),
    }
}

/// One tensor of a file.
struct Slot {
    name: String,
    layer: usize,
    part: Content,
    dims: Vec<usize>,
}

#[derive(Clone, Copy)]
enum Content {
    Mean,
    Var,
    BiasMean,
    BiasVar,
    RunningMean,
    RunningVar,
    Latest,
    BiasLatest,
}

impl Slot {
    fn of<'a>(&self, c: &'a Contents) -> &'a [f64] {
        let running = || c.running.as_ref().expect("a normalisation has statistics");
        let latest = || c.latest.as_ref().expect("an average has its latest means");
        match self.part {
            Content::Mean => &c.parameters.mean,
            Content::Var => &c.parameters.var,
            Content::BiasMean => &c.parameters.bias_mean,
            Content::BiasVar => &c.parameters.bias_var,
            Content::RunningMean => &running().0,
            Content::RunningVar => &running().1,
            Content::Latest => &latest()[0],
            Content::BiasLatest => &latest()[1],
        }
    }

    fn of_mut<'a>(&self, c: &'a mut Contents) -> &'a mut Vec<f64> {
        match self.part {
            Content::Mean => &mut c.parameters.mean,
            Content::Var => &mut c.parameters.var,
            Content::BiasMean => &mut c.parameters.bias_mean,
            Content::BiasVar => &mut c.parameters.bias_var,
            Content::RunningMean => &mut c.running.get_or_insert_default().0,
            Content::RunningVar => &mut c.running.get_or_insert_default().1,
            Content::Latest => &mut c.latest.get_or_insert_default()[0],
            Content::BiasLatest => &mut c.latest.get_or_insert_default()[1],
        }
    }

    /// A running statistic: always f64.
    fn is_running(&self) -> bool {
        matches!(self.part, Content::RunningMean | Content::RunningVar)
    }

    /// Numbers of one output.
    fn per_output(&self) -> usize {
        self.dims[1..].iter().product()
    }

    /// The parameters of some outputs, checked; unless the device is `double`, they must fit f32.
    fn read(
        &self,
        tensors: &Tensors<'_>,
        outputs: Range<usize>,
        double: bool,
        refuse: impl Fn(&str, String) -> Error,
    ) -> Result<Vec<f64>> {
        let info = tensors.info(&self.name).expect("it was seen to be there");
        let first = outputs.start * self.per_output();
        let values = tensors.numbers(info, first..outputs.end * self.per_output())?;
        self.check(&values, first).map_err(|why| refuse(&self.name, why))?;
        if !double && !self.is_running() && info.dtype == F64 {
            let rounded: Vec<f64> = values.iter().map(|&v| f64::from(v as f32)).collect();
            self.check(&rounded, first)
                .map_err(|why| refuse(&self.name, format!("{why}; this device has only f32")))?;
        }
        Ok(values)
    }

    /// `first` is the place of the first value in the tensor.
    fn check(&self, values: &[f64], first: usize) -> std::result::Result<(), String> {
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            return Err(format!("entry {} is {}", first + at, values[at]));
        }
        let no_variance = |v: f64| match self.part {
            Content::Var | Content::BiasVar => v <= 0.0,
            Content::RunningVar => v < 0.0,
            Content::Mean
            | Content::BiasMean
            | Content::RunningMean
            | Content::Latest
            | Content::BiasLatest => false,
        };
        match values.iter().position(|&v| no_variance(v)) {
            None => Ok(()),
            Some(at) => Err(format!("entry {} is {}, not a valid variance", first + at, values[at])),
        }
    }
}

/// Splits the outputs of a layer into parts to read at once, at least one output each. Normalisations are
/// small and not split.
fn parts(slots: &[Slot]) -> impl Iterator<Item = Range<usize>> {
    let outputs = slots[0].dims[0];
    let at_once = match slots.iter().any(Slot::is_running) {
        true => outputs,
        false => (AT_ONCE / slots[0].per_output()).max(1),
    };
    (0..outputs).step_by(at_once).map(move |from| from..(from + at_once).min(outputs))
}

/// The tensors a network of this specification has, in order.
fn slots(spec: &Spec, graph: &Graph) -> Result<Vec<Slot>> {
    let mut slots = Vec::new();
    for (layer, spec_layer) in graph.layers.iter().enumerate() {
        let Some((dims, biases)) = spec_layer.parameter_shape(graph.input_shape(layer))? else { continue };
        let name = &graph.names[layer];
        let mut push = |what: &str, part, dims: Vec<usize>| {
            slots.push(Slot { name: format!("{name}.{what}"), layer, part, dims });
        };
        push("weight.mean", Content::Mean, dims.clone());
        push("weight.var", Content::Var, dims.clone());
        if biases > 0 {
            push("bias.mean", Content::BiasMean, vec![biases]);
            push("bias.var", Content::BiasVar, vec![biases]);
        }
        if spec.averaged > 0 {
            push("weight.latest", Content::Latest, dims);
            if biases > 0 {
                push("bias.latest", Content::BiasLatest, vec![biases]);
            }
        }
        if matches!(spec_layer, Layer::BatchNorm { .. }) {
            push("running.mean", Content::RunningMean, vec![biases]);
            push("running.var", Content::RunningVar, vec![biases]);
        }
    }
    Ok(slots)
}

/// The tensors of a specification; the file must contain exactly these, with their shapes.
fn fitting(spec: &Spec, tensors: &Tensors<'_>) -> std::result::Result<Vec<Slot>, (String, String)> {
    let slots =
        spec.graph().and_then(|g| slots(spec, &g)).map_err(|e| ("spec".to_string(), e.to_string()))?;
    for slot in &slots {
        let fail = |why: String| Err((slot.name.clone(), why));
        let Some(info) = tensors.info(&slot.name) else { return fail("is missing".into()) };
        if info.shape != slot.dims {
            return fail(format!("has shape {:?}, the layer needs {:?}", info.shape, slot.dims));
        }
        if ![F32, F64].contains(&info.dtype.as_str()) {
            return fail(format!("has type {}, only F32 and F64 are used", info.dtype));
        }
    }
    let known: HashSet<&str> = slots.iter().map(|s| s.name.as_str()).collect();
    match tensors.names().find(|n| !known.contains(n.as_str())) {
        None => Ok(slots),
        Some(name) => Err((name.clone(), "does not belong to any layer".into())),
    }
}

fn to_bytes(values: &[f64], dtype: &str) -> Vec<u8> {
    match dtype {
        F64 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        _ => values.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect(),
    }
}
