//! Bad data and flags: exit 2, one line that names the place, nothing written.

use crate::run::Place;

#[test]
fn bad_data_is_refused_with_its_place() {
    let place = Place::new();
    let files = [
        ("empty.csv", "", "empty.csv: the file is empty"),
        ("header.csv", "a,b,y\n", "header but no rows"),
        ("ragged.csv", "a,b,y\n1,2,3\n4,5\n", "ragged.csv, line 3: expected 3 cells"),
        (
            "inf.csv",
            "a,y\n1,inf\n2,2\n3,3\n4,4\n5,5\n6,6\n7,7\n8,8\n9,9\n10,9\n11,8\n12,7\n",
            "inf.csv, line 2, column `y`: \"inf\" is not a number",
        ),
        ("few.csv", "a,b,y\n1,2,3\n1,high,3\n", "rows: 2 are too few"),
        (
            "dates.csv",
            "a,y\n1,2024-01-01\n2,2024-01-02\n",
            "line 2, column `y`: \"2024-01-01\" is not a number",
        ),
        ("lonely.csv", "y\n1\n2\n", "no column is left as a feature"),
        ("binary.csv", "a,b,y\n1,\0,3\n", "not a text file"),
    ];
    for (name, text, says) in files {
        place.write(name, text);
        place.refused(&["train", name, "--target", "y", "-o", "run"], &[says]);
        assert!(!place.path("run").exists(), "{name}");
    }
}

#[test]
fn a_missing_file_or_column_is_named() {
    let place = Place::new();
    place.refused(&["train", "none.csv", "--target", "y"], &["none.csv: cannot open"]);
    place.refused(&["train", ".", "--target", "y", "-o", "run"], &["is a folder"]);
    place.refused(&["train", "data.csv", "--target", "why"], &["`why`: no such column", "a, b, y"]);
    place.refused(&["train", "data.csv", "--target", "y", "--drop", "z"], &["`z`: no such column"]);
    place.refused(&["train", "data.csv", "--target", "y,y"], &["`y` is given twice"]);
    place.refused(
        &["train", "classes.csv", "--target", "a,kind"],
        &["line 2, column `kind`", "is not a number"],
    );
    assert!(!place.path("data-run").exists());
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    let place = Place::new();
    let cases: &[(&[&str], &str)] = &[
        (&["--noise-std", "0"], "--noise-std: 0 is not a positive number"),
        (&["--noise-std", "-0.3"], "--noise-std: -0.3 is not"),
        (&["--noise-std", "nan"], "--noise-std: not a finite number"),
        (&["--noise-std", "x"], "--noise-std"),
        (&["--noise-start", "1", "--noise-decay", "0"], "--noise-decay: 0 is not"),
        (&["--noise-start", "1", "--noise-floor", "-1"], "--noise-floor: -1 is not"),
        (&["--noise-std", "1", "--noise-start", "1"], "cannot be used with"),
        (&["--batch", "0"], "--batch: must be at least 1"),
        (&["--batch", "-1"], "--batch"),
        (&["--epochs", "0"], "--epochs: must be at least 1"),
        (&["--hidden", "0"], "layer `linear1`"),
        (&["--hidden", "99999999999"], "layer `linear1`"),
        (&["--activation", "step"], "`step` is not known"),
        (&["--policy", "bold"], "expected `plain`, `capped` or `paced`"),
        (&["--gain", "0"], "--gain: 0 is not"),
        (&["--bias-var", "-1"], "--bias-var: -1 is not"),
        (&["--validation", "1"], "--validation: 1 is not a share"),
        (&["--patience", "3"], "add --validation"),
        (&["--test", "2"], "--test: 2 is not a share"),
        (&["--test", "0.001"], "leaves one part empty"),
        (&["--threads", "5000"], "threads"),
        (&["--device", "abacus"], "--device"),
        (&["--frobnicate"], "--frobnicate"),
    ];
    for (flags, says) in cases {
        place.refused(&[&["train", "data.csv", "--target", "y"], *flags].concat(), &[says]);
    }
    place.refused(&["train", "data.csv"], &["--target"]);
    place.refused(&["frain"], &["frain"]);
}

#[test]
fn an_existing_run_is_kept_unless_forced() {
    let place = Place::trained();
    let train = ["train", "data.csv", "--target", "y", "-o", "run", "--epochs", "2"];
    place.refused(&train, &["run: already exists", "--force", "--resume"]);
    place.refused(&["train", "data.csv", "--target", "y", "-o", "data.csv"], &["data.csv: already exists"]);
    // Forced, but the data are bad: the old run is still there.
    place.write("bad.csv", "a,b,y\n1,2,3\n1,2\n");
    place.refused(&["train", "bad.csv", "--target", "y", "-o", "run", "--force"], &["bad.csv, line 3"]);
    place.ok(&[&train[..], &["--force"]].concat());
    assert_eq!(place.text("run/metrics.jsonl").lines().count(), 3, "two epochs, and rows left out");
}

