//! `tractable condition`: which inputs give the wanted outputs, given what is known of them?

mod answer;
mod figure;
mod question;
mod rows;

use crate::console::note;
use crate::interrupt;
use crate::out::Target;
use crate::plot::picture_files;
use crate::report::{Exit, Outcome, Report};
use crate::run::{load_model, model_first};
use answer::Answer;
use question::Asked;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  tractable condition run/ --given 'x1=0.5±0.1,x2=3' --want 'y=-1±0.05'
  tractable condition run/ --given 'x2=3' --want 'y=-1+-0.05' --plot answer
  tractable condition run/ --want 'kind=low'
  tractable condition run/ wishes.csv -o answers.csv

--given is the prior of the inputs: COLUMN=MEAN±STD, or COLUMN=VALUE if known exactly. ± may be
written +- or +/-. A column that is not named has the mean and standard deviation of the training data.
--want is the wanted output: OUTPUT=VALUE±STD, or OUTPUT=VALUE exactly, for one output or several; a class
by its name; OUTPUT=max or OUTPUT=min for a nearby point where the slope is zero. Put names with commas in
double quotes. STD is the tolerance around the model's mean; the model's uncertainty is added, noise is not.
A CSV file has the inputs as columns, with standard deviations in COLUMN_std, and the wanted outputs, with
theirs in OUTPUT_std. An empty input is distributed as in the training data; an empty output is free.
If there are several answers, each is listed with its probability; their mean is not an answer.";

/// Find the inputs that give the wanted outputs
#[derive(clap::Args, Clone)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Folder of a run, or a model file
    #[arg(value_name = "RUN|MODEL")]
    model: PathBuf,
    /// Many questions, one per row, instead of --given and --want
    #[arg(value_name = "FILE.csv", conflicts_with_all = ["given", "want", "plot"])]
    file: Option<PathBuf>,
    /// What you know about the inputs [default: as in the training data]
    #[arg(long, value_name = "COL=MEAN±STD,..", allow_hyphen_values = true)]
    given: Option<String>,
    /// The outputs you want
    #[arg(long, value_name = "OUT=VALUE±STD,..", allow_hyphen_values = true)]
    want: Option<String>,
    /// Treat the weights as known: ignore the model's uncertainty
    #[arg(long)]
    known_weights: bool,
    /// Plot one or two unknown inputs, as SVG and PNG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// With FILE.csv: file to write [default: stdout]
    #[arg(short, long = "output", alias = "out", value_name = "FILE.csv")]
    out: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    interrupt::leave_at_once("the output is incomplete; no file was kept")?;
    let out = args.out.as_deref().map(|path| Target::new(path, args.force)).transpose()?;
    for picture in args.plot.iter().flat_map(|path| picture_files(path)) {
        Target::new(&picture, args.force)?;
    }
    let mut args = args.clone();
    if let Some(file) = &mut args.file {
        model_first(&mut args.model, file);
    }
    let model = load_model(&args.model)?;
    let asked = Asked::new(&model, args.known_weights);
    if let Some(file) = &args.file {
        return rows::run(&asked, file, out, args.json);
    }
    if out.is_some() {
        return Err(Exit::Error("-o: is for answers to a CSV file; a single answer goes to stdout".into()));
    }
    let (question, missing) = asked.question(args.given.as_deref(), args.want.as_deref())?;
    if args.plot.is_some() {
        figure::check(&question)?;
    }
    note_missing(&missing.iter().map(|&i| asked.inputs[i].as_str()).collect::<Vec<_>>());
    let answer = Answer::find(&asked, &question)?;
    Report::new(args.json).say("answer", &answer.json(0), || answer.text())?;
    args.plot.as_ref().map_or(Ok(()), |path| figure::draw(&asked, &answer)?.save(path))
}

/// Inputs that are not given.
fn note_missing(names: &[&str]) {
    if !names.is_empty() {
        note(&format!("not given, so taken as in the training data, mean ± std: {}", listed(names)));
    }
}

/// Some names, and how many more.
fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 20;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len() - more].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}
