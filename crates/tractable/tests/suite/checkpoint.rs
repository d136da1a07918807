//! Model files: round trips, files that were cut off or tampered with, and saving where it cannot be done.

use crate::cases::{Draw, Model, bytes, teach, with_noise, zoo};
use safetensors::tensor::Dtype;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use tractable::data::{Dataset, Scaler};
use tractable::{Activation, Device, Error, Fit, Layer, Matrix, Network, Noise, Shape, network::Output};

fn devices() -> [Device; 2] {
    [Device::cpu(1), Device::reference()]
}

fn tiny(device: Device) -> Network {
    let net = Network::builder(Shape::flat(2)).layer(Layer::linear(1)).device(&device);
    let mut net = net.build().unwrap();
    let scaler = |n| Scaler::new(vec![0.5; n], vec![2.0; n]).unwrap();
    net.set_scalers(Some(scaler(2)), Some(scaler(1))).unwrap();
    net
}

fn file(net: &Network) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    net.save(dir.path().join("net")).unwrap();
    std::fs::read(dir.path().join("net")).unwrap()
}

/// Loads bytes; the error must name the file.
fn load(bytes: &[u8], device: Device) -> tractable::Result<Network> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("some.model");
    std::fs::write(&path, bytes).unwrap();
    let loaded = Network::load(&path, device.clone());
    if let Err(e) = &loaded {
        assert!(matches!(e, Error::Model { .. }), "{e:?}");
        assert!(e.to_string().contains("some.model: "), "{e}");
    }
    loaded
}

#[test]
fn every_layer_comes_back() {
    for device in devices() {
        for (what, builder) in zoo() {
            let mut net = with_noise(what, builder.seed(11), 0.3).device(&device).build().unwrap();
            teach(&mut net, 2, 4, 1);
            let loaded = load(&file(&net), device.clone()).unwrap();
            assert!(bytes(&net) == bytes(&loaded), "{what} on {device:?}");
            let x = Draw::new(1).gaussian(3, net.input().len());
            assert_eq!(net.predict(&x).unwrap(), loaded.predict(&x).unwrap(), "{what} on {device:?}");
            assert_eq!(net.layers(), loaded.layers());
            assert_eq!(net.layer_names(), loaded.layer_names());
            assert_eq!(
                (net.output(), net.prior(), net.update_rule()),
                (loaded.output(), loaded.prior(), loaded.update_rule())
            );
            assert_eq!((net.seed(), net.noise_std()), (loaded.seed(), loaded.noise_std()));
        }
    }
}

#[test]
fn a_file_of_one_device_runs_on_the_other() {
    for (what, builder) in zoo() {
        let mut net = builder.device(devices()[0].clone()).build().unwrap();
        teach(&mut net, 2, 4, 1);
        let exact = load(&file(&net), Device::reference()).unwrap();
        let x = Draw::new(1).matrix(3, net.input().len());
        let (a, b) = (net.predict(&x).unwrap(), exact.predict(&x).unwrap());
        assert!(crate::cases::worst(a.mean(), b.mean(), 1.0) < 1e-5, "{what}");
        assert!(crate::cases::worst(a.var(), b.var(), 1.0) < 1e-5, "{what}");
        // f32 numbers survive the way through f64.
        let back = load(&file(&exact), devices()[0].clone()).unwrap();
        assert!(bytes(&net) == bytes(&back), "{what}");
    }
}

