//! Golden vectors, recomputed by both devices. Made by an independent NumPy program in f64 that agrees with
//! the authors' own code to 4e-15.

use serde_json::{Value, json};
use tractable::Device;
use tractable_harness::verify;

fn folder() -> std::path::PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/golden").into()
}

fn check(device: Device, tolerance: f64) {
    let files = verify::golden(&folder(), device.clone()).unwrap();
    assert_eq!(files.len(), 29, "a golden file is missing");
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

/// What is made of one file of the folder after a change.
fn changed(file: &str, change: impl FnOnce(&mut Value)) -> tractable::Result<verify::Checked> {
    let dir = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    let mut golden = serde_json::from_str(&text).unwrap();
    change(&mut golden);
    std::fs::write(dir.path().join("changed.json"), golden.to_string()).unwrap();
    Ok(verify::golden(dir.path(), Device::reference())?.remove(0))
}

/// The number at a place such as `/states/1/mz/0/0`.
fn number<'a>(golden: &'a mut Value, place: &str) -> &'a mut Value {
    golden.pointer_mut(place).unwrap_or_else(|| panic!("no {place}"))
}

/// A thousandth more is found, wherever it is.
#[test]
fn a_wrong_number_is_found_and_named() {
    for (file, place, at) in [
        ("fc_relu_b1", "/states/1/mz/0/0", "states[1].mz"),
        ("fc_relu_b1", "/states/2/J/0/0", "states[2].J"),
        ("fc_relu_b1", "/backward/theta/3/Sb/1", "backward.theta[3].Sb"),
        ("fc_relu_b1", "/backward/innov_S/2/0/0", "backward.innov_S[2]"),
        ("fc_relu_b1", "/posterior_input/Sx/0/1", "posterior_input.Sx"),
        ("fc_relu_b1", "/updated/0/Sw/0/0", "updated[0].Sw"),
        ("input_posterior_attack", "/iterations/4/Sx/0/0", "iterations[4].Sx"),
        ("hierarchical_softmax", "/probabilities/0/0", "probabilities"),
        (
            "input_posterior_attack",
            "/iterations/2/probabilities_after/1/3",
            "iterations[2].probabilities_after normalised",
        ),
        ("hierarchical_softmax", "/targets/0/0", "targets"),
        ("hierarchical_softmax", "/mask/0/0", "mask"),
        ("derivative_1-4-4-1_tanh-tanh_b4", "/variants/code~1input/C/1/0/0", "code/input.C[1]"),
        ("optimisation_trajectory", "/runs/3/final_Sx", "runs[3].final_Sx"),
        ("rl_minibatch", "/q_out/Sa/0/0", "q_out.Sa"),
        ("rl_minibatch", "/q_theta_delta/2/mw/0/0", "q_theta_delta[2].mw"),
        ("rl_minibatch", "/Q_updated/1/Sb/0", "Q_updated[1].Sb"),
        ("rl_minibatch", "/policy/input/dSz_out/0/0", "policy.input.dSz_out"),
        ("rl_minibatch", "/policy/both/theta_delta/3/Sw/0/0", "policy.both.theta_delta[3].Sw"),
        ("td_targets", "/cases/5/Sy/0", "cases[5].Sy"),
        ("running_stat", "/rows/11/normalised/2", "rows[11].normalised"),
        ("running_stat", "/rows/11/count", "rows[11].count"),
    ] {
        let found = changed(&format!("{file}.json"), |golden| {
            let x = number(golden, place);
            *x = (x.as_f64().unwrap() + 1e-3).into();
        });
        let found = found.unwrap();
        assert!(found.worst > 1e-5, "{file}{place}: {found:?}");
        assert_eq!(found.at, at, "{file}{place}");
    }
}

