//! What people type: arguments the other way round, 1e3 for 1000, a name that says its format.

use crate::run::Place;

#[test]
fn swapped_arguments_are_put_in_order() {
    let place = Place::trained();
    let usual = place.run(&["predict", "run", "data.csv"]);
    let swapped = place.run(&["predict", "data.csv", "run"]);
    assert_eq!((usual.code, &usual.out), (0, &swapped.out), "{swapped:?}");
    assert!(swapped.err.contains("the model is run, the table data.csv"), "{swapped:?}");
    assert_eq!(place.ok(&["evaluate", "data.csv", "run"]), place.ok(&["evaluate", "run", "data.csv"]));
    let file = "run/model.safetensors";
    assert_eq!(place.ok(&["predict", "data.csv", file]), usual.out);
    place.write("wish.csv", "a,b,y\n0.1,,30\n");
    assert_eq!(place.ok(&["condition", "wish.csv", "run"]), place.ok(&["condition", "run", "wish.csv"]));
}

#[test]
fn numbers_are_taken_as_people_write_them() {
    let place = Place::new();
    let train = ["train", "data.csv", "--target", "y", "--hidden", "4", "-q", "-o"];
    place.ok(&[&train[..], &["run", "--epochs", "2e1", "--batch", "1e1"]].concat());
    assert_eq!(place.json(&["inspect", "run"])[0]["epochs"], 20);
    let floor = ["--classes", "--noise-floor", "0.1", "--epochs", "2", "-q", "-o", "kinds"];
    place.ok(&[&["train", "classes.csv", "--target", "kind"], &floor[..]].concat());
    assert!(place.text("kinds/config.json").contains("\"noise_floor\": 0.1"));
    place.refused(
        &["train", "data.csv", "--target", "y", "--noise-floor", "0.1"],
        &["--noise-floor: applies to a noise schedule", "--noise-start"],
    );
    place.refused(&["evaluate", "run", "data.csv", "--max-rmse", "nan"], &["--max-rmse: nan is not a limit"]);
    place.refused(&["evaluate", "run", "data.csv", "--max-nll", "NaN"], &["--max-nll: nan is not a limit"]);
    place.refused(
        &["train", "data.csv", "--target", "y", "--test", "0.6", "--validation", "0.5"],
        &["--test 0.6, --validation 0.5: together they leave no training rows"],
    );
}

#[test]
fn one_is_not_many() {
    let place = Place::new();
    place.write("one.csv", "a,b\n0.5,0.25\n");
    let train = place.run(&["train", "data.csv", "--targets", "y", "--epoch", "1", "-o", "run"]);
    assert!(train.out.contains("run run: 1 epoch\n") && train.err.contains("1 epoch in"), "{train:?}");
    assert!(train.err.contains("inputs a, b; target y;"), "{train:?}");
    assert!(place.run(&["predict", "run", "one.csv"]).err.contains("1 row\n"));
    let two = place.run(&["train", "data.csv", "--target", "y,b", "--epochs", "1", "-o", "two"]);
    assert!(two.err.contains("input a; targets y, b;"), "{two:?}");
}

#[test]
fn a_point_of_ones_own_is_told() {
    let place = Place::new();
    place.ok(&["optimize", "--ask", "search.json", "--bounds", "-1:1,0:2"]);
    let told = place.json(&["optimize", "--tell", "search.json", "--point", "0.25,1.5", "--value", "-7"]);
    assert_eq!(
        (&told[0]["best_y"], &told[0]["told"], &told[0]["pending"]),
        (&(-7.0).into(), &1.into(), &1.into())
    );
    assert_eq!(told[0]["best_x"], serde_json::json!([0.25, 1.5]));
    place.refused(
        &["optimize", "--tell", "search.json", "--point", "5,1", "--value", "1"],
        &["is not in the box"],
    );
}

#[test]
fn what_train_makes_can_be_optimised() {
    let place = Place::new();
    let mut rows = String::from("x,y\n");
    (0..120).for_each(|i| {
        let x = f64::from(i) / 30.0 - 2.0;
        rows += &format!("{x},{}\n", 5.0 - (x - 0.5).powi(2));
    });
    place.write("hill.csv", &rows);
    place.ok(&["train", "hill.csv", "--target", "y", "-q", "-o", "run"]);
    let found = place.json(&["optimize", "--model", "run", "--bounds", "-2:2", "--maximize", "-o", "found"]);
    let number = |name: &str| found[0][name].as_f64().or(found[0][name][0].as_f64()).unwrap();
    assert!((number("x") - 0.5).abs() < 0.2 && (number("value") - 5.0).abs() < 0.3, "{found:?}");
    assert!(number("x_std") > 0.0 && number("x_std") < 0.5, "{found:?}");
    assert!(!place.read("found/optimum.png").is_empty());
    place.ok(&["report", "found"]);
}

#[test]
fn agents_take_settings_by_name_and_leave_nothing_when_refused() {
    let place = Place::new();
    let train = ["rl", "pendulum", "--steps", "1024", "-q", "-o"];
    place.refused(&[&train[..], &["new", "--set", "discount=7"]].concat(), &["discount"]);
    place.refused(&[&train[..], &["new", "--set", "value_layers=[0]"]].concat(), &["layer"]);
    place.refused(&[&train[..], &["new", "--settings", "wild"]].concat(), &["gentle", "as-published"]);
    place.refused(&[&train[..], &["new", "--resume"]].concat(), &["leave out --resume"]);
    place.refused(&["rl", "pendulum", "--engine", "mujoco"], &["--engine"]);
    // Three seeds unless it is said otherwise; a run that goes on keeps its settings.
    place.ok(&[&train[..], &["gentle", "--settings", "gentle"]].concat());
    assert!((0..3).all(|seed| place.path(&format!("gentle/seed-{seed}/agent.safetensors")).exists()));
    assert!(place.text("gentle/config.json").contains("\"policy_gain\": 0.25"));
    place.ok(&["rl", "pendulum", "--steps", "2048", "-q", "-o", "gentle", "--resume"]);
    place.ok(&["rl", "pendulum", "--steps", "2048", "-q", "--settings", "gentle", "-o", "whole"]);
    let agent = |run: &str| place.read(&format!("{run}/seed-2/agent.safetensors"));
    assert!(agent("gentle") == agent("whole"));
    // Another run in its place leaves no seed of the old one.
    place.ok(&[&train[..], &["gentle", "--seeds", "1", "--force"]].concat());
    assert!(!place.path("gentle/seed-2").exists());
}

#[test]
fn a_picture_has_the_format_that_its_name_says() {
    let place = Place::new();
    place.ok(&["rl", "inverted-pendulum", "--steps", "1024", "--seeds", "1", "-q", "-o", "run"]);
    let play = ["rl", "play", "run", "--episodes", "1", "--frames", "20", "--picture"];
    place.ok(&[&play[..], &["pole.png"]].concat());
    assert!(place.read("pole.png").starts_with(b"\x89PNG"));
    place.ok(&[&play[..], &["pole.svg"]].concat());
    assert!(place.text("pole.svg").starts_with("<svg "));
    place.refused(&[&play[..], &["pole.gif"]].concat(), &["must end in .svg or .png"]);
    place.refused(&[&play[..], &["pole.svg"]].concat(), &["pole.svg: already exists"]);
    place.refused(&[&play[..], &["run/curve.svg", "--force"]].concat(), &["is a file of a run"]);
}