#[test]
fn the_metadata_say_what_the_model_is() {
    let mut draw = Draw::new(1);
    let data = Dataset::with_labels(
        draw.matrix(9, 2),
        vec![0, 1, 2, 0, 1, 2, 0, 1, 2],
        ["a", "b", "ü\n\"c"].map(String::from).to_vec(),
    );
    let mut net = Network::mlp([2, 4, 3], Activation::Tanh).classes(3).seed(12).build().unwrap();
    net.fit(&data.unwrap().standardize(), &Fit::new().epochs(2).noise_std(0.7)).unwrap();
    let model = Model::of(&net);
    assert_eq!(model.metadata["format"], "tractable");
    assert_eq!(model.metadata["version"], "3");
    assert_eq!(model.metadata["library"], env!("CARGO_PKG_VERSION"));
    let spec = model.spec();
    for (at, expected) in [
        ("/seed", json!(12)),
        ("/epochs", json!(2)),
        ("/noise", json!([0.7])),
        ("/update", json!("capped")),
        ("/prior/scheme", json!("he")),
        ("/output", json!({"kind": "classes", "classes": 3})),
        ("/input", json!({"channels": 2, "height": 1, "width": 1})),
        ("/layers/1", json!({"kind": "activation", "function": "tanh"})),
        ("/names", json!(["linear1", "tanh1", "linear2"])),
        ("/class_names", json!(["a", "b", "ü\n\"c"])),
        ("/input_names", json!(["x0", "x1"])),
        ("/output_scaler", Value::Null),
    ] {
        assert_eq!(spec.pointer(at), Some(&expected), "{at} of {spec}");
    }
    assert_eq!(spec.pointer("/input_scaler/mean").unwrap().as_array().unwrap().len(), 2);
    let names: Vec<_> = model.tensors.keys().map(String::as_str).collect();
    assert_eq!(names.len(), 8);
    assert_eq!(
        names[..4],
        ["linear1.bias.mean", "linear1.bias.var", "linear1.weight.mean", "linear1.weight.var"]
    );
    let loaded = model.load(Device::default()).unwrap();
    assert_eq!(loaded.class_names(), ["a", "b", "ü\n\"c"]);
    assert_eq!((loaded.epochs(), loaded.input_scaler()), (2, net.input_scaler()));
}

/// A change to a model, where the error must point and what it must say.
type Tampering = (&'static str, fn(&mut Model), &'static str);

fn edit(model: &mut Model, at: &str, value: Value) {
    let mut spec = model.spec();
    let (parent, key) = at.rsplit_once('/').unwrap();
    match spec.pointer_mut(parent).unwrap() {
        Value::Object(map) => drop(map.insert(key.into(), value)),
        Value::Array(array) => array[key.parse::<usize>().unwrap()] = value,
        other => panic!("{at} of {other}"),
    }
    model.set_spec(&spec);
}

fn entry(model: &mut Model, tensor: &str, value: f64) {
    let mut values = model.get(tensor);
    values[1] = value;
    model.set(tensor, &values);
}