/// Inputs that are finite, but so large that what is computed from them is not: never close to what the file says.
#[test]
fn a_computed_nan_or_infinity_is_never_a_pass() {
    let worst = |file: &str, put: &[(&str, f64)]| {
        changed(file, |golden| put.iter().for_each(|(place, x)| *number(golden, place) = (*x).into()))
    };
    for (file, put, at) in [
        ("td_targets.json", &[("/cases/0/gamma", 1e300), ("/cases/0/Sq_last", 0.0)][..], "cases[0].Sy"),
        ("running_stat.json", &[("/rows/3/x/1", 1.7e308), ("/rows/4/x/1", -1.7e308)], "rows[4].normalised"),
    ] {
        let found = worst(file, put).unwrap();
        assert!(found.worst.is_nan() && found.at == at, "{file}: {found:?}");
    }
    for (file, place) in [("fc_relu_b1.json", "/y/0/0"), ("td_targets.json", "/cases/0/Sq_last")] {
        assert_eq!(worst(file, &[(place, 1.7e308)]).unwrap().worst, f64::INFINITY, "{file}");
    }
    // A network that cannot be evaluated is an error.
    for (file, place) in [
        ("fc_tanh_b4.json", "/net/1/mw/0/0"),
        ("input_posterior_attack.json", "/net/0/mw/0/0"),
        ("derivative_1-4-4-1_tanh-tanh_b4.json", "/net/1/mw/0/0"),
        ("optimisation_trajectory.json", "/net/1/mw/0/0"),
        ("rl_minibatch.json", "/Q/1/mw/0/0"),
        ("rl_minibatch.json", "/my/0"),
    ] {
        assert!(worst(file, &[(place, 1.7e308)]).is_err(), "{file}");
    }
    assert!(worst("fc_relu_b1.json", &[("/Sx/0/0", -1.7e308)]).is_err());
}

/// Files that are changed so that they would pass if nothing were looked at.
#[test]
fn files_that_say_too_little_are_no_pass() {
    let check = |name: &str, change: fn(&mut Value)| changed(name, change);
    let attack = "input_posterior_attack.json";
    assert!(check(attack, |g| g["iterations"] = json!([])).is_err());
    assert!(check(attack, |g| g["target"] = json!([99, 1, 2])).is_err());
    assert!(check(attack, |g| g["target"] = json!([1])).is_err());
    let pass = "fc_relu_b4.json";
    assert!(check(pass, |g| g["backward"]["theta"] = json!([null])).is_err());
    assert!(check(pass, |g| g["backward"]["innov_m"][1] = Value::Null).is_err());
    assert!(check(pass, |g| g["updated"][0]["Sw"].as_array_mut().unwrap().truncate(1)).is_err());
    let rl = "rl_minibatch.json";
    for list in ["/q_theta_delta", "/Q_updated", "/policy/input/theta_delta"] {
        let last = |g: &mut Value| drop(number(g, list).as_array_mut().unwrap().pop());
        assert!(changed(rl, last).is_err(), "{list} too short");
        let again = |g: &mut Value| number(g, list).as_array_mut().unwrap().push(Value::Null);
        assert!(changed(rl, again).is_err(), "{list} too long");
    }
    for list in ["/s/3", "/u/3", "/Sy"] {
        let last = |g: &mut Value| drop(number(g, list).as_array_mut().unwrap().pop());
        let said = changed(rl, last).unwrap_err().to_string();
        assert!(said.contains("do not fit together"), "{list}: {said}");
    }
    for list in ["/s", "/u", "/my"] {
        let said = changed(rl, |g| *number(g, list) = json!([])).unwrap_err().to_string();
        assert!(said.contains("do not fit together"), "{list}: {said}");
    }
    for rows in ["/ma/4", "/Sa"] {
        let last = |g: &mut Value| drop(number(g, rows).as_array_mut().unwrap().pop());
        let said = changed("hierarchical_softmax.json", last).unwrap_err().to_string();
        assert!(said.contains("ma and Sa are not rows of 11 nodes"), "{rows}: {said}");
    }
    let skipped = check(pass, |g| *g = json!({ "note": "of another kind" })).unwrap();
    assert_eq!(skipped.status, verify::Status::Skipped("this build cannot compute this kind".into()));
    let skipped = check(pass, |g| g["net"][0]["act"] = json!("gelu")).unwrap();
    assert_eq!(skipped.status, verify::Status::Skipped("the activation gelu is not supported".into()));
    let skipped = check(pass, |g| g["net"][0]["kind"] = json!("lstm")).unwrap();
    assert_eq!(skipped.status, verify::Status::Skipped("layers of kind lstm are not supported".into()));
}
