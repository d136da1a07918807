//! What a file costs to read, in bytes of memory: never more than 64 MiB and its own size, whatever it says about itself;
//! more only where numbers are larger in memory than in the file, and by no more than that.

use crate::{ALONE, most_bytes};
use flate2::{Compression, write::GzEncoder};
use std::fs;
use std::io::Write;
use std::path::Path;
use tractable::optimize::Optimizer;
use tractable::rl::Agent;
use tractable::rl::env::{Pendulum, mujoco};
use tractable::{Activation, Device, Network, data};

const FREE: usize = 64 << 20;

fn gzip(bytes: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    bytes.for_each(|part| gzip.write_all(&part).unwrap());
    gzip.finish().unwrap()
}

/// A safetensors file with this header and no tensors.
fn header_only(header: &str) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat()
}

fn model_saying(spec: &str) -> Vec<u8> {
    let spec = serde_json::Value::from(spec).to_string();
    header_only(&format!(
        r#"{{"__metadata__":{{"format":"tractable","version":"2","library":"0","spec":{spec}}}}}"#
    ))
}

/// Reads a file and says whether it was accepted.
type Reader = fn(&Path) -> bool;

const MODEL: Reader = |p| Network::load(p, Device::cpu(1)).is_ok();
const AGENT: Reader = |p| Agent::load(p, &Pendulum::new()).is_ok();
const SEARCH: Reader = |p| Optimizer::load(p).is_ok_and(|mut s| s.history().len() > 100 || s.ask().is_ok());
const CSV: Reader = |p| data::csv(p).is_ok_and(|t| t.target("y").is_ok());
const IDX: Reader = |p| data::idx(p, p.with_file_name("labels"), vec!["a".into(); 10]).is_ok();
const MJCF: Reader = |p| mujoco::screen(p).is_ok();
const CIFAR: Reader = |p| data::cifar_batches(&[p], vec!["a".into(); 10]).is_ok();

/// How many times its own size a file may cost on top of [`FREE`]. Once; but a table has a number in memory, and its
/// class, from every `0,` and is turned from columns to rows, a gzip file has up to sixteen bytes from one, in a list
/// that doubles where the file does not say how many, and the weights of narrow layers lie in rows of 32.
fn times(name: &str) -> usize {
    match name.split(':').next().unwrap() {
        "csv" => 9,
        "gzip" => 16,
        "gzip of CIFAR" => 48,
        "narrow model" => 4,
        _ => 1,
    }
}

