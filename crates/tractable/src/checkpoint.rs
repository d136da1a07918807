//! Models as files: safetensors with JSON metadata, written so that a crash leaves the old file or the new
//! one, read as if the file were hostile.

pub(crate) mod header;

use crate::backend::{Device, Parameters};
use crate::builder::shapes;
use crate::error::{Error, Result};
use crate::files;
use crate::layer::{Contents, Layer};
use crate::network::{Network, Spec};
use crate::output::{Noise, Output};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The newest file version this build writes and reads.
const VERSION: &str = "1";
/// Files larger than this are not opened.
pub(crate) const MOST_BYTES: u64 = 16 << 30;

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
        files::write(path.as_ref(), &self.to_bytes(path.as_ref())?)
    }

    /// The content of a file that holds the network; `path` is for errors.
    pub(crate) fn to_bytes(&self, path: &Path) -> Result<Vec<u8>> {
        let refuse = |at: &str, why: String| Error::Model { path: path.into(), at: at.into(), why };
        let spec = serde_json::to_string(&self.spec).map_err(|e| refuse("metadata", e.to_string()))?;
        let metadata = HashMap::from([
            ("format".to_string(), "tractable".to_string()),
            ("version".to_string(), VERSION.to_string()),
            ("library".to_string(), env!("CARGO_PKG_VERSION").to_string()),
            ("spec".to_string(), spec),
        ]);
        let dtype = if self.is_double() { Dtype::F64 } else { Dtype::F32 };
        let contents = self.contents();
        let mut tensors = Vec::new();
        for slot in slots(&self.spec)? {
            let values = slot.of(contents[slot.layer].as_ref().expect("a layer with parameters"));
            slot.check(values).map_err(|why| refuse(&slot.name, why))?;
            let dtype = if slot.running { Dtype::F64 } else { dtype };
            tensors.push((slot.name, slot.dims, dtype, to_bytes(values, dtype)));
        }
        let views = tensors.iter().map(|(name, dims, dtype, bytes)| {
            let view =
                TensorView::new(*dtype, dims.clone(), bytes).map_err(|e| refuse(name, e.to_string()))?;
            Ok((name.as_str(), view))
        });
        let views = views.collect::<Result<Vec<_>>>()?;
        let bytes =
            safetensors::serialize(views, Some(metadata)).map_err(|e| refuse("tensors", e.to_string()))?;
        with_sorted_header(&bytes).map_err(|e| refuse("header", e.to_string()))
    }

    /// Reads a network from a file and puts it on a device. The file may come from anywhere: nothing in it
    /// is run, and whatever does not fit is refused with its place.
    ///
    /// ```
    /// # use tractable::{Device, Error, Network};
    /// let err = Network::load("no/such/file", Device::default()).unwrap_err();
    /// assert!(matches!(err, Error::File { .. }));
    /// ```
    pub fn load(path: impl AsRef<Path>, device: Device) -> Result<Network> {
        Network::from_bytes(path.as_ref(), &read_file(path.as_ref(), MOST_BYTES)?, device)
    }

    /// A network from the content of a file; `path` is for errors.
    pub(crate) fn from_bytes(path: &Path, bytes: &[u8], device: Device) -> Result<Network> {
        let refuse = |at: &str, why: String| Error::Model { path: path.into(), at: at.into(), why };
        let no_model = |e: safetensors::SafeTensorError| {
            refuse("header", format!("not a model file (safetensors): {e}"))
        };
        header::check(bytes).map_err(|e| refuse("header", format!("not a model file (safetensors): {e}")))?;
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(no_model)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(|e| refuse("tensors", e.to_string()))?;
        let metadata = header.metadata().clone().unwrap_or_default();
        let entry = |name: &str| {
            metadata
                .get(name)
                .ok_or_else(|| refuse("metadata", format!("`{name}` is missing: not a tractable model")))
        };
        if entry("format")? != "tractable" {
            return Err(refuse("metadata", "`format` is not tractable".into()));
        }
        if entry("version")? != VERSION {
            let why =
                format!("version {} is not known to this build, which reads {VERSION}", entry("version")?);
            return Err(refuse("metadata", why));
        }
        let spec: Spec = serde_json::from_str(entry("spec")?).map_err(|e| refuse("spec", e.to_string()))?;
        let single = !matches!(device, Device::Reference);
        let contents = read_contents(&spec, &tensors, single).map_err(|(at, why)| refuse(&at, why))?;
        let check = || {
            spec.prior.check()?;
            check_names(&spec)?;
            Noise::new(spec.noise.0.clone(), spec.output.units())?;
            let mut net = Network::assemble(spec.clone(), &contents, device)?;
            net.set_scalers(spec.input_scaler.clone(), spec.output_scaler.clone())?;
            Ok(net)
        };
        check().map_err(|e: Error| refuse("spec", e.to_string()))
    }
}

