//! A damaged file is refused, or says what it said: every kind of file with tensors has a checksum, and older ones have none.

use crate::cases::{Draw, Model, teach};
use std::ops::ControlFlow;
use tractable::data::Dataset;
use tractable::ensemble::Settings;
use tractable::rl::env::{Pendulum, TimeLimit};
use tractable::rl::{self, Agent};
use tractable::{Activation, Device, Ensemble, Matrix, Network};

const SAYS: &str = "checksum: it does not fit the content: the file is damaged";

fn network() -> Network {
    let mut net = Network::mlp([3, 20, 2], Activation::Relu).seed(3).device(Device::cpu(1)).build().unwrap();
    teach(&mut net, 3, 8, 1);
    net
}

fn ensemble() -> Ensemble {
    let mut draw = Draw::new(2);
    let x = draw.matrix(30, 2);
    let y = (0..30).map(|r| 3.0 + x.row(r)[0] + 0.2 * draw.normal()).collect();
    let data = Dataset::new(x, Matrix::column(y).unwrap()).unwrap();
    let settings = Settings::default().visits(300);
    Ensemble::fit_with(&data, &settings, |_| ControlFlow::Continue(())).unwrap().unwrap()
}

fn agent() -> Vec<u8> {
    let mut env = TimeLimit::new(Pendulum::new(), 20).unwrap();
    let layers = vec![4];
    let settings = rl::Settings {
        horizon: 32,
        value_layers: layers.clone(),
        policy_layers: layers,
        ..rl::Settings::default()
    };
    let mut agent = Agent::new(&env, settings).unwrap();
    agent.rollout(&mut env).unwrap();
    let dir = tempfile::tempdir().unwrap();
    agent.save(dir.path().join("agent")).unwrap();
    std::fs::read(dir.path().join("agent")).unwrap()
}

/// What a file says, as numbers, or why it is refused.
type Says<'a> = &'a dyn Fn(&[u8]) -> Result<Vec<f64>, String>;

/// Flips random bits, one at a time. How many were refused because of the checksum.
fn flipped(file: &[u8], times: usize, says: Says<'_>) -> usize {
    let (right, mut draw, mut found) = (says(file).unwrap(), Draw::new(7), 0);
    let header = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    for _ in 0..times {
        let (at, bit) = (draw.below(file.len()), draw.below(8));
        let mut damaged = file.to_vec();
        damaged[at] ^= 1 << bit;
        match says(&damaged) {
            Ok(said) => {
                let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert!(at < header && bits(&said) == bits(&right), "byte {at}, bit {bit}");
            }
            Err(why) => {
                assert!(at < header || why.contains(SAYS), "byte {at}, bit {bit}: {why}");
                found += usize::from(why.contains(SAYS));
            }
        }
    }
    found
}

#[test]
fn a_flipped_bit_is_found() {
    let x = Draw::new(1).matrix(5, 3);
    let net = |bytes: &[u8]| {
        let out = Network::from_bytes(bytes, Device::cpu(1)).and_then(|net| net.predict(&x));
        out.map(|out| [out.mean(), out.var()].concat()).map_err(|e| e.to_string())
    };
    assert!(flipped(&network().to_bytes().unwrap(), 1000, &net) > 300);
    let x = Draw::new(1).matrix(5, 2);
    let model = |bytes: &[u8]| {
        let out = Ensemble::from_bytes(bytes).and_then(|model| model.predict(&x));
        out.map(|out| [out.mean(), out.var(), out.noise_var()].concat()).map_err(|e| e.to_string())
    };
    assert!(flipped(&ensemble().to_bytes().unwrap(), 1000, &model) > 800);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agent");
    let action = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let agent = Agent::load(&path, &Pendulum::new()).map_err(|e| e.to_string())?;
        let mut action = [0.0];
        agent.act(&[1.0, 0.0, 0.0], &mut action).map_err(|e| e.to_string())?;
        Ok(action.to_vec())
    };
    assert!(flipped(&agent(), 200, &action) > 50);
}

/// A file without a checksum is one of an older version. One that another program has written anew, in another order, is the same.
#[test]
fn what_is_checked_is_the_content() {
    let (net, x) = (network(), Draw::new(1).matrix(5, 3));
    let expected = net.predict(&x).unwrap();
    let mut model = Model::of(&net);
    assert_eq!(model.load(Device::cpu(1)).unwrap().predict(&x).unwrap(), expected);
    let bytes = net.to_bytes().unwrap();
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let checksum = header.metadata().as_ref().unwrap()["checksum"].clone();
    assert!(checksum.len() == 16 && checksum.bytes().all(|b| b.is_ascii_hexdigit()), "{checksum}");
    model.metadata.insert("checksum".into(), checksum);
    assert_eq!(model.load(Device::cpu(1)).unwrap().predict(&x).unwrap(), expected);
    for wrong in ["", "0", "0000000000000000"] {
        model.metadata.insert("checksum".into(), wrong.into());
        let why = model.load(Device::cpu(1)).unwrap_err().to_string();
        assert!(why.contains(SAYS), "{why}");
    }
}
