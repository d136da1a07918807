//! `tractable optimize`: the maximum or minimum of a function, a trained model or a data file's target.
//!
//! One way per file: a function to call (`function`), data or a model to search (`model`), an experiment of
//! your own (`ask_tell`).

mod ask_tell;
mod figure;
mod function;
mod model;

use crate::console::always;
use crate::escape;
use crate::files;
use crate::objective::{ParseError, parse_bounds};
use crate::out;
use crate::report::{Exit, Outcome, PROGRAM, Report, short};
use crate::settings::whole;
use serde::Serialize;
use std::path::{Path, PathBuf};
use tractable::optimize::{Goal, Optimum};

const AFTER_HELP: &str = "\
Examples:
  tractable optimize --objective 'x^3-3*x' --bounds -2:2 --maximize -o cubic/
  tractable optimize --objective branin --evaluations 50
  tractable optimize --data points.csv --target y --maximize
  tractable optimize --model run/ --bounds 0:1,0:1             (a run of `tractable train`)
  tractable optimize --ask search.json --bounds -5:10,0:15     (an experiment of your own: where?)
  tractable optimize --tell search.json --value 3.7            (what came out there)
  tractable optimize --tell search.json --point 0.5,2 --value 4           (a point of your own)

Variables of an expression are x, or x, y and z, or x1, x2, ...; it may use + - * / ^, sqrt, exp, ln, sin, ...
Named functions: cubic, branin, hartmann6, ackley5, rosenbrock4. A point whose value
is not a number is counted and skipped. With --tell, `nan` means that the experiment failed.
With -o, DIR gets optimize.json (settings and optima), a picture as SVG and PNG (for --data and --model only
with one input) and, for an objective, history.csv and search.json (for --resume); for data, the model. Standard
deviations of locations are rough. The last line is what the network expects at its optimum; the line
`best` is the best evaluated point.";

/// Find the maximum or minimum of a function, a model or data
#[derive(clap::Args, Serialize)]
#[command(after_help = AFTER_HELP)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["objective", "data", "model", "ask", "tell"]))]
pub struct Args {
    /// An expression, or the name of a test function
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    objective: Option<String>,
    /// A CSV file: learn the target from it, then search the fitted model
    #[arg(long, value_name = "FILE", requires = "target")]
    data: Option<PathBuf>,
    /// The column of --data to optimise, or which target of a --model that has several
    #[arg(long, value_name = "COL", conflicts_with_all = ["objective", "ask", "tell"])]
    target: Option<String>,
    /// A trained model, or a run folder, to search
    #[arg(long, value_name = "RUN")]
    model: Option<PathBuf>,
    /// Print the next point to evaluate; FILE stores the search and is created by the first call
    #[arg(long, value_name = "FILE")]
    ask: Option<PathBuf>,
    /// Record the value at a point that --ask printed, or with --point at one of your own
    #[arg(long, value_name = "FILE", requires = "value")]
    tell: Option<PathBuf>,
    /// With --tell: the value; `nan` if the experiment failed
    #[arg(long, value_name = "Y", allow_hyphen_values = true, conflicts_with_all = ["objective", "data", "model", "ask"])]
    value: Option<f64>,
    /// With --tell: the point; needed if several are pending, and for a point of your own
    #[arg(
        long,
        value_name = "X1,X2,..",
        allow_hyphen_values = true,
        value_delimiter = ',',
        conflicts_with_all = ["objective", "data", "model", "ask"]
    )]
    point: Vec<f64>,
    /// Lowest and highest value of every coordinate [default with --data: the range of the data]
    #[arg(long, value_name = "LOW:HIGH,..", allow_hyphen_values = true)]
    bounds: Option<String>,
    /// Maximise [default: minimise; named functions have their own goal]
    #[arg(long, conflicts_with = "minimize")]
    maximize: bool,
    /// Minimise
    #[arg(long)]
    minimize: bool,
    /// With --objective: number of evaluations
    #[arg(long, value_name = "N", default_value = "50", value_parser = whole)]
    evaluations: usize,
    /// Standard deviation of the noise in the values; 0 means none, or with --data a tenth of their standard deviation
    #[arg(long, value_name = "STD", default_value_t = 0.0, allow_hyphen_values = true)]
    noise_std: f64,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// With --objective: continue the search in -o DIR
    #[serde(skip)]
    #[arg(long, requires = "out", conflicts_with_all = ["data", "model", "ask", "tell"])]
    resume: bool,
    /// Folder for history, state and picture
    #[serde(skip)]
    #[arg(short, long, value_name = "DIR", conflicts_with_all = ["ask", "tell"])]
    out: Option<PathBuf>,
    /// Replace an existing search in -o DIR
    #[serde(skip)]
    #[arg(long, requires = "out", conflicts_with = "resume")]
    force: bool,
    /// Results as JSON Lines
    #[serde(skip)]
    #[arg(long)]
    json: bool,
}

