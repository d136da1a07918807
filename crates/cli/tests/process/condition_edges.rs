//! `tractable condition`: several minima, curved answers, exact wishes, wide numbers, and many rows.

use crate::run::Place;
use serde_json::Value;
use std::fmt::Write;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// One small network that has learned a function; `rows` has the names in its first line.
fn learned(place: &Place, name: &str, rows: &str, activation: &str, epochs: &str) {
    let csv = format!("{name}.csv");
    place.write(&csv, rows);
    let network = ["--hidden", "32", "--activation", activation, "--epochs", epochs, "--batch", "1"];
    let rest = ["--noise-std", "0.05", "--calibration", "0", "-o", name, "-q"];
    place.ok(&[&["train", &csv, "--target", "y"], &network[..], &rest].concat());
}

/// `well/`: y = (x^2 - 1)^2.
fn well() -> Place {
    let place = Place::new();
    let mut rows = String::from("x,y\n");
    for i in -60..=60 {
        let x = f64::from(i) / 40.0;
        writeln!(rows, "{x},{}", (x * x - 1.0).powi(2)).unwrap();
    }
    learned(&place, "well", &rows, "tanh", "200");
    place
}

/// `ring/`: y = a^2 + b^2.
fn ring() -> Place {
    let place = Place::new();
    let mut rows = String::from("a,b,y\n");
    for i in 0..400 {
        let (a, b) = (f64::from(i % 20) / 6.0 - 1.6, f64::from(i / 20) / 6.0 - 1.6);
        writeln!(rows, "{a},{b},{}", a * a + b * b).unwrap();
    }
    learned(&place, "ring", &rows, "mixture_relu", "60");
    place
}

#[test]
fn both_minima_are_told() {
    let place = well();
    let ask = ["condition", "well", "--given", "x=0±0.8", "--want", "y=min", "--plot", "well"];
    let said = place.ok(&ask);
    assert!(said.contains("2 answers; the mean lies between them"), "{said}");
    let answer = &place.json(&ask[..6])[0];
    assert_eq!((&answer["found"], &answer["reached"]), (&"points".into(), &"yes".into()), "{answer}");
    for mode in answer["modes"].as_array().unwrap() {
        assert!((numbers(&mode["mean"])[0].abs() - 1.0).abs() < 0.15, "{answer}");
        assert!(numbers(&mode["std"])[0] < 0.2, "{answer}");
    }
    assert!(!place.text("well.svg").contains("NaN"));
    // No maximum is near: one step towards it, and it says so.
    let up = ["condition", "well", "--given", "x=-1±0.05", "--want", "y=max"];
    assert_eq!(place.json(&up)[0]["reached"], "no");
    assert!(place.ok(&up).contains("not reached: "), "{}", place.ok(&up));
}

#[test]
fn answers_on_a_ring_are_not_counted() {
    let place = ring();
    let given = ["condition", "ring", "--given", "a=0±0.7,b=0±0.7"];
    for wish in ["y=1±0.03", "y=1±0.01"] {
        let ask = [&given[..], &["--want", wish, "--known-weights"]].concat();
        let said = place.ok(&ask);
        assert!(!said.contains(" answers; ") && said.contains("the answers lie around this point"), "{said}");
        assert_eq!(place.json(&ask)[0]["modes"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn exact_wishes_are_drawn() {
    let place = ring();
    for (given, files) in [("a=0±0.7,b=0", "line"), ("a=0±0.7,b=0±0.7", "map")] {
        let ask =
            ["condition", "ring", "--given", given, "--want", "y=1", "--known-weights", "--plot", files];
        let said = place.ok(&ask);
        assert!(said.contains("wanted: y = 1.0000"), "{said}");
        let svg = place.text(&format!("{files}.svg"));
        assert!(!svg.contains("NaN") && svg.contains("after"), "{files}");
    }
}

#[test]
fn one_class_is_wanted() {
    let place = Place::new();
    place.ok(&["train", "classes.csv", "--target", "kind", "--classes", "--single", "-o", "kinds", "-q"]);
    for (want, says) in [
        ("kind=low,nonsense=5", "there is no output `nonsense`"),
        ("kind=low,kind=middle", "`kind` is given twice"),
        ("kind=low,class=middle", "2 classes are wanted; ask for one"),
        ("kind=low,class=midle", "did you mean `middle`?"),
    ] {
        place.refused(&["condition", "kinds", "--want", want], &["--want: ", says]);
    }
}

#[test]
fn numbers_out_of_range_are_refused_and_large_ones_are_short() {
    let place = ring();
    let ask = |given: &str, want: &str| {
        ["condition", "ring", "--given", given, "--want", want, "-q"].map(String::from).to_vec()
    };
    let refused = |ask: Vec<String>, says: &str| {
        place.refused(&ask.iter().map(String::as_str).collect::<Vec<_>>(), &[says]);
    };
    refused(ask("a=1e308±1", "y=1"), "--given: `a`: 1e308 is out of range; at most 1e150 can be used");
    refused(ask("a=0±1", "y=1e308"), "--want: `y`: 1e308 is out of range; at most 1e150 can be used");
    let said = place.ok(&ask("a=0±1,b=0", "y=1e5").iter().map(String::as_str).collect::<Vec<_>>());
    assert!(said.lines().all(|line| line.len() < 200), "{said}");
}

#[test]
fn many_rows_are_in_order_for_any_number_of_threads() {
    let place = ring();
    let mut rows = String::from("a,a_std,b,y,y_std\n");
    for i in 0..300 {
        writeln!(rows, "0,0.7,{},1,0.1", f64::from(i) / 600.0).unwrap();
    }
    place.write("many.csv", &rows);
    let ask = |threads: &str| place.ok(&["condition", "ring", "many.csv", "-q", "--threads", threads]);
    let out = ask("1");
    assert_eq!(out, ask("4"));
    let b: Vec<f64> =
        out.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse().unwrap()).collect();
    assert_eq!(b, (0..300).map(|i| f64::from(i) / 600.0).collect::<Vec<_>>());
    // An error in a row names its line; rows before it are answered.
    place.write("bad.csv", &format!("{rows}0,0.7,x,1,0.1\n"));
    let ran = place.run(&["condition", "ring", "bad.csv", "-q"]);
    assert!(ran.code == 2 && ran.err.contains("line 302, column `b`"), "{ran:?}");
    assert_eq!(ran.out, out);
}
