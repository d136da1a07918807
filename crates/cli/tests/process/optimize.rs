//! `optimize`: a function, data, a model, an experiment outside.

use crate::run::Place;
use serde_json::Value;

const CUBIC: [&str; 6] = ["optimize", "--objective", "x^3-3*x", "--bounds", "-2:2", "--maximize"];

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// Both files of a picture: the first bytes of a PNG, and every element of an SVG closed.
fn is_picture(place: &Place, name: &str) {
    let png = place.read(&format!("{name}.png"));
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.len() > 5000, "{name}.png");
    let svg = place.text(&format!("{name}.svg"));
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1).map(|t| t.split('>').next().unwrap()) {
        let word = |t: &str| t.split([' ', '/', '\n']).next().unwrap_or_default().to_string();
        match tag {
            t if t.starts_with(['?', '!']) || t.ends_with('/') => {}
            t if t.starts_with('/') => assert_eq!(open.pop(), Some(word(&t[1..])), "{name}.svg: {tag}"),
            t => open.push(word(t)),
        }
    }
    assert!(open.is_empty() && svg.contains("<svg") && !svg.contains("NaN"), "{name}.svg: {open:?}");
}

fn with(args: &[&'static str], more: &[&'static str]) -> Vec<&'static str> {
    [args, more].concat()
}

#[test]
fn a_function_with_everything_it_writes() {
    let place = Place::new();
    let lines = place.json(&with(&CUBIC, &["--evaluations", "20", "-o", "run"]));
    assert_eq!((&lines[0]["type"], &lines[1]["type"], lines.len()), (&"best".into(), &"optimum".into(), 2));
    assert_eq!((&lines[0]["evaluations"], &lines[0]["set_aside"]), (&20.into(), &0.into()));
    assert!(lines[0]["regret"].is_null());
    assert!(number(&lines[0]["y"]) > 1.99, "{lines:?}");
    assert!(
        (number(&lines[1]["x"][0]) + 1.0).abs() < 0.1 && number(&lines[1]["x_std"][0]) > 0.0,
        "{lines:?}"
    );

    let history = place.text("run/history.csv");
    let rows: Vec<&str> = history.lines().collect();
    assert_eq!((rows[0], rows.len()), ("x,y", 21));
    for row in &rows[1..] {
        let (x, y) = row.split_once(',').unwrap();
        let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
        assert!((-2.0..=2.0).contains(&x) && (x.powi(3) - 3.0 * x - y).abs() < 1e-12, "{row}");
    }
    let state: Value = serde_json::from_slice(&place.read("run/search.json")).unwrap();
    assert_eq!(state["optimizer"]["trials"].as_array().unwrap().len(), 20);
    is_picture(&place, "run/optimum");
    assert!(place.text("run/optimum.svg").contains("The maximum of x^3-3*x"));

    let text = place.ok(&with(&CUBIC, &["--evaluations", "8", "-q"]));
    assert!(text.starts_with("best of 8: ") && text.contains("x = ") && text.contains(" ± "), "{text}");
}

#[test]
fn a_search_that_goes_on_is_one_search() {
    let place = Place::new();
    let whole = place.json(&with(&CUBIC, &["--evaluations", "14", "--seed", "3", "-o", "whole"]));
    place.json(&with(&CUBIC, &["--evaluations", "6", "--seed", "3", "-o", "parts"]));
    place.refused(&with(&CUBIC, &["-o", "parts"]), &["parts: already contains a search", "--resume"]);
    let parts = place.json(&with(&CUBIC, &["--evaluations", "14", "-o", "parts", "--resume"]));
    assert_eq!(whole, parts);
    for name in ["search.json", "history.csv", "optimum.svg"] {
        assert!(place.read(&format!("whole/{name}")) == place.read(&format!("parts/{name}")), "{name}");
    }
    // Not with other bounds, another goal or another function.
    let resume = ["--resume", "-o", "parts", "-q"];
    for (objective, bounds, goal) in
        [("x^3-3*x", "-1:1", "--maximize"), ("x^3-3*x", "-2:2", "--minimize"), ("x^2", "-2:2", "--maximize")]
    {
        let args = ["optimize", "--objective", objective, "--bounds", bounds, goal];
        place.refused(&[&args[..], &resume].concat(), &["parts: the saved search "]);
    }
    place.refused(&with(&CUBIC, &["--resume", "-o", "none"]), &["none/search.json", "cannot open it"]);
    place.refused(&with(&CUBIC, &["--resume"]), &["--out"]);
}