const TAMPERINGS: &[Tampering] = &[
    ("NaN weight", |m| entry(m, "linear1.weight.mean", f64::NAN), "linear1.weight.mean: entry 1 is NaN"),
    (
        "infinite weight",
        |m| entry(m, "linear1.weight.mean", f64::INFINITY),
        "linear1.weight.mean: entry 1 is inf",
    ),
    ("negative variance", |m| entry(m, "linear1.weight.var", -1e-3), "linear1.weight.var: entry 1 is -0.001"),
    ("zero variance", |m| entry(m, "linear1.bias.var", 0.0), "linear1.bias.var: entry 1 is 0"),
    ("NaN variance", |m| entry(m, "linear1.bias.var", f64::NAN), "linear1.bias.var: entry 1 is NaN"),
    (
        "negative running variance",
        |m| entry(m, "batch_norm1.running.var", -1.0),
        "batch_norm1.running.var: entry 1",
    ),
    ("missing tensor", |m| drop(m.tensors.remove("linear2.bias.mean")), "linear2.bias.mean: is missing"),
    (
        "extra tensor",
        |m| drop(m.tensors.insert("evil".into(), (Dtype::F32, vec![1], vec![0; 4]))),
        "evil: does not belong",
    ),
    (
        "wrong shape",
        |m| m.tensors.get_mut("linear1.weight.mean").unwrap().1.reverse(),
        "linear1.weight.mean: has shape [2, 3], the layer needs [3, 2]",
    ),
    (
        "flat shape",
        |m| m.tensors.get_mut("linear1.weight.mean").unwrap().1 = vec![6],
        "linear1.weight.mean: has shape [6]",
    ),
    (
        "wrong type",
        |m| {
            let (dtype, dims, bytes) = m.tensors.get_mut("linear1.bias.mean").unwrap();
            (*dtype, *bytes) = (Dtype::I8, vec![0; dims.iter().product()]);
        },
        "linear1.bias.mean: has type I8",
    ),
    (
        "version 4",
        |m| drop(m.metadata.insert("version".into(), "4".into())),
        "metadata: version 4 is unknown",
    ),
    ("no version", |m| drop(m.metadata.remove("version")), "metadata: `version` is missing"),
    ("no spec", |m| drop(m.metadata.remove("spec")), "metadata: `spec` is missing"),
    ("another format", |m| drop(m.metadata.insert("format".into(), "pt".into())), "metadata: `format`"),
    ("a foreign file", |m| m.metadata.clear(), "metadata: `format` is missing: not a tractable model"),
    ("spec is not JSON", |m| drop(m.metadata.insert("spec".into(), "{".into())), "spec: EOF"),
    ("spec is deep", |m| drop(m.metadata.insert("spec".into(), "[".repeat(200_000))), "spec: "),
    ("spec is a list", |m| drop(m.metadata.insert("spec".into(), "[1, 2]".into())), "spec: invalid"),
    (
        "no layers",
        |m| (edit(m, "/layers", json!([])), edit(m, "/names", json!([]))).0,
        "spec: layers: a network must have 1 to 1000 layers, not 0",
    ),
    (
        "too few names",
        |m| edit(m, "/names", json!(["linear1"])),
        "spec: layers: expected 4 names and inputs, got 1 names",
    ),
    (
        "too many names",
        |m| edit(m, "/names", json!(["linear1", "batch_norm1", "relu1", "linear2", "x"])),
        "spec: layers: expected 4 names and inputs, got 5 names",
    ),
    ("a name twice", |m| edit(m, "/names/2", json!("linear1")), "layer name `linear1`"),
    ("an empty name", |m| edit(m, "/names/2", json!("")), "layer name ``"),
    ("an unknown layer", |m| edit(m, "/layers/2", json!({"kind": "exec"})), "spec: unknown variant `exec`"),
    (
        "an unknown activation",
        |m| edit(m, "/layers/2", json!({"kind": "activation", "function": "eval"})),
        "spec: unknown variant `eval`",
    ),
    ("an absurd layer", |m| edit(m, "/layers/0/outputs", json!(u64::MAX)), "layer `linear1`"),
    (
        "a huge layer",
        |m| edit(m, "/layers/0/outputs", json!(1u64 << 27)),
        "layer `linear1`: size: one sample",
    ),
    ("a large layer", |m| edit(m, "/layers/0/outputs", json!(1u64 << 17)), "linear1.weight.mean: has shape"),
    ("a negative layer", |m| edit(m, "/layers/0/outputs", json!(-1)), "spec: invalid value"),
    ("an empty layer", |m| edit(m, "/layers/0/outputs", json!(0)), "layer `linear1`"),
    (
        "an absurd input",
        |m| edit(m, "/input", json!({"channels": u64::MAX, "height": u64::MAX, "width": 2})),
        "input shape",
    ),
    ("a huge input", |m| edit(m, "/input/channels", json!(1u64 << 40)), "input shape"),
    ("an empty input", |m| edit(m, "/input/height", json!(0)), "input shape"),
    ("more outputs than there are", |m| edit(m, "/output/width", json!(7)), "last layer: expected 7 units"),
    ("absurdly many outputs", |m| edit(m, "/output/width", json!(u64::MAX)), "spec: "),
    ("classes instead", |m| edit(m, "/output", json!({"kind": "classes", "classes": 1})), "spec: "),
    ("a bad momentum", |m| edit(m, "/layers/1/momentum", json!(1.5)), "momentum: 1.5"),
    ("a bad epsilon", |m| edit(m, "/layers/1/epsilon", json!(0.0)), "epsilon: 0"),
    ("no noise", |m| edit(m, "/noise", json!([])), "noise"),
    ("negative noise", |m| edit(m, "/noise/0", json!(-1.0)), "noise: a standard deviation of -1"),
    ("too many noises", |m| edit(m, "/noise", json!([1.0, 1.0, 1.0])), "noise: expected 1 or 2"),
    ("a bad prior", |m| edit(m, "/prior/gain", json!(0.0)), "prior gain: 0"),
    (
        "scaler std 0",
        |m| edit(m, "/input_scaler", json!({"mean": [0.0, 0.0], "std": [1.0, 0.0]})),
        "scaler std",
    ),
    (
        "scaler std negative",
        |m| edit(m, "/output_scaler", json!({"mean": [0.0, 0.0], "std": [1.0, -1.0]})),
        "scaler std",
    ),
    (
        "scaler too wide",
        |m| edit(m, "/input_scaler", json!({"mean": [0.0, 0.0, 0.0], "std": [1.0, 1.0, 1.0]})),
        "input scaler: expected 2",
    ),
    (
        "scaler lengths",
        |m| edit(m, "/input_scaler", json!({"mean": [0.0, 0.0], "std": [1.0, 1.0, 1.0]})),
        "scaler",
    ),
    (
        "scaler overflow",
        |m| {
            let s = m.metadata["spec"]
                .replace("\"input_scaler\":null", "\"input_scaler\":{\"mean\":[0,0],\"std\":[1,1e999]}");
            m.metadata.insert("spec".into(), s);
        },
        "spec: number out of range",
    ),
    ("an unknown rule", |m| edit(m, "/update", json!("wild")), "spec: unknown variant `wild`"),
    (
        "version 1 with inputs",
        |m| drop(m.metadata.insert("version".into(), "1".into())),
        "spec: version 1 has no `inputs`",
    ),
    ("no inputs", |m| edit(m, "/inputs", json!([])), "spec: layers: expected 4 names and inputs"),
    (
        "a layer that reads itself",
        |m| edit(m, "/inputs/1", json!([2])),
        "layer `batch_norm1`: inputs: a layer can only",
    ),
    (
        "a layer that reads nothing",
        |m| edit(m, "/inputs/1", json!([])),
        "layer `batch_norm1`: inputs: expected one",
    ),
    (
        "a layer that reads two",
        |m| edit(m, "/inputs/1", json!([0, 1])),
        "layer `batch_norm1`: inputs: expected one",
    ),
    (
        "a layer that nobody reads",
        |m| edit(m, "/inputs/2", json!([1])),
        "layer `batch_norm1`: no layer reads it",
    ),
    (
        "an absurd input of a layer",
        |m| edit(m, "/inputs/1", json!([u64::MAX])),
        "layer `batch_norm1`: inputs: a layer",
    ),
    (
        "an entry of the spec misspelt",
        |m| edit(m, "/inputs_scaler", json!(null)),
        "spec: unknown field `inputs_scaler`",
    ),
    ("a layer with more to say", |m| edit(m, "/layers/0/x", json!([0, 1])), "spec: unknown field `x`"),
    ("an input with more to say", |m| edit(m, "/input/depth", json!(1)), "spec: unknown field `depth`"),
    ("an output with more to say", |m| edit(m, "/output/x", json!(1)), "spec: unknown field `x`"),
    ("too few input names", |m| edit(m, "/input_names", json!(["a"])), "input names"),
    ("names of inputs alone", |m| edit(m, "/input_names", json!(["a", "b"])), "output names"),
    ("names of outputs alone", |m| edit(m, "/output_names", json!(["a", "b"])), "output names"),
    (
        "names of inputs and of too few outputs",
        |m| (edit(m, "/input_names", json!(["a", "b"])), edit(m, "/output_names", json!(["c"]))).0,
        "output names",
    ),
    ("too many output names", |m| edit(m, "/output_names", json!(["a", "b", "c"])), "output names"),
    ("class names without classes", |m| edit(m, "/class_names", json!(["a", "b"])), "class names"),
];

