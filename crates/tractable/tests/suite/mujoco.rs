//! A real MuJoCo, where there is one: the same physics as the embedded engine, and models of a user's own.
//!
//! These need a library (`MUJOCO_PATH`, Python's packages, or `tractable mujoco fetch`) and are ignored unless asked for
//! with `--include-ignored`; then a missing one is a failure.

use tractable::rl::env::mujoco::{ModelTask, Mujoco};
use tractable::rl::env::{Environment, HalfCheetah, InvertedPendulum, Version};
use tractable::rng::{stream, uniform};

fn mujoco() -> Mujoco {
    let found = Mujoco::open(None).unwrap_or_else(|why| panic!("{why}"));
    println!("{found:?}");
    found
}

/// Steps from states that MuJoCo visits under random actions, by both: the errors, sorted.
fn compare(real: &mut dyn Environment, ours: &mut dyn Environment, steps: usize) -> Vec<f64> {
    let (n, high) = (ours.state().len(), ours.action_space().high().to_vec());
    let (mut seen, mut mine) =
        (vec![0.0; real.observation_space().len()], vec![0.0; ours.observation_space().len()]);
    let (mut rng, mut errors) = (stream(0, "actions", 0), Vec::new());
    for i in 0..steps {
        if i % 200 == 0 {
            real.reset(i as u64, &mut seen).unwrap();
            ours.reset(i as u64, &mut mine).unwrap();
            assert_eq!(seen, mine, "the same seed starts alike on both engines");
        }
        let action: Vec<f64> = high.iter().map(|h| 1.5 * uniform(-h, *h, &mut rng)).collect();
        ours.restore(&real.state()[..n]).unwrap();
        let (theirs, own) = (real.step(&action, &mut seen).unwrap(), ours.step(&action, &mut mine).unwrap());
        assert_eq!(theirs.terminated, own.terminated);
        let off =
            seen.iter().zip(&mine).fold((theirs.reward - own.reward).abs(), |m, (a, b)| m.max((a - b).abs()));
        errors.push(off);
    }
    errors.sort_by(f64::total_cmp);
    errors
}

fn judge(what: &str, mujoco: &Mujoco, errors: &[f64]) {
    let (worst, n) = (errors[errors.len() - 1], errors.len());
    println!("{what} on MuJoCo {}: median {:.1e}, worst {worst:.1e}", mujoco.version(), errors[n / 2]);
    // Later versions stop their solver early: a few steps in a thousand are off in the seventh digit.
    let exact = mujoco.version().starts_with("3.3.") || mujoco.version().starts_with("2.");
    assert!(errors[n - 1 - n / 50] < 1e-9, "{what}: {:e}", errors[n - 1 - n / 50]);
    assert!(worst < if exact { 1e-9 } else { 1e-3 }, "{what}: {worst:e}");
}

#[test]
#[ignore = "needs a real MuJoCo"]
fn both_engines_are_the_same_simulator() {
    let mujoco = mujoco();
    let errors = compare(&mut HalfCheetah::on(&mujoco).unwrap(), &mut HalfCheetah::new(), 2000);
    judge("HalfCheetah", &mujoco, &errors);
    let mut real = InvertedPendulum::on(&mujoco, Version::V5).unwrap();
    judge("InvertedPendulum", &mujoco, &compare(&mut real, &mut InvertedPendulum::new(Version::V5), 2000));
}

#[test]
#[ignore = "needs a real MuJoCo"]
fn a_stored_state_goes_on_to_the_same_bits() {
    let mujoco = mujoco();
    let mut env = HalfCheetah::on(&mujoco).unwrap();
    let (mut a, mut b) = ([0.0; 17], [0.0; 17]);
    env.reset(0, &mut a).unwrap();
    let action = [0.9, -0.8, 0.7, -0.6, 0.5, -0.4];
    for _ in 0..40 {
        env.step(&action, &mut a).unwrap();
    }
    let mut copy = env.clone();
    let mut other = HalfCheetah::on(&mujoco).unwrap();
    other.restore(&env.state()).unwrap();
    for _ in 0..40 {
        let step = env.step(&action, &mut a).unwrap();
        assert_eq!(other.step(&action, &mut b).unwrap(), step);
        assert_eq!(a, b);
        assert_eq!(copy.step(&action, &mut b).unwrap(), step);
        assert_eq!(a, b);
    }
    assert!(env.restore(&[0.0; 5]).is_err());
}

const SLIDER: &str = r#"<mujoco><option timestep="0.01"/><worldbody><body><joint name="x" type="slide" axis="1 0 0"/>
<geom size="0.1" mass="2"/></body></worldbody><actuator><motor joint="x" gear="4"/></actuator></mujoco>"#;

#[test]
#[ignore = "needs a real MuJoCo"]
fn any_model_can_be_a_task() {
    let mujoco = mujoco();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("slider.xml");
    std::fs::write(&file, SLIDER).unwrap();
    let slider = mujoco.load(&file).unwrap();
    assert_eq!((slider.positions(), slider.velocities(), slider.controls()), (1, 1, 1));
    assert_eq!(slider.timestep(), 0.01);
    let mut task = ModelTask::new(slider, 5, |m| (m.after[0] - m.before[0]) / m.seconds)
        .unwrap()
        .ends_when(|m| m.after[0] > 1.0)
        .action_bound(2.0);
    let mut seen = [0.0; 2];
    task.reset(0, &mut seen).unwrap();
    assert_eq!((seen, task.action_space().high()), ([0.0, 0.0], &[2.0][..]));
    // 4 N on 2 kg for 0.05 s.
    let step = task.step(&[1.0], &mut seen).unwrap();
    assert!((seen[1] - 0.1).abs() < 1e-12 && !step.terminated, "{seen:?}");
    assert!((step.reward - seen[0] / 0.05).abs() < 1e-12);
    let mut steps = 0;
    while !task.step(&[2.0], &mut seen).unwrap().terminated {
        steps += 1;
        assert!(steps < 100);
    }
    assert!(task.step(&[f64::NAN], &mut seen).is_err());
    let mut noisy = task.start_noise(0.1);
    noisy.reset(1, &mut seen).unwrap();
    assert!(seen[0] != 0.0 && seen[0].abs() < 0.1 && seen[1] != 0.0);
}

#[test]
#[ignore = "needs a real MuJoCo"]
fn what_is_no_model_or_no_library_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("libmujoco.so");
    std::fs::write(&file, "not a library").unwrap();
    let err = Mujoco::open(Some(dir.path())).unwrap_err().to_string();
    assert!(err.contains("libmujoco.so") && err.contains("cannot be opened as MuJoCo's library"), "{err}");

    let mujoco = mujoco();
    let model = dir.path().join("model.xml");
    for (text, why) in [
        ("<mujoco><worldbody><body", "XML"),
        ("<mujoco><nonsense/></mujoco>", "nonsense"),
        ("<mujoco/>", "it has no joints"),
    ] {
        std::fs::write(&model, text).unwrap();
        let err = mujoco.load(&model).unwrap_err().to_string();
        assert!(err.contains(why), "{err}");
    }
    assert!(mujoco.load(&dir.path().join("none.xml")).is_err());
}
