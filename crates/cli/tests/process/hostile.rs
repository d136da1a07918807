//! What no careful user would give it: wrong kinds of files, huge numbers, names that a terminal obeys, folders that lead elsewhere.
//! Each is refused at once, with one line and exit code 2, or does no harm. `bad_data`, `bad_models`, `faults`, `interrupt`, `keep`
//! and `out` have their own; the table below holds what those have not.

use crate::interrupt::signal;
use crate::run::{Place, wait_until};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Words of a command, and what the error says.
type Case = (&'static [&'static str], &'static str);

/// All are refused, nothing is changed, and none of them takes long.
fn all_refused(place: &Place, cases: &[Case]) {
    for (args, says) in cases {
        let began = Instant::now();
        place.refused(args, &[says]);
        assert!(began.elapsed() < Duration::from_secs(20), "{args:?} took {:?}", began.elapsed());
    }
}

/// With things that are no files: `zero`, `pipe` and `loop`; `hollow/` holds pipes under the names of a run's files.
fn odd_files() -> Place {
    let place = Place::trained();
    symlink("/dev/zero", place.path("zero")).unwrap();
    symlink("loop", place.path("loop")).unwrap();
    symlink("pong", place.path("ping")).unwrap();
    symlink("ping", place.path("pong")).unwrap();
    fs::create_dir(place.path("folder.csv")).unwrap();
    place
}

/// Devices, folders and links that lead round in a circle, wherever a file or a run is expected.
#[test]
fn what_is_no_file_is_refused_at_once() {
    let place = odd_files();
    let fast = |args: &[&str], says: &str| {
        // Without a snapshot of the folder, which would read the device.
        let began = Instant::now();
        let ran = place.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.err.starts_with("error: ") && ran.err.contains(says), "{args:?}: {ran:?}");
        assert_eq!(ran.err.lines().count(), 1, "{args:?}: {ran:?}");
        assert!(began.elapsed() < Duration::from_secs(20), "{args:?}: {:?}", began.elapsed());
    };
    let (device, folder, links) =
        ("is a device, not a CSV file", "is a folder, not a CSV file", "symbolic links");
    let cases: &[Case] = &[
        (&["train", "./zero", "--target", "y", "-o", "new"], device),
        (&["train", "/dev/null", "--target", "y", "-o", "new"], device),
        (&["train", "folder.csv", "--target", "y", "-o", "new"], folder),
        (&["train", "./ping", "--target", "y", "-o", "new"], links),
        (&["train", "data.csv", "--target", "y", "-o", "loop"], "loop"),
        (&["train", "--resume", "-o", "loop"], "loop"),
        (&["predict", "run", "zero"], device),
        (&["predict", "run", "folder.csv"], folder),
        (&["predict", "run", "ping"], links),
        (&["predict", "zero", "data.csv"], "is not a file"),
        (&["predict", "loop", "data.csv"], links),
        (&["evaluate", "run", "./zero"], device),
        (&["evaluate", "run", "./folder.csv"], folder),
        (&["evaluate", "zero", "data.csv"], "is not a file"),
        (&["condition", "run", "zero"], device),
        (&["condition", "run", "folder.csv"], folder),
        (&["condition", "loop", "--want", "y=1"], links),
        (&["inspect", "zero"], "is not a file"),
        (&["inspect", "ping"], links),
        (&["optimize", "--data", "zero", "--target", "y"], device),
        (&["optimize", "--model", "zero", "--bounds", "0:1,0:1"], "is not a file"),
        (&["optimize", "--ask", "zero", "--bounds", "0:1"], "is not a file"),
        (&["optimize", "--tell", "zero", "--value", "1"], "is not a file"),
        (&["report", "zero"], "not a folder"),
        (&["report", "loop"], links),
        (&["report", "loop", "--follow"], links),
        (&["rl", "play", "loop"], links),
        (&["rl", "play", "zero"], "zero"),
        (&["attack", "zero"], "is not a file"),
    ];
    cases.iter().for_each(|(args, says)| fast(args, says));
    assert!(!place.path("new").exists());
}

