//! What can happen to a run from outside: it is killed, another one wants its folder, its log is removed, the disk is
//! full. It ends with its work saved, or goes on.

use crate::run::{Place, json_lines, wait_until};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tractable::rng;

fn started(place: &Place, args: &[&str]) -> Child {
    let mut command = place.command(args);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn stopped(child: Child, signal: &str) -> (Option<i32>, String) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// Killed again and again, a run that is resumed ends with the bits of one that was left alone.
#[test]
fn killed_and_resumed_ends_in_the_same_bits() {
    let place = Place::new();
    let train = ["train", "data.csv", "--target", "y", "--hidden", "9", "--epochs", "4000", "-q", "-o"];
    place.ok(&[&train[..], &["whole"]].concat());
    let epochs =
        |place: &Place| fs::read_to_string(place.path("run/metrics.jsonl")).map_or(0, |t| t.lines().count());
    let mut kills = 0;
    for kill in 0..30 {
        let begun = place.path("run/config.json").exists();
        let resume = ["train", "--resume", "-o", "run", "-q"];
        let again = [&train[..], &["run", "--force"]].concat();
        let before = epochs(&place);
        let mut child = started(&place, if begun { &resume[..] } else { &again[..] });
        let mut over = false;
        wait_until("some epochs", || {
            over = child.try_wait().unwrap().is_some();
            over || epochs(&place) > before + 10 * (kill % 7)
        });
        if over {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            break;
        }
        match stopped(child, "-KILL") {
            (None, _) => kills += 1,
            // It ended by itself between the look and the signal.
            (code, err) => {
                assert_eq!(code, Some(0), "{err}");
                break;
            }
        }
        let left = fs::read_dir(place.path("run")).unwrap().count();
        assert!(left <= 6, "{left} files: five, and one that was being written");
    }
    assert!(kills >= 3, "{kills} kills");
    place.ok(&["train", "--resume", "-o", "run", "-q"]);
    assert!(place.read("run/model.safetensors") == place.read("whole/model.safetensors"));
    let past = |run: &str| {
        let lines = json_lines(&place.text(&format!("{run}/metrics.jsonl")));
        lines.iter().map(|l| (l["type"].clone(), l["epoch"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(past("run"), past("whole"));
    assert_eq!(fs::read_dir(place.path("run")).unwrap().count(), 5, "no temporary file is left");
}

/// Killed and interrupted at random moments, also before the first epoch and while it saves, whatever is trained: networks continue, other
/// models begin again.
#[test]
fn stopped_at_any_moment_a_training_ends_in_the_same_bits() {
    let kinds: [(&str, usize); 4] = [
        ("classes.csv --target kind --classes --hidden 9 --epochs 1500 --validation 0.2 --patience 2000", 12),
        ("digits --net mlp --limit 200 --epochs 400", 12),
        ("long.csv --target y --stream", 3),
        ("data.csv --target y", 3),
    ];
    for (kind, times) in kinds {
        let place = Place::new();
        let data = place.text("data.csv");
        let (names, rows) = data.split_once('\n').unwrap();
        place.write("long.csv", &format!("{names}\n{}", rows.repeat(2000)));
        let train = |out| {
            kind.split(' ').fold(vec!["train", "-q", "-o", out], |words, word| [&words[..], &[word]].concat())
        };
        place.ok(&train("whole"));
        let again = |place: &Place| match place.path("run/config.json").exists() {
            true => vec!["train", "--resume", "-o", "run", "-q"],
            false => [&train("run")[..], &["--force"]].concat(),
        };
        let (mut random, mut stops) = (rng::stream(2, kind, 0), 0);
        for n in 0..times {
            let child = started(&place, &again(&place));
            std::thread::sleep(Duration::from_secs_f64(rng::uniform(0.0, 0.5, &mut random)));
            let (code, err) = stopped(child, if n % 3 == 0 { "-INT" } else { "-KILL" });
            assert!([None, Some(0), Some(130)].contains(&code), "{kind}: {code:?} {err}");
            if code == Some(0) {
                break;
            }
            stops += 1;
        }
        println!("{kind}: stopped {stops} times");
        assert!(stops > 0, "{kind}");
        place.ok(&again(&place));
        for name in ["model.safetensors", "last.safetensors", "best.safetensors"] {
            assert_eq!(
                place.path("run").join(name).exists(),
                place.path("whole").join(name).exists(),
                "{kind}: {name}"
            );
            if place.path("whole").join(name).exists() {
                let [run, whole] = ["run", "whole"].map(|run| place.read(&format!("{run}/{name}")));
                assert!(run == whole, "{kind}: {name}");
            }
        }
    }
}

/// Runs that go on until they are stopped, and a file that shows they have begun.
const ENDLESS: [(&[&str], &str); 3] = [
    (&["train", "data.csv", "--target", "y", "--epochs", "100000000", "-q"], "run/config.json"),
    (&["rl", "pendulum", "--steps", "1e12", "-q"], "run/seed-0/episodes.csv"),
    (&["optimize", "--objective", "rosenbrock4", "--evaluations", "1000000", "-q"], "run/commands.jsonl"),
];

#[test]
fn the_second_in_a_folder_is_refused() {
    for (args, shows) in ENDLESS {
        let place = Place::new();
        let args = [args, &["-o", "run"]].concat();
        let first = started(&place, &args);
        wait_until(shows, || place.path(shows).exists());
        let says = "run: another process is using this folder";
        let again: &[&str] = &["--force"];
        for more in [&["--resume"], again] {
            let second = if args[0] == "train" && more == ["--resume"] {
                place.run(&["train", "--resume", "-o", "run"])
            } else {
                place.run(&[&args[..], more].concat())
            };
            assert_eq!(second.code, 2, "{args:?} {more:?}: {second:?}");
            assert!(second.err.contains(says), "{args:?} {more:?}: {second:?}");
        }
        // Let go by whoever is killed: nothing is left that keeps others out.
        let (code, _) = stopped(first, "-KILL");
        assert_eq!(code, None);
        fs::remove_file(place.path(shows)).unwrap();
        let third = started(&place, &[&args[..], again].concat());
        wait_until(shows, || place.path(shows).exists());
        let (code, err) = stopped(third, "-TERM");
        assert_eq!(code, Some(130), "{args:?}: {err}");
        assert!(err.contains("interrupted: "), "{args:?}: {err}");
    }
}

/// Shorter work, whose folder this process holds meanwhile.
#[test]
fn attacks_and_downloads_have_their_folder_alone() {
    let place = Place::new();
    place.ok(&["train", "digits", "--net", "mlp", "--limit", "50", "--epochs", "1", "-q", "-o", "run"]);
    let attack = ["attack", "run", "--images", "1", "-q", "-o", "attacked", "--force"];
    let fetch = ["data", "fetch", "mnist", "--to", "d", "--mirror", "http://127.0.0.1:9/sets", "-q"];
    for (args, folder) in [(&attack[..], "attacked"), (&fetch, "d/mnist/.fetch")] {
        fs::create_dir_all(place.path(folder)).unwrap();
        let held = tractable::files::FolderLock::take(&place.path(folder)).unwrap();
        place.refused(args, &[folder, "another process is using this folder"]);
        drop(held);
    }
    place.ok(&attack);
}

/// Two that ask and tell at once wait for each other: nothing is lost.
#[test]
fn points_told_at_once_are_all_kept() {
    let place = Place::new();
    place.ok(&["optimize", "--ask", "search.json", "--bounds", "0:1"]);
    let children: Vec<Child> =
        (0..6).map(|_| started(&place, &["optimize", "--ask", "search.json"])).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let state: serde_json::Value = serde_json::from_str(&place.text("search.json")).unwrap();
    assert_eq!(state["optimizer"]["pending"].as_array().unwrap().len(), 7);
}

#[test]
fn a_log_that_is_removed_does_not_end_a_run() {
    let place = Place::new();
    let train = ["train", "data.csv", "--target", "y", "--epochs", "100000000", "-q", "-o", "run"];
    let mut child = started(&place, &train);
    for _ in 0..20 {
        wait_until("metrics", || place.path("run/metrics.jsonl").exists());
        fs::remove_file(place.path("run/metrics.jsonl")).unwrap();
        std::thread::sleep(Duration::from_millis(70));
        assert!(child.try_wait().unwrap().is_none(), "it ended");
    }
    let (code, err) = stopped(child, "-TERM");
    assert_eq!(code, Some(130), "{err}");
    assert!(place.json(&["inspect", "run"])[0]["epochs"].as_u64().unwrap() > 1);

    let child = started(&place, &["rl", "pendulum", "--steps", "1e12", "-q", "-o", "agent"]);
    let logs = ["episodes.csv", "progress.jsonl", "events.out.tfevents.0.tractable"]
        .map(|name| place.path("agent/seed-0").join(name));
    wait_until("logs", || logs.iter().all(|l| l.exists()));
    std::thread::sleep(Duration::from_millis(200));
    logs.iter().for_each(|l| fs::remove_file(l).unwrap());
    let (code, err) = stopped(child, "-TERM");
    assert_eq!(code, Some(130), "{err}");
    assert!(place.path("agent/seed-0/agent.safetensors").exists(), "{err}");
    assert!(place.text("agent/seed-0/episodes.csv").starts_with("step,length,return\n"));
    place.ok(&["rl", "play", "agent", "--episodes", "1"]);
}

/// All that was written so far is of tomorrow: the clock was put back meanwhile.
#[test]
fn a_clock_that_goes_backwards_changes_nothing() {
    let place = Place::new();
    let train = ["train", "data.csv", "--target", "y", "--epochs", "2000", "-q", "-o"];
    place.ok(&[&train[..], &["whole"]].concat());
    let child = started(&place, &[&train[..], &["run"]].concat());
    wait_until("a run", || {
        ["config.json", "model.safetensors"].iter().all(|f| place.path("run").join(f).exists())
    });
    stopped(child, "-KILL");
    place.ok(&["rl", "pendulum", "--steps", "9000", "-q", "-o", "whole-agent"]);
    place.ok(&["rl", "pendulum", "--steps", "6000", "-q", "-o", "agent"]);
    let tomorrow = std::time::SystemTime::now() + Duration::from_secs(86_400);
    fs::write(place.path("run/.tractable-0-1-2.tmp"), "of another machine").unwrap();
    let progress = place.path("agent/seed-0/progress.jsonl");
    let later = json_lines(&fs::read_to_string(&progress).unwrap()).into_iter().map(|mut line| {
        line["time"] = (line["time"].as_f64().unwrap() + 86_400.0).into();
        format!("{line}\n")
    });
    fs::write(&progress, later.collect::<String>()).unwrap();
    for folder in ["run", "agent/seed-0"] {
        for file in fs::read_dir(place.path(folder)).unwrap() {
            let file = fs::File::options().write(true).open(file.unwrap().path()).unwrap();
            file.set_modified(tomorrow).unwrap();
        }
    }
    place.ok(&["train", "--resume", "-o", "run", "-q"]);
    assert!(place.read("run/model.safetensors") == place.read("whole/model.safetensors"));
    assert!(place.path("run/.tractable-0-1-2.tmp").exists(), "new, not old: somebody may be writing it");
    place.ok(&["rl", "pendulum", "--steps", "9000", "-q", "-o", "agent", "--resume"]);
    let agent = |folder: &str| place.read(&format!("{folder}/seed-0/agent.safetensors"));
    assert!(agent("agent") == agent("whole-agent"));
    place.ok(&["report", "agent"]);
}

/// Files may grow to 16 KiB only, as on a disk that is nearly full.
#[test]
fn a_full_disk_is_an_error_with_its_path() {
    let place = Place::trained();
    let before = place.read("run/model.safetensors");
    let limited = |args: &[&str]| {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "ulimit -f 32; trap '' XFSZ; exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_tractable"),
        ]);
        let output = command.args(args).current_dir(place.path(".")).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let train = ["train", "data.csv", "--target", "y", "--hidden", "60,60", "--epochs", "3", "-q"];
    let train = [&train[..], &["--calibration", "0"]].concat();
    let (code, err) = limited(&[&train[..], &["-o", "run", "--force"]].concat());
    assert_eq!(code, Some(2), "{err}");
    assert!(err.starts_with("error: run/.next/model.safetensors: cannot write it: "), "{err}");
    assert!(place.read("run/model.safetensors") == before, "the old model stays");
    place.ok(&["train", "--resume", "-o", "run", "--epochs", "6", "-q"]);
    let left: Vec<_> = fs::read_dir(place.path("run")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|n| !n.to_string_lossy().starts_with('.')), "{left:?}");
    place.write("many.csv", &format!("a,b\n{}", "0.5,0.25\n".repeat(5000)));
    let (code, err) = limited(&["predict", "run", "many.csv", "-q", "-o", "out.csv"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.starts_with("error: out.csv: cannot write it: ") && !place.path("out.csv").exists(), "{err}");
}
