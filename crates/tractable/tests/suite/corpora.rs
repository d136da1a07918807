//! The inputs that fuzzing began with and those it found, replayed by every run of the tests: see `fuzz/`.

use crate::cases::{Draw, Model};
use flate2::{Compression, write::GzEncoder};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use tractable::optimize::Optimizer;
use tractable::rl::env::{Pendulum, TimeLimit};
use tractable::rl::{Agent, Settings};
use tractable::{Activation, Device, Layer, Network, Shape, network::Head};

#[allow(unreachable_pub, reason = "public for the fuzz targets")]
#[path = "../../../../fuzz/src/library.rs"]
mod library;

/// What reads the inputs of a folder.
type Reader = (&'static str, fn(&[u8]));

const READERS: [Reader; 7] = [
    ("model", library::model),
    ("agent", library::agent),
    ("search", library::search),
    ("csv", library::csv),
    ("idx", library::idx),
    ("cifar", library::cifar),
    ("mjcf", library::mjcf),
];

fn corpus(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name)
}

#[test]
fn every_input_is_read_or_refused() {
    for (name, reader) in READERS {
        let files: Vec<PathBuf> = fs::read_dir(corpus(name)).unwrap().map(|e| e.unwrap().path()).collect();
        assert!(files.len() >= 3, "{name}: {} inputs", files.len());
        for file in files {
            let bytes = fs::read(&file).unwrap();
            assert!(bytes.len() < 1 << 16, "{} is too large to keep", file.display());
            let read = std::panic::catch_unwind(|| reader(&bytes));
            assert!(read.is_ok(), "{}", file.display());
        }
    }
}

/// Bytes changed at random: flipped, cut, doubled, or with a number that is often trouble.
fn mutated(bytes: &[u8], draw: &mut Draw) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + draw.below(4) {
        let at = draw.below(bytes.len().max(1)).min(bytes.len());
        match draw.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, draw.below(256) as u8),
            2 => {
                let part = bytes[at..].iter().copied().take(draw.below(40)).collect::<Vec<u8>>();
                bytes.splice(at..at, part);
            }
            3 => {
                let trouble = ["0", "-1", "9", "1e999", "18446744073709551615", "null", "[]", "\"", "{"];
                let end = (at + draw.below(3)).min(bytes.len());
                bytes.splice(at..end, trouble[draw.below(trouble.len())].bytes());
            }
            _ if at < bytes.len() => bytes[at] ^= 1 << draw.below(8),
            _ => {}
        }
    }
    bytes
}

