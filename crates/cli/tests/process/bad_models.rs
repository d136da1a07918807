//! Model files that are broken or tampered with: refused with their place, exit 2.

use crate::run::Place;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use tractable::data::Dataset;
use tractable::{Activation, Fit, Matrix, Network};

/// Reads, changes and writes back a model: its header as JSON, and the bytes of its tensors.
fn tamper(place: &Place, change: impl Fn(&mut Value, &mut Vec<u8>)) {
    let bytes = place.read("run/model.safetensors");
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let mut data = bytes[8 + length..].to_vec();
    // As if it were written on purpose, so that the checks behind the checksum are reached.
    if let Some(metadata) = header["__metadata__"].as_object_mut() {
        metadata.remove("checksum");
    }
    change(&mut header, &mut data);
    let header = serde_json::to_vec(&header).unwrap();
    let bytes = [&(header.len() as u64).to_le_bytes(), &header[..], &data[..]].concat();
    std::fs::write(place.path("bad.safetensors"), bytes).unwrap();
}

/// Changes the description of the network in the metadata.
fn tamper_spec(place: &Place, change: impl Fn(&mut Value)) {
    tamper(place, |header, _| {
        let text = header["__metadata__"]["spec"].as_str().unwrap();
        let mut spec: Value = serde_json::from_str(text).unwrap();
        change(&mut spec);
        header["__metadata__"]["spec"] = Value::from(spec.to_string());
    });
}

/// Every verb that takes a model refuses this one.
#[track_caller]
fn refused(place: &Place, says: &[&str]) {
    let says = [&["bad.safetensors"], says].concat();
    place.refused(&["inspect", "bad.safetensors"], &says);
    place.refused(&["predict", "bad.safetensors", "data.csv", "-o", "out.csv"], &says);
    place.refused(&["evaluate", "bad.safetensors", "data.csv"], &says);
    assert!(!place.path("out.csv").exists());
}

#[test]
fn truncated_files_are_refused() {
    let place = Place::network();
    let bytes = place.read("run/model.safetensors");
    for length in [0, 4, 8, 100, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(place.path("bad.safetensors"), &bytes[..length]).unwrap();
        place.refused(&["inspect", "bad.safetensors"], &["bad.safetensors: "]);
    }
    std::fs::write(place.path("bad.safetensors"), [&bytes[..], b"more"].concat()).unwrap();
    refused(&place, &[]);
    place.refused(&["inspect", "none.safetensors"], &["none.safetensors: cannot open"]);
    place.refused(&["inspect", "data.csv"], &["data.csv: header"]);
    place.refused(&["inspect", "."], &["no model.safetensors in this folder"]);
}

#[test]
fn flipped_bytes_in_the_header_never_crash() {
    let place = Place::network();
    let bytes = place.read("run/model.safetensors");
    // Mostly refused; a changed letter of a column's name makes another good file.
    for at in [0, 3, 7, 8, 9, 12, 20, 25, 60, 110, 200, 300, 500] {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x15;
        std::fs::write(place.path("bad.safetensors"), bytes).unwrap();
        let ran = place.run(&["inspect", "bad.safetensors"]);
        assert!(ran.code == 0 || ran.code == 2, "byte {at}: {ran:?}");
        assert!(ran.code == 0 || ran.err.lines().count() == 1, "byte {at}: {ran:?}");
    }
}

#[test]
fn tampered_tensors_are_refused_by_name() {
    let place = Place::network();
    let start = |header: &Value, name: &str| header[name]["data_offsets"][0].as_u64().unwrap() as usize;
    for (tensor, value, says) in [
        ("linear1.weight.mean", f32::NAN, "entry 0 is NaN"),
        ("linear2.bias.mean", f32::INFINITY, "entry 0 is inf"),
        ("linear1.weight.var", -1.0, "entry 0 is -1, not a valid variance"),
        ("linear2.weight.var", 0.0, "entry 0 is 0, not a valid variance"),
    ] {
        tamper(&place, |header, data| {
            data[start(header, tensor)..][..4].copy_from_slice(&value.to_le_bytes());
        });
        refused(&place, &[tensor, says]);
    }
    tamper(&place, |header, _| header["linear1.weight.mean"]["shape"] = json!([2, 8]));
    refused(&place, &["linear1.weight.mean", "shape"]);
    tamper(&place, |header, _| {
        let moved = header["linear1.bias.mean"].clone();
        header["linear1.bias.other"] = moved;
        header.as_object_mut().unwrap().remove("linear1.bias.mean");
    });
    refused(&place, &["linear1.bias"]);
}

