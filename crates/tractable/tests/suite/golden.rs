//! Golden vectors, recomputed by both devices. Made by an independent NumPy program in f64 that agrees with
//! the authors' own code to 4e-15.

use tractable::{Device, verify};

fn folder() -> std::path::PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/golden").into()
}

fn check(device: Device, tolerance: f64) {
    let files = verify::golden(&folder(), device.clone()).unwrap();
    assert_eq!(files.len(), 25, "a golden file is missing");
    for f in &files {
        println!("{:<32} {:.2e} {}", f.file, f.worst, f.at);
    }
    for f in &files {
        assert_eq!(f.status, verify::Status::Checked, "{}", f.file);
        assert!(f.worst <= tolerance, "{}: {:e} at {}", f.file, f.worst, f.at);
    }
}

#[test]
fn the_reference_agrees_to_1e_12() {
    check(Device::reference(), 1e-12);
}

#[test]
fn the_cpu_agrees_to_1e_5() {
    check(Device::cpu(1), 1e-5);
}

#[test]
fn a_nan_is_never_a_pass() {
    let dir = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(folder().join("fc_relu_b1.json")).unwrap();
    let mut golden: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mz = &mut golden["states"][1]["mz"][0][0];
    *mz = serde_json::json!(mz.as_f64().unwrap() + 1e-3);
    std::fs::write(dir.path().join("wrong.json"), golden.to_string()).unwrap();
    let files = verify::golden(dir.path(), Device::reference()).unwrap();
    assert!(files[0].worst > 1e-5);
    assert_eq!(files[0].at, "states[1].mz");
}

/// Files that are changed so that they would pass if nothing were looked at.
#[test]
fn files_that_say_too_little_are_no_pass() {
    let dir = tempfile::tempdir().unwrap();
    let check = |name: &str, change: fn(&mut serde_json::Value)| {
        let text = std::fs::read_to_string(folder().join(name)).unwrap();
        let mut golden: serde_json::Value = serde_json::from_str(&text).unwrap();
        change(&mut golden);
        std::fs::write(dir.path().join("changed.json"), golden.to_string()).unwrap();
        verify::golden(dir.path(), Device::reference())
    };
    let attack = "input_posterior_attack.json";
    assert!(check(attack, |g| g["iterations"] = serde_json::json!([])).is_err());
    assert!(check(attack, |g| g["target"] = serde_json::json!([99, 1, 2])).is_err());
    assert!(check(attack, |g| g["target"] = serde_json::json!([1])).is_err());
    let pass = "fc_relu_b4.json";
    assert!(check(pass, |g| g["backward"]["theta"] = serde_json::json!([null])).is_err());
    assert!(check(pass, |g| g["backward"]["innov_m"][1] = serde_json::Value::Null).is_err());
    assert!(check(pass, |g| g["updated"][0]["Sw"].as_array_mut().unwrap().truncate(1)).is_err());
    let skipped = check(pass, |g| g["net"][0]["act"] = serde_json::json!("gelu")).unwrap();
    assert_eq!(skipped[0].status, verify::Status::Skipped("the activation gelu is not built".into()));
    let skipped = check(pass, |g| g["net"][0]["kind"] = serde_json::json!("lstm")).unwrap();
    assert_eq!(skipped[0].status, verify::Status::Skipped("layers of kind lstm are not built".into()));
}