#[test]
fn tampering_is_refused_with_its_place() {
    for device in devices() {
        let net = Network::builder(Shape::flat(2))
            .layer(Layer::linear(3))
            .layer(Layer::batch_norm())
            .layer(Activation::Relu)
            .layer(Layer::linear(2))
            .device(&device)
            .build()
            .unwrap();
        let model = Model::of(&net);
        assert!(model.load(device.clone()).is_ok());
        let mut accepted = Vec::new();
        for (what, tamper, expected) in TAMPERINGS {
            let mut model = model.clone();
            tamper(&mut model);
            match model.load(device.clone()) {
                Ok(_) => accepted.push(format!("{what}: accepted")),
                Err(e) if !e.to_string().contains(expected) => {
                    accepted.push(format!("{what}: says \"{e}\", not \"{expected}\""))
                }
                Err(e) => assert!(matches!(e, Error::Model { .. }), "{what}: {e:?}"),
            }
        }
        assert!(accepted.is_empty(), "{device:?}:\n{}", accepted.join("\n"));
    }
}

/// What f64 can hold and f32 cannot: a file of the reference is refused by the fast device, not rounded to
/// infinities and variances of zero.
#[test]
fn numbers_beyond_single_precision_are_refused_there() {
    for (tensor, value) in
        [("linear1.weight.mean", 1e39), ("linear1.weight.var", 1e-60), ("linear1.bias.var", 1e300)]
    {
        let mut model = Model::of(&tiny(Device::reference()));
        let mut values = model.get(tensor);
        values[0] = value;
        model.set(tensor, &values);
        assert!(model.load(Device::reference()).is_ok(), "{tensor} {value}");
        let err = model.load(Device::cpu(1)).unwrap_err().to_string();
        assert!(err.contains(tensor), "{err}");
    }
}

