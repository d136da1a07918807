//! What Rust users expect of a library: types that cross threads, results that serde writes, errors that `main` can return.

use serde_json::json;
use std::path::PathBuf;
use tractable::data::Dataset;
use tractable::{Activation, Device, Error, Gaussian, Matrix, Network};

fn shared<T: Send + Sync>() {}

/// It compiles.
#[test]
fn types_cross_threads() {
    use tractable::{attack, data, ensemble, files, metrics, optimize, rl};
    shared::<(tractable::Network, tractable::network::NetworkBuilder, tractable::Ensemble, tractable::Device)>(
    );
    shared::<(tractable::Matrix, tractable::Gaussian, tractable::Input, tractable::Error)>();
    shared::<(
        tractable::Prediction,
        tractable::Posterior,
        tractable::condition::Derivative,
        tractable::network::Spread,
    )>();
    shared::<(
        tractable::condition::Mode,
        tractable::condition::Found,
        tractable::network::LearnInfo,
        tractable::network::Sums,
        tractable::network::Tree,
    )>();
    shared::<(
        tractable::Fit,
        tractable::train::FitReport,
        tractable::train::Epoch,
        tractable::train::EarlyStopping,
    )>();
    shared::<(
        tractable::train::Progress,
        tractable::train::Samples,
        tractable::train::NoiseSchedule,
        tractable::Activation,
    )>();
    shared::<(
        tractable::Wanted,
        tractable::condition::Extremum,
        tractable::network::Observation,
        tractable::condition::Wrt,
    )>();
    shared::<(
        tractable::Layer,
        tractable::network::Node,
        tractable::Prior,
        tractable::network::Scheme,
        tractable::Shape,
    )>();
    shared::<(
        tractable::network::Output,
        tractable::Noise,
        tractable::network::UpdateRule,
        tractable::network::Window,
    )>();
    shared::<(tractable::network::Padding, tractable::condition::Gate, tractable::rng::ChaCha8Rng)>();
    fn moved<T: Send>() {}
    moved::<tractable::condition::Search>();
    shared::<(data::Dataset, data::Target, data::Images, data::Augment, data::PixelScaling, data::Scaler)>();
    shared::<(data::Table, data::CsvRows, data::CsvCells)>();
    shared::<(ensemble::Settings, ensemble::Stage, ensemble::LeftOut)>();
    shared::<(metrics::Bin, metrics::Reliability, metrics::Calibration, metrics::Tails)>();
    shared::<(attack::Attacked, attack::Settings, attack::Budget, attack::Stop, attack::Targets)>();
    shared::<(optimize::Optimizer, optimize::Optimum, optimize::Trial, optimize::Bounds, optimize::Goal)>();
    shared::<(optimize::SearchSettings, optimize::Follow, optimize::Path)>();
    shared::<(rl::Agent, rl::Settings, rl::Rollout, rl::Episode, rl::Evaluation, rl::Running)>();
    shared::<(rl::env::HalfCheetah, rl::env::InvertedPendulum, rl::env::Pendulum, rl::env::Space)>();
    shared::<(rl::env::TimeLimit<rl::env::Pendulum>, rl::env::Step, rl::env::mujoco::Mujoco)>();
    shared::<(rl::env::mujoco::Simulator, rl::env::mujoco::ModelTask, rl::env::mujoco::Moment)>();
    shared::<(files::NewFile, files::FolderLock)>();
}

#[test]
fn serde_writes_results() {
    let net = Network::mlp([1, 4, 1], Activation::Relu).seed(1).noise_std([0.5]).build().unwrap();
    let x = Matrix::column(vec![0.1, 0.2]).unwrap();
    let out = net.predict(&x).unwrap();
    let written = serde_json::to_value(&out).unwrap();
    let expected = json!({
        "mean": out.mean(), "var": out.var(), "width": 1, "noise_var": out.noise_var(), "tails": ["normal"],
    });
    assert_eq!(written, expected);

    let prior = Gaussian::around(&x, 0.1).unwrap();
    let found = net.condition(&prior, &x).unwrap();
    let written = serde_json::to_value(&found).unwrap();
    assert_eq!((&written["mean"], &written["var"]), (&json!(found.mean()), &json!(found.var())));
    assert_eq!(written["rows"][1]["modes"][0]["mean"], json!(found.modes(1)[0].mean));
    assert!(written["rows"][1]["found"]["points"]["effective"].as_f64().unwrap() > 1.0, "{written}");
    assert_eq!(serde_json::to_value(&x).unwrap(), json!({"data": [0.1, 0.2], "width": 1}));
    let slope = serde_json::to_value(net.derivative(&x, "input").unwrap()).unwrap();
    assert_eq!(slope["mean"].as_array().unwrap().len(), 2);
}

/// `main` prints the error that it returns by `Debug`.
#[test]
fn an_error_from_main_is_a_sentence() {
    let errors = [
        Network::load("no/such/file", Device::cpu(1)).unwrap_err(),
        Matrix::new(vec![1.0, f64::NAN], 2).unwrap_err(),
        Error::InUse { path: PathBuf::from("runs") },
    ];
    for e in errors {
        assert_eq!(format!("{e:?}"), e.to_string());
    }
}

#[test]
fn a_data_set_gives_back_its_target() {
    let x = Matrix::column(vec![1.0, 2.0]).unwrap();
    let numbers = Dataset::new(x.clone(), Matrix::column(vec![3.0, 4.0]).unwrap()).unwrap();
    assert_eq!((numbers.y().unwrap().data(), numbers.labels()), (&[3.0, 4.0][..], None));
    let classes = Dataset::with_labels(x, vec![1, 0], vec!["a".into(), "b".into()]).unwrap();
    assert_eq!((classes.y(), classes.labels()), (None, Some(&[1, 0][..])));
}
