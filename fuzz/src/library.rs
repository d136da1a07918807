//! Readers of the library, fed through a file as users feed them.

use std::path::{Path, PathBuf};
use tractable::optimize::Optimizer;
use tractable::rl::Agent;
use tractable::rl::env::{Pendulum, mujoco};
use tractable::{Device, Matrix, Network, data};

/// A file with these bytes, the same one for every call of a thread: in memory where the system has such a place.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let folder =
        Some(Path::new("/dev/shm")).filter(|p| p.is_dir()).map_or(std::env::temp_dir(), PathBuf::from);
    let thread = std::thread::current().id();
    let path = folder.join(format!("tractable-fuzz-{}-{thread:?}-{name}", std::process::id()));
    std::fs::write(&path, bytes).expect("a temporary file");
    path
}

/// `f` on a file that is gone afterwards.
fn with_file<T>(name: &str, bytes: &[u8], f: impl FnOnce(&Path) -> T) -> T {
    let path = file(name, bytes);
    let out = f(&path);
    let _ = std::fs::remove_file(path);
    out
}

/// Networks larger than this are not asked anything: that is slow, not wrong.
const MOST_INPUTS: usize = 4096;

/// A model that is accepted predicts finite numbers or says why not, and survives being saved.
pub fn model(bytes: &[u8]) {
    for device in [Device::cpu(1), Device::reference()] {
        let Ok(net) = with_file("model", bytes, |p| Network::load(p, device.clone())) else { continue };
        let n = net.input().len();
        if n > MOST_INPUTS || net.layers().len() > 64 || net.parameters() > 1 << 20 {
            continue;
        }
        let x = Matrix::new(vec![0.5; 2 * n], n).expect("finite");
        if let Ok(y) = net.predict(&x) {
            assert!(y.mean().iter().all(|v| v.is_finite()), "a mean is not finite");
            assert!(y.var().iter().all(|v| v.is_finite() && *v >= 0.0), "a variance is none");
        }
        let path = file("again", b"");
        net.save(&path).expect("it can be saved");
        let again = Network::load(&path, device.clone()).expect("what we saved can be read");
        assert_eq!(again.parameters(), net.parameters());
        let _ = std::fs::remove_file(path);
    }
}

/// An agent that is accepted acts, or says why not.
pub fn agent(bytes: &[u8]) {
    if let Ok(agent) = with_file("agent", bytes, |p| Agent::load(p, &Pendulum::new())) {
        let mut action = [0.0];
        if agent.act(&[1.0, 0.0, 0.0], &mut action).is_ok() {
            assert!(action[0].is_finite());
        }
    }
    let _ = with_file("agent", bytes, |p| Agent::resume(p, &mut Pendulum::new()));
}

/// A search that is accepted can be asked, if it is of a size that takes no time.
pub fn search(bytes: &[u8]) {
    let Ok(mut search) = with_file("search", bytes, |p| Optimizer::load(p)) else { return };
    if search.bounds().len() <= 3 && search.history().len() <= 2 {
        let x = search.ask().expect("a point");
        assert!(search.bounds().contains(&x), "{x:?} is outside");
    }
}

/// A table has as many numbers as it says, all of them finite.
pub fn csv(bytes: &[u8]) {
    let read = || with_file("csv", bytes, |p| data::csv(p));
    let Ok(table) = read() else { return };
    assert!(table.rows() > 0);
    let Some(last) = table.names().last().cloned() else { panic!("a table without a column") };
    let rows = table.rows();
    if let Ok(data) = table.target(&last) {
        assert_eq!(data.rows(), rows);
        assert!(data.x().data().iter().all(|v| v.is_finite()));
    }
    if let Ok(table) = read() {
        let _ = table.classes(&last);
    }
}

/// Images and labels, one after the other: the first byte says where the second begins, in 256ths.
pub fn idx(bytes: &[u8]) {
    let Some((&at, rest)) = bytes.split_first() else { return };
    let (images, labels) = rest.split_at(rest.len() * usize::from(at) / 256);
    let names = || (0..10).map(|i| i.to_string()).collect();
    let read = with_file("images", images, |a| with_file("labels", labels, |b| data::idx(a, b, names())));
    if let Ok(images) = read {
        assert!(!images.is_empty());
        assert!((0..images.len()).all(|i| images.label(i) < 10));
    }
}

/// One batch of CIFAR-10.
pub fn cifar(bytes: &[u8]) {
    let names = data::CIFAR10.map(String::from).to_vec();
    if let Ok(images) = with_file("cifar", bytes, |p| data::cifar_batches(&[p], names)) {
        assert!((0..images.len()).all(|i| images.label(i) < 10));
    }
}

/// A MuJoCo model, as far as it is ours to read.
pub fn mjcf(bytes: &[u8]) {
    let _ = with_file("model.xml", bytes, mujoco::screen);
}