/// Header and offsets that the format's own writer would not write.
#[test]
fn tampered_headers_are_refused() {
    let whole = file(&tiny(Device::reference()));
    let length = u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&whole[8..8 + length]).unwrap().trim_end();
    let with = |header: &str| {
        let mut out = (header.len() as u64).to_le_bytes().to_vec();
        out.extend(header.as_bytes());
        out.extend(&whole[8 + length..]);
        out
    };
    assert!(load(&with(header), Device::reference()).is_ok(), "as it was");
    let twice = {
        let at = header.find("\"linear1.bias.mean\":").unwrap();
        let end = at + header[at..].find('}').unwrap() + 1;
        format!("{},{}", &header[..end], &header[at..])
    };
    for (what, header) in [
        ("empty", String::new()),
        ("null", "null".into()),
        ("deep", "[".repeat(100_000)),
        ("deep objects", "{\"a\":".repeat(100_000)),
        ("overlap", header.replace("[8,16]", "[0,8]")),
        ("hole", header.replace("[0,8]", "[1,9]")),
        ("backwards", header.replace("[0,8]", "[8,0]")),
        ("beyond the end", header.replace("[0,8]", "[0,18446744073709551615]")),
        ("huge dimensions", header.replace("\"shape\":[1,2]", "\"shape\":[4294967296,4294967296,2]")),
        ("negative dimensions", header.replace("\"shape\":[1,2]", "\"shape\":[-1,2]")),
    ] {
        assert!(load(&with(&header), Device::reference()).is_err(), "{what}");
    }
    // JSON would let the last of two entries win.
    let metadata = header.replacen("\"format\":", "\"spec\":\"{}\",\"format\":", 1);
    assert_ne!(metadata, header);
    for (what, header) in [
        ("linear1.bias.mean", twice.clone()),
        ("linear1.bias.mean", twice.replacen("[0,8]", "[8,16]", 1)),
        ("spec", metadata),
    ] {
        let error = load(&with(&header), Device::reference()).unwrap_err().to_string();
        assert!(error.contains(&format!("`{what}` is duplicated")), "{error}");
    }
    for length in [u64::MAX, 1 << 62, 1 << 32, whole.len() as u64, 7, 0] {
        let mut changed = whole.clone();
        changed[..8].copy_from_slice(&length.to_le_bytes());
        assert!(load(&changed, Device::reference()).is_err(), "header of {length} bytes");
    }
}