#[test]
fn named_functions_know_their_optimum() {
    let place = Place::new();
    let run = |more: &[&str]| {
        let args = ["optimize", "--objective", "branin", "--evaluations", "10", "-q"];
        place.json(&[&args[..], more].concat()).remove(0)
    };
    let best = run(&["-o", "run"]);
    assert!((number(&best["y"]) - 0.39788735772973816 - number(&best["regret"])).abs() < 1e-12, "{best}");
    is_picture(&place, "run/optimum");
    // In another box that is not the optimum.
    assert!(run(&["--bounds", "0:1,0:1"])["regret"].is_null());
    assert!(number(&run(&["--maximize"])["y"]) > number(&best["y"]));
    let bad = ["optimize", "--objective", "branin", "--bounds", "0:1,0:1,0:1"];
    place.refused(&bad, &["--bounds", "2 dimensions"]);
}

#[test]
fn where_a_function_has_no_value() {
    let place = Place::new();
    let args = ["optimize", "--objective", "(sqrt(x)-0.5)^2", "--bounds", "-1:1", "--evaluations", "16"];
    let lines = place.json(&[&args[..], &["-o", "run"]].concat());
    let aside = lines[0]["set_aside"].as_u64().unwrap() as usize;
    let history = place.text("run/history.csv");
    assert!(aside > 0 && history.lines().filter(|l| l.ends_with(",nan")).count() == aside, "{history}");
    assert!(number(&lines[0]["y"]) < 0.05, "{lines:?}");
    is_picture(&place, "run/optimum");
    // And where it has none at all: what was asked is kept.
    let none = [
        "optimize",
        "--objective",
        "sqrt(-1-x^2)",
        "--bounds",
        "0:1",
        "--evaluations",
        "5",
        "-q",
        "-o",
        "no",
    ];
    let ran = place.run(&none);
    assert_eq!((ran.code, &ran.out[..]), (2, ""));
    assert!(ran.err.contains("none of the 5 values was a number"), "{ran:?}");
    assert_eq!(place.text("no/history.csv").lines().count(), 6);
}

#[test]
fn expressions_and_flags_that_make_no_sense() {
    let place = Place::new();
    let ran = place.run(&["optimize", "--objective", "x + (2*x", "--bounds", "0:1"]);
    assert_eq!((ran.code, &ran.out[..]), (2, ""), "{ran:?}");
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines[..2], ["  x + (2*x", "      ^"]);
    assert!(lines[2].starts_with("error: --objective: ") && lines[2].contains("character 5"), "{ran:?}");

    let f = |text, bounds| vec!["optimize", "--objective", text, "--bounds", bounds];
    place.refused(&f("x^2", "2:-2"), &["--bounds", "2", "-2"]);
    place.refused(&f("x^2", "1:1"), &["--bounds"]);
    place.refused(&f("x^2", "0:1e200"), &["bounds", "another unit"]);
    place.refused(&f("x^2", "0"), &["--bounds"]);
    place.refused(&f("x^2", "0:1,0:1"), &["the expression has 1 variable", "one pair per variable"]);
    place.refused(&f("x+y", "0:1"), &["the expression has 2 variables"]);
    place.refused(&["optimize", "--objective", "x^2"], &["--bounds", "-2:2"]);
    place.refused(&["optimize"], &["--objective"]);
    place.refused(&with(&CUBIC, &["--minimize"]), &["--minimize"]);
    place.refused(&with(&CUBIC, &["--evaluations", "0"]), &["--evaluations: must be at least 1"]);
    place.refused(&with(&CUBIC, &["--noise-std", "-1"]), &["--noise-std: -1", "at least 0"]);
    place.refused(&with(&CUBIC, &["--noise-std", "nan"]), &["--noise-std: NaN"]);
    // Flags that would do nothing.
    place.refused(&with(&CUBIC, &["--value", "3"]), &["--value"]);
    place.refused(&with(&CUBIC, &["--point", "3"]), &["--point"]);
    place.refused(&with(&CUBIC, &["--target", "y"]), &["--target"]);
    place.refused(&["optimize", "--ask", "a.json", "--bounds", "0:1", "-o", "run"], &["--out"]);
    place.refused(&["optimize", "--data", "data.csv"], &["--target"]);
}