/// Names of columns are all there or, before the first fit, none of them; of classes some may be missing.
fn check_names(spec: &Spec) -> Result<()> {
    let (outputs, classes) = match spec.output {
        Output::Values { width } => (width, 0),
        Output::Classes { classes } => (1, classes),
    };
    let fits = |names: &[String], n: usize| names.is_empty() || names.len() == n;
    if !fits(&spec.input_names, spec.input.len()) {
        return Err(Error::shape("input names", spec.input.len(), spec.input_names.len()));
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

/// One tensor of a file.
struct Slot {
    name: String,
    layer: usize,
    part: Part,
    dims: Vec<usize>,
    /// A running statistic: always f64.
    running: bool,
}

#[derive(Clone, Copy)]
enum Part {
    Mean,
    Var,
    BiasMean,
    BiasVar,
    RunningMean,
    RunningVar,
}

impl Slot {
    fn of<'a>(&self, c: &'a Contents) -> &'a [f64] {
        let running = || c.running.as_ref().expect("a normalisation has statistics");
        match self.part {
            Part::Mean => &c.parameters.mean,
            Part::Var => &c.parameters.var,
            Part::BiasMean => &c.parameters.bias_mean,
            Part::BiasVar => &c.parameters.bias_var,
            Part::RunningMean => &running().0,
            Part::RunningVar => &running().1,
        }
    }

    fn check(&self, values: &[f64]) -> std::result::Result<(), String> {
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            return Err(format!("entry {at} is {}", values[at]));
        }
        let positive = matches!(self.part, Part::Var | Part::BiasVar);
        match values
            .iter()
            .position(|&v| if positive { v <= 0.0 } else { matches!(self.part, Part::RunningVar) && v < 0.0 })
        {
            None => Ok(()),
            Some(at) => Err(format!("entry {at} is {}, which is no variance", values[at])),
        }
    }
}

/// The tensors a network of this specification has, in order.
fn slots(spec: &Spec) -> Result<Vec<Slot>> {
    let shapes = shapes(spec.input, &spec.layers, &spec.names)?;
    let mut slots = Vec::new();
    for (layer, (spec_layer, &shape)) in spec.layers.iter().zip(&shapes).enumerate() {
        let Some((dims, biases)) = spec_layer.parameter_shape(shape)? else { continue };
        let name = &spec.names[layer];
        let mut push = |what: &str, part, dims: Vec<usize>, running| {
            slots.push(Slot { name: format!("{name}.{what}"), layer, part, dims, running });
        };
        push("weight.mean", Part::Mean, dims.clone(), false);
        push("weight.var", Part::Var, dims, false);
        push("bias.mean", Part::BiasMean, vec![biases], false);
        push("bias.var", Part::BiasVar, vec![biases], false);
        if matches!(spec_layer, Layer::BatchNorm { .. }) {
            push("running.mean", Part::RunningMean, vec![biases], true);
            push("running.var", Part::RunningVar, vec![biases], true);
        }
    }
    Ok(slots)
}

