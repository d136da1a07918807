//! Threads are counted: a device, and the models and searches on it, have as many as was asked for, and one starts none.
#![cfg(target_os = "linux")]

use crate::cases::Draw;
use std::ops::ControlFlow;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tractable::ensemble::{Ensemble, Settings};
use tractable::{Activation, Device, Gaussian, Matrix, Network, Wanted, data::Dataset};

/// Says to the process below how many threads it may have.
const THREADS: &str = "TRACTABLE_THREADS_OF_THE_TEST";

fn now() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// Threads beside those there are, at most, while `work` goes on.
fn started(work: impl FnOnce()) -> usize {
    let (over, ready, most) = (AtomicBool::new(false), AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                most.fetch_max(now(), Ordering::Relaxed);
                ready.store(true, Ordering::Relaxed);
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
        });
        while !ready.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let before = now();
        work();
        over.store(true, Ordering::Relaxed);
        most.load(Ordering::Relaxed) - before
    })
}

/// In a process of its own, where no other test has threads.
#[test]
#[ignore = "it is started by the test below"]
fn counted() {
    let threads = std::env::var(THREADS).expect("the test below says how many");
    let threads: usize = threads.parse().unwrap();
    let mut draw = Draw::new(1);
    let fit_and_ask = started(|| {
        let x = draw.matrix(300, 3);
        let y = Matrix::column((0..300).map(|i| x.row(i)[0] - x.row(i)[1]).collect()).unwrap();
        let data = Dataset::new(x, y).unwrap();
        let settings = Settings::default().threads(threads).visits(500);
        let model = Ensemble::fit_with(&data, &settings, |_| ControlFlow::Continue(())).unwrap().unwrap();
        let dir = tempfile::tempdir().unwrap();
        model.save(dir.path().join("model")).unwrap();
        let read = Ensemble::load_on(dir.path().join("model"), Device::cpu(threads)).unwrap();
        for mut model in [model, read] {
            model.predict(data.x()).unwrap();
            let few = data.select(&[0, 1, 2]).unwrap();
            model.learn(few.x(), few.target()).unwrap();
            let prior = Gaussian::new(vec![0.0; 3], vec![1.0; 3], 3).unwrap();
            model.condition(&prior, &Matrix::column(vec![0.5]).unwrap()).unwrap();
        }
    });
    assert_eq!(fit_and_ask, threads - 1);
    let search = started(|| {
        let net = Network::mlp([600, 8, 1], Activation::Tanh).device(Device::cpu(threads)).build().unwrap();
        let x = Gaussian::new(draw.matrix(500, 600).data().to_vec(), vec![0.1; 300_000], 600).unwrap();
        net.searching(&x, Wanted::maximum()).unwrap().round().unwrap();
    });
    assert_eq!(search, threads - 1);
}

#[test]
fn as_many_as_were_asked_for_and_one_starts_none() {
    for threads in ["1", "2", "3"] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["threads::counted", "--exact", "--ignored", "--test-threads=1"]).env(THREADS, threads);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{threads} threads: {said}");
    }
}
