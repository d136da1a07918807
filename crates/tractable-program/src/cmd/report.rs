//! `tractable report`: a run's folder as one page to keep or to send.

use crate::out::Target;
use crate::report::{Outcome, Report};
use crate::{files, page, view};
use serde::Serialize;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  tractable report run/                     (writes run/report.html)
  tractable report cheetah/ -o cheetah.html

RUN is a folder that train, attack, optimize or rl has written with -o. The page holds settings, curves,
tables, pictures and the command that makes the run again; it is one file that needs no network and no
script, in light and in dark. A run that is still going on is shown as far as it is.";

/// A run's folder as one page to keep or to send
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Folder of a run
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// The page [default: report.html in the folder, which is written anew]
    #[arg(short, long = "output", alias = "out", value_name = "FILE.html")]
    out: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Written<'a> {
    page: &'a Path,
    bytes: usize,
}

pub fn run(args: &Args) -> Outcome {
    let out = args.out.clone().unwrap_or_else(|| args.run.join("report.html"));
    // A page of ours at its usual place is only out of date.
    match args.out.is_some() {
        true => drop(Target::new(&out, args.force)?),
        false if !args.force => page::check_overwrite(&out)?,
        false => {}
    }
    let html = view::read(&args.run)?.page(None)?.html();
    files::write(&out, html.as_bytes())?;
    let written = Written { page: &out, bytes: html.len() };
    Report::new(args.json).say("page", &written, || out.display().to_string())
}
