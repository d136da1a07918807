//! `tractable report`: writes a self-contained page about a run.

use crate::out::Target;
use crate::report::{Outcome, Report};
use crate::{files, page, view};
use serde::Serialize;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  tractable report run/                     (writes run/report.html)
  tractable report cheetah/ -o cheetah.html

RUN is a folder written by train, attack, optimize or rl with -o. The page shows settings, curves, tables,
pictures and the command to repeat the run; it is one file, works offline and without scripts, in light and
dark mode. A run in progress is shown as far as it is.";

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
