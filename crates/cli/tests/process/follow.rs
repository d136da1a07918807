//! `tractable report --follow`: a page that keeps up with a run in progress.

use crate::interrupt::signal;
use crate::report::has;
use crate::run::{Place, wait_until};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};

/// The program while it follows a run; what it says first is read.
pub(crate) struct Following(Child);

impl Following {
    pub(crate) fn new(place: &Place, args: &[&str]) -> Self {
        let mut command = place.command(&[&["report", "--follow", "--json"], args].concat());
        Following(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()).said()
    }

    fn said(mut self) -> Self {
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        crate::json::as_documented("report", &[serde_json::from_str(&line).unwrap()]);
        self
    }

    /// Ctrl-C; it ends without a word.
    pub(crate) fn end(mut self) {
        signal(&self.0, "-INT");
        let code = self.0.wait().unwrap().code();
        let mut err = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!((code, err.as_str()), (Some(0), ""));
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An epoch more, as the training itself would write it.
pub(crate) fn epoch(place: &Place, n: usize) {
    let line = format!("{{\"type\":\"epoch\",\"epoch\":{n},\"of\":50,\"noise_std\":0.3,\"learned\":{{}}}}\n");
    let mut file = std::fs::File::options().append(true).open(place.path("run/metrics.jsonl")).unwrap();
    file.write_all(line.as_bytes()).unwrap();
}

#[test]
fn the_page_follows_the_run() {
    let place = Place::trained();
    let following = Following::new(&place, &["run"]);
    let page = || place.text("run/report.html");
    let until = |says: &str| wait_until(says, || page().contains(says));
    has(&page(), &["<meta http-equiv=\"refresh\"", "<dd>5 of 5</dd>", "Training on data.csv"]);
    epoch(&place, 6);
    until("<dd>6 of 5</dd>");
    // Half a line is not an epoch yet.
    let mut file = std::fs::File::options().append(true).open(place.path("run/metrics.jsonl")).unwrap();
    file.write_all(b"{\"type\":\"epoch\",\"epoch\":7,").unwrap();
    place.write("run/commands.jsonl", "{\"args\":[\"seen\"]}\n");
    until("tractable seen");
    has(&page(), &["<dd>6 of 5</dd>"]);
    file.write_all(b"\"of\":5,\"learned\":{}}\n").unwrap();
    until("<dd>7 of 5</dd>");
    following.end();
    // Nothing follows any more: the last page stays as it is.
    assert!(page().contains("<dd>7 of 5</dd>") && !page().contains("http-equiv"));
}

#[test]
fn a_run_that_is_not_there_yet_is_waited_for() {
    let place = Place::trained();
    std::fs::rename(place.path("run"), place.path("away")).unwrap();
    let mut command = place.command(&["report", "run", "--follow", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("waiting: run: cannot open it"), "{line}");
    assert!(!place.path("run").exists());
    std::fs::rename(place.path("away"), place.path("run")).unwrap();
    Following(child).said().end();
    has(&place.text("run/report.html"), &["Training on data.csv"]);
}

#[test]
fn attacks_are_seen_while_they_go_on() {
    let place = Place::new();
    place.ok(&["train", "digits", "--net", "mlp", "--limit", "50", "--epochs", "1", "-q", "-o", "net"]);
    let attack = ["attack", "net", "--images", "10000", "--budget", "linf:0.001", "-q", "-o", "run"];
    let child = place.command(&attack).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let live = place.path("run/attacks.part.jsonl");
    wait_until("attacks", || std::fs::read_to_string(&live).is_ok_and(|text| text.lines().count() >= 10));
    place.ok(&["report", "run", "-o", "attack.html"]);
    has(&place.text("attack.html"), &["Attack by inference", "attacks so far", " of 10000</dd>", "By class"]);
    signal(&child, "-INT");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert!(!place.path("run").exists(), "nothing is left of an attack that was stopped");
}