#[test]
fn a_forced_run_that_cannot_be_trained_leaves_the_old_one() {
    let place = Place::trained();
    let force = ["--target", "y", "-o", "run", "--force"];
    let vanishing = ["--noise-start", "1", "--noise-decay", "1e-9", "--noise-floor", "0", "--epochs", "100"];
    let falls = "does not stay positive";
    place.refused(&[&["train", "data.csv"], &force[..], &vanishing[..]].concat(), &["noise", falls]);
    place.write("one.csv", "a,b,y\n1,2,3\n");
    let aside = ["--validation", "0.5"];
    place.refused(&[&["train", "one.csv"], &force[..], &aside[..]].concat(), &["validation", "too few"]);
    // Nothing is made where nothing was, and a run that goes on keeps its settings.
    let fresh = ["train", "one.csv", "--target", "y", "-o", "fresh"];
    place.refused(&[&fresh[..], &aside[..]].concat(), &["too few"]);
    let falling = ["--noise-start", "1", "--noise-decay", "0.1", "--noise-floor", "0", "--epochs", "3"];
    place.ok(&[&["train", "data.csv"], &force[..], &falling[..]].concat());
    place.refused(&["train", "--resume", "-o", "run", "--epochs", "9999"], &[falls]);
}

#[test]
fn a_forced_run_that_fails_in_its_first_epoch_leaves_the_old_one() {
    let place = Place::trained();
    let before = place.read("run/model.safetensors");
    place.write("huge.csv", "a,b,y\n1e300,-1e300,1e300\n1e300,1e300,1e300\n2,3,4\n");
    let args = ["train", "huge.csv", "--target", "y", "-o", "run", "--no-standardize", "--force", "-q"];
    let ran = place.run(&args);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(place.read("run/model.safetensors") == before);
    place.ok(&["train", "--resume", "-o", "run", "--epochs", "6"]);
}

#[test]
fn a_forced_run_leaves_nothing_of_the_old_one() {
    let place = Place::new();
    let train = ["train", "data.csv", "--target", "y", "--epochs", "3", "-o"];
    let aside = ["--validation", "0.2", "--patience", "2"];
    place.ok(&[&train[..], &["run"], &aside[..]].concat());
    place.ok(&[&train[..], &["run", "--force", "--seed", "4"]].concat());
    place.ok(&[&train[..], &["new", "--seed", "4"]].concat());
    assert!(!place.path("run/best.safetensors").exists());
    for name in ["model.safetensors", "last.safetensors", "config.json"] {
        assert!(place.read(&format!("run/{name}")) == place.read(&format!("new/{name}")), "{name}");
    }
    assert_eq!(place.text("run/metrics.jsonl").lines().count(), 4);
}

#[test]
fn predict_and_evaluate_refuse_what_does_not_fit_the_model() {
    let place = Place::trained();
    place.write("short.csv", "a,y\n1,2\n");
    place.write("text.csv", "a,b,y\n0,0,30\n1,2\n");
    place.write("untold.csv", "a,b\n1,2\n");
    let missing = &["short.csv, line 1, column `b`: no such column"];
    place.refused(&["predict", "run", "short.csv"], missing);
    place.refused(&["evaluate", "run", "short.csv"], missing);
    place.refused(&["predict", "run", "text.csv", "-o", "out.csv", "-q"], &["line 3: expected 3 cells"]);
    assert!(!place.path("out.csv").exists());
    place.refused(&["evaluate", "run", "untold.csv"], &["column `y`: no such column"]);
    place.refused(&["predict", "run", "none.csv"], &["none.csv: cannot open"]);
    place.refused(
        &["predict", "run", "data.csv", "-o", "no/such/out.csv"],
        &["no/such/out.csv: cannot create"],
    );
    place.refused(&["train", "data.csv", "--target", "y", "-o", "data.csv/run"], &["data.csv/run"]);
    place.refused(&["evaluate", "run", "data.csv", "--max-error", "0.1"], &["--max-rmse"]);
    place.refused(&["evaluate", "run", "data.csv", "--device", "cuda"], &["--device: applies to images"]);
    // What was there stays until the new one is whole.
    place.write("out.csv", "precious");
    place.refused(&["predict", "run", "text.csv", "-o", "out.csv", "-q", "--force"], &["line 3"]);
}

#[test]
fn unknown_classes_are_named() {
    let place = Place::new();
    place.ok(&["train", "classes.csv", "--target", "kind", "--classes", "-o", "run", "--epochs", "2"]);
    place.write("new.csv", "a,b,kind\n1,1,huge\n");
    place.refused(&["evaluate", "run", "new.csv"], &["column `kind`", "`huge` is not among the 3 classes"]);
    place.write("one.csv", "a,b,kind\n1,1,low\n");
    let score = &place.json(&["evaluate", "run", "one.csv"])[0];
    assert_eq!(score["rows"], 1);
    place.write("same.csv", "a,kind\n1,low\n2,low\n");
    let train = ["train", "same.csv", "--target", "kind", "--classes", "-o", "x"];
    place.refused(&train, &["column `kind`", "only one class"]);
}

#[test]
fn the_input_is_not_overwritten() {
    let place = Place::trained();
    place.refused(
        &["predict", "run", "data.csv", "-o", "data.csv", "--force"],
        &["-o data.csv: that is the input"],
    );
    place
        .refused(&["predict", "run", "data.csv", "-o", "run/../data.csv", "--force"], &["that is the input"]);
}

#[test]
fn a_run_does_not_lose_epochs() {
    let place = Place::trained();
    let done = place.json(&["inspect", "run"])[0]["epochs"].as_u64().unwrap();
    let fewer = (done - 1).to_string();
    let says = format!("--epochs {fewer}: the run already has {done}");
    place.refused(&["train", "--resume", "-o", "run", "--epochs", &fewer], &[&says]);
}

#[test]
fn blanks_between_columns_do_not_count() {
    let place = Place::new();
    place.json(&["train", "data.csv", "--target", "y, b", "--epochs", "1", "-o", "both"]);
    assert_eq!(place.json(&["inspect", "both"])[0]["outputs"], serde_json::json!(["y", "b"]));
}
