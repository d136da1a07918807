//! Tables as people keep them: what `train` takes their columns for, and that the model reads the same file again.

use crate::run::Place;
use serde_json::Value;
use std::path::Path;

/// A file, its target, and every column with what it must be taken for.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const NUMBER: &str = "number";
const COMMA: &str = "number, decimal comma";
const KIND: (&str, &str) = ("kind", "category, 3 levels");
const A: (&str, &str) = ("a", NUMBER);
const Y: (&str, &str) = ("y", "target");

#[rustfmt::skip]
const CASES: [Case; 36] = [
    ("plain.csv", "y", &[A, KIND, Y]),
    ("semicolons.csv", "y", &[A, KIND, Y]),
    ("decimal-commas.csv", "y", &[("a", COMMA), KIND, Y]),
    ("tabs.tsv", "y", &[A, KIND, Y]),
    ("bars.txt", "y", &[A, KIND, Y]),
    ("crlf-bom.csv", "y", &[A, KIND, Y]),
    ("old-mac.csv", "y", &[A, KIND, Y]),
    ("pandas-index.csv", "y", &[("column 1", "left out: row numbers"), A, KIND, Y]),
    ("unnamed-0.csv", "y", &[("Unnamed: 0", "left out: row numbers"), A, KIND, Y]),
    ("row-ids.csv", "y", &[("customer_id", "left out: row numbers"), A, KIND, Y]),
    ("money.csv", "y", &[A, ("price", NUMBER), Y]),
    ("euros.csv", "y", &[("a", COMMA), ("price", COMMA), Y]),
    ("percent.csv", "y", &[("share", NUMBER), KIND, Y]),
    ("brackets.csv", "y", &[A, ("profit", NUMBER), Y]),
    ("missing.csv", "y", &[A, ("kind", "category, 3 levels and missing"), Y]),
    ("missing-target.csv", "y", &[A, KIND, Y]),
    ("booleans.csv", "y", &[A, ("smoker", "yes or no"), Y]),
    ("true-false.csv", "y", &[A, ("flag", "yes or no"), Y]),
    ("dates-iso.csv", "y", &[("when", "date (year first): days, time of year, day of week"), A, Y]),
    ("dates-german.csv", "y", &[("when", "date (day first): days, time of year, day of week"), ("a", COMMA), Y]),
    ("dates-us.csv", "y", &[("when", "date (month first): days, time of year, day of week"), A, Y]),
    ("timestamps.csv", "y", &[("when", "date (year first): days, day of week, time of day"), A, Y]),
    ("month-names.csv", "y", &[("when", "date (month by name): days, day of week"), A, Y]),
    ("clock.csv", "y", &[("at", "time (time of day): time of day"), A, Y]),
    ("typo-in-a-number.csv", "y", &[A, KIND, Y]),
    ("latin-1.csv", "y", &[("größe", NUMBER), KIND, Y]),
    ("twice-the-name.csv", "y", &[A, ("a (2)", "category, 3 levels"), ("column 3", NUMBER), Y]),
    ("trailing-commas.csv", "y", &[A, KIND, Y, ("column 4", "left out: empty")]),
    ("free-text.csv", "y", &[("name", "left out: text that is different in every row"), A, KIND, Y]),
    ("constant.csv", "y", &[("country", "left out: one value in all rows"), A, KIND, Y]),
    ("empty-column.csv", "y", &[A, ("notes", "left out: empty"), KIND, Y]),
    ("classes.csv", "kind", &[A, ("b", NUMBER), ("kind", "target")]),
    ("missing-classes.csv", "kind", &[A, ("b", NUMBER), ("kind", "target")]),
    ("many-levels.csv", "y", &[("shop", "category, 26 levels, rare ones together"), A, Y]),
    ("part-1.csv", "y", &[A, KIND, Y]),
    ("packed.csv.gz", "y", &[A, KIND, Y]),
];

fn file(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tables").join(name).display().to_string()
}

fn columns(start: &Value) -> Vec<(String, String)> {
    let text = |c: &Value, field: &str| c[field].as_str().unwrap().to_string();
    start["columns"].as_array().unwrap().iter().map(|c| (text(c, "name"), text(c, "what"))).collect()
}

