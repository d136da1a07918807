//! Every verb on small data: what it prints, as text and as JSON, and what its files hold.

use crate::run::{Place, json_lines};
use tractable::data::Dataset;
use tractable::{Activation, Fit, Matrix, Network};

#[test]
fn regression_from_training_to_prediction() {
    let place = Place::new();
    let said = place.ok(&[
        "train",
        "data.csv",
        "--target",
        "y",
        "-o",
        "run",
        "--noise-std",
        "0.05",
        "--test",
        "0.2",
    ]);
    assert!(said.starts_with("run run: 50 epochs\n"), "{said}");
    assert!(said.contains("inside 90 %"), "{said}");
    for name in ["model.safetensors", "metrics.jsonl", "config.json"] {
        assert!(place.path("run").join(name).exists(), "{name}");
    }
    let metrics = json_lines(&place.text("run/metrics.jsonl"));
    assert_eq!(metrics.len(), 52);
    assert_eq!((&metrics[49]["epoch"], &metrics[50]["type"]), (&50.into(), &"left_out".into()));
    assert_eq!((&metrics[51]["type"], &metrics[51]["rows"]), (&"test".into(), &12.into()));

    let score = &place.json(&["evaluate", "run", "data.csv"])[0];
    assert_eq!(score["target"], "y");
    // 12 to test, and 5 of the others to calibrate on.
    assert_eq!((&score["rows"], &score["rows_are"]), (&17.into(), &"left_out".into()));
    assert!(score["rmse"].as_f64().unwrap() < 0.3, "{score}");
    assert_eq!(score["calibration"]["levels"].as_array().unwrap().len(), 10);
    let text = place.ok(&["evaluate", "run/model.safetensors", "data.csv"]);
    assert!(text.contains("rmse") && text.contains("interval"), "{text}");

    // Columns by name: in another order, with others between them.
    place.write("new.csv", "b,note,a\n0.5,first,0.5\n0.25,\"se,cond\",0.75\n");
    let rows = place.ok(&["predict", "run", "new.csv", "--only"]);
    let rows: Vec<&str> = rows.lines().collect();
    assert_eq!((rows[0], rows.len()), ("y_mean,y_lower,y_upper,y_std,y_std_model,y_std_noise", 3));
    let first: Vec<f64> = rows[1].split(',').map(|c| c.parse().unwrap()).collect();
    assert!((first[0] - 31.0).abs() < 0.5 && first[1] < first[0] && first[0] < first[2], "{first:?}");
    let unsplit = first[4].hypot(first[5]);
    assert!((first[3] - unsplit).abs() < 1e-5 * unsplit, "{first:?}");
    assert_eq!(place.ok(&["predict", "run", "new.csv", "--only", "-o", "out.csv"]), "");
    assert_eq!(place.text("out.csv").lines().collect::<Vec<_>>(), rows);

    let narrow = place.ok(&["predict", "run", "new.csv", "--only", "--level", "0.5"]);
    let narrow: Vec<f64> = narrow.lines().nth(1).unwrap().split(',').map(|c| c.parse().unwrap()).collect();
    assert!(narrow[0] == first[0] && narrow[1] > first[1] && narrow[2] < first[2]);
    let three = place.ok(&["predict", "run", "new.csv", "--only", "--quantiles", "0.05,0.5,0.95"]);
    assert!(three.starts_with("y_mean,y_q0.05,y_q0.5,y_q0.95,y_std,y_std_model,y_std_noise\n"), "{three}");
    let three: Vec<f64> = three.lines().nth(1).unwrap().split(',').map(|c| c.parse().unwrap()).collect();
    assert!((three[1] - first[1]).abs() < 1e-9 && (three[2] - first[0]).abs() < 1e-4);
    let json = place.json(&["predict", "run", "new.csv", "--quantiles", "0.1,0.9"]);
    assert_eq!(json[0]["quantiles"][0].as_array().unwrap().len(), 2);
    place.refused(&["predict", "run", "new.csv", "--level", "1"], &["--level: 1 is not between 0 and 1"]);
    place.refused(&["predict", "run", "new.csv", "--quantiles", "0.1,0.1"], &["0.1 is given twice"]);
    let json = place.json(&["predict", "run", "new.csv"]);
    let (row, mean) = (&json[1]["row"], json[0]["mean"][0].as_f64().unwrap());
    assert!(row == 1 && mean != first[0] && (mean - first[0]).abs() < 1e-5 * mean, "{mean} {first:?}");
}

