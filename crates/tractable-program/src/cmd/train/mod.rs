//! `tractable train`: fits a network to a CSV file (`table`) or to images (`images`) and keeps the run in a folder.

mod images;
mod table;

use crate::image_sets::ImageSet;
use crate::interrupt;
use crate::report::{Exit, Outcome};
use crate::run::{AnyConfig, RunFolder};
use crate::settings::{ImageFlags, TrainFlags};
use clap::{Args as _, FromArgMatches};
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  tractable train housing.csv --target price -o run/ --test 0.1
  tractable train iris.csv --target species --classes --validation 0.1 --patience 5
  tractable train mnist --epochs 5 -o run/          (or fashion-mnist, cifar10, digits)
  tractable train --resume -o run/ --epochs 100

RUN gets model.safetensors, metrics.jsonl and config.json (last.safetensors too with --patience). Ctrl-C saves whole epochs and stops;
--resume then goes on to the same bits. Image sets are mnist, fashion-mnist, cifar10 (get them with `tractable data fetch`) and
digits, which needs no files; they take the flags under Images and those of the network and its noise.";

/// Fit a network to a CSV file or to images
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, allow_negative_numbers = true)]
pub struct Args {
    /// A header row and numbers; a target may be empty (not observed) or a class. Or an image set
    #[arg(value_name = "FILE.csv|SET", required_unless_present = "resume")]
    file: Option<PathBuf>,
    /// Folder of the run [default: the file's name with "-run"]
    #[arg(short, long, value_name = "RUN")]
    out: Option<PathBuf>,
    #[command(flatten)]
    flags: TrainFlags,
    /// Replace a run that is there, once the first epoch is done
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Go on with the run in the folder, with its settings
    #[arg(long)]
    resume: bool,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    images: ImageFlags,
}

/// Runs `tractable train` with these words after it.
pub fn run_typed(words: impl IntoIterator<Item = std::ffi::OsString>) -> Outcome {
    let command = Args::augment_args(clap::Command::new("tractable train").no_binary_name(true));
    let typed = command.try_get_matches_from(words).and_then(|m| Args::from_arg_matches(&m));
    run(&typed.map_err(|e| Exit::Error(e.to_string()))?)
}

pub fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    let out = out_folder(args)?;
    // Before anything of the run is read: another process may be about to change it.
    let _held = if args.resume { Some(RunFolder::hold(&out)?) } else { None };
    let set = args.file.as_deref().map_or(Ok(None), ImageSet::from_argument)?;
    if !args.resume {
        if !args.force {
            RunFolder::check_free(&out)?;
        }
        return match set {
            Some(set) => images::run(args, &out, set, None),
            None => table::run(args, &out, None),
        };
    }
    match (RunFolder::config(&out)?, set) {
        (AnyConfig::Table(old), None) => table::run(args, &out, Some(&old)),
        (AnyConfig::Table(_), Some(set)) => {
            Err(Exit::Error(format!("--resume: this is a CSV run; it cannot resume on {}", set.name())))
        }
        (AnyConfig::Images(old), _) if args.file.is_some() && set != Some(old.images.set) => {
            let set = old.images.set.name();
            Err(Exit::Error(format!("--resume: the run is on {set}; leave the name out")))
        }
        (AnyConfig::Images(old), _) => images::run(args, &out, old.images.set, Some(&old)),
    }
}

fn out_folder(args: &Args) -> Outcome<PathBuf> {
    if let Some(out) = &args.out {
        return Ok(out.clone());
    }
    let stem = args.file.as_deref().and_then(Path::file_stem);
    let stem = stem.ok_or_else(|| Exit::Error("--resume: say which run with -o RUN".into()))?;
    Ok(PathBuf::from(format!("{}-run", stem.to_string_lossy())))
}
