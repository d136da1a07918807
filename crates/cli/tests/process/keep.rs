//! Nothing that is there is lost: files named with `-o`, and runs that are replaced.

use crate::run::{Place, wait_until};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Child, Stdio};

#[test]
fn a_file_that_is_there_is_replaced_only_if_forced() {
    let place = Place::trained();
    place.write("out.csv", "precious");
    place.write("wish.csv", "a,b,y\n0.1,,30\n");
    place.write("picture.png", "precious");
    let verbs: [(&[&str], &str); 5] = [
        (&["predict", "run", "data.csv", "-q", "-o", "out.csv"], "out.csv"),
        (&["condition", "run", "wish.csv", "-q", "-o", "out.csv"], "out.csv"),
        (&["report", "run", "-o", "out.csv"], "out.csv"),
        (
            &["condition", "run", "--given", "a=0.1", "--want", "y=30", "-q", "--plot", "picture"],
            "picture.png",
        ),
        (&["predict", "run", "data.csv", "-q", "--out", "out.csv"], "out.csv"),
    ];
    for (args, file) in verbs {
        let says = format!("{file}: already exists; choose another name, or replace it with --force");
        place.refused(args, &[&says]);
        place.ok(&[args, &["--force"]].concat());
        assert!(place.read(file) != b"precious", "{args:?}");
        place.write(file, "precious");
    }
}

#[test]
fn a_file_of_a_run_is_never_written_over() {
    let place = Place::trained();
    symlink("run/model.safetensors", place.path("link.csv")).unwrap();
    place.ok(&[
        "optimize",
        "--objective",
        "x^2",
        "--bounds",
        "-1:1",
        "--evaluations",
        "8",
        "-q",
        "-o",
        "found",
    ]);
    let files =
        ["run/config.json", "run/model.safetensors", "run/metrics.jsonl", "run/curves.csv", "link.csv"];
    for file in files.into_iter().chain(["found/search.json", "./run/../run/commands.jsonl"]) {
        for force in [&[][..], &["--force"]] {
            let predict = ["predict", "run", "data.csv", "-q", "-o", file];
            place.refused(&[&predict[..], force].concat(), &["is a file of a run; choose another name"]);
            place.refused(&[&["report", "run", "-o", file], force].concat(), &["is a file of a run"]);
        }
    }
    // One's own files may lie beside those of a run.
    place.ok(&["predict", "run", "data.csv", "-q", "-o", "run/prices.csv"]);
}

#[test]
fn a_verb_does_not_write_into_the_run_of_another() {
    let place = Place::trained();
    place.ok(&["rl", "pendulum", "--steps", "1024", "--seeds", "1", "-q", "-o", "agent"]);
    place.ok(&["train", "digits", "--net", "mlp", "--limit", "50", "--epochs", "1", "-q", "-o", "images"]);
    let says = |verb: &str| format!("contains a run of `tractable {verb}`; choose another folder with -o");
    for force in [&[][..], &["--force"]] {
        let refused = |args: &[&str], verb: &str| place.refused(&[args, force].concat(), &[&says(verb)]);
        refused(&["rl", "pendulum", "--steps", "1024", "-o", "run"], "train");
        refused(&["train", "data.csv", "--target", "y", "-o", "agent"], "rl");
        refused(&["attack", "images", "--images", "1", "-o", "run"], "train");
        refused(&["optimize", "--objective", "x^2", "--bounds", "-1:1", "-o", "run"], "train");
    }
}

#[test]
fn two_that_write_one_file_do_not_lose_the_first() {
    let place = Place::trained();
    let args = ["predict", "run", "-", "-q", "-o", "out.csv"];
    let mut child = place.command(&args).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut pipe, b"a,b\n0.5,0.25\n").unwrap();
    let begun = || {
        let names = fs::read_dir(place.path(".")).unwrap().map(|e| e.unwrap().file_name());
        names.into_iter().any(|n| n.to_string_lossy().ends_with(".tmp"))
    };
    wait_until("the file is begun", begun);
    place.write("out.csv", "of another process");
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("out.csv: already exists"), "{err}");
    assert_eq!(place.text("out.csv"), "of another process");
    assert!(!begun(), "a temporary file is left");
}

const TRAIN: [&str; 8] = ["train", "data.csv", "--target", "y", "--hidden", "30,30", "-q", "--epochs"];