/// A small fuzzer that needs nothing: it does not know what it has reached, but it runs everywhere and with every
/// `cargo test`. `TRACTABLE_MUTATIONS=100000` tries more.
#[test]
fn mutated_inputs_are_read_or_refused() {
    let each = std::env::var("TRACTABLE_MUTATIONS").map_or(100, |n| n.parse().unwrap());
    let mut draw = Draw::new(std::env::var("TRACTABLE_SEED").map_or(3, |n| n.parse().unwrap()));
    for (name, reader) in READERS {
        let mut files: Vec<PathBuf> =
            fs::read_dir(corpus(name)).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        for i in 0..each {
            let file = &files[i % files.len()];
            let bytes = mutated(&fs::read(file).unwrap(), &mut draw);
            if std::panic::catch_unwind(|| reader(&bytes)).is_err() {
                let kept = std::env::temp_dir().join(format!("tractable-{name}-{i}"));
                fs::write(&kept, &bytes).unwrap();
                panic!("{name}: an input made of {} fails; it is kept in {}", file.display(), kept.display());
            }
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// A file without its checksum and those of the files in it, so that mutations of it get to the checks behind.
fn without_checksums(file: &[u8]) -> Vec<u8> {
    let (_, header) = SafeTensors::read_metadata(file).unwrap();
    let mut metadata = header.metadata().clone().unwrap();
    metadata.remove("checksum");
    let file = SafeTensors::deserialize(file).unwrap();
    let tensors = file.tensors().into_iter().map(|(name, t)| match t.dtype() {
        Dtype::U8 => {
            let inner = without_checksums(t.data());
            (name, Dtype::U8, vec![inner.len()], inner)
        }
        dtype => (name, dtype, t.shape().to_vec(), t.data().to_vec()),
    });
    let tensors: Vec<_> = tensors.collect();
    let views = tensors.iter().map(|(name, d, s, b)| (name, TensorView::new(*d, s.clone(), b).unwrap()));
    safetensors::serialize(views, Some(metadata)).unwrap()
}

/// One of every kind to begin with. `cargo test --test suite corpora -- --ignored` writes them again.
#[test]
#[ignore = "writes into the repository"]
fn seeds_are_written() {
    let put = |kind: &str, name: &str, bytes: &[u8]| {
        fs::create_dir_all(corpus(kind)).unwrap();
        fs::write(corpus(kind).join(name), bytes).unwrap();
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let nets = [
        ("dense", Network::mlp([2, 3, 1], Activation::Relu).device(Device::cpu(1))),
        ("classes", Network::mlp([2, 2, 3], Activation::Tanh).classes(3).device(Device::cpu(1))),
        (
            "residual",
            Network::builder(Shape::image(1, 4, 4))
                .layer(Layer::conv2d(2, 3).padding(1).without_bias().named("stem"))
                .layer(Layer::conv2d(2, 3).padding(1).without_bias())
                .layer(Layer::batch_norm())
                .layer(Layer::Add.of(["stem", "batch_norm1"]))
                .layer(Layer::avg_pool2d(4))
                .layer(Layer::linear(3))
                .classes(3)
                .head(Head::Softmax)
                .device(Device::cpu(1)),
        ),
        (
            "image",
            Network::builder(Shape::image(1, 4, 4))
                .layer(Layer::conv2d(2, 3).padding(1))
                .layer(Layer::batch_norm())
                .layer(Activation::MixtureRelu)
                .layer(Layer::max_pool2d(2))
                .layer(Layer::linear(1))
                .device(Device::reference()),
        ),
    ];
    for (name, net) in nets {
        let net = net.build().unwrap();
        net.save(&path).unwrap();
        put("model", name, &without_checksums(&fs::read(&path).unwrap()));
        // Files in the wrong place are refused.
        let mut spec = Model::of(&net);
        spec.metadata.insert("version".into(), "2".into());
        spec.write(&path);
        put("model", &format!("{name}-version"), &fs::read(&path).unwrap());
    }
    let mut env = TimeLimit::new(Pendulum::new(), 20).unwrap();
    let layers = vec![2];
    let settings = Settings {
        horizon: 8,
        batch: 4,
        value_layers: layers.clone(),
        policy_layers: layers,
        ..Settings::default()
    };
    let mut agent = Agent::new(&env, settings).unwrap();
    agent.save(&path).unwrap();
    put("agent", "new", &without_checksums(&fs::read(&path).unwrap()));
    agent.rollout(&mut env).unwrap();
    agent.save(&path).unwrap();
    let begun = without_checksums(&fs::read(&path).unwrap());
    put("agent", "begun", &begun);
    put("agent", "cut", &begun[..300]);
    let mut search = Optimizer::minimize([(0.0, 1.0), (-1.0, 3.0)]).unwrap();
    search.save(&path).unwrap();
    put("search", "new.json", &fs::read(&path).unwrap());
    let x = search.ask().unwrap();
    search.tell(&x, 0.5).unwrap();
    search.ask().unwrap();
    search.save(&path).unwrap();
    put("search", "begun.json", &fs::read(&path).unwrap());
    put("search", "absurd.json", br#"{"tractable_optimizer":1,"optimizer":{"bounds":[[0,1e999]]}}"#);
    for (name, text) in [
        ("numbers.csv", "a,b,y\n1,2,3\n4,5.5,-6e-3\n"),
        ("classes.csv", "length,species\r\n5.1,\"setosa, I\"\r\n7.0,b\r\n"),
        ("missing.csv", "\u{feff}a,y\n1,\n2,nan\n\n3,4\n"),
        ("quote.csv", "a,\"b\n1,2\n"),
        ("twice.csv", "a,a\n1,2\n"),
    ] {
        put("csv", name, text.as_bytes());
    }
    // The first byte says where the labels begin, in 256ths of the rest.
    let images = [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 7, 9, 11, 13];
    let labels = [0, 0, 8, 1, 0, 0, 0, 2, 1, 9];
    let both = |a: &[u8], b: &[u8]| {
        let at = (0..=255u8).find(|&at| (a.len() + b.len()) * usize::from(at) / 256 == a.len());
        [&[at.expect("a place")], a, b].concat()
    };
    put("idx", "plain", &both(&images, &labels));
    let (packed, packed_labels) = (gzip(&images), gzip(&labels));
    put("idx", "gzip", &both(&packed, &packed_labels));
    put("idx", "absurd", &both(&[0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255], &labels));
    let record = [vec![3], vec![200; 3072]].concat();
    put("cifar", "plain", &record);
    put("cifar", "gzip", &gzip(&[&record[..], &record[..]].concat()));
    put("cifar", "label", &gzip(&[vec![77], vec![1; 3072]].concat()));
    put("cifar", "bomb", &gzip(&vec![0; 3073 * 1000]));
    for (name, text) in [
        (
            "arm.xml",
            r#"<mujoco><compiler meshdir="a"/><worldbody><replicate count="3"><geom/></replicate></worldbody></mujoco>"#,
        ),
        (
            "include.xml",
            r#"<mujoco><size memory="1M"/><include file="b.xml"/><texture width="9" height="9"/></mujoco>"#,
        ),
        ("out.xml", r#"<mujoco><!-- c --><mesh file="../../d.stl"/></mujoco>"#),
        ("bomb.xml", r#"<!DOCTYPE a [<!ENTITY b "c">]><mujoco>&b;</mujoco>"#),
    ] {
        put("mjcf", name, text.as_bytes());
    }
}
