//! Ctrl-C and a request to terminate: whole epochs are saved, exit 130, and the run goes on as if nothing
//! had happened.

use crate::run::{Place, json_lines, wait_until};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Waits until `file` has `lines` lines.
fn wait_for(place: &Place, file: &str, lines: usize) {
    let count = || std::fs::read_to_string(place.path(file)).map_or(0, |t| t.lines().count());
    wait_until(&format!("{lines} lines of {file}"), || count() >= lines);
}

fn interrupted(name: &str, extra: &[&str]) {
    let place = Place::new();
    let args = ["train", "data.csv", "--target", "y", "--epochs", "1000000", "--hidden", "8", "-o", "run"];
    let mut command = place.command(&[&args[..], extra].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&place, "run/metrics.jsonl", 20);
    signal(&child, name);
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{err}");
    let last = err.lines().last().unwrap();
    assert!(last.starts_with("interrupted: ") && last.contains("--resume -o run"), "{err}");

    // As many epochs in the model as in the metrics, and no temporary file.
    let epochs = json_lines(&place.text("run/metrics.jsonl")).len();
    let model = &place.json(&["inspect", "run"])[0];
    assert_eq!(model["epochs"].as_u64(), Some(epochs as u64));
    let left = std::fs::read_dir(place.path("run")).unwrap().count();
    assert_eq!(left, 4);

    let more = (epochs + 2).to_string();
    place.ok(&["train", "--resume", "-o", "run", "--epochs", &more, "-q"]);
    let whole =
        ["train", "data.csv", "--target", "y", "--hidden", "8", "-q", "-o", "whole", "--epochs", &more];
    place.ok(&[&whole[..], extra].concat());
    assert!(place.read("run/model.safetensors") == place.read("whole/model.safetensors"));
}

#[test]
fn ctrl_c_saves_whole_epochs() {
    interrupted("-INT", &[]);
}

#[test]
fn terminate_saves_whole_epochs() {
    interrupted("-TERM", &["--batch", "1"]);
}

#[test]
fn ctrl_c_saves_whole_epochs_of_images() {
    let place = Place::new();
    let train = ["train", "digits", "--limit", "1500", "--net", "mlp", "--hidden", "30", "-o"];
    let mut command = place.command(&[&train[..], &["run", "--epochs", "100000"]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&place, "run/metrics.jsonl", 2);
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{err}");
    let epochs = place.text("run/metrics.jsonl").lines().count();
    assert!(err.contains(&format!("{epochs} of 100000 epochs are saved")), "{err}");
    assert_eq!(place.text("run/curves.csv").lines().count(), epochs + 1);
    let more = (epochs + 1).to_string();
    place.ok(&["train", "--resume", "-o", "run", "--epochs", &more, "-q"]);
    place.ok(&[&train[..], &["whole", "--epochs", &more]].concat());
    assert!(place.read("run/model.safetensors") == place.read("whole/model.safetensors"));
}

#[test]
fn ctrl_c_keeps_what_was_downloaded() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: there is no curl on this machine");
        return;
    }
    // A mirror that sends a part of the file, and then nothing more.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mirror = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 9912422\r\n\r\n";
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&[7; 1 << 20]));
            open.push(stream);
        }
    });
    let place = Place::new();
    let args = ["data", "fetch", "mnist", "--to", "data", "--mirror", &mirror, "-q"];
    let child = place.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let part = place.path("data/mnist/.fetch/train-images-idx3-ubyte.gz");
    wait_until("a part of the file", || std::fs::metadata(&part).is_ok_and(|m| m.len() > 0));
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("run the same command to continue"), "{err}");
    assert!(part.is_file());
    // Half of a file is not a file of the set.
    place.refused(&["train", "mnist", "--data", "data", "-o", "run"], &["neither train-images"]);
}

/// So many rows that an epoch takes a while.
fn long(place: &Place) {
    let data = place.text("data.csv");
    let rows = data.strip_prefix("a,b,y\n").unwrap();
    place.write("long.csv", &format!("a,b,y\n{}", rows.repeat(200)));
}

const LONG: [&str; 12] = [
    "train", "long.csv", "--target", "y", "--batch", "1", "--hidden", "200,200", "--epochs", "1000", "-o",
    "run",
];

#[test]
fn half_an_epoch_is_not_saved() {
    let place = Place::new();
    long(&place);
    let child = place.command(&LONG).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&place, "run/metrics.jsonl", 1);
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{err}");
    let epochs = place.text("run/metrics.jsonl").lines().count();
    assert!(err.contains(&format!("{epochs} of 1000 epochs are saved")), "{err}");
    assert_eq!(place.json(&["inspect", "run"])[0]["epochs"], epochs);
}

/// Interrupts a training as soon as it says that it starts; what it says on stderr.
fn stopped_at_its_start(place: &Place, train: &[&str]) -> String {
    let args = [train, &["--json"]].concat();
    let mut child = place.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("\"start\""), "{line}");
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{err}");
    err
}

