//! Agents, searches and images that say what cannot be: refused with their place.

use safetensors::tensor::{SafeTensors, TensorView};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tractable::optimize::Optimizer;
use tractable::rl::env::{Pendulum, TimeLimit, mujoco};
use tractable::rl::{Agent, Settings};
use tractable::{Device, Network, data};

/// An agent's file with one entry of its JSON changed.
fn tampered(bytes: &[u8], at: &str, value: Value) -> Vec<u8> {
    let (_, header) = SafeTensors::read_metadata(bytes).unwrap();
    let tensors = SafeTensors::deserialize(bytes).unwrap();
    let mut metadata = header.metadata().clone().unwrap();
    let mut agent: Value = serde_json::from_str(&metadata["agent"]).unwrap();
    *agent.pointer_mut(at).unwrap_or_else(|| panic!("no {at}")) = value;
    metadata.insert("agent".into(), agent.to_string());
    metadata.remove("checksum");
    let views: Vec<(String, TensorView<'_>)> = tensors.tensors();
    safetensors::serialize(views, Some(metadata)).unwrap()
}

#[test]
fn agents_that_cannot_be_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agent");
    let env = || TimeLimit::new(Pendulum::new(), 20).unwrap();
    let mut agent = Agent::new(&env(), Settings { horizon: 32, ..Settings::default() }).unwrap();
    agent.rollout(&mut env()).unwrap();
    agent.save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    for (at, value, says) in [
        ("/life/steps", json!(u64::MAX), "invalid agent state"),
        ("/life/rollouts", json!(1u64 << 60), "invalid agent state"),
        ("/life/episodes", json!(1u64 << 60), "invalid agent state"),
        ("/life/recent", json!(vec![0.0; 101]), "invalid agent state"),
        ("/life/state", json!([0.0]), "invalid agent state"),
        ("/life/observations/var", json!([1.0, -1.0, 1.0]), "invalid agent state"),
        ("/life/returns/count", json!(-1.0), "invalid agent state"),
        ("/settings/horizon", json!(1u64 << 40), "horizon"),
        ("/settings/discount", json!(1.5), "discount"),
        ("/world", json!("nowhere"), "agent"),
    ] {
        fs::write(&path, tampered(&bytes, at, value.clone())).unwrap();
        let error = Agent::resume(&path, &mut env()).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains("agent: "), "{at} {value}: {error}");
    }
    for world in [json!([]), json!(vec![0.0; 9]), json!([0.0, 0.0, -1.0]), json!([0.0, 0.0, 0.5])] {
        fs::write(&path, tampered(&bytes, "/world", world.clone())).unwrap();
        assert!(Agent::resume(&path, &mut env()).is_err(), "{world}");
    }
    for end in (0..bytes.len()).step_by(997) {
        fs::write(&path, &bytes[..end]).unwrap();
        assert!(Agent::load(&path, &env()).is_err(), "cut at {end}");
    }
    fs::write(&path, &bytes).unwrap();
    Agent::resume(&path, &mut env()).unwrap();
}

#[test]
fn searches_that_cannot_be_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("search.json");
    Optimizer::minimize([(0.0, 1.0)]).unwrap().save(&path).unwrap();
    let good: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let with = |at: &str, value: Value| {
        let mut changed = good.clone();
        *changed.pointer_mut(at).unwrap() = value;
        fs::write(&path, changed.to_string()).unwrap();
        Optimizer::load(&path).unwrap_err().to_string()
    };
    assert!(
        with("/optimizer/bounds", json!(vec![[0.0, 1.0]; 10_001])).contains("bounds: has more than 10000")
    );
    assert!(with("/optimizer/asked", json!(u64::MAX)).contains("asked"));
    assert!(with("/tractable_optimizer", json!(2)).contains("this build knows 1"));
    let text = good.to_string();
    for twice in ["\"seed\":0,", "\"asked\":0,"] {
        fs::write(&path, text.replacen("\"optimizer\":{", &format!("\"optimizer\":{{{twice}"), 1)).unwrap();
        let error = Optimizer::load(&path).unwrap_err().to_string();
        assert!(error.contains("duplicate field"), "{error}");
    }
    if Path::new("/dev/zero").exists() {
        let error = Optimizer::load("/dev/zero").unwrap_err().to_string();
        assert!(error.contains("is not a file"), "{error}");
    }
}

#[test]
fn images_without_classes_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (images, labels) = (dir.path().join("images"), dir.path().join("labels"));
    fs::write(&images, [0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 7, 9]).unwrap();
    fs::write(&labels, [0, 0, 8, 1, 0, 0, 0, 1, 0]).unwrap();
    assert!(data::idx(&images, &labels, Vec::new()).is_err());
    fs::write(&images, [vec![0], vec![9; 3072]].concat()).unwrap();
    assert!(data::cifar_batches(&[&images], Vec::new()).is_err());
}

/// To open a pipe is to wait for whoever writes to it: nobody.
#[cfg(unix)]
#[test]
fn pipes_are_refused_without_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (done, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let classes = || vec!["a".to_string(); 10];
        done.send([
            Network::load(&pipe, Device::cpu(1)).is_err(),
            Agent::load(&pipe, &Pendulum::new()).is_err(),
            Optimizer::load(&pipe).is_err(),
            data::idx(&pipe, &pipe, classes()).is_err(),
            data::cifar_batches(&[&pipe], classes()).is_err(),
            mujoco::screen(&pipe).is_err(),
        ])
    });
    let refused = wait.recv_timeout(std::time::Duration::from_secs(20)).expect("an answer");
    assert_eq!(refused, [true; 6]);
}
