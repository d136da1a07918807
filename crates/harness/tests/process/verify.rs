//! Golden vectors and recorded physics, recomputed.

use crate::run::Place;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/golden");
const PHYSICS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/physics");

#[test]
fn verify_simulates_recorded_physics_again() {
    let place = Place::new();
    let said = place.ok(&["verify", "--physics", PHYSICS]);
    assert!(said.contains("half_cheetah_one_step.csv") && said.contains("6 passed, 0 failed"), "{said}");
    let lines = place.json(&["verify", "--physics", PHYSICS]);
    assert_eq!((&lines[6]["tolerance"], &lines[6]["passed"]), (&1e-9.into(), &6.into()));
    assert!(lines[..6].iter().all(|f| f["worst"].as_f64().unwrap() <= 1e-9));

    let ran = place.run(&["verify", "--physics", PHYSICS, "--tolerance", "0"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.starts_with("check failed: "), "{ran:?}");
    place.refused(&["verify"], &["--golden", "--physics"]);
    place.refused(&["verify", "--physics", PHYSICS, "--golden", GOLDEN], &["cannot be used with"]);
    place.refused(&["verify", "--physics", "none"], &["none: cannot"]);
    std::fs::create_dir(place.path("recorded")).unwrap();
    place.write("recorded/steps.csv", "q0,v0\n1,2\n");
    let ran = place.run(&["verify", "--physics", "recorded"]);
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains("nothing was checked"), "{ran:?}");
}

#[test]
fn verify_recomputes_and_skips() {
    let place = Place::new();
    let ran = place.run(&["verify", "--golden", GOLDEN]);
    assert!(ran.code == 0 && ran.out.trim_end().ends_with("passed, 0 failed, 0 skipped"), "{ran:?}");
    assert_eq!(ran.err, "");
    let exact = place.json(&["verify", "--golden", GOLDEN, "--device", "reference", "--tolerance", "1e-12"]);
    assert_eq!(exact.last().unwrap()["failed"], 0);

    let ran = place.run(&["verify", "--golden", GOLDEN, "--tolerance", "1e-12"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("FAIL") && ran.err.starts_with("check failed: "), "{ran:?}");

    std::fs::create_dir(place.path("golden")).unwrap();
    place.refused(&["verify", "--golden", "golden"], &["golden", "no .json file"]);
    place.refused(&["verify", "--golden", "none"], &["none: cannot"]);
    place.write("golden/new.json", "{\"kind\": \"of another build\"}");
    let ran = place.run(&["verify", "--golden", "golden"]);
    assert!(ran.code == 0 && ran.out.contains("0 passed, 0 failed, 1 skipped"), "{ran:?}");
    assert_eq!(ran.err, "nothing was checked: every file was skipped\n");
    let ran = place.run(&["verify", "--golden", "golden", "--json"]);
    assert!(ran.code == 0 && ran.err.starts_with("nothing was checked"), "{ran:?}");
    place.write("golden/broken.json", "{\"kind\": ");
    place.refused(&["verify", "--golden", "golden"], &["broken.json"]);
}