#[test]
fn every_file_is_trained_on_and_read_again() {
    for (name, target, expected) in CASES {
        let (place, path) = (Place::new(), file(name));
        let lines = place.json(&["train", &path, "--target", target, "--single", "-o", "run"]);
        let expected: Vec<(String, String)> =
            expected.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        assert_eq!(columns(&lines[0]), expected, "{name}");
        let rows = lines[0]["rows"].as_u64().unwrap();
        let predicted = place.json(&["predict", "run", &path]);
        // Rows without a class are not learned from, but predicted.
        let all = if name == "missing-classes.csv" { 40 } else { rows };
        assert_eq!(predicted.len() as u64, all, "{name}");
        let finite = |row: &Value| match row.get("mean") {
            Some(mean) => mean[0].as_f64().is_some() && row["upper"][0].as_f64() > row["lower"][0].as_f64(),
            None => row["probabilities"].as_array().is_some_and(|p| p.len() == 3),
        };
        assert!(predicted.iter().all(finite), "{name}: {predicted:?}");
        // The other commands of the README.
        let score = &place.json(&["evaluate", "run", &path])[0];
        assert!(score["nll"].as_f64().is_some(), "{name}: {score}");
        let wish = match target {
            "kind" => "kind=red".to_string(),
            _ => format!("y={}±1", predicted[0]["mean"][0]),
        };
        let answer = &place.json(&["condition", "run", "--want", &wish])[0];
        assert_eq!(
            answer["inputs"].as_array().map(Vec::len),
            lines[0]["inputs"].as_array().map(Vec::len),
            "{name}"
        );
        place.ok(&["inspect", "run"]);
        place.ok(&["report", "run"]);
    }
}

#[test]
fn the_same_table_in_every_dialect_gives_the_same_model() {
    let predictions = |name: &str| {
        let place = Place::new();
        place.ok(&["train", &file(name), "--target", "y", "--single", "-o", "run"]);
        place.ok(&["predict", "run", &file("plain.csv")])
    };
    let plain = predictions("plain.csv");
    for name in [
        "semicolons.csv",
        "tabs.tsv",
        "bars.txt",
        "crlf-bom.csv",
        "old-mac.csv",
        "packed.csv.gz",
        "pandas-index.csv",
    ] {
        assert_eq!(predictions(name), plain, "{name}");
    }
    let place = Place::new();
    place.ok(&["train", &file("part-1.csv"), &file("part-2.csv"), "--target", "y", "--single", "-o", "run"]);
    assert_eq!(place.ok(&["predict", "run", &file("plain.csv")]), plain, "two files");
    let part = &place.json(&["evaluate", "run", &file("part-2.csv")])[0];
    assert_eq!((&part["rows_are"], &part["rows"]), (&"learned".into(), &20.into()));
}

