//! A run that was stopped and goes on ends with the same bits as one that was not.

use crate::run::{Place, json_lines};

/// Trains in one go and in two, and compares the folders.
fn same_bits(extra: &[&str]) {
    let place = Place::new();
    let train = |out: &str, epochs: &str| {
        let args = ["train", "data.csv", "--target", "y", "--hidden", "9,7", "-o", out, "--epochs", epochs];
        place.ok(&[&args[..], extra].concat());
    };
    train("whole", "12");
    train("parts", "5");
    place.ok(&["train", "--resume", "-o", "parts", "--epochs", "12"]);
    for name in ["model.safetensors", "last.safetensors", "best.safetensors"] {
        assert_eq!(place.path("whole").join(name).exists(), place.path("parts").join(name).exists());
        if place.path("whole").join(name).exists() {
            let [whole, parts] = ["whole", "parts"].map(|run| place.read(&format!("{run}/{name}")));
            assert!(whole == parts, "{name} with {extra:?}");
        }
    }
    let past = |run: &str| -> Vec<_> {
        let lines = json_lines(&place.text(&format!("{run}/metrics.jsonl")));
        let what =
            |l: &serde_json::Value| (l["type"].clone(), l["epoch"].clone(), l["validation_nll"].clone());
        lines.iter().map(what).collect()
    };
    assert_eq!(past("whole"), past("parts"), "{extra:?}");
    assert_eq!(place.text("whole/config.json"), place.text("parts/config.json"));
}

#[test]
fn resumed_is_uninterrupted() {
    same_bits(&[]);
    same_bits(&["--batch", "1", "--noise-start", "1", "--noise-decay", "0.8", "--noise-floor", "0.1"]);
    same_bits(&["--test", "0.2", "--no-standardize", "--device", "reference", "--seed", "3"]);
    same_bits(&["--validation", "0.2", "--activation", "mixture_relu", "--update-rule", "plain"]);
}

#[test]
fn resumed_is_uninterrupted_with_early_stopping() {
    // Much noise that falls late: the validation score gets worse again, so that patience matters.
    same_bits(&["--validation", "0.2", "--patience", "2"]);
    same_bits(&["--validation", "0.2", "--patience", "2", "--noise-std", "0.001", "--batch", "30"]);
}

#[test]
fn early_stopping_keeps_the_best_epoch() {
    let place = Place::new();
    let args = ["train", "data.csv", "--target", "y", "--validation", "0.3", "--patience", "2"];
    let flags =
        ["--noise-std", "0.001", "--batch", "42", "--policy", "plain", "--epochs", "200", "-o", "run"];
    let lines = place.json(&[&args[..], &flags[..]].concat());
    let nll =
        |l: &&serde_json::Value| l["validation_nll"].as_f64().map(|v| (v, l["epoch"].as_u64().unwrap()));
    let best = lines
        .iter()
        .filter(|l| l["type"] == "epoch")
        .filter_map(|l| nll(&l))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let ended = |lines: &[serde_json::Value]| lines.iter().find(|l| l["type"] == "end").unwrap().clone();
    let end = ended(&lines);
    assert!(end["epochs"].as_u64().unwrap() < 200, "{end}");
    assert_eq!(end["best_epoch"].as_u64(), best.map(|b| b.1));
    assert_eq!(place.json(&["inspect", "run"])[0]["epochs"].as_u64(), best.map(|b| b.1));
    // Out of patience stays out of patience.
    let again = place.json(&["train", "--resume", "-o", "run"]);
    assert_eq!(ended(&again)["epochs"], end["epochs"]);
}

#[test]
fn threads_do_not_change_the_bits() {
    let place = Place::new();
    for threads in ["1", "2", "3"] {
        let args =
            ["train", "data.csv", "--target", "y", "--hidden", "70,33", "--epochs", "3", "--batch", "32"];
        place.ok(&[&args[..], &["--threads", threads, "-o", threads]].concat());
    }
    let [one, two, three] = ["1", "2", "3"].map(|t| place.read(&format!("{t}/model.safetensors")));
    assert!(one == two && one == three);
}

#[test]
fn a_resumed_run_keeps_its_settings_and_data() {
    let place = Place::trained();
    place.refused(&["train", "--resume", "-o", "run", "--batch", "4"], &["the run has batch 16, not 4"]);
    place.refused(
        &["train", "--resume", "-o", "run", "--noise-std", "1"],
        &["the run has noise \"inferred\", not \"known\""],
    );
    place.refused(&["train", "--resume", "-o", "run", "--classes"], &["classes"]);
    // Only the device may change.
    place.ok(&["train", "--resume", "-o", "run", "--device", "reference", "--epochs", "7"]);
    assert!(place.text("run/config.json").contains("\"reference\""));
    place.ok(&["train", "data.csv", "--target", "y", "--resume", "-o", "run", "--batch", "16"]);
    let data = place.text("data.csv");
    place.write("data.csv", &data.replacen("30", "31", 1));
    place.refused(&["train", "--resume", "-o", "run", "--epochs", "9"], &["data.csv", "start a new run"]);
    place.write("moved.csv", &data);
    place.ok(&["train", "moved.csv", "--resume", "-o", "run", "--epochs", "9"]);
}

#[test]
fn metrics_ahead_of_the_model_or_torn_are_mended() {
    let place = Place::network();
    let metrics = place.text("run/metrics.jsonl");
    let ahead = metrics.lines().last().unwrap().replace("\"epoch\":5", "\"epoch\":6");
    place.write("run/metrics.jsonl", &format!("{metrics}{ahead}\n{{\"type\":\"epo"));
    place.ok(&["train", "--resume", "-o", "run", "--epochs", "6"]);
    let epochs = json_lines(&place.text("run/metrics.jsonl"));
    let epochs: Vec<_> = epochs.iter().map(|l| l["epoch"].as_u64().unwrap()).collect();
    assert_eq!(epochs, [1, 2, 3, 4, 5, 6]);
}