#[test]
fn predictions_are_beside_the_columns_of_the_file() {
    let place = Place::trained();
    place.write("new.csv", "note,b,a,y\n\"this, that\",0.25,0.5,\n,0.5,,31.123456789\n");
    let out = place.ok(&["predict", "run", "new.csv"]);
    let only = place.ok(&["predict", "run", "new.csv", "--only"]);
    let own = ["note,b,a,y,", "\"this, that\",0.25,0.5,,", ",0.5,,31.123456789,"];
    for ((line, own), only) in out.lines().zip(own).zip(only.lines()) {
        assert_eq!(line.strip_prefix(own), Some(only), "{out}");
    }
    let digits = |cell: &str| {
        cell.trim_start_matches(['-', '0', '.']).split('e').next().unwrap().replace('.', "").len()
    };
    let cells = || only.lines().skip(1).flat_map(|l| l.split(','));
    assert!(cells().all(|cell| digits(cell) <= 6) && cells().any(|cell| digits(cell) == 6), "{only}");
    // Predicted again, the columns are not there twice.
    place.write("again.csv", &out);
    assert_eq!(place.ok(&["predict", "run", "again.csv"]), out);
}

#[test]
fn classes_from_training_to_prediction() {
    let place = Place::new();
    place.ok(&["train", "classes.csv", "--target", "kind", "--classes", "--batch", "4"]);
    // Not the same file: then it would be judged by the rows that were kept aside.
    place.write("again.csv", &format!("{}0,0,low\n", place.text("classes.csv")));
    let score = &place.json(&["evaluate", "classes-run", "again.csv"])[0];
    assert!(score["error_rate"].as_f64().unwrap() < 0.2, "{score}");
    assert_eq!(score["reliability"]["bins"].as_array().unwrap().len(), 15);
    let text = place.ok(&["evaluate", "classes-run", "classes.csv"]);
    assert!(text.contains("brier") && text.contains("accuracy"), "{text}");

    let out = place.ok(&["predict", "classes-run", "classes.csv"]);
    assert!(
        out.lines().next().unwrap().ends_with(",kind,kind_class,p_low,p_middle,\"p_top, high\""),
        "{out}"
    );
    assert!(out.contains(",\"top, high\",\"top, high\","), "{out}");
    let row = &place.json(&["predict", "classes-run", "classes.csv"])[0];
    let sum: f64 = row["probabilities"].as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9 && row["class"] == "low", "{row}");

    let text = place.ok(&["inspect", "classes-run"]);
    assert!(text.contains("classes     low, middle, top, high"), "{text}");
}

#[test]
fn classes_without_a_name_have_their_number() {
    let place = Place::new();
    let x = || Matrix::column(vec![0.0, 0.5, 1.0]).unwrap();
    for (names, header) in [
        (["low", "middle", "high"], "class_class,p_low,p_middle,p_high,p_3,p_4"),
        (["2", "3", "5"], "class_class,p_2,p_3,p_5,p_#3,p_4"),
    ] {
        let data = Dataset::with_labels(x(), vec![0, 1, 2], names.map(String::from).to_vec()).unwrap();
        let mut net = Network::mlp([1, 4, 5], Activation::Relu).classes(5).build().unwrap();
        net.fit(&data, &Fit::new().epochs(1)).unwrap();
        net.save(place.path("five.safetensors")).unwrap();
        place.write("x.csv", &format!("{}\n0\n1\n", net.input_names()[0]));
        let out = place.ok(&["predict", "five.safetensors", "x.csv", "-q", "--only"]);
        let widths: Vec<usize> = out.lines().map(|l| l.split(',').count()).collect();
        assert_eq!((out.lines().next(), widths), (Some(header), vec![6, 6, 6]));
    }
}