#[test]
fn tampered_metadata_is_refused() {
    let place = Place::network();
    tamper(&place, |header, _| header["__metadata__"]["version"] = json!("99"));
    refused(&place, &["version 99 is unknown"]);
    tamper(&place, |header, _| header["__metadata__"]["format"] = json!("other"));
    refused(&place, &["`format` is not tractable"]);
    tamper(&place, |header, _| header["__metadata__"] = json!({}));
    refused(&place, &["not a tractable model"]);
    tamper_spec(&place, |spec| spec["noise"] = json!([-1.0]));
    refused(&place, &["noise"]);
    tamper_spec(&place, |spec| spec["layers"][0]["outputs"] = json!(1u64 << 60));
    refused(&place, &["linear1"]);
    tamper_spec(&place, |spec| spec["input_scaler"]["std"][0] = json!(0.0));
    refused(&place, &["standard deviation"]);
    tamper_spec(&place, |spec| spec["input_names"] = json!(["a"]));
    refused(&place, &["input names: expected 2, got 1"]);
    tamper_spec(&place, |spec| spec["output_names"] = json!([]));
    refused(&place, &["output names: expected 1, got 0"]);
    tamper_spec(&place, |spec| spec["class_names"] = json!(["one"]));
    refused(&place, &["class names"]);
}

#[test]
fn a_broken_run_is_not_resumed() {
    let place = Place::network();
    let resume = ["train", "--resume", "-o", "run", "--epochs", "9"];
    let config = place.text("run/config.json");
    place.write("run/config.json", &config[..40]);
    place.refused(&resume, &["config.json: not the settings of a run"]);
    place.write("run/config.json", &config.replace("\"version\": 1", "\"version\": 9"));
    place.refused(&resume, &["config.json: version 9"]);
    place.write("run/config.json", &config);
    let model = place.read("run/model.safetensors");
    std::fs::write(place.path("run/model.safetensors"), &model[..50]).unwrap();
    place.refused(&resume, &["model.safetensors"]);
    std::fs::write(place.path("run/model.safetensors"), model).unwrap();
    place.ok(&resume);
    place.refused(&["train", "--resume", "-o", "nowhere"], &["nowhere: no run yet"]);
    place.refused(&["train", "--resume"], &["-o RUN"]);
}

#[test]
fn a_model_that_has_seen_no_data_is_not_used() {
    let place = Place::new();
    let net = Network::mlp([2, 4, 1], Activation::Relu).build().unwrap();
    net.save(place.path("bad.safetensors")).unwrap();
    let says = ["bad.safetensors", "no epoch finished", "--resume"];
    place.refused(&["predict", "bad.safetensors", "data.csv"], &says);
    place.refused(&["evaluate", "bad.safetensors", "data.csv"], &says);
    // It knows its columns and half an epoch.
    let x = Matrix::new(vec![0.5; 2000], 2).unwrap();
    let data = Dataset::new(x, Matrix::column(vec![1.0; 1000]).unwrap()).unwrap();
    let mut net = net;
    net.fit_with(&data, &Fit::new(), |_| ControlFlow::Break(())).unwrap();
    assert_eq!((net.epochs(), net.input_names().len()), (0, 2));
    net.save(place.path("bad.safetensors")).unwrap();
    place.refused(&["predict", "bad.safetensors", "data.csv"], &says);
}

#[test]
fn a_run_whose_model_is_lost_does_not_start_over() {
    let place = Place::network();
    std::fs::remove_file(place.path("run/model.safetensors")).unwrap();
    place.refused(&["train", "--resume", "-o", "run"], &["run/model.safetensors: cannot open"]);
}
