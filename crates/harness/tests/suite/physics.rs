//! The embedded engine against steps and trajectories recorded from MuJoCo 3.3.7 and 4.0.0.

use std::path::PathBuf;
use tractable::rl::env::{Environment, HalfCheetah, InvertedPendulum, Version};
use tractable_harness::verify::{self, Checked, Status};

fn folder() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/physics").into()
}

#[test]
fn recorded_steps_agree_to_1e_9() {
    let files = verify::physics(&folder()).unwrap();
    assert_eq!(files.len(), 6, "a file is missing");
    for f in &files {
        println!("{:<36} {:.2e} {}", f.file, f.worst, f.at);
        assert_eq!(f.status, Status::Checked, "{}", f.file);
        assert!(f.worst <= 1e-9, "{}: {:e} at {}", f.file, f.worst, f.at);
    }
}

fn trajectory(file: &str) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(folder().join(file)).unwrap()).unwrap()
}

fn numbers(v: &serde_json::Value) -> Vec<f64> {
    v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// A run on its own, from the recorded start: the largest error of any observation or reward.
fn run_alone(file: &str, env: &mut dyn Environment) -> f64 {
    let recorded = trajectory(file);
    let start = [numbers(&recorded["init_qpos"]), numbers(&recorded["init_qvel"])].concat();
    env.restore(&start).unwrap();
    let mut seen = vec![0.0; env.observation_space().len()];
    let mut worst: f64 = 0.0;
    for step in recorded["steps"].as_array().unwrap() {
        let ours = env.step(&numbers(&step["action"]), &mut seen).unwrap();
        assert_eq!(ours.terminated, step["terminated"].as_bool().unwrap());
        worst = worst.max((ours.reward - step["reward"].as_f64().unwrap()).abs());
        worst = seen.iter().zip(numbers(&step["obs"])).fold(worst, |w, (a, b)| w.max((a - b).abs()));
    }
    worst
}

#[test]
fn trajectories_stay_together() {
    for file in ["HalfCheetah-v5_large.json", "HalfCheetah-v5_open.json"] {
        let off = run_alone(file, &mut HalfCheetah::new());
        assert!(off < 1e-9, "{file}: {off:e}");
    }
    let off = run_alone("InvertedPendulum-v5_balance.json", &mut InvertedPendulum::new(Version::V5));
    assert!(off < 1e-14, "{off:e}");
    // Step 22 of the recording is one that MuJoCo 4 did not solve to the end.
    let off = run_alone("InvertedPendulum-v5_large.json", &mut InvertedPendulum::new(Version::V5));
    assert!(off > 1e-8 && off < 2e-7, "{off:e}");
}

/// The outcome for one file of the folder, changed.
fn changed(file: &str, change: impl FnOnce(String) -> String) -> tractable::Result<Checked> {
    let dir = tempfile::tempdir().unwrap();
    let text = change(std::fs::read_to_string(folder().join(file)).unwrap());
    std::fs::write(dir.path().join(file), text).unwrap();
    Ok(verify::physics(dir.path())?.remove(0))
}

fn changed_json(file: &str, change: fn(&mut serde_json::Value)) -> tractable::Result<Checked> {
    changed(file, |text| {
        let mut value = serde_json::from_str(&text).unwrap();
        change(&mut value);
        value.to_string()
    })
}

#[test]
fn what_is_wrong_is_found() {
    let file = "InvertedPendulum-v5_balance.json";
    let off = |change: fn(&mut serde_json::Value)| changed_json(file, change).unwrap().worst;
    assert!(off(|t| t["steps"][3]["qvel"][1] = 0.5.into()) > 1e-3);
    assert!(off(|t| t["steps"][3]["obs"][0] = 0.5.into()) > 1e-3);
    assert_eq!(off(|t| t["steps"][4]["reward"] = 0.0.into()), 1.0);
    assert_eq!(off(|t| t["steps"][4]["terminated"] = true.into()), f64::INFINITY);
    assert_eq!(off(|t| t["steps"][4]["obs"] = serde_json::json!([])), f64::INFINITY);
    let small = |t: &mut serde_json::Value| {
        let x = t["steps"][5]["qpos"][0].as_f64().unwrap();
        t["steps"][5]["qpos"][0] = (x + 2e-9).into();
    };
    let found = changed_json(file, small).unwrap();
    assert!(found.worst > 1e-9 && found.at.starts_with("steps[5], state"), "{found:?}");

    // Version 4 moves as version 5 does.
    let older = changed_json(file, |t| t["env"] = "InvertedPendulum-v4".into()).unwrap();
    assert!(older.status == Status::Checked && older.worst < 1e-9, "{older:?}");

    let csv = "inverted_pendulum_one_step.csv";
    let found = changed(csv, |t| t.replacen("\n1.", "\n3.", 1)).unwrap();
    assert!(found.worst > 1e-3 && found.at.starts_with("line "), "{found:?}");
}

#[test]
fn files_that_say_too_little_are_no_pass() {
    let (json, csv) = ("InvertedPendulum-v5_balance.json", "inverted_pendulum_one_step.csv");
    let why = |r: tractable::Result<Checked>| r.unwrap_err().to_string();
    assert!(why(changed_json(json, |t| t["steps"] = serde_json::json!([]))).contains("no steps"));
    let short = |t: &mut serde_json::Value| t["init_qpos"] = serde_json::json!([0.0]);
    assert!(why(changed_json(json, short)).contains("expected 4, got 3"));
    let gone = |t: &mut serde_json::Value| t["steps"][2]["action"] = serde_json::Value::Null;
    assert!(why(changed_json(json, gone)).contains("steps[2].action"));
    let long = |t: &mut serde_json::Value| t["steps"][2]["action"] = serde_json::json!([0.0, 1.0]);
    assert!(why(changed_json(json, long)).contains("steps[2]: action: expected 1, got 2"));
    let wrong = |t: &mut serde_json::Value| t["steps"][11]["qpos"] = serde_json::json!([0.0]);
    assert!(changed_json(json, wrong).is_err());

    let header = |t: String| t.lines().next().unwrap().to_string() + "\n";
    assert!(why(changed(csv, header)).contains("no steps"));
    let letters = |t: String| header(t) + "1,2,3,4,5,6,seven,8,9\n";
    assert!(why(changed(csv, letters)).contains("line 2, column `q1_next`: `seven` is not a number"));
    let nan = |t: String| header(t) + "1,NaN,3,4,5,6,7,8,9\n";
    assert!(why(changed(csv, nan)).contains("line 2"));
    let nan_after = |t: String| header(t) + "1,2,3,4,5,6,7,8,NaN\n";
    assert!(changed(csv, nan_after).unwrap().worst.is_nan());
    let nan_among_others = |t: String| t.replacen('\n', "\n0,0,0,0,0,NaN,0,0,0\n", 1);
    assert!(changed(csv, nan_among_others).unwrap().worst.is_nan());
    let infinite = |t: String| header(t) + "1,2,3,4,5,6,7,8,inf\n";
    assert_eq!(changed(csv, infinite).unwrap().worst, f64::INFINITY);
    // JSON has no such numbers, and a state that large is refused before it is simulated.
    assert!(changed(json, |t| t.replacen("\"reward\":1.0", "\"reward\":1e999", 1)).is_err());
    assert!(changed_json(json, |t| t["init_qvel"][0] = 1e300.into()).is_err());
    let reward = |t: &mut serde_json::Value| t["steps"][0]["reward"] = 1e300.into();
    assert_eq!(changed_json(json, reward).unwrap().worst, 1e300);

    let skipped = |r: tractable::Result<Checked>| matches!(r.unwrap().status, Status::Skipped(_));
    assert!(skipped(changed(csv, |t| t.replacen("q0,", "p0,", 1))));
    assert!(skipped(changed(csv, |_| "q0,v0,a0,q0_next,v0_next\n1,2,3,4,5\n".into())));
    assert!(skipped(changed_json(json, |t| t["env"] = "Ant-v5".into())));
    assert!(skipped(changed_json(json, |t| t["steps"] = serde_json::Value::Null)));
    assert!(verify::physics(tempfile::tempdir().unwrap().path()).is_err());
}