#[test]
fn before_the_first_epoch_is_done_nothing_is_replaced() {
    let place = Place::trained();
    long(&place);
    let files = ["model.safetensors", "config.json", "metrics.jsonl"].map(|name| format!("run/{name}"));
    let before = files.each_ref().map(|name| place.read(name));
    let err = stopped_at_its_start(&place, &[&LONG[..], &["--force"]].concat());
    assert!(err.contains("no epoch finished, nothing was saved"), "{err}");
    assert!(files.each_ref().map(|name| place.read(name)) == before);
    assert_eq!(std::fs::read_dir(place.path("run")).unwrap().count(), 5);
}

/// A run without a finished epoch is refused by whoever needs a model, and can be resumed.
fn untrained(place: &Place, train: &[&str], verbs: &[&[&str]]) {
    let err = stopped_at_its_start(place, &[train, &["-o", "run", "--epochs", "1000"]].concat());
    assert!(err.contains("interrupted: 0 of 1000 epochs are saved; continue with"), "{err}");
    assert!(!place.path("run/model.safetensors").exists());
    for verb in verbs {
        place.refused(verb, &["run: no epoch finished; the model is untrained", "--resume -o RUN"]);
    }
    place.ok(&["report", "run"]);
    place.ok(&["train", "--resume", "-o", "run", "--epochs", "1", "-q"]);
    assert_eq!(place.json(&["inspect", "run"])[0]["epochs"], 1);
    place.ok(&[train, &["-o", "whole", "--epochs", "1", "-q"]].concat());
    assert!(place.read("run/model.safetensors") == place.read("whole/model.safetensors"));
}

#[test]
fn a_run_stopped_in_its_first_epoch_is_untrained() {
    let place = Place::new();
    long(&place);
    for more in [&[][..], &["--validation", "0.1", "--patience", "3"]] {
        let train = ["train", "long.csv", "--target", "y", "--batch", "1", "--hidden", "300,300"];
        let optimize = ["optimize", "--model", "run", "--bounds", "0:1,0:1"];
        let verbs: [&[&str]; 4] = [
            &["predict", "run", "data.csv"],
            &["evaluate", "run", "data.csv"],
            &["inspect", "run"],
            &optimize,
        ];
        untrained(&place, &[&train[..], more].concat(), &verbs);
        for run in ["run", "whole"] {
            std::fs::remove_dir_all(place.path(run)).unwrap();
        }
    }
}

#[test]
fn a_run_on_images_stopped_in_its_first_epoch_is_untrained() {
    let verbs: [&[&str]; 3] = [&["evaluate", "run"], &["attack", "run"], &["inspect", "run"]];
    untrained(&Place::new(), &["train", "digits", "--limit", "1500"], &verbs);
}

#[test]
fn ctrl_c_in_predict_leaves_no_file() {
    let place = Place::trained();
    // Rows without end, as far as this test is concerned.
    let mut command = place.command(&["predict", "run", "-", "-o", "out.csv"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    use std::io::Write;
    pipe.write_all(b"a,b\n").unwrap();
    let rows = "0.5,0.25\n".repeat(1000);
    for i in 0.. {
        if i == 20 {
            signal(&child, "-INT");
        }
        if pipe.write_all(rows.as_bytes()).is_err() {
            break;
        }
    }
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    let left: Vec<_> = std::fs::read_dir(place.path(".")).unwrap().map(|e| e.unwrap().file_name()).collect();
    let kept = |n: &std::ffi::OsString| ["data.csv", "classes.csv", "run"].iter().any(|k| n == k);
    assert!(left.iter().all(kept), "{left:?}");
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let place = Place::trained();
    place.write("many.csv", &format!("a,b\n{}", "0.5,0.25\n".repeat(50_000)));
    let mut child = place
        .command(&["predict", "run", "many.csv", "-q"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
}

#[test]
fn training_goes_on_where_nobody_reads() {
    let place = Place::new();
    let train = ["train", "data.csv", "--target", "y", "--test", "0.2", "--epochs", "30", "-q"];
    for (out, json) in [("json", &["--json"][..]), ("text", &[])] {
        let mut command = place.command(&[&train[..], json, &["-o", out]].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
        assert_eq!(place.json(&["inspect", out])[0]["epochs"], 30);
        let metrics = json_lines(&place.text(&format!("{out}/metrics.jsonl")));
        assert_eq!(metrics.last().unwrap()["type"], "test");
    }
}

#[test]
fn ctrl_c_saves_a_search() {
    let place = Place::new();
    let args = ["optimize", "--objective", "rosenbrock4", "-o", "run", "--evaluations"];
    let mut command = place.command(&[&args[..], &["100000"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // What the function is, then the first evaluation.
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("evaluations, best") {
        assert!(err.read_line(&mut said).unwrap() > 0, "{said}");
    }
    signal(&child, "-INT");
    std::io::Read::read_to_string(&mut err, &mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(130), &b""[..]), "{said}");
    let rows = place.text("run/history.csv").lines().count() - 1;
    let last = said.lines().last().unwrap();
    assert_eq!(last, format!("interrupted: after {rows} evaluations: saved in run; continue with --resume"));

    let more = (rows + 3).to_string();
    place.ok(&[&args[..], &[&more, "--resume", "-q"]].concat());
    place.ok(&["optimize", "--objective", "rosenbrock4", "-o", "whole", "--evaluations", &more, "-q"]);
    assert!(place.read("run/search.json") == place.read("whole/search.json"));
}