/// `single`: the numbers must fit f32.
fn read_contents(
    spec: &Spec,
    tensors: &SafeTensors<'_>,
    single: bool,
) -> std::result::Result<Vec<Contents>, (String, String)> {
    if spec.names.len() != spec.layers.len() {
        return Err(("spec".into(), format!("{} layers but {} names", spec.layers.len(), spec.names.len())));
    }
    let slots = slots(spec).map_err(|e| ("spec".to_string(), e.to_string()))?;
    let mut contents = vec![Contents { parameters: Parameters::default(), running: None }; spec.layers.len()];
    for slot in &slots {
        let fail = |why: String| (slot.name.clone(), why);
        let view = tensors.tensor(&slot.name).map_err(|_| fail("is missing".into()))?;
        if view.shape() != slot.dims {
            return Err(fail(format!("has shape {:?}, the layer needs {:?}", view.shape(), slot.dims)));
        }
        let values = from_bytes(view.data(), view.dtype())
            .ok_or_else(|| fail(format!("has type {:?}, only F32 and F64 are used", view.dtype())))?;
        slot.check(&values).map_err(fail)?;
        if single && !slot.running && view.dtype() == Dtype::F64 {
            let rounded: Vec<f64> = values.iter().map(|&v| f64::from(v as f32)).collect();
            slot.check(&rounded).map_err(|why| fail(format!("{why}, as this device has f32 only")))?;
        }
        let c = &mut contents[slot.layer];
        match slot.part {
            Part::Mean => c.parameters.mean = values,
            Part::Var => c.parameters.var = values,
            Part::BiasMean => c.parameters.bias_mean = values,
            Part::BiasVar => c.parameters.bias_var = values,
            Part::RunningMean => c.running.get_or_insert_default().0 = values,
            Part::RunningVar => c.running.get_or_insert_default().1 = values,
        }
    }
    let known: HashSet<&str> = slots.iter().map(|s| s.name.as_str()).collect();
    match tensors.names().into_iter().find(|n| !known.contains(n)) {
        None => Ok(contents),
        Some(name) => Err((name.to_string(), "does not belong to any layer".into())),
    }
}

/// The same file with the names in its header sorted: the safetensors crate keeps metadata in a hash map,
/// whose order changes from run to run, and equal networks are to be equal files.
pub(crate) fn with_sorted_header(bytes: &[u8]) -> serde_json::Result<Vec<u8>> {
    let (length, rest) = bytes.split_first_chunk().expect("a file starts with the length of its header");
    let (header, data) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let header: std::collections::BTreeMap<String, serde_json::Value> = serde_json::from_slice(header)?;
    let mut header = serde_json::to_vec(&header)?;
    // Tensors stay aligned.
    header.resize(header.len().next_multiple_of(8), b' ');
    Ok([&(header.len() as u64).to_le_bytes(), &header[..], data].concat())
}

fn to_bytes(values: &[f64], dtype: Dtype) -> Vec<u8> {
    match dtype {
        Dtype::F64 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        _ => values.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect(),
    }
}

fn from_bytes(bytes: &[u8], dtype: Dtype) -> Option<Vec<f64>> {
    match dtype {
        Dtype::F32 => Some(bytes.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect()),
        Dtype::F64 => Some(bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()),
        _ => None,
    }
}

/// A file's bytes, if they are no more than `most`.
pub(crate) fn read_file(path: &Path, most: u64) -> Result<Vec<u8>> {
    let fail = |doing| move |source| Error::File { path: path.into(), doing, source };
    let file = File::open(path).map_err(fail("open it"))?;
    let meta = file.metadata().map_err(fail("read its size"))?;
    if !meta.is_file() || meta.len() > most {
        let why = if meta.is_file() {
            format!("is larger than {} MiB", most >> 20)
        } else {
            "is not a file".into()
        };
        return Err(Error::Model { path: path.into(), at: "file".into(), why });
    }
    let mut bytes = Vec::with_capacity(meta.len() as usize);
    // Not more than was promised, even if the file grows meanwhile.
    file.take(most).read_to_end(&mut bytes).map_err(fail("read it"))?;
    Ok(bytes)
}