#[test]
fn files_cost_no_more_than_they_are_worth() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let dir = tempfile::tempdir().unwrap();
    let (path, labels) = (dir.path().join("file"), dir.path().join("labels"));
    fs::write(&labels, [&[0, 0, 8, 1, 0, 0, 0, 1][..], &[1]].concat()).unwrap();
    let saved = |widths: &[usize]| {
        Network::mlp(widths.to_vec(), Activation::Relu).build().unwrap().save(&path).unwrap();
        fs::read(&path).unwrap()
    };
    let (real, large) = (saved(&[500, 500, 500, 1]), saved(&[3200, 3200, 1]));
    let norm = Network::builder(tractable::Shape::flat(1 << 18)).layer(tractable::Layer::batch_norm());
    norm.build().unwrap().save(&path).unwrap();
    let normed = fs::read(&path).unwrap();
    let (narrow, eights) = (saved(&[256 * 256 * 3, 1]), saved(&[1 << 20, 8]));
    // The real one's specification with other sizes.
    let header = u64::from_le_bytes(real[..8].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&real[8..8 + header]).unwrap();
    let spec: serde_json::Value =
        serde_json::from_str(header["__metadata__"]["spec"].as_str().unwrap()).unwrap();
    let layer = |n: u64| {
        let mut spec = spec.clone();
        spec["input"]["channels"] = n.into();
        spec["layers"] = serde_json::json!([{"kind": "linear", "outputs": n}]);
        spec["names"] = serde_json::json!(["a"]);
        spec["inputs"] = serde_json::json!([[0]]);
        spec["output"]["width"] = n.into();
        spec.to_string()
    };
    let says = |path: &Path, what: &str| {
        let why = Network::load(path, Device::cpu(1)).unwrap_err().to_string();
        assert!(why.contains(what), "{why}");
    };
    for (n, what) in [(1 << 40, "input shape"), (1 << 15, "a.weight.mean: is missing")] {
        fs::write(&path, model_saying(&layer(n))).unwrap();
        says(&path, what);
    }
    let repeated = |part: &str, n: usize| part.repeat(n);
    let zeros = |mebibytes: usize| gzip((0..mebibytes).map(|_| vec![0; 1 << 20]));
    let idx_head = |n: u32| [&[0, 0, 8, 3][..], &n.to_be_bytes(), &[0, 0, 0, 28], &[0, 0, 0, 28]].concat();
    let cases: Vec<(&str, Reader, Vec<u8>, bool)> = vec![
        ("model: a real one", MODEL, real.clone(), true),
        ("model: a large one", MODEL, large, true),
        ("model: a narrow one", MODEL, narrow, true),
        ("narrow model: eight outputs", MODEL, eights, true),
        ("model: a header of 2^62 bytes", MODEL, [&(1u64 << 62).to_le_bytes()[..], b"{}"].concat(), false),
        (
            "model: 200,000 tensors",
            MODEL,
            {
                let one = |i: usize| format!(r#""{i}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}"#);
                header_only(&format!("{{{}}}", (0..200_000).map(one).collect::<Vec<_>>().join(",")))
            },
            false,
        ),
        (
            "model: a tensor of 2^62 bytes",
            MODEL,
            header_only(
                r#"{"a":{"dtype":"U8","shape":[4611686018427387904],"data_offsets":[0,4611686018427387904]}}"#,
            ),
            false,
        ),
        ("model: a layer of 2^40 units", MODEL, model_saying(&layer(1 << 40)), false),
        ("model: a layer of 2^15 units", MODEL, model_saying(&layer(1 << 15)), false),
        ("model: deep brackets", MODEL, model_saying(&repeated("[", 1 << 20)), false),
        (
            "model: many layers",
            MODEL,
            {
                let layers = vec![r#"{"kind":"activation","function":"relu"}"#; 200_000].join(",");
                model_saying(&format!(r#"{{"layers":[{layers}]}}"#))
            },
            false,
        ),
        (
            "model: a list in the header",
            MODEL,
            header_only(&format!(r#"{{"a":[{}0]}}"#, repeated("0,", 1 << 20))),
            false,
        ),
        (
            "model: a list of other commas",
            MODEL,
            {
                let list = repeated("0\\u002c", 1 << 20);
                let spec = format!(r#"{{\"layers\":[{{\"kind\":\"linear\",\"x\":[{list}0]}}]}}"#);
                header_only(&format!(
                    r#"{{"__metadata__":{{"format":"tractable","version":"2","spec":"{spec}"}}}}"#
                ))
            },
            false,
        ),
        ("model: a normalisation", MODEL, normed, true),
        ("agent: a model", AGENT, real, false),
        (
            "agent: long lists",
            AGENT,
            {
                let rest = format!(r#"{{"world":[{}0]}}"#, repeated("0,", 1 << 20));
                let rest = serde_json::Value::from(rest).to_string();
                header_only(&format!(
                    r#"{{"__metadata__":{{"format":"tractable-agent","version":"1","agent":{rest}}}}}"#
                ))
            },
            false,
        ),
        (
            "search: half a million coordinates",
            SEARCH,
            {
                let bounds = repeated("[0,1],", 500_000);
                format!(r#"{{"tractable_optimizer":1,"optimizer":{{"bounds":[{bounds}[0,1]],"goal":"minimum","seed":0,"noise_std":0,"trials":[],"pending":[],"pending_regions":[],"region":{{"radius":0.8,"wins":0,"fails":0,"number":0,"asked":0}},"asked":0}}}}"#).into()
            },
            false,
        ),
        (
            "search: a million points",
            SEARCH,
            format!(
                r#"{{"tractable_optimizer":1,"optimizer":{{"pending":[{}[0]]}}}}"#,
                repeated("[0],", 1 << 20)
            )
            .into(),
            false,
        ),
        (
            "search: a long name",
            SEARCH,
            format!(r#"{{"tractable_optimizer":1,"optimizer":{{"{}":0}}}}"#, repeated("a", 32 << 20)).into(),
            false,
        ),
        (
            "search: a hundred thousand points",
            SEARCH,
            {
                let trial = r#"{"x":[0.12345678901234567],"y":0.12345678901234567,"region":0}"#;
                let trials = vec![trial; 100_000].join(",");
                format!(r#"{{"tractable_optimizer":1,"optimizer":{{"bounds":[[0,1]],"goal":"minimum","seed":0,"noise_std":0,"trials":[{trials}],"pending":[],"pending_regions":[],"region":{{"radius":0.8,"wins":0,"fails":0,"number":0,"asked":0}},"asked":0}}}}"#).into()
            },
            true,
        ),
        (
            "csv: zeros and ones",
            CSV,
            format!("a,b,c,d,y\n{}", repeated("0,0,0,0,0\n1,1,1,1,1\n", 250_000)).into(),
            true,
        ),
        (
            "csv: a hundred thousand columns",
            CSV,
            {
                let names: Vec<String> = (0..99_999).map(|i| format!("c{i}")).collect();
                format!("{},y\n{}0\n", names.join(","), repeated("0,", 99_999)).into()
            },
            true,
        ),
        ("csv: a million columns", CSV, repeated("a,", 500_000).into(), false),
        (
            "csv: rows that become shorter",
            CSV,
            {
                let long = repeated("0,0\n", 9) + "0,00\n";
                format!("a,y\n{}{}", repeated(&long, 1 << 18), repeated("0,0\n1,0\n", 5 << 17)).into()
            },
            true,
        ),
        ("csv: an open quote", CSV, format!("a,y\n\"{}", repeated("0,1\n", 4 << 20)).into(), false),
        (
            "csv: texts",
            CSV,
            format!("a,y\n{}", (0..300_000).map(|i| format!("t{i},0\n")).collect::<String>()).into(),
            false,
        ),
        (
            "csv: many zeros and ones",
            CSV,
            format!("a,b,c,d,y\n{}", repeated("0,0,0,0,0\n1,1,1,1,1\n", 2_500_000)).into(),
            true,
        ),
        (
            "gzip: a bomb of IDX",
            IDX,
            gzip([idx_head(1 << 20)].into_iter().chain((0..100).map(|_| vec![0; 1 << 20]))),
            false,
        ),
        ("idx: 2^32 images", IDX, idx_head(u32::MAX), false),
        ("gzip: a bomb without images", IDX, zeros(100), false),
        (
            "idx: a large one",
            IDX,
            [&[0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 32, 0, 0, 0, 32, 0][..], &[0; 8192 * 8192]].concat(),
            true,
        ),
        ("mjcf: many elements", MJCF, format!("<mujoco>{}</mujoco>", repeated("<a/>", 190_000)).into(), true),
        (
            "mjcf: many attributes",
            MJCF,
            format!("<mujoco>{}</mujoco>", repeated("<a b='' c='' d='' e=''/>", 120_000)).into(),
            true,
        ),
        (
            "mjcf: a comment of brackets",
            MJCF,
            format!("<mujoco><!--{}--></mujoco>", repeated("<", 16 << 20)).into(),
            true,
        ),
        ("cifar: a large one", CIFAR, vec![0; 3073 * 30_000], true),
        ("gzip of CIFAR: a bomb", CIFAR, zeros(100), false),
    ];
    for (name, reader, bytes, fine) in cases {
        fs::write(&path, &bytes).unwrap();
        let allowed = FREE + times(name) * bytes.len();
        let (most, accepted) = most_bytes(|| reader(&path));
        println!("{name}: {} KiB cost {} KiB", bytes.len() >> 10, most >> 10);
        assert!(most <= allowed, "{name}: {} bytes cost {most}, more than {allowed}", bytes.len());
        assert_eq!(accepted, fine, "{name}");
    }
}