#[test]
fn an_experiment_outside() {
    let place = Place::new();
    let ask = ["optimize", "--ask", "s.json"];
    place.refused(&ask, &["s.json: does not exist", "--bounds"]);
    place.refused(&["optimize", "--tell", "s.json", "--value", "1"], &["s.json", "cannot open it"]);
    place.refused(
        &["optimize", "--ask", "no/s.json", "--bounds", "0:1"],
        &["no: cannot work in this folder", "No such file"],
    );
    let first = place.json(&with(&ask, &["--bounds", "-1:1,0:2", "--maximize", "--seed", "9"])).remove(0);
    assert_eq!((&first["type"], &first["pending"], &first["told"]), (&"ask".into(), &1.into(), &0.into()));
    place.refused(&with(&ask, &["--bounds", "0:1"]), &["different bounds"]);
    place.refused(&with(&ask, &["--minimize"]), &["different goal"]);
    place.refused(&["optimize", "--tell", "s.json"], &["--value"]);

    // One pending: no need to say which. The experiment failed.
    let told = place.json(&["optimize", "--tell", "s.json", "--value", "nan"]).remove(0);
    assert_eq!((&told["told"], &told["set_aside"], &told["best_y"]), (&1.into(), &1.into(), &Value::Null));
    place.refused(&["optimize", "--tell", "s.json", "--value", "1"], &["no point is pending", "--ask"]);

    // Several: in any order, as they were printed.
    let (a, b) = (place.ok(&ask), place.ok(&ask));
    let (a, b) = (a.trim(), b.trim());
    place.refused(&["optimize", "--tell", "s.json", "--value", "1"], &["2 points are pending", a, b]);
    let tell = |point: &str, value: &str| {
        place.json(&["optimize", "--tell", "s.json", "--point", point, "--value", value])
    };
    assert_eq!(tell(b, "-2.5")[0]["best_y"], -2.5);
    let told = tell(a, "7").remove(0);
    assert_eq!((&told["best_y"], &told["pending"], &told["told"]), (&7.0.into(), &0.into(), &3.into()));
    let told_twice = ["optimize", "--tell", "s.json", "--point", a, "--value", "7"];
    place.refused(&told_twice, &["already has a value"]);
    place.refused(&["optimize", "--tell", "s.json", "--point", "0.5", "--value", "7"], &["not in the box"]);
    place.refused(&["optimize", "--tell", "s.json", "--value", "high"], &["--value"]);

    // From some points on the posterior is said as well.
    for i in 0..4 {
        place.ok(&ask);
        let lines = place.json(&["optimize", "--tell", "s.json", "--value", &i.to_string()]);
        assert_eq!(lines.len(), if i < 2 { 1 } else { 2 }, "{lines:?}");
    }

    // A file that somebody broke is refused, and left as it is.
    let text = place.text("s.json");
    place.write("s.json", &text[..text.len() / 2]);
    place.refused(&ask, &["s.json", "JSON"]);
}

#[test]
fn asking_outside_is_the_same_search() {
    let place = Place::new();
    place.ok(&[
        "optimize",
        "--objective",
        "x^2+x",
        "--bounds",
        "-1:1",
        "--evaluations",
        "9",
        "-q",
        "-o",
        "inside",
    ]);
    for _ in 0..9 {
        let x: f64 = place.ok(&["optimize", "--ask", "s.json", "--bounds", "-1:1"]).trim().parse().unwrap();
        place.ok(&["optimize", "--tell", "s.json", "--value", &(x * x + x).to_string()]);
    }
    assert_eq!(place.text("s.json"), place.text("inside/search.json"));
}

