//! `tractable watch`: a live page of a run in progress, in a browser on this machine or in the terminal.

use crate::report::{Exit, Outcome, Report};
use crate::watch::{self, Pages};
use crate::{escape, interrupt, view};
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const AFTER_HELP: &str = "\
Examples:
  tractable watch run/
  tractable watch run/ --port 8000
  tractable watch run/ --terminal

Serves the page of `tractable report` on 127.0.0.1 and updates it as the run writes its files. Files are only
read, so training is not affected. Nobody else on the network can connect; from another machine, use
`ssh -L 8000:127.0.0.1:8000 HOST`. Stop with Ctrl-C.";

/// Show a run's page while it is in progress
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Folder of a run
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Port on 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Show numbers and curves in the terminal instead
    #[arg(long, conflicts_with = "port")]
    terminal: bool,
    /// Results as JSON Lines
    #[arg(long, conflicts_with = "terminal")]
    json: bool,
}

#[derive(Serialize)]
struct Serving<'a> {
    url: &'a str,
    run: &'a Path,
}

pub fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    if !args.run.is_dir() {
        return Err(Exit::Error(format!("{}: not a folder; give a run folder", args.run.display())));
    }
    if args.terminal {
        return terminal(&args.run);
    }
    let refuse =
        |e| Exit::Error(format!("cannot listen on 127.0.0.1:{}: {e}; choose another --port", args.port));
    let listener = TcpListener::bind(("127.0.0.1", args.port)).map_err(refuse)?;
    let address = listener.local_addr().map_err(refuse)?;
    let url = format!("http://{address}/");
    let (pages, over) = (Pages::new(), AtomicBool::new(false));
    let end = || over.load(Ordering::Relaxed) || interrupt::requested();
    std::thread::scope(|scope| {
        // It looks whether to end several times a second.
        scope.spawn(|| watch::follow(&args.run, &pages, end));
        let report = Report::new(args.json).ignoring_closed_pipe();
        let said = report.say("watch", &Serving { url: &url, run: &args.run }, || {
            format!("{url}  shows {}; stop with Ctrl-C", args.run.display())
        });
        let served = said.and_then(|()| {
            watch::serve(&listener, &pages, end)
                .map_err(|e| Exit::Error(format!("{url}: stopped serving: {e}")))
        });
        over.store(true, Ordering::Relaxed);
        served
    })
}

/// Redraws on a terminal; elsewhere a text whenever something has changed.
fn terminal(run: &Path) -> Outcome {
    let screen = std::io::stdout().is_terminal();
    let (mut seen, mut last) = (None, String::new());
    while !interrupt::requested() {
        let print = view::fingerprint(run);
        if seen != Some(print) {
            seen = Some(print);
            let text = match view::read(run) {
                Ok(view) => view.terminal(),
                Err(Exit::Error(why)) => format!("waiting: {}\n", escape::name(&why)),
                Err(other) => return Err(other),
            };
            if text != last {
                let before = if screen { "\x1b[2J\x1b[H" } else { "" };
                let mut out = std::io::stdout().lock();
                out.write_all(format!("{before}{text}\n").as_bytes()).and_then(|()| out.flush())?;
                last = text;
            }
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}
