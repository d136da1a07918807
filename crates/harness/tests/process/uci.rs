//! The benchmark on sets in the form of UCI's, and everything in miniature.

use crate::run::Place;

/// A set in `uci/` with the form of the benchmark's, in two splits.
pub(crate) fn fake_uci(place: &Place, set: &str) {
    std::fs::create_dir_all(place.path("uci")).unwrap();
    place.write(&format!("uci/{set}.csv"), &place.text("data.csv"));
    let split = |k: usize| {
        let (test, train): (Vec<usize>, Vec<usize>) = (0..60).partition(|r| r % 6 == k);
        serde_json::json!({"train": train, "test": test})
    };
    let splits = serde_json::json!({"splits": [split(0), split(1)]});
    place.write(&format!("uci/{set}_splits.json"), &splits.to_string());
}

#[test]
fn reproduce_reads_splits_and_compares() {
    let place = Place::new();
    fake_uci(&place, "yacht");
    let uci =
        |more: &[&str]| [&["reproduce", "uci", "--data", "uci", "--sets", "yacht"], more].concat().join(" ");
    let json = |more: &[&str]| place.json(&uci(more).split(' ').collect::<Vec<_>>());
    let lines = json(&["--only", "paper"]);
    let set = lines.last().unwrap();
    assert_eq!((&set["type"], &set["splits"], lines.len()), (&"set".into(), &2.into(), 3));
    assert!(set["rmse"]["mean"].as_f64().unwrap() < 0.5, "{set}");
    // The same numbers whatever the threads.
    let again = json(&["--only", "paper", "--threads", "1", "-o", "results"]);
    assert_eq!(again.last().unwrap()["rmse"], set["rmse"]);
    let ran = place.run(&uci(&["--only", "paper", "--check"]).split(' ').collect::<Vec<_>>());
    assert_eq!(ran.code, 1, "{ran:?}");
    // The default model is kept beside it, split by split.
    json(&["--only", "default", "--splits", "1", "-o", "results"]);
    let lines = json(&["--only", "default", "--resume", "-o", "results"]);
    let set = lines.last().unwrap();
    assert_eq!((&set["kind"], &set["splits"], lines.len()), (&"default".into(), &2.into(), 2), "{lines:?}");
    assert!(set["rmse"]["mean"].as_f64().unwrap() < 0.5 && set["each"][1]["split"] == 1, "{set}");
    let gap = json(&["--gaps", "--splits", "1", "-o", "results"]);
    assert_eq!((&gap[0]["kind"], &gap[1]["splits"]), (&"gaps".into(), &1.into()));
    let kept: serde_json::Value = serde_json::from_str(&place.text("results/uci.json")).unwrap();
    for rows in [&kept["rows"], &kept["default"]["rows"], &kept["gaps"]["rows"]] {
        assert_eq!(rows[0]["set"], "yacht", "{kept}");
    }
    place.refused(&["reproduce", "uci", "--data", "uci", "--sets", "moon"], &["`moon` is not known"]);
    place.refused(&["reproduce", "uci", "--data", "uci"], &["boston.csv"]);
    place.write("uci/yacht_splits.json", "{\"splits\": [{\"train\": [99], \"test\": [0]}]}");
    let ran = place.run(&["reproduce", "uci", "--data", "uci", "--sets", "yacht"]);
    assert_eq!(ran.code, 2, "{ran:?}");
}