#[test]
fn several_targets_some_of_them_missing() {
    let place = Place::new();
    place.write("two.csv", "a,u,v\n0,1,2\n0.5,,3\n1,3,\n1.5,4,5\n2,5,6\n");
    place.ok(&["train", "two.csv", "--target", "v,u", "--epochs", "3", "--calibration", "0", "-o", "run"]);
    let scores = place.json(&["evaluate", "run", "two.csv"]);
    assert_eq!((&scores[0]["target"], &scores[0]["rows"]), (&"v".into(), &4.into()));
    assert_eq!((&scores[1]["target"], &scores[1]["rows"]), (&"u".into(), &4.into()));
    assert_eq!(scores[0]["rows_are"], "learned");
    let out = place.ok(&["predict", "run", "two.csv", "--only"]);
    assert!(out.starts_with("v_mean,v_lower,v_upper,v_std,v_std_model,v_std_noise,u_mean,u_lower,"), "{out}");
}

#[test]
fn limits_that_are_not_held_exit_with_1() {
    let place = Place::trained();
    place.ok(&["evaluate", "run", "data.csv", "--max-rmse", "100", "--max-nll", "100"]);
    let ran = place.run(&["evaluate", "run", "data.csv", "--max-rmse", "1e-9", "--max-nll", "-50"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("check failed: nll of `y` is"), "{ran:?}");
    assert!(ran.err.contains("rmse of `y`") && ran.out.contains("rmse"), "{ran:?}");
}

#[test]
fn json_is_one_object_a_line() {
    let place = Place::new();
    let lines =
        place.json(&["train", "data.csv", "--target", "y", "--epochs", "3", "--test", "0.1", "-o", "run"]);
    let types: Vec<&str> = lines.iter().map(|l| l["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["start", "epoch", "epoch", "epoch", "end", "left_out", "test"]);
    assert_eq!(lines[0]["settings"]["batch"], 16);
    let lines = place.json(&["inspect", "run"]);
    let types: Vec<&str> = lines.iter().map(|l| l["type"].as_str().unwrap()).collect();
    assert_eq!(
        types,
        ["model", "layer", "layer", "layer", "layer", "layer", "ensemble", "network", "devices"]
    );
    assert_eq!(lines.last().unwrap()["devices"][0], "cpu");
    assert_eq!(lines[0]["parameters"], 2 * 50 + 50 + 50 * 50 + 50 + 50 + 1);
    assert_eq!((&lines[1]["name"], &lines[1]["parameters"]), (&"linear1".into(), &150.into()));
    assert!(lines[1]["mean_std"].as_f64().unwrap() > 0.0);
}

#[test]
fn quiet_is_quiet_and_progress_is_on_stderr() {
    let place = Place::new();
    let train = ["train", "data.csv", "--target", "y", "--epochs", "3", "--force", "-o", "run"];
    assert!(place.run(&train).err.contains("epoch 1/3"));
    let ran = place.run(&[&train[..], &["--quiet"]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(place.run(&["predict", "run", "data.csv"]).err.contains("60 rows"));
}

#[test]
fn prediction_streams_in_chunks_that_do_not_show() {
    let place = Place::trained();
    let rows = 300_000;
    place.write("many.csv", &format!("a,b\n{}", "0.5,0.25\n".repeat(rows)));
    place.ok(&["predict", "run", "many.csv", "-o", "out.csv", "-q"]);
    let out = place.text("out.csv");
    assert_eq!(out.lines().count(), rows + 1);
    let first = out.lines().nth(1).unwrap();
    assert!(out.lines().skip(1).all(|l| l == first));
}

#[test]
fn mujoco_says_what_is_missing() {
    let place = Place::new();
    place.refused(&["mujoco", "find", "--mujoco", "nowhere"], &["no MuJoCo library at nowhere"]);
    place.refused(
        &["mujoco", "fetch", "--python", "no-such-python", "-o", "lib"],
        &["no-such-python", "--python"],
    );
    place.refused(&["mujoco", "fetch", "--release", "../3", "-o", "lib"], &["--release", "../3"]);
}

#[test]
fn completions_and_help() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        assert!(place.ok(&["completions", shell]).contains("tractable"), "{shell}");
    }
    for verb in ["train", "predict", "condition", "evaluate", "inspect", "completions", "data fetch"] {
        let help = place.ok(&[&verb.split(' ').collect::<Vec<_>>()[..], &["--help"]].concat());
        assert!(help.contains("Example"), "{verb}");
        assert!(help.lines().count() <= 75, "{verb}: {} lines", help.lines().count());
    }
    assert!(place.ok(&["--version"]).starts_with("tractable "));
    assert_eq!(place.run(&[]).code, 2);
}
