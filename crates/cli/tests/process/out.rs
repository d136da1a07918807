//! `predict -o` on a path that is more than a plain file, or that others write at the same time.

use crate::run::Place;
use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::{Command, Stdio};

#[test]
fn a_device_is_written_into() {
    let place = Place::trained();
    let out = place.ok(&["predict", "run", "data.csv", "-q"]);
    // By links of our own: whatever the program does, the machine's devices stay.
    symlink("/dev/null", place.path("null")).unwrap();
    symlink("/proc/self/fd/1", place.path("stdout")).unwrap();
    assert_eq!(place.ok(&["predict", "run", "data.csv", "-q", "-o", "null"]), "");
    if fs::metadata("/proc/self/fd").is_ok() {
        assert_eq!(place.ok(&["predict", "run", "data.csv", "-q", "-o", "stdout"]), out);
    }
    for link in ["null", "stdout"] {
        assert!(fs::symlink_metadata(place.path(link)).unwrap().is_symlink(), "{link}");
    }
    fs::remove_file(place.path("stdout")).unwrap();
    fs::remove_file(place.path("null")).unwrap();
    place.refused(&["predict", "run", "data.csv", "-q", "-o", "run"], &["run: cannot"]);
}

#[test]
fn a_pipe_is_written_into() {
    let place = Place::trained();
    let pipe = place.path("pipe.csv");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let args = ["predict", "run", "data.csv", "-q", "-o", "pipe.csv"];
    let child = place.command(&args).stderr(Stdio::piped()).spawn().unwrap();
    // With an end, should no writer come.
    let mut cat =
        Command::new("timeout").args(["20", "cat"]).arg(&pipe).stdout(Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    let mut read = String::new();
    std::io::Read::read_to_string(cat.stdout.as_mut().unwrap(), &mut read).unwrap();
    cat.wait().unwrap();
    assert_eq!(read, place.ok(&["predict", "run", "data.csv", "-q"]));
}

#[test]
fn a_link_stays_a_link() {
    let place = Place::trained();
    let out = place.ok(&["predict", "run", "data.csv", "-q"]);
    fs::create_dir(place.path("far")).unwrap();
    place.write("far/old.csv", "old");
    symlink("old.csv", place.path("far/second.csv")).unwrap();
    symlink("far/second.csv", place.path("first.csv")).unwrap();
    symlink("far/new.csv", place.path("dangling.csv")).unwrap();
    for (link, file) in [("first.csv", "far/old.csv"), ("dangling.csv", "far/new.csv")] {
        place.ok(&["predict", "run", "data.csv", "-q", "--force", "-o", link]);
        assert!(fs::symlink_metadata(place.path(link)).unwrap().is_symlink(), "{link}");
        assert!(fs::symlink_metadata(place.path(file)).unwrap().is_file(), "{file}");
        assert_eq!(place.text(file), out, "{link}");
    }
    // A file at the end of a link is kept, too, until the new one is whole.
    place.write("text.csv", "a,b\n0,0\n1\n");
    let ran = place.run(&["predict", "run", "text.csv", "-q", "--force", "-o", "first.csv"]);
    assert_eq!((ran.code, place.text("far/old.csv")), (2, out));
    symlink("loop.csv", place.path("loop.csv")).unwrap();
    assert_eq!(place.run(&["predict", "run", "data.csv", "-q", "-o", "loop.csv"]).code, 2);
    assert_eq!(fs::read_dir(place.path("far")).unwrap().count(), 3);
}

#[test]
fn two_at_once_do_not_share_a_file() {
    let place = Place::trained();
    let pipes = [(); 2].map(|()| {
        let args = ["predict", "run", "-", "-q", "--force", "-o", "out.csv"];
        let mut child = place.command(&args).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let pipe = child.stdin.take().unwrap();
        (child, pipe)
    });
    // Both have begun before either ends; the pipes close one after the other.
    for (_, pipe) in &pipes {
        let mut pipe = pipe;
        std::io::Write::write_all(&mut pipe, format!("a,b\n{}", "0.5,0.25\n".repeat(5000)).as_bytes())
            .unwrap();
    }
    for (child, pipe) in pipes {
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), String::from_utf8(output.stderr).unwrap()),
            (Some(0), String::new())
        );
        assert_eq!(place.text("out.csv").lines().count(), 5001);
    }
}