/// A folder of a run whose files are pipes, devices, links in a circle, folders, or lead out of it.
#[test]
fn a_run_whose_files_are_no_files_is_refused_at_once() {
    let place = Place::trained();
    type Make<'a> = &'a dyn Fn(&std::path::Path);
    let made: [(&str, Make<'_>); 4] = [
        ("pipe", &|p| assert!(Command::new("mkfifo").arg(p).status().unwrap().success())),
        ("device", &|p| symlink("/dev/zero", p).unwrap()),
        ("loop", &|p| symlink(p, p).unwrap()),
        ("folder", &|p| fs::create_dir(p).unwrap()),
    ];
    for (kind, make) in made {
        for file in
            ["config.json", "metrics.jsonl", "model.safetensors", "last.safetensors", "commands.jsonl"]
        {
            let run = format!("{kind}-{file}");
            fs::create_dir(place.path(&run)).unwrap();
            for entry in fs::read_dir(place.path("run")).unwrap() {
                let entry = entry.unwrap();
                fs::copy(entry.path(), place.path(&run).join(entry.file_name())).unwrap();
            }
            fs::remove_file(place.path(&run).join(file)).unwrap();
            make(&place.path(&run).join(file));
            let verbs: [&[&str]; 6] = [
                &["train", "--resume", "-q", "--epochs", "6", "-o", &run],
                &["predict", &run, "data.csv", "-q"],
                &["evaluate", &run, "data.csv", "-q"],
                &["inspect", &run],
                &["report", &run],
                &["optimize", "--model", &run, "--bounds", "0:1,0:1", "-q"],
            ];
            for verb in verbs {
                let began = Instant::now();
                let ran = place.run(verb);
                assert!([0, 2].contains(&ran.code), "{verb:?}: {ran:?}");
                assert!(ran.code == 0 || ran.err.lines().count() == 1, "{verb:?}: {ran:?}");
                assert!(began.elapsed() < Duration::from_secs(20), "{verb:?}: {:?}", began.elapsed());
            }
        }
    }
}

/// Text where numbers belong, numbers that nothing can have, and flags that contradict each other.
#[test]
fn wrong_types_and_huge_numbers_are_refused() {
    let place = Place::trained();
    place.write("binary.csv", "\u{0}\u{1}\u{2},\u{7f}\n\u{0},\u{0}\n");
    fs::write(place.path("png.csv"), b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xfe").unwrap();
    fs::write(place.path("model.csv"), place.read("run/model.safetensors")).unwrap();
    place.write("long.csv", &format!("a,b,y\n{},1,2\n", "9".repeat(2 << 20)));
    place.write("huge.csv", "a,b,y\n1e309,1,2\n");
    place.write("list.json", "[1,2,3]");
    let cases: &[Case] = &[
        (&["train", "binary.csv", "--target", "y", "-o", "new"], "binary.csv"),
        (&["train", "png.csv", "--target", "y", "-o", "new"], "png.csv"),
        (&["train", "model.csv", "--target", "y", "-o", "new"], "model.csv"),
        (&["train", "long.csv", "--target", "y", "-o", "new"], "1 MiB"),
        (&["train", "data.csv", "--target", "y", "--epochs", "1e300"], "--epochs"),
        (&["train", "data.csv", "--target", "y", "--epochs", "1.5"], "whole number"),
        (&["train", "data.csv", "--target", "y", "--epochs", "many"], "whole number"),
        (&["train", "data.csv", "--target", "y", "--batch", "1e99"], "--batch"),
        (&["train", "data.csv", "--target", "y", "--seed", "-1"], "--seed"),
        (&["train", "data.csv", "--target", "y", "--seed", "18446744073709551616"], "--seed"),
        (&["train", "data.csv", "--target", "y", "--gain", "1e999"], "--gain"),
        (&["train", "data.csv", "--target", "", "-o", "new"], "no such column"),
        (&["train", "data.csv", "--target", "y\u{1b}[2J", "-o", "new"], "\\u{1b}[2J"),
        (&["predict", "run", "binary.csv"], "binary.csv"),
        (&["predict", "run", "model.csv"], "model.csv"),
        (&["predict", "run", "data.csv", "--level", "nan"], "--level"),
        (&["predict", "run", "data.csv", "--level", "1e-400"], "--level"),
        (&["predict", "run", "data.csv", "--quantiles", "0.1,x"], "--quantiles"),
        (&["predict", "list.json", "data.csv"], "list.json"),
        (&["evaluate", "run", "png.csv"], "png.csv"),
        (&["evaluate", "run", "data.csv", "--max-rmse", "low"], "--max-rmse"),
        (&["condition", "run", "--want", "y=1e999"], "--want"),
        (&["condition", "run", "--want", "y=nan"], "--want"),
        (&["condition", "run", "--given", "a=0±-1", "--want", "y=1"], "--given"),
        (&["condition", "run", "--want", "=1"], "--want"),
        (&["optimize", "--objective", "x^2", "--bounds", "1:0"], "bounds"),
        (&["optimize", "--objective", "x^2", "--bounds", "0:inf"], "bounds"),
        (&["optimize", "--objective", "x^2", "--bounds", "0:1", "--evaluations", "0"], "--evaluations"),
        (&["optimize", "--tell", "list.json", "--value", "1"], "list.json"),
        (&["optimize", "--ask", "data.csv", "--bounds", "0:1"], "data.csv"),
        (&["optimize", "--model", "run", "--bounds", "0:1"], "bounds"),
        (&["rl", "pendulum", "--steps", "-5", "-o", "new"], "-5"),
        (&["rl", "pendulum", "--steps", "1e99", "-o", "new"], "--steps"),
        (&["rl", "pendulum", "--seeds", "0", "-o", "new"], "--seeds"),
        (&["rl", "pendulum", "--seeds", "1000000000", "-o", "new"], "--seeds"),
        (&["rl", "pendulum", "--set", "horizon=1e99", "-o", "new"], "--set"),
        (&["rl", "pendulum", "--set", "value_layers=[0]", "-o", "new"], "layer"),
        (&["rl", "pendulum", "--settings", "bold", "-o", "new"], "--settings"),
        (&["rl", "play", "run"], "not a run of `tractable rl`"),
        (&["rl", "pendulum", "--resume", "-o", "new"], "no agent run in this folder"),
        (&["report", "data.csv", "--follow"], "not a folder"),
        (&["report", "data.csv"], "not a folder"),
        (&["attack", "run", "--images", "0"], "--images"),
        (&["data", "fetch", "../../etc/passwd"], "is not an image set"),
        (&["bench", "--threads", "-1"], "-1"),
    ];
    all_refused(&place, cases);
    // What is read as it stands is not a number that a network could learn from.
    let ran = place.run(&["train", "huge.csv", "--target", "y", "-o", "new"]);
    assert_eq!((ran.code, ran.err.lines().count()), (2, 1), "{ran:?}");
    assert!(!place.path("new").exists());
}

/// A column, a class or a file's name that a terminal would obey is shown instead, wherever it is printed.
#[test]
fn names_that_a_terminal_obeys_are_shown() {
    const BAD: [char; 5] = ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\r'];
    let place = Place::new();
    let name = |s: &str| format!("{s}\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}");
    let rows = |file: &str, target: &dyn Fn(usize) -> String| {
        let mut text = format!("\"{}\",\"b\n\u{1b}[2J\",\"{}\"\n", name("a"), name("y"));
        (0..60).for_each(|i| text += &format!("{},{},{}\n", i % 7, i % 5, target(i)));
        place.write(file, &text);
    };
    rows("numbers.csv", &|i| (i % 7 + i % 5).to_string());
    rows("classes.csv", &|i| name(["low", "high"][i % 2]));
    let (own, a) = (name("y"), name("a"));
    let clean = |args: &[&str]| {
        let ran = place.run(args);
        for text in [&ran.out, &ran.err] {
            assert!(!text.contains(BAD), "{args:?}: {text:?}");
        }
        assert!(ran.code == 0 || ran.code == 2, "{args:?}: {ran:?}");
        format!("{}{}", ran.out, ran.err)
    };
    for (file, more) in [("numbers.csv", &[][..]), ("classes.csv", &["--classes"])] {
        let run = file.strip_suffix(".csv").unwrap();
        for json in [&[][..], &["--json"]] {
            let train =
                ["train", file, "--target", &own, "--epochs", "2", "--test", "0.2", "--force", "-o", run];
            let said = clean(&[&train[..], more, json].concat());
            assert!(said.contains("owned"), "{said}");
            clean(&[&["inspect", run], json].concat());
            clean(&[&["evaluate", run, file], json].concat());
            clean(&[&["condition", run, "--want", &format!("\"{own}\"=3")], json].concat());
            clean(&[&["condition", run, "--given", &format!("\"{a}\"=1"), "--want", "x=3"], json].concat());
            clean(&[&["optimize", "--model", run, "--bounds", "0:6,0:4"], json].concat());
        }
        clean(&["predict", run, file, "--json"]);
        clean(&["train", file, "--target", "y", "-o", "none"]);
        clean(&["optimize", "--data", file, "--target", &own]);
        clean(&["report", run]);
        let page = place.text(&format!("{run}/report.html"));
        assert!(!page.contains(BAD), "{run}");
    }
    // The numbers of a table are for programs, which get names as they are.
    assert!(place.ok(&["predict", "numbers", "numbers.csv", "-q"]).contains('\u{1b}'));
    let odd = "odd\u{1b}[2J.csv";
    clean(&["train", odd, "--target", "y"]);
    clean(&["predict", "numbers", odd]);
    clean(&["report", "no\u{1b}[2J"]);
}

/// Metadata of a model that a terminal would obey.
#[test]
fn metadata_that_a_terminal_obeys_is_shown() {
    let place = Place::network();
    let bytes = place.read("run/model.safetensors");
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    header["__metadata__"]["library"] = "0.1\u{1b}[2J\u{7}".into();
    header["__metadata__"].as_object_mut().unwrap().remove("checksum");
    let header = serde_json::to_vec(&header).unwrap();
    let bytes = [&(header.len() as u64).to_le_bytes(), &header[..], &bytes[8 + length..]].concat();
    fs::write(place.path("odd.safetensors"), bytes).unwrap();
    for json in [&[][..], &["--json"]] {
        let said = place.run(&[&["inspect", "odd.safetensors"], json].concat());
        assert_eq!(said.code, 0, "{said:?}");
        assert!(![&said.out, &said.err].iter().any(|text| text.contains(['\u{1b}', '\u{7}'])), "{said:?}");
    }
}

/// Folders and files that may not be read or written. The administrator may do everything, so that nothing is tested as such.
#[test]
fn missing_permissions_are_one_line() {
    let place = Place::trained();
    place.write("secret.csv", "a,b,y\n1,2,3\n");
    fs::create_dir(place.path("closed")).unwrap();
    let mode = |name: &str, mode: u32| {
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("secret.csv", 0o000);
    mode("closed", 0o555);
    if fs::read(place.path("secret.csv")).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    let cases: &[Case] = &[
        (&["train", "secret.csv", "--target", "y", "-o", "new"], "Permission denied"),
        (&["predict", "run", "secret.csv"], "Permission denied"),
        (&["evaluate", "run", "secret.csv"], "Permission denied"),
        (&["inspect", "secret.csv"], "Permission denied"),
        (&["train", "data.csv", "--target", "y", "-o", "closed"], "Permission denied"),
        (&["train", "data.csv", "--target", "y", "-o", "closed/run"], "Permission denied"),
        (&["predict", "run", "data.csv", "-q", "-o", "closed/out.csv"], "Permission denied"),
        (&["report", "run", "-o", "closed/page.html"], "Permission denied"),
        (&["rl", "pendulum", "--steps", "1024", "-o", "closed/agent"], "Permission denied"),
    ];
    for (args, says) in cases {
        let ran = place.run(args);
        assert!(ran.code == 2 && ran.err.contains(says) && ran.err.lines().count() == 1, "{args:?}: {ran:?}");
    }
    mode("closed", 0o755);
    mode("secret.csv", 0o644);
}

/// Names inside a run that lead out of it are not followed by what replaces or removes.
#[test]
fn a_run_does_not_lead_elsewhere() {
    let place = Place::new();
    fs::create_dir(place.path("elsewhere")).unwrap();
    place.write("elsewhere/agent.safetensors", "precious");
    place.ok(&["rl", "pendulum", "--steps", "1024", "--seeds", "1", "-q", "-o", "agent"]);
    symlink("../elsewhere", place.path("agent/seed-7")).unwrap();
    place.ok(&["rl", "pendulum", "--steps", "1024", "--seeds", "1", "-q", "-o", "agent", "--force"]);
    assert_eq!(place.text("elsewhere/agent.safetensors"), "precious");
    // Settings that name other places: a seed is a number, and data is looked at as a table.
    let config = place.text("agent/config.json");
    place.write(
        "agent/config.json",
        &config.replace("\"first_seed\": 0", "\"first_seed\": \"../../elsewhere\""),
    );
    place.refused(&["rl", "play", "agent"], &["agent/config.json: not a run of `tractable rl`"]);
    let place = Place::trained();
    let config = place.text("run/config.json");
    for (path, says) in [
        ("/dev/zero", "is a device"),
        ("/etc", "is a folder"),
        ("/etc/passwd", "has changed since the run started"),
    ] {
        let data = place.path("data.csv").canonicalize().unwrap();
        let changed = config.replace(&data.display().to_string(), path);
        assert!(changed.contains(path));
        place.write("run/config.json", &changed);
        place.refused(&["train", "--resume", "-o", "run", "--epochs", "9"], &[says]);
    }
}

/// A network, a batch or an agent that no memory can hold is one line, not the end of the process.
#[test]
fn what_no_memory_holds_is_one_line() {
    let place = Place::trained();
    let says = "not enough memory for";
    let limited = |args: &[&str]| {
        let mut command = Command::new("sh");
        let limit = "ulimit -v 3000000; exec \"$@\"";
        command.args(["-c", limit, "sh", env!("CARGO_BIN_EXE_tractable")]);
        let output =
            command.args(args).args(["--threads", "1"]).current_dir(place.path(".")).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {err}");
        assert!(err.contains(says) && err.lines().count() == 1, "{args:?}: {err}");
    };
    let train = ["train", "data.csv", "--target", "y", "-o", "new", "--hidden"];
    limited(&[&train[..], &["20000,20000"]].concat());
    limited(&["train", "digits", "--limit", "50", "--net", "mlp", "--hidden", "30000,10000", "-o", "new"]);
    limited(&["rl", "pendulum", "--set", "value_layers=[20000,20000]", "-o", "new"]);
    limited(&["rl", "pendulum", "--set", "policy_layers=[30000,20000]", "-o", "new"]);
    limited(&["rl", "pendulum", "--set", "horizon=16000000", "--set", "batch=16000000", "-o", "new"]);
    assert!(!place.path("new").exists());
}

/// Signals while data are read, and while a run is written: the process ends soon, and what is there is whole.
#[test]
fn signals_end_whatever_takes_long() {
    let place = Place::trained();
    // Rows that come slowly: whoever reads them waits.
    let slow = |args: &[&str], name: &str| {
        let mut command = place.command(args);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut writer = child.stdin.take().unwrap();
        let row = if args[0] == "condition" { "0.5,,30" } else { "0.5,0.25,30" };
        std::io::Write::write_all(&mut writer, format!("a,b,y\n{row}\n").as_bytes()).unwrap();
        // Until it listens.
        std::thread::sleep(Duration::from_millis(700));
        let began = Instant::now();
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        assert!(began.elapsed() < Duration::from_secs(5), "{args:?}: {:?}", began.elapsed());
        let err = String::from_utf8(output.stderr).unwrap();
        drop(writer);
        (output.status.code(), err)
    };
    for name in ["-INT", "-TERM"] {
        for args in [
            &["train", "-", "--target", "y", "-o", "new", "-q"][..],
            &["predict", "run", "-", "-o", "out.csv", "-q"],
            &["condition", "run", "-", "-o", "out.csv", "-q"],
        ] {
            let (code, err) = slow(args, name);
            assert_eq!(code, Some(130), "{args:?}: {err}");
            assert!(err.starts_with("interrupted: ") && err.lines().count() == 1, "{args:?}: {err}");
        }
    }
    assert!(!place.path("new").exists() && !place.path("out.csv").exists());
    let left = fs::read_dir(place.path(".")).unwrap().map(|e| e.unwrap().file_name());
    let left: Vec<_> = left.filter(|n| n.to_string_lossy().starts_with('.')).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// An agent has its first checkpoint at once; killed at any time it goes on from there.
#[test]
fn an_agent_that_is_killed_soon_goes_on() {
    let place = Place::new();
    let train = ["rl", "pendulum", "--seeds", "1", "-q", "-o", "run", "--steps"];
    for more in [&[][..], &["--resume"], &["--resume"]] {
        let began = Instant::now();
        let mut child = place.command(&[&train[..], &["1e9"], more].concat()).spawn().unwrap();
        let agent = place.path("run/seed-0/agent.safetensors");
        let before = fs::metadata(&agent).and_then(|m| m.modified()).ok();
        wait_until("a checkpoint", || {
            fs::metadata(&agent).and_then(|m| m.modified()).is_ok_and(|at| Some(at) != before)
        });
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    place.ok(&["rl", "play", "run", "--episodes", "1"]);
}