#[test]
fn odd_cells_are_named_and_taken_as_missing() {
    let place = Place::new();
    let ran = place.run(&["train", &file("typo-in-a-number.csv"), "--target", "y", "--single", "-o", "run"]);
    assert!(
        ran.err.contains("`a`: 1 cell is not a number and counted as missing: \"abc\" in line 19"),
        "{}",
        ran.err
    );
    place.write("new.csv", "kind,a\npurple,1\nred,x\n,\n");
    let ran = place.run(&["predict", "run", "new.csv"]);
    assert!(
        ran.err.contains("`kind`: 1 cell unlike those in training, counted as missing: \"purple\" in line 2"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("`a`: 1 cell unlike those in training") && ran.out.lines().count() == 4,
        "{ran:?}"
    );
    // The less is known, the wider.
    let std =
        |row: usize| -> f64 { ran.out.lines().nth(row).unwrap().split(',').nth(5).unwrap().parse().unwrap() };
    assert!(std(3) > std(2) && std(2) > std(1), "{}", ran.out);
}

#[test]
fn what_was_decided_can_be_overruled() {
    let place = Place::new();
    let flags = ["--target", "y", "--single", "-o", "run"];
    let with = |more: &[&str]| {
        [&["train", &file("row-ids.csv")], &flags[..], more]
            .concat()
            .iter()
            .map(|s| s.to_string())
            .collect::<Vec<_>>()
    };
    let typed = with(&["--id", "customer_id", "--as", "a=category", "--force"]);
    let lines = place.json(&typed.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(
        columns(&lines[0]).iter().any(|(name, what)| name == "a" && what.starts_with("category")),
        "{lines:?}"
    );
    // Rows are known again by their name.
    let text = place.ok(&["predict", "run", &file("row-ids.csv"), "--only"]);
    let mut rows = text.lines();
    assert!(rows.next().unwrap().starts_with("customer_id,y_mean,"), "{text}");
    assert!(rows.next().unwrap().starts_with("1000,"), "{text}");
    place.refused(
        &["train", &file("plain.csv"), "--target", "y", "--as", "a=colour"],
        &["`colour` is not number"],
    );
    place.refused(
        &["train", &file("plain.csv"), "--target", "y", "--as", "a=date"],
        &["`a`: no cell is a date"],
    );
}

#[test]
fn columns_of_words_are_conditioned_on() {
    let place = Place::new();
    place.ok(&["train", &file("booleans.csv"), "--target", "y", "--single", "-o", "run"]);
    let answer = |smoker: &str| {
        let given = format!("smoker={smoker}");
        let lines = place.json(&["condition", "run", "--given", &given, "--want", "y=12±0.5"]);
        lines[0]["mean"][0].as_f64().unwrap_or_else(|| panic!("{lines:?}"))
    };
    // y is 2 a, and 3 more for smokers.
    assert!(answer("no") > answer("yes") + 0.5, "{} {}", answer("no"), answer("yes"));
    place.write("wishes.csv", "smoker,y,y_std\nyes,12,0.5\nno,12,0.5\n");
    let text = place.ok(&["condition", "run", "wishes.csv"]);
    let a: Vec<f64> = text.lines().skip(1).map(|l| l.split(',').next().unwrap().parse().unwrap()).collect();
    assert!(a[1] > a[0] + 0.5, "{text}");
    place.refused(
        &["condition", "run", "--given", "smoker=perhaps", "--want", "y=12"],
        &["perhaps", "yes or no"],
    );
}

#[cfg(unix)]
#[test]
fn rows_come_from_a_pipe_too() {
    let place = Place::new();
    let rows = std::fs::read_to_string(file("plain.csv")).unwrap();
    let ran = place.run_with(&["train", "-", "--target", "y", "--single", "-o", "run"], &rows);
    assert_eq!(ran.code, 0, "{ran:?}");
    let piped = place.run_with(&["predict", "run", "-"], &rows);
    assert_eq!(piped.out, place.ok(&["predict", "run", &file("plain.csv")]));
    // The rows are not there to start again from.
    let config = place.text("run/config.json");
    assert!(config.contains("\"path\": \"-\""), "{config}");
    place.refused(&["train", "--resume", "-o", "run"], &["standard input", "tractable train - --resume"]);
}

#[test]
fn a_file_may_be_read_for_every_pass() {
    let place = Place::new();
    let mut text = String::from("a,kind,y\n");
    for i in 0..3000 {
        let (a, kind) = (f64::from(i * 37 % 1000) / 100.0, ["u", "v"][i as usize % 2]);
        let cell = if i % 9 == 0 { String::new() } else { a.to_string() };
        text += &format!("{cell},{kind},{}\n", 2.0 * a + if kind == "u" { 5.0 } else { 0.0 });
    }
    place.write("long.csv", &text);
    let lines = place.json(&["train", "long.csv", "--target", "y", "--stream", "-o", "run"]);
    let left_out = lines.iter().find(|l| l["type"] == "left_out").unwrap();
    assert_eq!((&lines[0]["rows"], &left_out["rows"]), (&1500.into(), &1500.into()), "{lines:?}");
    let rmse = left_out["rmse"].as_f64().unwrap();
    // What is missing costs 2 * 2.9 in one row of nine.
    assert!(rmse < 3.0, "{left_out}");
    assert_eq!(place.json(&["predict", "run", "long.csv"]).len(), 3000);
    assert_eq!(place.json(&["evaluate", "run", "long.csv"])[0]["rows_are"], "learned");
    place.refused(&["train", "long.csv", "--target", "y", "--stream", "--hidden", "9"], &["--stream"]);
}

#[test]
fn parquet_files_are_read_where_the_program_was_built_for_them() {
    let place = Place::new();
    let train = ["train", &file("plain.parquet"), "--target", "y", "--single", "-o", "run"];
    if !cfg!(feature = "parquet") {
        return place.refused(&train, &["a Parquet file", "the feature `parquet`"]);
    }
    let lines = place.json(&train);
    let date = "date (year first): days, time of year, day of week";
    let expected = [A, KIND, ("when", date), ("flag", "yes or no"), Y];
    assert_eq!(columns(&lines[0]), expected.map(|(a, b)| (a.to_string(), b.to_string())));
    assert_eq!(lines[0]["columns"][0]["missing"], 0.1);
    assert_eq!(place.json(&["predict", "run", &file("plain.parquet")]).len(), 40);
}
