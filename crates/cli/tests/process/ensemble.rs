//! The model that `train` makes of a table unless it is told otherwise: what it writes and says, whatever the rows are like.

use crate::run::{Place, json_lines};
use std::fmt::Write;

/// Rows of a curve with noise that grows, in `FILE`.
fn curve(place: &Place, file: &str, rows: usize, seed: u64) {
    let mut rng = tractable::rng::stream(seed, "rows", 0);
    let mut text = String::from("a,b,y\n");
    for _ in 0..rows {
        let (a, b) =
            (tractable::rng::uniform(-1.0, 1.0, &mut rng), tractable::rng::uniform(-1.0, 1.0, &mut rng));
        let noise = 0.2 * (1.5 + a) * tractable::rng::standard_normal(&mut rng);
        writeln!(text, "{a},{b},{}", 3.0 * a * a - b + noise).unwrap();
    }
    place.write(file, &text);
}

fn number(line: &serde_json::Value, field: &str) -> f64 {
    line[field].as_f64().unwrap_or_else(|| panic!("no {field} in {line}"))
}

#[test]
fn a_table_from_training_to_prediction() {
    let place = Place::new();
    curve(&place, "rows.csv", 250, 0);
    curve(&place, "new.csv", 400, 1);
    let lines =
        place.json(&["train", "rows.csv", "--target", "y", "--test", "0.2", "-o", "run", "--seed", "3"]);
    let types: Vec<&str> = lines.iter().map(|l| l["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["start", "end", "left_out", "test"]);
    assert_eq!((&lines[0]["rows"], &lines[0]["test_rows"]), (&200.into(), &50.into()));
    let kept = json_lines(&place.text("run/metrics.jsonl"));
    assert_eq!(kept[..], lines[2..]);
    assert!(place.text("run/config.json").contains("\"hash\""));
    assert_eq!(std::fs::read_dir(place.path("run")).unwrap().count(), 4);

    // New rows: about as many inside as should be.
    let score = &place.json(&["evaluate", "run", "new.csv"])[0];
    assert_eq!((&score["rows_are"], &score["verdict"]), (&"new".into(), &"hold".into()), "{score}");
    assert!((number(score, "coverage_90") - 0.9).abs() < 0.06 && number(score, "rmse") < 0.5, "{score}");
    assert!(
        (number(score, "nis") - 1.0).abs() < 0.4 && number(score, "crps") < number(score, "rmse"),
        "{score}"
    );

    // The rows it was trained on: by networks that left them out, and those to test as they are.
    let ran = place.run(&["evaluate", "run", "rows.csv"]);
    assert!(ran.err.contains("each is evaluated by networks that left it out"), "{ran:?}");
    let own = &place.json(&["evaluate", "run/model.safetensors", "rows.csv"])[0];
    assert_eq!((&own["rows"], &own["rows_are"]), (&250.into(), &"left_out".into()));
    let squares = 200.0 * number(&lines[2], "rmse").powi(2) + 50.0 * number(&lines[3], "rmse").powi(2);
    assert!((number(own, "rmse") - (squares / 250.0).sqrt()).abs() < 1e-9, "{own}");

    // Far away it is less sure, unless it is not asked to find out.
    place.write("far.csv", "a,b\n0,0\n9,-9\n");
    let [slow, fast] = [&[][..], &["--fast"]].map(|more| {
        let rows = place.json(&[&["predict", "run", "far.csv"], more].concat());
        rows.iter().map(|r| (r["mean"][0].clone(), r["std_model"][0].as_f64().unwrap())).collect::<Vec<_>>()
    });
    assert!(slow[1].1 > 5.0 * slow[0].1, "{slow:?}");
    assert!(slow[0].0 == fast[0].0 && slow[1].0 == fast[1].0 && fast[1].1 < slow[1].1, "{slow:?} {fast:?}");

    let text = place.ok(&["inspect", "run"]);
    assert!(
        text.contains("calibrated  y: ")
            && text.contains("noise variance x")
            && text.contains("left out    y: 200 rows"),
        "{text}"
    );
    let about = place.json(&["inspect", "run"]);
    // One line for each network, and one for the devices.
    assert_eq!(number(&about[0], "networks") as usize, about.len() - 2);
    place.ok(&["report", "run"]);
    let page = place.text("run/report.html");
    assert!(page.contains("Rows left out: y") && page.contains("Calibration of y"), "{page}");
    let one = "models, but one network is needed; train with --single";
    place.ok(&["optimize", "--model", "run", "--bounds", "0:1,0:1"]);
    place.refused(&["attack", "run", "--set", "digits"], &[one]);
}

#[test]
fn rows_unlike_those_it_learned_from_are_noticed() {
    let place = Place::new();
    place.ok(&["train", "data.csv", "--target", "y", "--single", "-o", "run"]);
    let data = place.text("data.csv").replace(",2", ",3").replace(",3", ",4");
    place.write("other.csv", &data);
    let said = place.ok(&["evaluate", "run", "other.csv"]);
    assert!(
        said.contains("the model is overconfident: ")
            && said.contains("; train again, and include rows like these"),
        "{said}"
    );
    assert_eq!(said.matches("the model is").count(), 1, "{said}");
}

#[test]
fn one_network_in_less_time() {
    let place = Place::new();
    curve(&place, "rows.csv", 100, 0);
    let lines = place.json(&["train", "rows.csv", "--target", "y", "--single", "-o", "run"]);
    assert_eq!((&lines[1]["networks"], &lines[2]["rows"]), (&1.into(), &20.into()));
    let score = &place.json(&["evaluate", "run", "rows.csv"])[0];
    assert_eq!((&score["rows"], &score["rows_are"]), (&20.into(), &"left_out".into()));
    assert!((number(score, "nll") - number(&lines[2], "nll")).abs() < 1e-9);
    // One network can be asked for more than predictions.
    place.ok(&["optimize", "--model", "run", "--bounds", "-1:1,-1:1"]);
    place.refused(
        &["train", "rows.csv", "--target", "y", "--single", "--hidden", "9"],
        &["--single", "--hidden"],
    );
}

#[test]
fn classes_are_calibrated_too() {
    let place = Place::new();
    let lines = place.json(&["train", "classes.csv", "--target", "kind", "--classes", "-o", "run"]);
    assert!(number(&lines[2], "error_rate") < 0.3, "{}", lines[2]);
    let score = &place.json(&["evaluate", "run", "classes.csv"])[0];
    assert_eq!((&score["rows"], &score["error_rate"]), (&60.into(), &lines[2]["error_rate"]));
    let rows = place.json(&["predict", "run", "classes.csv"]);
    for row in rows {
        let sum: f64 = row["probabilities"].as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{row}");
    }
}

#[test]
fn threads_do_not_change_the_bits() {
    let place = Place::new();
    curve(&place, "rows.csv", 60, 0);
    for threads in ["1", "3"] {
        place.ok(&["train", "rows.csv", "--target", "y", "-o", threads, "--threads", threads, "-q"]);
        let out = format!("{threads}.csv");
        place.ok(&["predict", threads, "rows.csv", "--threads", threads, "-o", &out, "-q"]);
    }
    assert!(place.read("1/model.safetensors") == place.read("3/model.safetensors"));
    assert!(place.read("1.csv") == place.read("3.csv"));
}

/// Threads that compute, at most, until the program ends: all but the one that waits for Ctrl-C.
#[cfg(target_os = "linux")]
fn most_threads(place: &Place, args: &[&str]) -> usize {
    let mut child = place.command(args).spawn().unwrap();
    let (tasks, mut most) = (format!("/proc/{}/task", child.id()), 0);
    while child.try_wait().unwrap().is_none() {
        most = most.max(std::fs::read_dir(&tasks).map_or(0, Iterator::count));
    }
    assert!(child.wait().unwrap().success());
    most - 1
}

#[test]
#[cfg(target_os = "linux")]
fn as_many_threads_as_were_asked_for() {
    let place = Place::new();
    curve(&place, "rows.csv", 100, 0);
    place.write("wishes.csv", &format!("a,a_std,b,y\n{}", "0.1,0.5,0.2,0.3\n".repeat(40)));
    for threads in [1, 2, 3] {
        let (run, n) = (format!("run-{threads}"), threads.to_string());
        let [predicted, found] = ["predicted", "found"].map(|name| format!("{name}-{threads}.csv"));
        let most = |args: &[&str]| most_threads(&place, &[args, &["--quiet", "--threads", &n]].concat());
        assert_eq!(most(&["train", "rows.csv", "--target", "y", "-o", &run]), threads);
        assert!(most(&["predict", &run, "rows.csv", "-o", &predicted]) <= threads);
        assert!(most(&["condition", &run, "wishes.csv", "-o", &found]) <= threads);
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_at_once_and_resume_starts_again() {
    use std::process::Stdio;
    let place = Place::new();
    curve(&place, "rows.csv", 100, 0);
    let train = ["train", "rows.csv", "--target", "y", "-o"];
    let mut command = place.command(&[&train[..], &["run", "--threads", "1"]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    crate::run::wait_until("settings", || place.path("run/config.json").exists());
    crate::interrupt::signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.lines().last().unwrap().starts_with("interrupted: nothing was saved; start again"), "{err}");
    assert!(!place.path("run/model.safetensors").exists());
    place.refused(&["predict", "run", "rows.csv"], &["run: no epoch finished", "--resume"]);
    place.ok(&["report", "run"]);
    place.refused(
        &["train", "--resume", "-o", "run", "--hidden", "9"],
        &["--resume: --hidden applies only to a single network"],
    );
    place.refused(&["train", "--resume", "-o", "run", "--seed", "9"], &["the run has seed 0, not 9"]);
    place.ok(&["train", "--resume", "-o", "run", "-q"]);
    place.ok(&[&train[..], &["whole", "-q"]].concat());
    assert!(place.read("run/model.safetensors") == place.read("whole/model.safetensors"));
    assert!(place.read("run/metrics.jsonl") == place.read("whole/metrics.jsonl"));
    // And of a run that is finished nothing changes.
    let before = place.read("run/model.safetensors");
    assert!(place.ok(&["train", "--resume", "-o", "run"]).contains("run: the run is finished"));
    assert!(place.read("run/model.safetensors") == before);
    // A run that is to be replaced stays as long as there is nothing to replace it with.
    let mut command = place.command(&[&train[..], &["run", "--force", "--seed", "1", "--json"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    crate::interrupt::signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(place.read("run/model.safetensors") == before);
    place.ok(&[&train[..], &["run", "--force", "--seed", "1", "--single", "-q"]].concat());
    assert!(place.text("run/config.json").contains("\"seed\": 1"));
}

/// Trains and predicts; every interval has a width, and nothing is NaN or infinite. Returns the narrowest.
fn predicted(place: &Place, file: &str, target: &str, mode: &[&str]) -> f64 {
    let _ = std::fs::remove_dir_all(place.path("run"));
    place.ok(&[&["train", file, "--target", target, "-o", "run", "-q"], mode].concat());
    let out = place.ok(&["predict", "run", file, "-q", "--only"]);
    let scores = place.ok(&["evaluate", "run", file, "-q"]);
    let bad = ["NaN", "inf ", "inf\n"];
    assert!(bad.iter().all(|b| !out.contains(b) && !scores.contains(b)), "{file} {mode:?}: {out} {scores}");
    let widths = out.lines().skip(1).map(|l| {
        let cells: Vec<f64> = l.split(',').map(|c| c.parse().unwrap()).collect();
        assert!(
            cells.iter().all(|v| v.is_finite()) && cells[1] < cells[0] && cells[0] < cells[2],
            "{file}: {l}"
        );
        cells[2] - cells[1]
    });
    widths.fold(f64::INFINITY, f64::min)
}

const MODES: [&[&str]; 3] = [&[], &["--single"], &["--epochs", "10"]];

#[test]
fn odd_rows_have_a_sensible_answer() {
    let place = Place::new();
    let mut rng = tractable::rng::stream(5, "rows", 0);
    let mut draw = || tractable::rng::standard_normal(&mut rng);
    let mut table =
        |file: &str, rows: usize, row: &mut dyn FnMut(usize, &mut dyn FnMut() -> f64) -> String| {
            let lines: Vec<String> = (0..rows).map(|i| row(i, &mut draw)).collect();
            let inputs = lines[0].split(',').count() - 1;
            let head: String = (0..inputs).map(|i| format!("x{i},")).collect();
            place.write(file, &format!("{head}y\n{}\n", lines.join("\n")));
        };
    table("five.csv", 5, &mut |i, draw| format!("{i},{}", i as f64 + 0.1 * draw()));
    table("target.csv", 30, &mut |i, _| format!("{i},7"));
    table("column.csv", 30, &mut |i, draw| format!("{i},3,{}", draw()));
    table("same.csv", 30, &mut |_, _| "1,2".into());
    table("wide.csv", 12, &mut |_, draw| (0..31).map(|_| draw().to_string()).collect::<Vec<_>>().join(","));
    place.refused(&["train", "same.csv", "--target", "y"], &["`x0` is left out: one value in all rows"]);
    for file in ["five.csv", "target.csv", "column.csv", "wide.csv"] {
        for mode in MODES {
            assert!(predicted(&place, file, "y", mode) > 1e-6, "{file} {mode:?}");
        }
    }
    // A class with one member.
    let mut rare = String::from("a,kind\n");
    (0..20).for_each(|i| writeln!(rare, "{i},{}", if i == 7 { "rare" } else { ["x", "y"][i / 10] }).unwrap());
    place.write("rare.csv", &rare);
    for mode in MODES {
        let _ = std::fs::remove_dir_all(place.path("run"));
        place
            .ok(&[&["train", "rare.csv", "--target", "kind", "--classes", "-o", "run", "-q"], mode].concat());
        let out = place.ok(&["predict", "run", "rare.csv", "-q"]);
        assert!(!out.contains("NaN") && out.lines().count() == 21, "{out}");
        assert!(!place.ok(&["evaluate", "run", "rare.csv", "-q"]).contains("NaN"));
    }
}

#[test]
fn rows_that_cannot_be_learned_from_are_named() {
    let place = Place::new();
    let rows =
        |scale: f64| (0..20).map(|i| format!("{i},{}\n", f64::from(i % 7) * scale)).collect::<String>();
    place.write("tiny.csv", &format!("a,y\n{}", rows(1e-300)));
    place.write("huge.csv", &format!("a,y\n{}", rows(1e300)));
    place.write("wide.csv", &format!("y,a\n{}", rows(1e300)));
    place.write("one.csv", "a,y\n1,2\n");
    for mode in MODES {
        let train = |file| [&["train", file, "--target", "y", "-o", "run", "-q"], mode].concat();
        place.refused(&train("tiny.csv"), &["target `y`: the square of", "change the unit"]);
        place.refused(&train("huge.csv"), &["target `y`: the square of", "change the unit"]);
        place.refused(&train("wide.csv"), &["input `a`: the square of", "change the unit"]);
    }
    for mode in &MODES[..2] {
        let train = [&["train", "one.csv", "--target", "y", "-o", "run", "-q"], *mode].concat();
        place.refused(&train, &["rows: 1 are too few", "at least 5"]);
    }
    // One network needs no more, but has nothing to be calibrated on.
    assert!(predicted(&place, "one.csv", "y", MODES[2]) > 0.1);
    assert!(place.run(&["predict", "run", "one.csv"]).err.contains("the model is not calibrated"));
}

/// Where to compute does not change what is computed: a GPU that is asked for, whether there is one or not.
#[test]
fn a_device_does_not_change_the_model() {
    let place = Place::new();
    curve(&place, "rows.csv", 60, 0);
    let train = ["train", "rows.csv", "--target", "y", "--single"];
    place.ok(&[&train[..], &["-o", "plain"]].concat());
    for device in ["cuda", "reference"] {
        let ran = place.run(&[&train[..], &["--device", device, "-o", device]].concat());
        assert!(ran.code == 0 && ran.err.contains("the default model trains on the CPU"), "{ran:?}");
        let bytes = |run: &str| std::fs::read(place.path(&format!("{run}/model.safetensors"))).unwrap();
        assert!(bytes(device) == bytes("plain"), "{device}");
    }
}

/// Of the run's own rows, left out, or of others; the page shows it too.
#[test]
fn columns_that_count_are_named() {
    let place = Place::new();
    let mut text = String::from("a,b,kind,y\n");
    for i in 0..120u32 {
        let (a, b, kind) = (i * 37 % 101, i * 61 % 97, ["blue", "green", "red"][i as usize % 3]);
        let more = [0, 40, 90][i as usize % 3];
        text += &format!("{a},{b},{kind},{}\n", a + more);
    }
    place.write("table.csv", &text);
    place.ok(&["train", "table.csv", "--target", "y", "--single", "-q", "-o", "run"]);
    for extra in [&[][..], &["table.csv"], &["--by", "squared-error"]] {
        let lines = place.json(&[&["importance", "run", "-q"], extra].concat());
        let names: Vec<&str> = lines.iter().map(|l| l["column"].as_str().unwrap()).collect();
        assert_eq!(names.len(), 3);
        assert!(
            names[2] == "b" && number(&lines[2], "increase") < 0.1 * number(&lines[1], "increase"),
            "{lines:?}"
        );
        assert_eq!(lines[0]["rows"], 24, "a single network left out a fifth");
    }
    place.write("new.csv", &text.lines().take(31).map(|l| format!("{l}\n")).collect::<String>());
    let lines = place.json(&["importance", "run", "new.csv", "-q"]);
    assert_eq!(lines[0]["rows"], 30);
    let said = place.ok(&["importance", "run", "-q"]);
    assert!(said.contains("of 24 left-out rows is") && said.contains("±"), "{said}");
    place.refused(&["importance", "run/model.safetensors", "nowhere.csv"], &["nowhere.csv"]);

    place.ok(&["report", "run"]);
    let html = place.text("run/report.html");
    for part in [
        "y, predicted with 90 % intervals against true, of 24 rows left out",
        "What counts for y",
        "How the mean prediction moves with a,",
        "How the mean prediction moves with kind",
        "<td>category, 3 levels</td>",
        "The prediction is that of one candidate:",
    ] {
        assert!(html.contains(part), "no {part:?}");
    }
    // Without its rows a run has a page all the same, which says what is not there.
    std::fs::remove_file(place.path("table.csv")).unwrap();
    place.ok(&["report", "run"]);
    let html = place.text("run/report.html");
    assert!(html.contains("Nothing is said of the columns") && !html.contains("What counts for y"));
    place.refused(&["importance", "run"], &["table.csv"]);
}
