//! `tractable report`: writes a self-contained page about a run.

use crate::out::Target;
use crate::report::{Exit, Outcome, Report};
use crate::{console, files, interrupt, page, view};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

const AFTER_HELP: &str = "\
Examples:
  tractable report run/                     (writes run/report.html)
  tractable report cheetah/ -o cheetah.html
  tractable report run/ --follow

RUN is a folder written by train, attack, optimize or rl with -o. The page shows settings, curves, tables,
pictures and the command to repeat the run; of a model for a table also predictions against true values, which
columns count, and how the prediction moves with them, as long as the run's rows are where they were. It is one
file, works offline and without scripts, in light and dark mode. A run in progress is shown as far as it is. With --follow the page is rewritten as the run goes on,
and a browser reloads it by itself, until Ctrl-C. Files of the run are only read, so it is not affected.";

/// Write a self-contained page about a run
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Folder of a run
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Output file [default: report.html in the folder, which is always replaced]
    #[arg(short, long = "output", alias = "out", value_name = "FILE.html")]
    out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Keep the page up to date until Ctrl-C; waits for a run that is not there yet
    #[arg(long)]
    follow: bool,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// Line `page` of `report`.
#[derive(Serialize)]
struct Written<'a> {
    /// The file written.
    page: &'a Path,
    /// Its size.
    bytes: usize,
}

/// The least time between two looks at the run.
const LOOK: Duration = Duration::from_secs(1);
/// A look takes at most one part in so many of a core: the run has the rest.
const SHARE: u32 = 10;

pub fn run(args: &Args) -> Outcome {
    let out = args.out.clone().unwrap_or_else(|| args.run.join("report.html"));
    // A page of ours at its usual place is only out of date.
    match args.out.is_some() {
        true => drop(Target::new(&out, args.force)?),
        false if !args.force => page::check_overwrite(&out)?,
        false => {}
    }
    if args.follow {
        interrupt::listen()?;
    }
    let report = Report::new(args.json).ignoring_closed_pipe();
    let (mut written, mut waiting, mut insights) = (String::new(), false, view::Insights::default());
    loop {
        let began = Instant::now();
        let last = !args.follow || interrupt::requested();
        let view = view::read(&args.run).map(|mut view| {
            insights.add(&mut view, &args.run, !last);
            view
        });
        match view.and_then(|v| v.page(!last)) {
            Ok(page) => {
                let html = page.html();
                if html != written {
                    files::write(&out, html.as_bytes())?;
                }
                if written.is_empty() {
                    let done = Written { page: &out, bytes: html.len() };
                    report.say("page", &done, || out.display().to_string())?;
                }
                written = html;
            }
            // There may be a run in a moment.
            Err(Exit::Error(why))
                if args.follow && (args.run.is_dir() || args.run.symlink_metadata().is_err()) =>
            {
                if !waiting {
                    console::note(&format!("waiting: {why}"));
                }
                waiting = true;
            }
            Err(other) => return Err(other),
        }
        if last {
            return Ok(());
        }
        let until = Instant::now() + LOOK.max(SHARE * began.elapsed());
        while Instant::now() < until && !interrupt::requested() {
            sleep(Duration::from_millis(50));
        }
    }
}
