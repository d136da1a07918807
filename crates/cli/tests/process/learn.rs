//! `tractable learn`: a model keeps learning, and nothing is lost when a stream breaks.

use crate::interrupt::signal;
use crate::run::{Place, json_lines, wait_until};
use serde_json::Value;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;
use tractable::rng;

/// Rows like those of `data.csv`, but with another slope.
fn rows(from: usize, to: usize) -> String {
    let row = |i: usize| {
        let (a, b) = ((i * 7 % 11) as f64 / 11.0, (i * 5 % 13) as f64 / 13.0);
        format!("{a},{b},{}\n", 30.0 - 4.0 * a - 2.0 * b)
    };
    (from..to).map(row).collect()
}

fn with_header(rows: &str) -> String {
    format!("a,b,y\n{rows}")
}

fn rows_of(place: &Place, run: &str) -> u64 {
    let lines = place.json(&["inspect", run]);
    lines.iter().find(|l| l["type"] == "ensemble").unwrap()["rows"].as_u64().unwrap()
}

#[test]
fn a_model_goes_on_learning() {
    let place = Place::trained();
    place.write("new.csv", &with_header(&rows(0, 600)));
    let before = rows_of(&place, "run");
    let lines = place.json(&["learn", "run", "new.csv", "--score", "--window", "200", "-q"]);
    let of = |kind: &str| lines.iter().filter(|l| l["type"] == kind).collect::<Vec<&Value>>();
    let rmse: Vec<f64> = of("score").iter().map(|l| l["rmse"].as_f64().unwrap()).collect();
    assert_eq!(rmse.len(), 3);
    assert!(rmse[2] < 0.5 * rmse[0], "{rmse:?}");
    assert_eq!(of("end")[0]["rows"], 600);
    assert!(of("end")[0]["forgot"].as_u64().unwrap() > 0, "it should be surprised: {lines:?}");
    assert_eq!(rows_of(&place, "run"), before + 600);
    // The next stream continues the log, and the page shows it.
    place.ok(&["learn", "run", "new.csv", "--score", "--window", "300", "-q"]);
    let log = json_lines(&place.text("run/stream.jsonl"));
    let at: Vec<u64> = log.iter().map(|l| l["rows"].as_u64().unwrap()).collect();
    assert_eq!(at, [200, 400, 600, 900, 1200]);
    place.ok(&["report", "run", "-q"]);
    let page = place.text("run/report.html");
    assert!(
        page.contains("New rows") && page.contains("tractable learn run new.csv"),
        "the page shows the stream"
    );
    // The model no longer knows which of its networks left out a training row.
    let own = place.run(&["evaluate", "run", "data.csv", "--json"]);
    assert_eq!(own.code, 0, "{own:?}");
}

#[test]
fn the_default_model_and_classes_learn_with_gaps() {
    let place = Place::new();
    place.ok(&["train", "data.csv", "--target", "y", "-o", "ten", "-q"]);
    place.write("new.csv", "a,b,y\n0.1,,30\n0.2,0.3,\n,0.2,31\n0.4,0.4,30.5\n");
    let lines = place.json(&["learn", "ten", "new.csv", "--score", "-q"]);
    let end = lines.last().unwrap();
    assert_eq!((end["rows"].as_u64(), end["without_target"].as_u64()), (Some(3), Some(1)));
    assert_eq!(rows_of(&place, "ten"), 63);
    let train = ["train", "classes.csv", "--target", "kind", "--classes", "--single", "-o", "kinds", "-q"];
    place.ok(&train);
    let lines = place.json(&["learn", "kinds", "classes.csv", "--score", "--window", "30", "-q"]);
    assert!(lines.iter().any(|l| l["error_rate"].is_number()), "{lines:?}");
    place.write("odd.csv", "a,b,kind\n0.1,0.2,low\n0.1,0.2,none of them\n");
    let odd = place.run(&["learn", "kinds", "odd.csv", "-q"]);
    assert_eq!(odd.code, 2);
    assert!(odd.err.contains("not a class of the model") && odd.err.contains("--skip 1"), "{}", odd.err);
}