impl Args {
    /// What was asked for by a flag.
    fn goal(&self) -> Option<Goal> {
        match (self.maximize, self.minimize) {
            (true, _) => Some(Goal::Maximum),
            (_, true) => Some(Goal::Minimum),
            _ => None,
        }
    }

    fn given_bounds(&self) -> Outcome<Option<Vec<(f64, f64)>>> {
        let parse = |text: &String| parse_bounds(text).map_err(|why| Exit::Error(format!("--bounds: {why}")));
        self.bounds.as_ref().map(parse).transpose()
    }
}

pub fn run(args: &Args) -> Outcome {
    if !(args.noise_std >= 0.0 && args.noise_std.is_finite()) {
        return Err(Exit::Error(format!("--noise-std: {} is not a number of at least 0", args.noise_std)));
    }
    match args {
        Args { objective: Some(text), .. } => function::run(args, text),
        Args { data: Some(path), target: Some(target), .. } => model::of_data(args, path, target),
        Args { model: Some(path), .. } => model::of_run(args, path),
        Args { ask: Some(path), .. } => ask_tell::ask(args, path),
        Args { tell: Some(path), value: Some(value), .. } => ask_tell::tell(args, path, *value),
        _ => unreachable!("one of them is required"),
    }
}

/// Refuses a folder whose files are somebody else's, or those of an earlier search unless that is wanted.
fn check_folder(args: &Args) -> Outcome {
    let Some(dir) = &args.out else { return Ok(()) };
    out::check_folder(dir, "optimize")?;
    let wanted = args.force || args.resume;
    let cure = match ["search.json", "optimize.json"].map(|name| dir.join(name).exists()) {
        _ if wanted => return Ok(()),
        [true, _] => "continue with --resume, replace it with --force, or choose another folder with -o",
        [false, true] => "replace it with --force, or choose another folder with -o",
        [false, false] => return Ok(()),
    };
    Err(Exit::Error(format!("{}: already contains a search; {cure}", dir.display())))
}

/// The caret under what could not be read, then the error itself.
fn parse_error(e: &ParseError) -> Exit {
    let text = e.to_string();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().to_string();
    lines.for_each(always);
    Exit::Error(format!("--objective: {first}"))
}

/// An optimum as it is reported.
///
/// Line `optimum` of `optimize`.
#[derive(Serialize)]
struct Found<'a> {
    /// Where the network expects the optimum.
    x: &'a [f64],
    /// Rough.
    x_std: Vec<f64>,
    /// What it expects there.
    value: f64,
    /// Of that.
    value_std: f64,
}

impl<'a> Found<'a> {
    fn new(o: &'a Optimum) -> Self {
        Found { x: o.x.mean(), x_std: o.x.std(), value: o.value.mean()[0], value_std: o.value.std()[0] }
    }

    fn say(&self, report: Report, names: &[String]) -> Outcome {
        report.say("optimum", self, || {
            let place = names.iter().zip(self.x).zip(&self.x_std);
            let place: Vec<String> = place
                .map(|((name, x), std)| format!("{} = {} ± {}", escape::name(name), short(*x), short(*std)))
                .collect();
            format!("{}: value {} ± {}", place.join(", "), short(self.value), short(self.value_std))
        })
    }
}

/// The settings and results of a search, for `report`.
fn keep(dir: &Path, args: &Args, goal: Goal, optima: &[Optimum]) -> Outcome {
    #[derive(Serialize)]
    struct Record<'a> {
        version: u32,
        program: &'static str,
        goal: Goal,
        settings: &'a Args,
        optima: Vec<Found<'a>>,
    }
    let optima = optima.iter().map(Found::new).collect();
    let kept = Record { version: 1, program: PROGRAM, goal, settings: args, optima };
    files::write_json(&dir.join("optimize.json"), &kept)
}

/// x, or x1, x2, ...
fn names(n: usize) -> Vec<String> {
    if n == 1 { vec!["x".into()] } else { (1..=n).map(|i| format!("x{i}")).collect() }
}
