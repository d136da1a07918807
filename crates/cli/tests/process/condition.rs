//! `tractable condition`: one question and many, what is said, drawn and refused.

use crate::run::Place;
use serde_json::Value;
use std::fmt::Write;

/// `square/`: one small network that has learned y = x^2.
fn square() -> Place {
    let place = Place::new();
    let mut rows = String::from("x,y\n");
    for i in -20..=20 {
        let x = f64::from(i) / 10.0;
        writeln!(rows, "{x},{}", x * x).unwrap();
    }
    place.write("square.csv", &rows);
    let network = ["--hidden", "32", "--activation", "mixture_relu", "--epochs", "60", "--batch", "1"];
    let rest = ["--noise-std", "0.05", "--calibration", "0", "-o", "square", "-q"];
    place.ok(&[&["train", "square.csv", "--target", "y"], &network[..], &rest].concat());
    place
}

/// `run/`: y = 30 + 4 a - 2 b.
fn plane() -> Place {
    let place = Place::new();
    place.ok(&["train", "data.csv", "--target", "y", "-o", "run", "--noise-std", "0.05", "-q"]);
    place
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

#[test]
fn one_question_with_two_answers() {
    let place = square();
    let ask = |given: &str, more: &[&str]| {
        place.json(&[&["condition", "square", "--given", given, "--want", "y=1±0.1", "-q"], more].concat())[0]
            .clone()
    };
    let answer = ask("x=0.2±1", &[]);
    let modes = answer["modes"].as_array().unwrap();
    assert_eq!(modes.len(), 2, "{answer}");
    for (mode, predicted) in modes.iter().zip(answer["predicted"].as_array().unwrap()) {
        assert!((numbers(&mode["mean"])[0].abs() - 1.0).abs() < 0.15, "{answer}");
        assert!((numbers(&predicted["mean"])[0] - 1.0).abs() < 0.2, "{answer}");
    }
    assert_eq!((&answer["reached"], &answer["found"]), (&"yes".into(), &"points".into()));
    // Nine in ten of two peaks lie between them and a little beyond.
    let (low, high) = (numbers(&answer["lower"])[0], numbers(&answer["upper"])[0]);
    assert!(-1.4 < low && low < -0.9 && 0.9 < high && high < 1.4, "{answer}");
    for other in ["x=0.2+-1", "x = 0.2 +/- 1.0", "\"x\"=2e-1±1"] {
        assert_eq!(ask(other, &[]), answer, "{other}");
    }
    // Where it is more sure before, one of them is left.
    let one = ask("x=0.8±0.2", &[]);
    assert_eq!(one["modes"].as_array().unwrap().len(), 1);
    assert!((numbers(&one["mean"])[0] - 0.95).abs() < 0.15 && numbers(&one["std"])[0] < 0.15, "{one}");
    let known = ask("x=0.8±0.2", &["--known-weights"]);
    assert!(numbers(&known["std"])[0] < numbers(&one["std"])[0], "{known}");

    let said =
        place.ok(&["condition", "square", "--given", "x=0.2±1", "--want", "y=1±0.1", "--plot", "two.svg"]);
    assert!(said.starts_with("input  before"), "{said}");
    assert!(said.contains("2 answers; the mean lies between them and is not one of them:\n"), "{said}");
    assert!(said.contains("wanted: y = 1.0000 ± 0.10000\n"), "{said}");
    let svg = place.text("two.svg");
    assert!(svg.contains("wanted") && svg.contains("before") && svg.contains("answers"));
    assert!(place.read("two.png").starts_with(b"\x89PNG"));
}

#[test]
fn what_is_out_of_reach_is_said() {
    let place = square();
    let ran = place.run(&["condition", "square", "--given", "x=1±0.1", "--want", "y=-5±0.01", "-q"]);
    // Whether the linearised answer settled or not, it says that the wish is not met.
    let said = ["\nout of reach: the prediction is ", "\nnot met: the prediction is "];
    assert!(ran.code == 0 && said.iter().any(|said| ran.out.contains(said)), "{ran:?}");
    let line = &place.json(&["condition", "square", "--given", "x=1±0.1", "--want", "y=-5±0.01"])[0];
    assert_eq!(line["reached"], "no");
    // Downhill from a near place, and a wide spread that would lead anywhere.
    let said = place.ok(&["condition", "square", "--given", "x=0.3±0.1", "--want", "y=min", "--plot", "low"]);
    assert!(said.contains("wanted: y as low as it gets"), "{said}");
    assert!(place.path("low.svg").exists());
}

#[test]
fn what_is_not_given_is_as_in_the_training_data() {
    let place = plane();
    let ran = place.run(&["condition", "run", "--given", "a=0.5", "--want", "y=30.5±0.1", "--plot", "line"]);
    assert!(ran.code == 0 && ran.err.contains("as in the training data, mean ± std: b"), "{ran:?}");
    // 30 + 2 - 2 b = 30.5.
    let line = &place.json(&["condition", "run", "--given", "a=0.5", "--want", "y=30.5±0.1"])[0];
    assert!((numbers(&line["mean"])[1] - 0.75).abs() < 0.1, "{line}");
    assert_eq!((numbers(&line["std"])[0], numbers(&line["prior_mean"])[0]), (0.0, 0.5));
    assert!((numbers(&line["prior_mean"])[1] - 0.417).abs() < 0.05, "{line}");
    // Two unknowns make up for each other; the picture is a map.
    let line = &place.json(&["condition", "run", "--want", "y=31±0.1", "--plot", "map.png"])[0];
    let covariance = line["covariance"].as_array().unwrap();
    assert!(numbers(&covariance[0])[1] > 0.5 * numbers(&covariance[0])[0].min(numbers(&covariance[1])[1]));
    let svg = place.text("map.svg");
    assert!(svg.contains("y = 31.000") && svg.matches("<rect").count() > 50);
}

#[test]
fn classes_are_wanted_by_name() {
    let place = Place::new();
    place.ok(&["train", "classes.csv", "--target", "kind", "--classes", "--single", "-o", "kinds", "-q"]);
    let said = place.ok(&["condition", "kinds", "--given", "a=0.2", "--want", "kind=middle", "--plot", "k"]);
    assert!(said.contains("there the model predicts kind = middle with "), "{said}");
    assert!(place.text("k.svg").contains("probability of middle"));
    place.ok(&["condition", "kinds", "--want", "class=low", "--plot", "map", "-q"]);
    let line = &place.json(&["condition", "kinds", "--want", "kind=\"top, high\""])[0];
    assert_eq!(line["predicted"][0]["class"], "top, high", "{line}");
    place.write("wishes.csv", "a,kind\n0.2,middle\n,\"top, high\"\n");
    let out = place.ok(&["condition", "kinds", "wishes.csv", "-q"]);
    let header = "a_mean,a_std,b_mean,b_std,modes,mode_weight,a_mode,b_mode,kind,p_low,p_middle,\"p_top, high\",reached,";
    assert!(out.starts_with(header) && out.contains(",\"top, high\","), "{out}");
    place.refused(&["condition", "kinds", "--want", "kind=midle"], &["did you mean `middle`?"]);
    place.refused(&["condition", "kinds", "--want", "y=1"], &["no output `y`", "`kind`"]);
}

#[test]
fn rows_of_a_file_are_questions_of_their_own() {
    let place = plane();
    place.write(
        "wishes.csv",
        "note,y,y_std,b,a,a_std\nx,30.5,0.1,,0.5,\n,31,0.2,0.5,0.1,0.3\n\"q,\",32,0.1,,,\n",
    );
    let out = place.ok(&["condition", "run", "wishes.csv"]);
    let rows: Vec<&str> = out.lines().collect();
    assert_eq!(
        rows[0],
        "a_mean,a_std,b_mean,b_std,modes,mode_weight,a_mode,b_mode,y_mean,y_std,y_std_model,reached,found,effective,converged"
    );
    assert_eq!(rows.len(), 4, "{out}");
    let first: Vec<&str> = rows[1].split(',').collect();
    assert_eq!((first.len(), first[0], first[1], first[11]), (15, "0.5", "0.0", "yes"), "{out}");
    // The same as by itself.
    let alone = &place.json(&["condition", "run", "--given", "a=0.5", "--want", "y=30.5±0.1"])[0];
    assert_eq!(first[2].parse::<f64>().unwrap(), numbers(&alone["mean"])[1]);
    assert_eq!(place.ok(&["condition", "run", "wishes.csv", "-o", "out.csv", "-q"]), "");
    assert_eq!(place.text("out.csv"), out);
    let lines = place.json(&["condition", "run", "wishes.csv"]);
    assert_eq!((lines.len(), &lines[2]["row"]), (3, &2.into()));
    let ran = place.run(&["condition", "run", "wishes.csv"]);
    assert!(
        ran.err.contains("not columns of the model, ignored: note") && ran.err.contains("3 rows"),
        "{ran:?}"
    );
    place.refused(
        &["condition", "run", "wishes.csv", "-o", "wishes.csv", "-q", "--force"],
        &["that is the input"],
    );
}

#[test]
fn bad_questions_are_refused() {
    let place = plane();
    for (given, want, says) in [
        ("c=1", "y=1", "--given: there is no input `c`"),
        ("a=1", "z=1", "--want: there is no output `z`"),
        ("a=one", "y=1", "--given: `a`: \"one\" is not a number"),
        ("a=1±", "y=1", "--given: `a`: \"\" is not a number"),
        ("a=nan", "y=1", "\"nan\" is not a finite number"),
        ("a=1", "y=inf", "--want: `y`: \"inf\" is not a finite number"),
        ("a=1±-0.1", "y=1", "a standard deviation of -0.1 is below 0"),
        ("a=1", "y=1±-1", "--want: `y`: a standard deviation of -1 is below 0"),
        ("a=1,b=2", "y=1", "all inputs are known exactly"),
        ("a=1,a=2±1", "y=1", "`a` is given twice"),
        ("a=1", "y=1,y=2", "--want: `y` is given twice"),
        ("", "y=1", "--given: it is empty"),
        ("a=1", " ", "--want: it is empty"),
        ("a=1,,b=2", "y=1", "`` is not COLUMN=VALUE"),
        ("a", "y=1", "`a` is not COLUMN=VALUE"),
        ("a=1", "y=max", "the first layer is piecewise linear"),
    ] {
        place.refused(&["condition", "run", "--given", given, "--want", want, "-q"], &[says]);
    }
    place.refused(&["condition", "run", "--given", "a=1"], &["specify the wanted output: --want"]);
    place.refused(&["condition", "run"], &["specify the wanted output"]);
    place.refused(&["condition", "run", "data.csv", "--want", "y=1"], &["cannot be used with"]);
    place.refused(&["condition", "run", "--want", "y=1", "-o", "x.csv"], &["-o", "CSV file"]);
    place.refused(&["condition", "nowhere", "--want", "y=1"], &["nowhere"]);
    let file = |rows: &str, says: &[&str]| {
        place.write("bad.csv", rows);
        let ran = place.run(&["condition", "run", "bad.csv", "-o", "out.csv", "-q"]);
        assert_eq!((ran.code, place.path("out.csv").exists()), (2, false), "{rows:?}: {ran:?}");
        assert!(says.iter().all(|s| ran.err.contains(s)), "{rows:?}: {ran:?}");
    };
    file("a,b\n1,2\n", &["no wanted output: there is no column `y`"]);
    file("a,y,y_std\n0.5,31,1\n0.5,,\n", &["line 3", "no output is wanted"]);
    file("a,y,y_std\n0.5,31,1\nx,31,1\n", &["line 3, column `a`", "\"x\" is not a number"]);
    file("a,y,y_std\n0.5,31,-1\n", &["line 2, column `y_std`", "below 0"]);
    file("a,a_std,y\n,1,31\n", &["line 2, column `a_std`", "a standard deviation without a value"]);
    file("a,b_std,y\n1,1,31\n", &["column `b_std` belongs to no other column"]);
    file("a,b,y\n1,1,31\n", &["line 2", "all inputs are known exactly"]);
    file("a,y\n", &["no rows"]);
}