#[test]
fn a_bad_row_loses_nothing() {
    let place = Place::network();
    for run in ["whole", "piped"] {
        std::fs::create_dir(place.path(run)).unwrap();
        for file in ["model.safetensors", "config.json"] {
            std::fs::copy(place.path("run").join(file), place.path(run).join(file)).unwrap();
        }
    }
    let (first, second) = (rows(0, 30), rows(30, 80));
    place.write("good.csv", &with_header(&format!("{first}{second}")));
    for (bad, says) in [("0.1,0.2,many\n", "is not a number"), ("0.1,0.2\n", "expected 3 cells")] {
        place.write("bad.csv", &with_header(&format!("{first}{bad}{second}")));
        let ran = place.run(&["learn", "run", "bad.csv", "--skip", "0", "-q"]);
        assert_eq!(ran.code, 2, "{ran:?}");
        for part in [says, "line 32", "first 30 rows", "tractable learn run bad.csv --skip 30"] {
            assert!(ran.err.contains(part), "no {part:?}: {}", ran.err);
        }
        // Comparing once is enough; the second kind of mistake only has to be reported.
        if bad.contains("many") {
            place.ok(&["learn", "run", "good.csv", "--skip", "30", "-q", "--every", "7"]);
            place.ok(&["learn", "whole", "good.csv", "-q"]);
            assert!(place.read("run/model.safetensors") == place.read("whole/model.safetensors"));
            let piped = place.run_with(&["learn", "piped", "-", "-q"], &place.text("good.csv"));
            assert_eq!(piped.code, 0, "{piped:?}");
            assert!(place.read("piped/model.safetensors") == place.read("whole/model.safetensors"));
        }
    }
    // `--resume` can still continue the model.
    place.ok(&["train", "--resume", "-o", "run", "--epochs", "6", "-q"]);
}

