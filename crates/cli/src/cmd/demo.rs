//! `tractable demo`: a one-minute demonstration without data: numbers, pictures and a page.

mod curve;
mod digits;
mod pole;

use crate::page::{Page, Picture, Section, check_overwrite};
use crate::plot::Figure;
use crate::progress::ProgressDisplay;
use crate::report::{Exit, Outcome, Report, file_error};
use crate::{files, interrupt};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

const AFTER_HELP: &str = "\
Examples:
  tractable demo
  tractable demo --out somewhere/ --seed 1

Three parts, a few seconds each on two cores: learn a noisy curve and find its maximum and minimum; train a
small network on digits and change a 3 until it is classified as an 8; learn to balance a pole on a cart.
DIR gets the pictures as SVG and PNG, and index.html, a self-contained page.";

/// Show what it can do in a minute, without data
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Folder for the pictures and the page
    #[arg(short, long, value_name = "DIR", default_value = "demo")]
    out: PathBuf,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Use a fraction of the data: faster, with worse results
    #[arg(long)]
    quick: bool,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// What the acts share.
struct Stage<'a> {
    args: &'a Args,
    report: Report,
}

impl Stage<'_> {
    fn progress(&self, total: usize) -> ProgressDisplay {
        ProgressDisplay::new(Some(total as u64))
    }

    /// Where a picture goes.
    fn path(&self, name: &str) -> PathBuf {
        self.args.out.join(name)
    }

    /// A figure in the folder, and in the page.
    fn picture(&self, name: &str, caption: &str, figure: &Figure) -> Outcome<Picture> {
        figure.save(&self.path(name))?;
        Picture::of(caption, figure)
    }

    /// To be asked wherever stopping is safe.
    fn check(&self) -> Outcome {
        match interrupt::requested() {
            true => Err(Exit::Interrupted(format!(
                "the page was not written; finished pictures are in {}",
                self.args.out.display()
            ))),
            false => Ok(()),
        }
    }
}

/// Line `page` of `demo`.
#[derive(Serialize)]
struct Written<'a> {
    /// The file written.
    page: &'a Path,
    /// Its size.
    bytes: usize,
    /// In total.
    seconds: f64,
}

const LEAD: &str = "Bayesian neural networks with closed-form inference: weights, hidden units and inputs are Gaussian, \
    and nothing here was trained by gradients. Three questions: what is the output (predict), what do the data \
    say about the weights (learn), and which input gives the output I want (condition).";

pub fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    let began = Instant::now();
    std::fs::create_dir_all(&args.out).map_err(file_error(&args.out, "create this folder"))?;
    let index = args.out.join("index.html");
    check_overwrite(&index)?;
    if crate::view::read(&args.out).is_ok() {
        let why = "contains a run; choose another folder with --out";
        return Err(Exit::Error(format!("{}: {why}", args.out.display())));
    }
    // Found now, not after a minute.
    files::NewFile::beside(&index).map(drop).map_err(file_error(&args.out, "create files in this folder"))?;
    let stage = Stage { args, report: Report::new(args.json).ignoring_closed_pipe() };
    let sections = vec![curve::act(&stage)?, digits::act(&stage)?, pole::act(&stage)?, again(args)];
    let page =
        Page { title: "tractable: the three verbs".into(), lead: LEAD.into(), sections, follows: false };
    let html = page.html();
    files::write(&index, html.as_bytes())?;
    let written = Written { page: &index, bytes: html.len(), seconds: began.elapsed().as_secs_f64() };
    stage.report.say("page", &written, || {
        format!("everything on one page: {}  ({:.0} s)", index.display(), written.seconds)
    })
}

fn again(args: &Args) -> Section {
    let quick = if args.quick { " --quick" } else { "" };
    Section::new("again", "Run it again")
        .text("Needs only cargo: no data, no GPU, no network. The same seed gives the same numbers.")
        .code(&format!("cargo run --release -- demo --seed {}{quick}", args.seed))
        .text("On your own data:")
        .code(
            "tractable train housing.csv --target price -o run/ && tractable report run/\n\
             tractable optimize --objective 'x^3-3*x' --bounds -1.8:1.8 --maximize -o cubic/\n\
             tractable rl half-cheetah --seeds 5 -o cheetah/ & tractable report cheetah/ --follow",
        )
}
