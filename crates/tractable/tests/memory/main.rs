//! After it has seen a batch of a size, `learn` takes no more memory; environments never take any; files take no more
//! than they are worth. A binary of its own, one test at a time, because the allocator counts for the whole process.

#![allow(unsafe_code, reason = "an allocator")]

mod hostile;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tractable::data::Scaler;
use tractable::rl::env::{Environment, HalfCheetah, InvertedPendulum, Pendulum, Version};
use tractable::{
    Activation, Device, Layer, Matrix, Network, Shape,
    network::{NetworkBuilder, Observation},
};

/// The system's allocator, counting calls on all threads.
struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);
/// Bytes that are taken, and the most that were.
static TAKEN: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn take(bytes: usize) {
    let taken = TAKEN.fetch_add(bytes, Ordering::SeqCst) + bytes;
    MOST.fetch_max(taken, Ordering::SeqCst);
}

/// One test at a time.
static ALONE: Mutex<()> = Mutex::new(());

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::SeqCst);
        take(layout.size());
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        CALLS.fetch_add(1, Ordering::SeqCst);
        TAKEN.fetch_sub(layout.size(), Ordering::SeqCst);
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::SeqCst);
        // Both at once, as when it is moved.
        take(size);
        TAKEN.fetch_sub(layout.size(), Ordering::SeqCst);
        // SAFETY: as promised by the caller.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls to the allocator while `f` runs.
fn calls(f: impl FnOnce()) -> usize {
    let before = CALLS.load(Ordering::SeqCst);
    f();
    CALLS.load(Ordering::SeqCst) - before
}

fn nets() -> Vec<(&'static str, usize, NetworkBuilder)> {
    vec![
        ("dense", 16, Network::mlp([23, 128, 128, 2], Activation::Relu)),
        ("dense, large batch", 200, Network::mlp([100, 130, 2], Activation::MixtureRelu)),
        ("dense, batch of one", 1, Network::mlp([1, 64, 64, 1], Activation::Tanh)),
        ("classes", 16, Network::mlp([30, 50, 10], Activation::Softplus).classes(10)),
        (
            "convolution and average pool",
            8,
            Network::builder(Shape::image(3, 16, 15))
                .layer(Layer::conv2d(33, 5).padding(2))
                .layer(Activation::Relu)
                .layer(Layer::avg_pool2d(3).stride(2).end_padding(1))
                .layer(Layer::conv2d(8, 3).stride(2))
                .layer(Activation::Sigmoid)
                .layer(Layer::linear(2)),
        ),
        (
            "convolution, max pool, normalisation, classes",
            8,
            Network::builder(Shape::image(1, 16, 16))
                .layer(Layer::conv2d(32, 3).padding(1))
                .layer(Activation::LeakyRelu { slope: 0.1 })
                .layer(Layer::batch_norm())
                .layer(Layer::max_pool2d(2))
                .layer(Layer::linear(20))
                .layer(Layer::batch_norm())
                .layer(Activation::Identity)
                .layer(Layer::linear(7))
                .classes(7),
        ),
    ]
}

/// Numbers without a pattern; nothing depends on which.
fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i as f64 * 0.7).sin()).collect()
}

fn episodes_allocate_nothing(what: &str, mut env: impl Environment) {
    let mut seen = vec![0.0; env.observation_space().len()];
    let actions = numbers(env.action_space().len() * 300);
    let mut episode = |seed| {
        env.reset(seed, &mut seen).unwrap();
        for action in actions.chunks_exact(actions.len() / 300) {
            env.step(action, &mut seen).unwrap();
        }
    };
    // The minimum of several: the test's own threads may still be allocating.
    let count = (0..3).map(|seed| calls(|| episode(seed))).min().unwrap();
    assert_eq!(count, 0, "{what}");
}

/// The most bytes taken at once while `f` runs, beyond those before it.
fn most_bytes<T>(f: impl FnOnce() -> T) -> (usize, T) {
    let before = TAKEN.load(Ordering::SeqCst);
    MOST.store(before, Ordering::SeqCst);
    let out = f();
    (MOST.load(Ordering::SeqCst).saturating_sub(before), out)
}