#[test]
fn ctrl_c_saves_what_came_so_far() {
    let place = Place::network();
    let mut command = place.command(&["learn", "run", "-", "--score", "--json", "--window", "5"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(with_header(&rows(0, 25)).as_bytes()).unwrap();
    pipe.flush().unwrap();
    wait_until("five windows", || {
        place.path("run/stream.jsonl").exists() && place.text("run/stream.jsonl").lines().count() >= 5
    });
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("first 25 rows"), "{err}");
    drop(pipe);
    let log = json_lines(&place.text("run/stream.jsonl"));
    assert_eq!(log.last().unwrap()["rows"], 25);
}

/// Rows of the stream that the model in a folder has read.
fn read(place: &Place, run: &str) -> u64 {
    let file = place.path(&format!("{run}/stream.json"));
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let kept: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
    kept.last().map_or(0, |last| last["read"].as_u64().unwrap())
}

#[test]
fn killed_and_resumed_it_learns_every_row_once() {
    let place = Place::network();
    std::fs::create_dir(place.path("whole")).unwrap();
    for file in ["model.safetensors", "config.json"] {
        std::fs::copy(place.path("run").join(file), place.path("whole").join(file)).unwrap();
    }
    place.write("new.csv", &with_header(&rows(0, 1500)));
    let learn = |run: &str, more: &[&str]| {
        let words = ["learn", run, "new.csv", "--score", "--window", "40", "-q"];
        place.command(&[&words[..], more].concat())
    };
    for kill in 0..4 {
        let before = read(&place, "run");
        let resume: &[&str] = if kill == 0 { &[] } else { &["--resume"] };
        let mut command = learn("run", &[&["--every", "25"], resume].concat());
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        wait_until("two saves", || read(&place, "run") >= before + 50);
        child.kill().unwrap();
        child.wait().unwrap();
        place.ok(&["predict", "run", "data.csv", "-q"]);
    }
    let done = read(&place, "run");
    assert!(done < 1500, "it was killed {done} rows into the stream");
    assert!(learn("run", &["--resume"]).stdout(Stdio::null()).status().unwrap().success());
    assert!(learn("whole", &[]).stdout(Stdio::null()).status().unwrap().success());
    assert!(place.read("run/model.safetensors") == place.read("whole/model.safetensors"));
    let log = json_lines(&place.text("run/stream.jsonl"));
    let at: Vec<u64> = log.iter().map(|l| l["rows"].as_u64().unwrap()).collect();
    assert!(at.is_sorted_by(|a, b| a < b) && at.last() == Some(&1500), "{at:?}");
    place.refused(&["learn", "run", "data.csv", "--resume"], &["has read nothing of data.csv"]);
}

/// Runs on `data.csv` and `classes.csv`: networks alone and calibrated, lines, ensembles of numbers and of classes.
const KINDS: [(&str, &[&str]); 4] = [
    ("ensemble", &["data.csv", "--target", "y"]),
    ("classes", &["classes.csv", "--target", "kind", "--classes"]),
    ("single", &["data.csv", "--target", "y", "--single"]),
    ("network", &["data.csv", "--target", "y", "--epochs", "5", "--hidden", "8", "--calibration", "0"]),
];

/// Rows to learn for each of them, which differ from those of the training.
fn stream(place: &Place, kind: &str, rows: usize) {
    let text = match kind {
        "classes" => {
            let lines = place.text("classes.csv");
            let kinds = ["low", "middle", "\"top, high\""];
            let row = |(i, line): (usize, &str)| {
                format!("{},{}\n", line.splitn(3, ',').take(2).collect::<Vec<_>>().join(","), kinds[i % 3])
            };
            let rows = lines.lines().skip(1).cycle().take(rows).enumerate().map(row);
            format!("a,b,kind\n{}", rows.collect::<String>())
        }
        _ => with_header(&self::rows(0, rows)),
    };
    place.write(&format!("{kind}.csv"), &text);
}

fn copy(place: &Place, from: &str, to: &str) {
    std::fs::create_dir(place.path(to)).unwrap();
    for file in std::fs::read_dir(place.path(from)).unwrap().map(|f| f.unwrap()) {
        std::fs::copy(file.path(), place.path(to).join(file.file_name())).unwrap();
    }
}

/// The last place in a stream that is noted.
fn last(place: &Place, run: &str) -> Value {
    let mut kept: Vec<Value> = serde_json::from_str(&place.text(&format!("{run}/stream.json"))).unwrap();
    kept.pop().unwrap()
}

/// Killed and interrupted at random moments, also before the first row and while it saves, a model ends with the bits of one that was
/// left alone, and with what `Drift` has counted.
#[test]
fn stopped_at_any_moment_it_ends_in_the_same_bits() {
    for (kind, train) in KINDS {
        let place = Place::new();
        place.ok(&[&["train"], train, &["-o", "run", "-q"]].concat());
        stream(&place, kind, 400);
        let file = format!("{kind}.csv");
        let command =
            |run: &str, more: &[&str]| place.command(&[&["learn", run, &file, "-q"], more].concat());
        copy(&place, "run", "whole");
        assert!(command("whole", &[]).status().unwrap().success());
        copy(&place, "run", "often");
        assert!(command("often", &["--every", "5"]).status().unwrap().success());
        assert!(place.read("often/model.safetensors") == place.read("whole/model.safetensors"), "{kind}");
        let mut random = rng::stream(1, kind, 0);
        let mut stops = Vec::new();
        for n in 0..12 {
            let before = read(&place, "run");
            let mut child =
                command("run", &["--every", "5", "--resume"]).stderr(Stdio::null()).spawn().unwrap();
            let some = 5 * (rng::uniform(0.0, 4.0, &mut random) as u64);
            let mut over = false;
            wait_until("some rows", || {
                over = child.try_wait().unwrap().is_some();
                over || read(&place, "run") >= before + some
            });
            if over {
                break;
            }
            std::thread::sleep(Duration::from_secs_f64(rng::uniform(0.0, 0.02, &mut random)));
            signal(&child, if n % 3 == 0 { "-INT" } else { "-KILL" });
            match child.wait().unwrap().code() {
                Some(0) => break,
                code => assert!([None, Some(130)].contains(&code), "{kind}: {code:?}"),
            }
            stops.push(read(&place, "run"));
        }
        println!("{kind}: stopped after {stops:?} rows");
        assert!(!stops.is_empty(), "{kind}: it ended before it was stopped");
        assert!(command("run", &["--resume"]).status().unwrap().success());
        assert!(place.read("run/model.safetensors") == place.read("whole/model.safetensors"), "{kind}");
        assert_eq!(last(&place, "run"), last(&place, "whole"), "{kind}");
    }
}

/// `timeout` sends two signals at once; they are one request to stop.
#[test]
fn two_signals_at_once_are_one() {
    let place = Place::network();
    let mut command = place.command(&["learn", "run", "-", "-q"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(with_header(&rows(0, 25)).as_bytes()).unwrap();
    pipe.flush().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    signal(&child, "-TERM");
    signal(&child, "-TERM");
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(130) && err.contains("first 25 rows"), "{err}");
    drop(pipe);
}

#[test]
fn a_reader_that_leaves_loses_no_rows() {
    let place = Place::network();
    place.write("new.csv", &with_header(&rows(0, 400)));
    let mut command =
        place.command(&["learn", "run", "new.csv", "--score", "--window", "10", "--json", "-q"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(read(&place, "run"), 400);
}

#[test]
fn what_cannot_learn_is_refused() {
    let place = Place::network();
    place.refused(&["learn", "data.csv", "data.csv"], &["not a folder"]);
    place.refused(&["learn", "run", "none.csv"], &["none.csv", "the model is unchanged"]);
    place.write("short.csv", "a,y\n1,2\n");
    place.refused(&["learn", "run", "short.csv"], &["`b`", "the model is unchanged"]);
    std::fs::create_dir(place.path("empty")).unwrap();
    place.refused(&["learn", "empty", "data.csv"], &["no finished model"]);
    place.ok(&["train", "digits", "--limit", "100", "--epochs", "1", "--net", "mlp", "-o", "images", "-q"]);
    place.refused(&["learn", "images", "data.csv"], &["a run on images"]);
    let few = place.run(&["learn", "run", "data.csv", "--skip", "1000", "-q"]);
    assert!(few.code == 2 && few.err.contains("only 60 rows"), "{few:?}");
}