/// Where tensors may lie and how long they are: the format's own crate says the same.
#[test]
fn tensors_lie_side_by_side_and_fit_their_bytes() {
    // How many bytes of tensors a header tells of, or what is wrong with it, from a file that ends with it.
    let both = |header: &str| {
        let theirs = serde_json::from_str::<safetensors::tensor::Metadata>(header).ok();
        let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
        let said = load(&file, Device::reference()).unwrap_err().to_string();
        let said = said.split_once("not a model file (safetensors): ").unwrap().1.to_string();
        let bytes =
            said.strip_prefix("its header describes ").and_then(|s| s.split(' ').next()?.parse().ok());
        assert_eq!(bytes, theirs.map(|m| m.data_len()), "{header}: {said}");
        bytes.ok_or(said)
    };
    let tensor = |dtype: &str, shape: &str, at: &str| {
        format!(r#"{{"dtype":"{dtype}","shape":{shape},"data_offsets":{at}}}"#)
    };
    let types = "F4 F6_E2M3 F6_E3M2 BOOL U8 I8 F8_E5M2 F8_E4M3 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ I16 U16 F16 BF16 I32 \
                 U32 F32 C64 F64 I64 U64";
    for dtype in types.split_whitespace() {
        let one = |n: usize| both(&format!(r#"{{"a":{}}}"#, tensor(dtype, &format!("[{n},2]"), "[0,48]")));
        assert_eq!((0..50).filter(|n| one(*n) == Ok(48)).count(), 1, "{dtype}");
    }
    let two = |a: &str, b: &str| {
        both(&format!(r#"{{"b":{},"a":{}}}"#, tensor("F32", "[2]", b), tensor("F32", "[2]", a)))
    };
    assert_eq!((two("[0,8]", "[8,16]"), two("[8,16]", "[0,8]")), (Ok(16), Ok(16)));
    for (a, b, name) in [
        ("[0,8]", "[0,8]", "b"),
        ("[0,8]", "[7,15]", "b"),
        ("[0,8]", "[9,17]", "b"),
        ("[1,9]", "[9,17]", "a"),
        ("[0,8]", "[8,0]", "b"),
    ] {
        let error = two(a, b).unwrap_err();
        assert_eq!(
            error,
            format!("tensor `{name}`: it does not start where the previous one ends"),
            "{a} {b}"
        );
    }
    for (dtype, shape, at, says) in [
        ("F32", "[2]", "[0,7]", "its type and shape do not match its bytes"),
        ("F32", "[4611686018427387904]", "[0,0]", "its shape is too large"),
        ("F4", "[3]", "[0,1]", "its size is not a whole number of bytes"),
        ("F128", "[1]", "[0,16]", "its type is unknown"),
    ] {
        let error = both(&format!(r#"{{"a":{}}}"#, tensor(dtype, shape, at))).unwrap_err();
        assert_eq!(error, format!("tensor `a`: {says}"));
    }
}

/// Layers without parameters ask for no tensor: the sizes they claim must not become memory or time.
#[test]
fn absurd_specifications_cost_nothing() {
    let net =
        Network::builder(Shape::flat(2)).layer(Activation::Relu).device(Device::reference()).build().unwrap();
    let mut model = Model::of(&net);
    edit(&mut model, "/input", json!({"channels": 1, "height": 40000, "width": 40000}));
    edit(&mut model, "/output/width", json!(1_600_000_000u64));
    let _ = model.load(Device::cpu(1));
    let layers = |n: usize| {
        let mut model = Model::of(&net);
        edit(&mut model, "/layers", json!(vec![json!({"kind": "activation", "function": "relu"}); n]));
        edit(&mut model, "/names", json!((0..n).map(|i| format!("relu{i}")).collect::<Vec<_>>()));
        edit(&mut model, "/inputs", json!((0..n).map(|i| [i]).collect::<Vec<_>>()));
        model.load(Device::cpu(1))
    };
    assert_eq!(layers(1000).unwrap().layers().len(), 1000);
    for n in [1001, 60_000] {
        assert!(layers(n).unwrap_err().to_string().contains("a network must have 1 to 1000"));
    }
}

/// More numbers than are read at once: all of them come back, and a bad one is named by its place in the whole.
#[test]
fn large_layers_are_read_in_parts() {
    for device in devices() {
        let net = Network::mlp([300, 300, 1], Activation::Relu).seed(3).device(&device).build().unwrap();
        let mut model = Model::of(&net);
        assert_eq!(Model::of(&model.load(device.clone()).unwrap()).tensors, model.tensors);
        let mut weights = model.get("linear1.weight.mean");
        weights[299 * 300 + 5] = f64::NAN;
        model.set("linear1.weight.mean", &weights);
        let why = model.load(device.clone()).unwrap_err().to_string();
        assert!(why.contains("linear1.weight.mean: entry 89705 is NaN"), "{why}");
    }
}

/// Of a channel that was the same in every sample, the variance is zero: a statistic, no doubt about a weight.
#[test]
fn a_channel_may_have_been_constant() {
    let net = Network::builder(Shape::flat(2)).layer(Layer::batch_norm()).build().unwrap();
    let mut model = Model::of(&net);
    model.set("batch_norm1.running.var", &[0.0, 1.0]);
    assert_eq!(Model::of(&model.load(Device::cpu(1)).unwrap()).get("batch_norm1.running.var"), [0.0, 1.0]);
}

/// The most layers, with the longest names, of the kind with the most tensors: what can be built can be read again.
#[test]
fn the_largest_header_can_be_read() {
    let name = |i: usize| format!("{i:0200}");
    let mut net = Network::builder(Shape::flat(1));
    for i in 0..1000 {
        net = net.layer(Layer::BatchNorm { momentum: 0.9, epsilon: 1e-5 }.named(name(i)));
    }
    let dir = tempfile::tempdir().unwrap();
    net.build().unwrap().save(dir.path().join("net")).unwrap();
    let net = Network::load(dir.path().join("net"), Device::cpu(1)).unwrap();
    assert_eq!(net.layer_names()[999], name(999));
}

/// Statistics of so many columns that a file's header cannot hold them are an error when it is saved, not afterwards.
#[test]
fn what_could_not_be_read_is_not_saved() {
    let columns = 500_000;
    let dir = tempfile::tempdir().unwrap();
    let mut net = Network::builder(Shape::flat(columns)).layer(Activation::Relu).build().unwrap();
    let one_third = vec![1.0 / 3.0; columns];
    net.set_scalers(Some(Scaler::new(one_third.clone(), one_third).unwrap()), None).unwrap();
    let err = net.save(dir.path().join("net")).unwrap_err().to_string();
    assert!(err.contains("header: a header of") && err.contains("at most 16777216 are read"), "{err}");
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn a_save_that_fails_leaves_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    let net = tiny(Device::reference());
    let err = net.save(dir.path().join("no/such/folder/net")).unwrap_err();
    assert!(matches!(err, Error::File { .. }) && err.to_string().contains("no/such/folder/net"), "{err}");
    let folder = dir.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("inside"), "x").unwrap();
    let err = net.save(&folder).unwrap_err();
    assert!(matches!(err, Error::File { .. }), "{err}");
    assert!(folder.join("inside").exists());
    for path in ["/", "", ".."] {
        assert!(net.save(path).is_err(), "{path:?}");
    }
    assert!(matches!(Network::load(&folder, Device::reference()), Err(Error::Model { .. })));
    assert!(matches!(Network::load(dir.path().join("none"), Device::reference()), Err(Error::File { .. })));
    // A name that is too long for the system.
    assert!(net.save(dir.path().join("n".repeat(300))).is_err());
    assert_eq!(names(dir.path()), ["folder"], "nothing is left behind");
}

#[cfg(unix)]
#[test]
fn a_read_only_folder_keeps_its_file() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("net");
    let mut net = tiny(Device::reference());
    net.save(&path).unwrap();
    let before = std::fs::read(&path).unwrap();
    let mode = |mode| std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o555);
    let enforced = std::fs::write(dir.path().join("probe"), "x").is_err();
    teach(&mut net, 1, 2, 1);
    let saved = net.save(&path);
    mode(0o755);
    if enforced {
        assert!(matches!(saved, Err(Error::File { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), before);
    } else {
        // The superuser may write anyway: then the save must have worked.
        saved.unwrap();
        assert_eq!(bytes(&Network::load(&path, Device::reference()).unwrap()), bytes(&net));
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn odd_file_names_work() {
    let dir = tempfile::tempdir().unwrap();
    let net = tiny(Device::reference());
    let long = "l".repeat(250);
    let odd = ["a b", "ü🎲.safetensors", ".hidden", "-flag", "new\nline", "x.tmp", "quote\"", &long];
    for name in odd {
        net.save(dir.path().join(name)).unwrap_or_else(|e| panic!("{name:?}: {e}"));
        Network::load(dir.path().join(name), Device::reference()).unwrap();
    }
    assert_eq!(names(dir.path()).len(), odd.len(), "one file each, nothing else: {:?}", names(dir.path()));
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let name = std::ffi::OsStr::from_bytes(b"not \xff unicode");
        net.save(dir.path().join(name)).unwrap();
        Network::load(dir.path().join(name), Device::reference()).unwrap();
        assert_eq!(names(dir.path()).len(), odd.len() + 1);
    }
}

/// Says stop when it goes.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Two writers and a reader on one file: the reader sees one of the two models, whole.
#[test]
fn a_reader_never_sees_half_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("net");
    let nets = [1, 2].map(|seed| {
        Network::mlp([50, 60, 40], Activation::Relu).seed(seed).device(Device::cpu(1)).build().unwrap()
    });
    nets[0].save(&path).unwrap();
    let done = AtomicBool::new(false);
    let (reads, writes) = std::thread::scope(|scope| {
        let writers: Vec<_> = nets
            .iter()
            .map(|net| {
                let (path, done) = (&path, &done);
                scope.spawn(move || {
                    let mut writes = 0;
                    while !done.load(Ordering::Relaxed) {
                        net.save(path).unwrap();
                        writes += 1;
                    }
                    writes
                })
            })
            .collect();
        // Writers end even where reading panics.
        let stop = Stop(&done);
        let start = std::time::Instant::now();
        let (mut reads, mut bad) = (0, None);
        while bad.is_none() && start.elapsed().as_millis() < 1500 {
            match Network::load(&path, Device::cpu(1)) {
                Ok(net)
                    if [1, 2].contains(&net.seed())
                        && net.output() == (Output::Values { width: 40, noise: Noise::Inferred }) =>
                {
                    reads += 1
                }
                other => bad = Some(format!("after {reads} reads: {other:?}")),
            }
        }
        drop(stop);
        let writes: usize = writers.into_iter().map(|w| w.join().expect("a writer")).sum();
        assert_eq!(bad, None);
        (reads, writes)
    });
    println!("{reads} reads, {writes} writes");
    assert!(reads > 10 && writes > 10, "{reads} reads, {writes} writes");
    assert_eq!(names(dir.path()), ["net"], "no temporary file is left");
    let x = Matrix::new(vec![0.5; 50], 50).unwrap();
    let last = Network::load(&path, Device::cpu(1)).unwrap().predict(&x).unwrap();
    assert!(nets.iter().any(|net| net.predict(&x).unwrap() == last));
}

mod slow {
    use super::*;

    /// One byte of the header changed: refused, or a model that says the same; also without a checksum it is sound.
    #[test]
    fn a_flipped_byte_in_the_header_is_refused_or_harmless() {
        let net = tiny(Device::reference());
        let original = Model::of(&net);
        let x = Draw::new(1).matrix(4, 2);
        let same = net.predict(&x).unwrap();
        let dir = tempfile::tempdir().unwrap();
        original.write(&dir.path().join("net"));
        let without = std::fs::read(dir.path().join("net")).unwrap();
        for (whole, checked) in [(file(&net), true), (without, false)] {
            let header = 8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
            let (mut refused, mut harmless) = (0, 0);
            for at in 0..header {
                for flip in [0x01, 0x02, 0x10, 0x20, 0x80] {
                    let mut changed = whole.clone();
                    changed[at] ^= flip;
                    let Ok(loaded) = load(&changed, Device::reference()) else {
                        refused += 1;
                        continue;
                    };
                    harmless += 1;
                    let place = String::from_utf8_lossy(&changed[at.saturating_sub(30)..header.min(at + 30)]);
                    assert_eq!(Model::of(&loaded).tensors, original.tensors, "{at} ^ {flip}: {place}");
                    let scalers = (loaded.input_scaler().is_some(), loaded.output_scaler().is_some());
                    assert_eq!(scalers, (true, true), "{at} ^ {flip}: {place}");
                    let out = loaded.predict(&x).unwrap();
                    // Without a checksum, a digit of a scaler may change.
                    let finite = out.mean().iter().chain(out.var()).all(|v| v.is_finite());
                    assert!(if checked { out == same } else { finite }, "{at} ^ {flip}: {place}");
                }
            }
            assert!(refused > harmless, "{refused} refused, {harmless} harmless");
        }
    }

    #[test]
    fn a_file_that_was_cut_off_is_refused() {
        for device in devices() {
            let whole = file(&tiny(device.clone()));
            for length in 0..whole.len() {
                assert!(load(&whole[..length], device.clone()).is_err(), "{length} of {} bytes", whole.len());
            }
            let mut longer = whole.clone();
            longer.push(0);
            assert!(load(&longer, device.clone()).is_err(), "a byte too many");
            assert!(load(&whole, device.clone()).is_ok());
        }
        for (what, builder) in zoo() {
            let whole = file(&builder.build().unwrap());
            for length in (0..whole.len()).step_by(1 + whole.len() / 40) {
                assert!(
                    load(&whole[..length], devices()[0].clone()).is_err(),
                    "{what}: {length} of {} bytes",
                    whole.len()
                );
            }
        }
    }
}