#[test]
fn one_row_of_a_stream_allocates_nothing() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let mut net = Network::mlp([10, 64, 64, 1], Activation::MixtureRelu).build().unwrap();
    let mut drift = tractable::network::Drift::default();
    let mut learn = || {
        let x = tractable::Input::exact(&[0.3; 10], 10).unwrap();
        let surprise = net.learn_one(x, Observation::values(&[0.1], 1).unwrap()).unwrap();
        drift.follow(&mut net, surprise).unwrap();
    };
    (0..100).for_each(|_| learn());
    // The minimum of several: the test's own threads may still be allocating.
    let count = (0..3).map(|_| calls(|| (0..1000).for_each(|_| learn()))).min();
    assert_eq!(count, Some(0));
}

#[test]
fn after_two_batches_learn_allocates_nothing() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    assert!(calls(|| drop(std::hint::black_box(Box::new(1)))) >= 2, "the allocator counts");
    episodes_allocate_nothing("HalfCheetah", HalfCheetah::new());
    episodes_allocate_nothing("InvertedPendulum", InvertedPendulum::new(Version::V5));
    episodes_allocate_nothing("Pendulum", Pendulum::new());
    for threads in [1, 2] {
        for (what, rows, builder) in nets() {
            let mut net = builder.device(Device::cpu(threads)).build().unwrap();
            let (inputs, units) = (net.input().len(), net.output().units());
            let classes = matches!(net.output(), tractable::network::Output::Classes { .. });
            let output = (!classes).then(|| Scaler::new(vec![3.0; units], vec![2.0; units]).unwrap());
            let scalers = (Some(Scaler::new(vec![1.0; inputs], vec![2.0; inputs]).unwrap()), output);
            let x = Matrix::new(numbers(rows * inputs), inputs).unwrap();
            let y = Matrix::new(numbers(rows * units), units).unwrap();
            let labels: Vec<usize> = (0..rows).map(|r| r % 7).collect();
            let noise = vec![0.5; rows * units];
            let seen: Vec<bool> = (0..rows * units).map(|i| i % 3 > 0).collect();
            let unsure = tractable::Gaussian::around(&x, 0.1).unwrap();
            let full = if classes { Observation::from(&labels) } else { Observation::from(&y) };
            let cases = [
                ("plain", full, false),
                ("missing entries", full.seen(&seen), false),
                ("noise of every entry", full.noise_var(&noise), false),
                ("both, uncertain input", full.noise_var(&noise).seen(&seen), true),
            ];
            for scaled in [false, true] {
                if scaled {
                    net.set_scalers(scalers.0.clone(), scalers.1.clone()).unwrap();
                }
                for (how, observation, uncertain) in cases {
                    let mut learn = || {
                        let learned = match uncertain {
                            true => net.learn(&unsure, observation),
                            false => net.learn(&x, observation),
                        };
                        learned.unwrap();
                    };
                    learn();
                    learn();
                    // The least of several: a thread that was started may still be taking its own memory.
                    let count = (0..3).map(|_| calls(|| (0..2).for_each(|_| learn()))).min().unwrap();
                    assert_eq!(count, 0, "{what}, {how}, scaled {scaled}, {threads} threads");
                }
            }
            // A smaller batch, and the old size again: still nothing.
            if rows > 1 && !classes {
                let less = Matrix::new(x.data()[..inputs].to_vec(), inputs).unwrap();
                let less_y = Matrix::new(y.data()[..units].to_vec(), units).unwrap();
                let mut learn = || {
                    net.learn(&less, &less_y).unwrap();
                    net.learn(&x, &y).unwrap();
                };
                let count = (0..3).map(|_| calls(&mut learn)).min().unwrap();
                assert_eq!(count, 0, "{what}: after a smaller batch, {threads} threads");
            }
        }
    }
}