fn killed(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Killed at many moments while a run takes another's place: there is one of the two, and it can be resumed.
#[test]
fn a_forced_run_that_is_killed_leaves_the_old_run_or_the_new_one() {
    let place = Place::new();
    let runs = ["0", "1"].map(|seed| {
        place.ok(&[&TRAIN[..], &["3", "--seed", seed, "-o", seed]].concat());
        place.read(&format!("{seed}/model.safetensors"))
    });
    place.ok(&[&TRAIN[..], &["3", "--seed", "0", "-o", "run"]].concat());
    place.write("run/notes.txt", "mine");
    let (mut now, mut replaced) = (0, 0);
    for kill in 0..60 {
        let other = ["1", "0"][now];
        let args = [&TRAIN[..], &["3", "--seed", other, "-o", "run", "--force"]].concat();
        let mut command = place.command(&args);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let began = || [".next", ".ready", ".moving"].iter().any(|n| place.path("run").join(n).exists());
        let mut over = false;
        while !over && !began() {
            over = child.try_wait().unwrap().is_some();
        }
        // At the first moment of the replacement, a while after it, and when the new run begins to count.
        match kill % 3 {
            0 => {}
            1 => std::thread::sleep(std::time::Duration::from_micros(500 * kill)),
            _ => while place.path("run/.next").exists() {},
        }
        killed(child);
        // Whoever reads it first meets one run.
        let rmse = place.run(&["inspect", "run", "--json"]);
        assert_eq!(rmse.code, 0, "kill {kill}: {rmse:?}");
        place.ok(&["train", "--resume", "-o", "run", "-q"]);
        let model = place.read("run/model.safetensors");
        let found = runs.iter().position(|run| *run == model);
        let config: serde_json::Value = serde_json::from_str(&place.text("run/config.json")).unwrap();
        assert_eq!(found.map(|f| f as u64), config["settings"]["seed"].as_u64(), "kill {kill}");
        let left = fs::read_dir(place.path("run")).unwrap().map(|e| e.unwrap().file_name());
        let left: Vec<_> = left.filter(|n| n.to_string_lossy().starts_with('.')).collect();
        assert!(left.is_empty(), "kill {kill}: {left:?}");
        replaced += usize::from(found != Some(now));
        now = found.unwrap();
    }
    assert!(replaced > 0 && replaced < 60, "{replaced} of 60 were replaced: other moments are needed");
    assert_eq!(place.text("run/notes.txt"), "mine");
}

/// From the first file on, a run that was killed goes on, to the same model.
#[test]
fn a_run_can_be_resumed_from_its_first_write_on() {
    let place = Place::new();
    let rows = place.text("data.csv");
    place.write("long.csv", &format!("a,b,y\n{}", rows.strip_prefix("a,b,y\n").unwrap().repeat(300)));
    let network = ["train", "long.csv", "--target", "y", "--hidden", "60,60", "--epochs", "2", "-q", "-o"];
    let usual = ["train", "data.csv", "--target", "y", "-q", "-o"];
    for (name, train) in [("network", &network[..]), ("usual", &usual)] {
        let run = format!("{name}-run");
        let child = place.command(&[train, &[&run]].concat()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("the first file", || place.path(&run).join("config.json").exists());
        killed(child);
        assert!(!place.path(&run).join("model.safetensors").exists(), "{name}: too late");
        place.ok(&["train", "--resume", "-q", "-o", &run]);
        place.ok(&[train, &["whole"]].concat());
        assert!(
            place.read(&format!("{run}/model.safetensors")) == place.read("whole/model.safetensors"),
            "{name}"
        );
        fs::remove_dir_all(place.path("whole")).unwrap();
    }
    // Stopped while it wrote even that: there is no run, and a new one begins.
    fs::create_dir(place.path("early")).unwrap();
    place.write("early/.tractable-0-1-2.tmp", "{");
    place.refused(&["train", "--resume", "-o", "early"], &["early: no run yet; leave out --resume"]);
    place.ok(&[&TRAIN[..], &["1", "-o", "early"]].concat());
}

/// Stopped between its model and its scores, a run gets them when it is resumed.
#[test]
fn scores_that_a_kill_prevented_are_made_up_for() {
    let place = Place::new();
    place.ok(&["train", "data.csv", "--target", "y", "--test", "0.2", "--single", "-q", "-o", "run"]);
    let metrics = place.text("run/metrics.jsonl");
    assert_eq!(metrics.lines().count(), 2);
    place.write("run/metrics.jsonl", "");
    place.ok(&["train", "--resume", "-q", "-o", "run"]);
    assert_eq!(place.text("run/metrics.jsonl"), metrics);
}

#[test]
fn no_two_errors_point_at_each_other() {
    let place = Place::new();
    fs::create_dir(place.path("run")).unwrap();
    place.write("run/metrics.jsonl", "");
    let train = ["train", "data.csv", "--target", "y", "-o", "run"];
    let start = place.run(&train).err;
    assert!(start.contains("contains no run") && !start.contains("--resume"), "{start}");
    let resume = place.run(&["train", "--resume", "-o", "run"]).err;
    assert!(resume.contains("start one in another folder") && !resume.contains("--force"), "{resume}");
    place.ok(&[&train[..], &["--epochs", "1", "--force", "-q"]].concat());
    place.refused(&train, &["run: already exists: contains a run", "--resume", "--force"]);
    place.ok(&["train", "--resume", "-o", "run", "-q"]);
}