/// 60 points of a bump at 0.3, with one target missing.
fn bump(place: &Place) {
    let row = |i: usize| {
        let x = i as f64 / 59.0;
        let y = if i == 7 { String::new() } else { (100.0 - (4.0 * (x - 0.3)).powi(2)).to_string() };
        format!("{x},{y}\n")
    };
    place.write("bump.csv", &format!("speed,power\n{}", (0..60).map(row).collect::<String>()));
}

#[test]
fn data_and_the_model_of_it() {
    let place = Place::new();
    bump(&place);
    let data = ["optimize", "--data", "bump.csv", "--target", "power", "--maximize"];
    let lines = place.json(&with(&data, &["-o", "run"]));
    assert!(lines.iter().all(|l| l["type"] == "optimum"));
    assert!((number(&lines[0]["x"][0]) - 0.3).abs() < 0.05, "{lines:?}");
    assert!((number(&lines[0]["value"]) - 100.0).abs() < 0.5, "{lines:?}");
    is_picture(&place, "run/optimum");
    let svg = place.text("run/optimum.svg");
    assert!(svg.contains("speed") && svg.contains("power"));
    assert!(place.ok(&data).starts_with("speed = 0."));
    // What was learned is a model like any other.
    let again = place.json(&["optimize", "--model", "run", "--bounds", "0:1", "--maximize"]);
    assert!((number(&again[0]["x"][0]) - number(&lines[0]["x"][0])).abs() < 1e-3, "{again:?}");
    place.refused(&["optimize", "--model", "run"], &["--bounds"]);
    place.refused(&["optimize", "--model", "run", "--bounds", "0:1,0:1"], &["expected 1 coordinates, got 2"]);
    place.refused(&with(&data, &["-o", "run"]), &["run: already contains a search"]);
    place.refused(&["optimize", "--data", "bump.csv", "--target", "force"], &["force"]);
    place.refused(&["optimize", "--data", "classes.csv", "--target", "kind"], &["kind"]);
    place.refused(&["optimize", "--data", "none.csv", "--target", "y"], &["none.csv"]);
}

#[test]
fn models_of_several_targets_and_of_none() {
    let place = Place::trained();
    // Its first layer is ReLU: nothing could move.
    place.refused(&["optimize", "--model", "run", "--bounds", "0:1,0:1"], &["piecewise linear", "tanh"]);
    place.ok(&["train", "classes.csv", "--target", "kind", "--classes", "--epochs", "2", "-o", "kinds"]);
    place.refused(
        &["optimize", "--model", "kinds", "--bounds", "0:1,0:1"],
        &["classifier", "regression model"],
    );
    let rows = (0..40).map(|i| i as f64 / 39.0).map(|x| format!("{x},{},{}\n", x, -(x - 0.6).powi(2)));
    place.write("two.csv", &format!("x,u,v\n{}", rows.collect::<String>()));
    let train = ["train", "two.csv", "--target", "u,v", "--activation", "tanh", "--batch", "1"];
    place.ok(&[&train[..], &["--noise-std", "0.05", "-o", "two", "-q"]].concat());
    let model = ["optimize", "--model", "two", "--bounds", "0:1", "--maximize"];
    place.refused(&model, &["--target", "u, v"]);
    place.refused(&with(&model, &["--target", "w"]), &["--target", "u, v"]);
    let best = |target| number(&place.json(&with(&model, &["--target", target, "-o", target]))[0]["x"][0]);
    assert!(best("u") > 0.95, "{}", best("u"));
    assert!((best("v") - 0.6).abs() < 0.1, "{}", best("v"));
    is_picture(&place, "v/optimum");
    assert_eq!(std::fs::read_dir(place.path("v")).unwrap().count(), 4, "a model is not copied");
}
