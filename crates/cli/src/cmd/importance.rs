//! `tractable importance`: which columns of a table count.

use crate::interrupt;
use crate::progress::ProgressDisplay;
use crate::report::{Outcome, Report, count, short, table};
use crate::run::{asked::Asked, load_any};
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tractable::Ensemble;
use tractable::ensemble::{Importance, ImportanceSettings, Loss, Stage};

const AFTER_HELP: &str = "\
Examples:
  tractable importance run/
  tractable importance run/ test.csv --by squared-error
  tractable importance run/ --repeats 20 --rows 5000 --json

How much worse predictions become when the cells of one column are dealt out among the rows at random, with its standard error. Without
FILE.csv every row is one of the run's own and predicted by networks that left it out. All inputs that come from one column move together. A
column that says the same as another counts for little while the other is there.";

/// Say which columns count
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Folder of a run, or a model file
    #[arg(value_name = "RUN|MODEL")]
    model: PathBuf,
    /// Rows with targets, columns found by name [default: those of the run, left out]
    #[arg(value_name = "FILE.csv")]
    file: Option<PathBuf>,
    /// What becomes worse
    #[arg(long, value_name = "LOSS", default_value = "log-density", value_parser = ["log-density", "squared-error"])]
    by: String,
    /// How often the cells of each column are dealt out
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Rows to ask about, at most
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(2..))]
    rows: u32,
    /// Seed of the random order
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// Line `importance` of `importance`.
#[derive(Serialize)]
struct Line<'a> {
    /// Name of the target.
    target: &'a str,
    /// Name of the column; of each target those that count most come first.
    column: &'a str,
    /// What becomes worse: `log_density` or `squared`.
    by: Loss,
    /// Rows that were asked about.
    rows: usize,
    /// Mean loss of the rows as they are.
    loss: f64,
    /// By how much it grows without what the column says.
    increase: f64,
    /// Standard error of that.
    std: f64,
}

pub fn run(args: &Args) -> Outcome {
    interrupt::leave_at_once("nothing was written")?;
    let model = load_any(&args.model)?;
    let asked = Asked::of(&args.model, &model, args.file.as_deref())?;
    let by = if args.by == "log-density" { Loss::LogDensity } else { Loss::Squared };
    let settings = ImportanceSettings::default().loss(by).repeats(args.repeats as usize).seed(args.seed);
    let found = of(&model, &asked, &settings.most_rows(args.rows as usize))?;
    let (report, what) = (Report::new(args.json), what(by, &model));
    for (output, target) in model.output_names().iter().enumerate() {
        let lines: Vec<Line<'_>> = ordered(&found, output)
            .into_iter()
            .map(|i| {
                let column = &found.columns[i];
                let (increase, std) = (column.increase[output], column.std[output]);
                let (rows, loss) = (found.rows, found.loss[output]);
                Line { target, column: &column.name, by, rows, loss, increase, std }
            })
            .collect();
        report.say_all("importance", &lines, || {
            let kind = if asked.left_out { "left-out row" } else { "row" };
            let head = format!(
                "{target}: {what} of {} is {}; without what a column says it grows by",
                count(found.rows as u64, kind),
                short(found.loss[output])
            );
            let cells =
                |l: &Line<'_>| vec![l.column.into(), short(l.increase), format!("± {}", short(l.std))];
            format!("{head}\n{}", table(&lines.iter().map(cells).collect::<Vec<_>>(), &[0]))
        })?;
    }
    Ok(())
}

/// What is measured, in words.
pub(crate) fn what(by: Loss, model: &Ensemble) -> &'static str {
    match (by, model.output().classes()) {
        (Loss::LogDensity, _) => "the negative log-likelihood",
        (Loss::Squared, 0) => "the squared error",
        (Loss::Squared, _) => "the Brier score",
    }
}

/// Asks, with progress from the first second on; a signal ends the process.
pub(crate) fn of(model: &Ensemble, asked: &Asked, settings: &ImportanceSettings) -> Outcome<Importance> {
    let (mut progress, started) = (ProgressDisplay::new(Some(100)), Instant::now());
    let settings = settings.clone().left_out(asked.left_out);
    let found = model.importance(&asked.rows, &settings, |Stage { what, done, of }| {
        if started.elapsed() >= Duration::from_secs(1) {
            progress.at(100 * done / of.max(1), || format!("{what}: {done} of {of}"));
        }
        ControlFlow::Continue(())
    })?;
    Ok(found.expect("nobody stops it"))
}

/// Columns by how much they count, those that count most first.
pub(crate) fn ordered(found: &Importance, output: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..found.columns.len()).collect();
    order.sort_by(|&a, &b| found.columns[b].increase[output].total_cmp(&found.columns[a].increase[output]));
    order
}
