//! `tractable evaluate`: how good a model's predictions are on a CSV file that has the targets.

use crate::report::{Outcome, Report, Stop, short};
use crate::run_folder::load_trained;
use crate::scores::{self, Score};
use crate::settings::DeviceName;
use std::path::{Path, PathBuf};
use tractable::data::{self, CsvRows, Dataset};
use tractable::{Matrix, Network, Output};

const AFTER_HELP: &str = "\
Examples:
  tractable evaluate run/ test.csv
  tractable evaluate run/ test.csv --json --max-nll 2.5

Numbers: rmse, mae, nll (mean negative log-likelihood, noise included), the share of the values
inside their 50, 90 and 95 % intervals and a calibration table. Classes: error rate, nll, Brier
score and expected calibration error with its bins. Exits 1 if a limit is not held.";

/// How good a model's predictions are on a CSV file with targets
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Folder of a run, or a model file
    #[arg(value_name = "RUN|MODEL")]
    model: PathBuf,
    /// Rows with targets; columns are found by name, others are ignored
    #[arg(value_name = "FILE.csv")]
    file: PathBuf,
    /// Exit 1 if the nll of a target is above this
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    max_nll: Option<f64>,
    /// Exit 1 if the rmse of a target is above this
    #[arg(long, value_name = "X")]
    max_rmse: Option<f64>,
    /// Exit 1 if the error rate, 0 to 1, is above this
    #[arg(long, value_name = "X")]
    max_error: Option<f64>,
    /// cpu (fast, f32) or reference (slow, f64)
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    device: DeviceName,
    /// Threads; 0 is one a core
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let net = load_trained(&args.model, args.device.with(args.threads))?;
    let classes = matches!(net.output(), Output::Classes { .. });
    if classes && args.max_rmse.is_some() {
        return Err(Stop::Error("--max-rmse: the model has classes; use --max-error".into()));
    }
    if !classes && args.max_error.is_some() {
        return Err(Stop::Error("--max-error: the model puts out numbers; use --max-rmse".into()));
    }
    let (x, data) = read(&args.file, &net)?;
    let report = Report::new(args.json);
    let scores = scores::of(&net, &x, data.target(), data.output_names())?;
    for (i, score) in scores.iter().enumerate() {
        if i > 0 && !args.json {
            report.say("", &(), || "\n".into())?;
        }
        score.say(report, "score", true)?;
    }
    let broken: Vec<String> = scores.iter().flat_map(|s| limits(args, s)).collect();
    if broken.is_empty() { Ok(()) } else { Err(Stop::NotHeld(broken.join("; "))) }
}

/// The limits a score does not keep. NaN keeps none.
fn limits(args: &Args, score: &Score) -> Vec<String> {
    let checks = [
        ("nll", Some(score.nll()), args.max_nll),
        ("rmse", score.rmse(), args.max_rmse),
        ("error rate", score.error_rate(), args.max_error),
    ];
    let held = |value: f64, limit: f64| value <= limit;
    checks
        .into_iter()
        .filter_map(|(what, value, limit)| Some((what, value?, limit?)))
        .filter(|&(_, value, limit)| !held(value, limit))
        .map(|(what, v, limit)| format!("{what} of `{}` is {}, above {limit}", score.target(), short(v)))
        .collect()
}

/// The features in the model's order, and the targets.
fn read(file: &Path, net: &Network) -> Outcome<(Matrix, Dataset)> {
    let (inputs, outputs) = (net.input_names(), net.output_names());
    // Finds every column, or says which is missing and what is near it.
    CsvRows::open(file, inputs)?;
    let mut csv = data::csv(file)?;
    let others: Vec<String> =
        csv.names().iter().filter(|n| !inputs.contains(n) && !outputs.contains(n)).cloned().collect();
    for name in others {
        csv = csv.drop(&name)?;
    }
    let data = match net.output() {
        Output::Classes { .. } => csv.labels(&outputs[0], net.class_names())?,
        _ => csv.targets(&outputs.iter().map(String::as_str).collect::<Vec<_>>())?,
    };
    let place = |name| data.input_names().iter().position(|n| n == name).expect("found above");
    let order: Vec<usize> = inputs.iter().map(place).collect();
    let x = (0..data.rows()).flat_map(|r| order.iter().map(move |&c| (r, c)));
    let x = Matrix::new(x.map(|(r, c)| data.x().row(r)[c]).collect(), inputs.len())?;
    Ok((x, data))
}
