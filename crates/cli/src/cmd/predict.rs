//! `tractable predict`: streams a CSV file through a model, some thousand rows at a time.

use crate::console::note;
use crate::csv::{self, Fail};
use crate::interrupt;
use crate::out::Target;
use crate::progress::ProgressDisplay;
use crate::report::{Exit, Outcome, count, json_line, short};
use crate::run::{DataFile, DataFiles, class_names, load_model, model_first};
use crate::scores::in_parts;
use crate::team;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use tractable::data::CsvRows;
use tractable::{Ensemble, Gaussian, Input, Prediction, fnv, metrics, network::Output};

const AFTER_HELP: &str = "\
Examples:
  tractable predict run/ new.csv > prices.csv
  tractable predict run/ new.csv --level 0.5 -o prices.csv
  tractable predict run/ new.csv --quantiles 0.1,0.5,0.9 --only

The columns of the file, and beside them, for numbers: TARGET_mean; TARGET_lower and TARGET_upper, which contain 90 % of new
values; TARGET_std, the standard deviation of a new value, split into TARGET_std_model, which more data would reduce, and
TARGET_std_noise, which they would not (their squares add up). For classes: TARGET_class, the most probable one, and p_CLASS for
each; unnamed classes have their number, from 0. Of two classes also TARGET_by_threshold: the rarer one wherever its probability
reaches the threshold with the best F1 on left-out rows. Numbers have six significant digits, more where the standard deviation
needs them; with --json all of them. Columns are found by name and read as in training; the model ignores others. Missing cells
widen the interval. - is stdin. The file may be larger than memory.";

/// Numbers read and written at a time.
const CHUNK_NUMBERS: usize = 1 << 20;

/// Predict an interval, or class probabilities, for every row of a CSV file
#[derive(clap::Args, Clone)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Folder of a run, or a model file
    #[arg(value_name = "RUN|MODEL")]
    model: PathBuf,
    /// Rows to predict, with the columns of the training data
    #[arg(value_name = "FILE.csv")]
    file: PathBuf,
    /// File to write [default: stdout]
    #[arg(short, long = "output", alias = "out", value_name = "FILE.csv")]
    out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "out")]
    force: bool,
    /// Share of new values between lower and upper
    #[arg(long, value_name = "P", default_value_t = 0.9)]
    level: f64,
    /// Quantiles of new values, as TARGET_qP, instead of lower and upper
    #[arg(long, alias = "quantile", value_name = "P,...", value_delimiter = ',', conflicts_with = "level")]
    quantiles: Vec<f64>,
    /// Predictions and columns given by --id, without the others of the file
    #[arg(long)]
    only: bool,
    /// Several times faster, but intervals widen too little away from the data
    #[arg(long)]
    fast: bool,
    /// JSON Lines instead of CSV
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    interrupt::leave_at_once("the output is incomplete; no file was kept")?;
    check_probability("--level", args.level)?;
    for (i, p) in args.quantiles.iter().enumerate() {
        check_probability("--quantiles", *p)?;
        if args.quantiles[..i].contains(p) {
            return Err(Exit::Error(format!("--quantiles: {p} is given twice")));
        }
    }
    // Only the first process writes; the others treat this like standard output.
    let out = args.out.as_deref().filter(|_| team::place().0 == 0);
    let out = out.map(|path| Target::new(path, args.force)).transpose()?;
    let mut args = args.clone();
    model_first(&mut args.model, &mut args.file);
    let args = &args;
    let model = load_model(&args.model)?;
    let model = &if args.fast { model.quick() } else { model };
    let preparation = model.preparation().expect("a trained model has names");
    let file = DataFiles::once(&args.file)?;
    if team::workers().is_some() {
        if args.file == Path::new("-") {
            return Err(Exit::Error("-: several processes cannot share standard input; use a file".into()));
        }
        let (model, data) = (fnv::fnv1a_64(fnv::EMPTY, model.to_bytes()?), DataFile::read(&file)?);
        let settings = (args.level, &args.quantiles, args.only, args.fast, args.json);
        team::agree(&format!("{model:x} {:?} {settings:?}", data.content()))?;
    }
    let rows = CsvRows::open(&file.paths()[0], &preparation)?;
    let said = Said::of(model, args);
    // A column of the same name is an earlier prediction.
    let mut rows = if args.only || args.json { rows } else { rows.keep_all_but(&said.names()) };
    if let Some((class, least)) = model.threshold() {
        let (class, target) = (&model.class_names()[class], model.output_names().join(","));
        note(&format!(
            "{target}_by_threshold: `{class}` where its probability is at least {}, the threshold with the best F1 on left-out rows",
            short(least)
        ));
    }
    csv::write_to(out, &args.file, |out, fail| predict(args, model, said, &mut rows, out, fail))
}

fn check_probability(flag: &str, p: f64) -> Outcome {
    match p > 0.0 && p < 1.0 {
        true => Ok(()),
        false => Err(Exit::Error(format!("{flag}: {p} is not between 0 and 1"))),
    }
}

fn predict(
    args: &Args,
    model: &Ensemble,
    said: Said<'_>,
    rows: &mut CsvRows,
    out: &mut dyn Write,
    fail: Fail<'_>,
) -> Outcome {
    let kept = rows.kept_names().iter().map(|n| n.to_string()).collect();
    let columns = Columns { kept, said };
    let mut progress = ProgressDisplay::new(None);
    let (mut text, mut total, (rank, ranks)) = (String::new(), 0u64, team::place());
    if !args.json {
        columns.header(&mut text);
    }
    let chunk = (CHUNK_NUMBERS / (model.input().len() + columns.width())).clamp(1, 4096);
    while let Some(input) = rows.next_chunk(chunk)? {
        let n = input.rows();
        if ranks == 1 {
            columns.rows(model, &input, rows.kept_cells(), args, total, &mut text)?;
        } else {
            let part = rank * n / ranks..(rank + 1) * n / ranks;
            let (mut mine, width, kept) = (String::new(), input.width(), columns.kept.len());
            if !part.is_empty() {
                let numbers = |v: &[f64]| v[part.start * width..part.end * width].to_vec();
                let input = Gaussian::new(numbers(input.mean()), numbers(input.var()), width)?;
                let kept = &rows.kept_cells()[part.start * kept..part.end * kept];
                columns.rows(model, &input, kept, args, total + part.start as u64, &mut mine)?;
            }
            let said = team::share(mine.as_bytes())?;
            said.iter().for_each(|part| text += &String::from_utf8_lossy(part));
        }
        if rank == 0 {
            out.write_all(text.as_bytes()).map_err(fail)?;
        }
        text.clear();
        total += n as u64;
        progress.at(total, || count(total, "row"));
    }
    progress.done(&count(total, "row"));
    for (name, n, line, cell) in rows.unreadable() {
        let cell: String = cell.chars().take(40).collect();
        let cells = count(n as u64, "cell");
        note(&format!(
            "`{name}`: {cells} unlike those in training, counted as missing: \"{cell}\" in line {line}"
        ));
    }
    Ok(())
}

/// What is written for each row: columns of the file, and what the model says.
struct Columns<'a> {
    kept: Vec<String>,
    said: Said<'a>,
}

enum Said<'a> {
    /// The targets, and the columns of each.
    Values(&'a [String], Vec<String>),
    Classes {
        target: &'a str,
        names: Vec<String>,
        /// The rarer of two, and where it begins.
        threshold: Option<(usize, f64)>,
    },
}

/// One row as JSON.
///
/// Line `row` of `predict`.
#[derive(Serialize)]
struct Row<'a> {
    /// From 0.
    row: u64,
    /// Cells of the columns given by `--id`, where the file has them.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    id: &'a [String],
    #[serde(flatten)]
    predicted: Predicted<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Predicted<'a> {
    /// Numbers
    Values {
        /// One per target.
        mean: Vec<f64>,
        /// One per target; omitted with `--quantiles`.
        #[serde(skip_serializing_if = "Option::is_none")]
        lower: Option<Vec<f64>>,
        /// One per target; omitted with `--quantiles`.
        #[serde(skip_serializing_if = "Option::is_none")]
        upper: Option<Vec<f64>>,
        /// One list per target, in the requested order.
        #[serde(skip_serializing_if = "Option::is_none")]
        quantiles: Option<Vec<Vec<f64>>>,
        /// One per target, for a new observation.
        std: Vec<f64>,
        /// The part that more data would reduce.
        std_model: Vec<f64>,
        /// The part that they would not reduce.
        std_noise: Vec<f64>,
    },
    /// Classes
    Class {
        /// The most probable.
        class: &'a str,
        /// One per class, in the model's order.
        probabilities: &'a [f64],
        /// Of two classes, the rarer one if its probability reaches the threshold with the best F1 on left-out rows, otherwise the other.
        #[serde(skip_serializing_if = "Option::is_none")]
        by_threshold: Option<&'a str>,
    },
}

impl<'a> Said<'a> {
    fn of(model: &'a Ensemble, args: &Args) -> Self {
        let outputs = model.output_names();
        if let Output::Classes { .. } = model.output() {
            let target = outputs.first().map_or("class", String::as_str);
            return Said::Classes { target, names: class_names(model), threshold: model.threshold() };
        }
        let ends = match args.quantiles.is_empty() {
            true => vec!["lower".into(), "upper".into()],
            false => args.quantiles.iter().map(|p| format!("q{p}")).collect(),
        };
        let spreads = ["std", "std_model", "std_noise"].map(String::from);
        let columns = std::iter::once("mean".into()).chain(ends).chain(spreads).collect();
        Said::Values(outputs, columns)
    }

    /// Names of the columns.
    fn names(&self) -> Vec<String> {
        match self {
            Said::Values(targets, columns) => {
                targets.iter().flat_map(|t| columns.iter().map(move |c| format!("{t}_{c}"))).collect()
            }
            Said::Classes { target, names, threshold } => std::iter::once(format!("{target}_class"))
                .chain(threshold.map(|_| format!("{target}_by_threshold")))
                .chain(names.iter().map(|name| format!("p_{name}")))
                .collect(),
        }
    }
}

impl Columns<'_> {
    /// Cells per row.
    fn width(&self) -> usize {
        self.kept.len() + self.said.names().len()
    }

    fn header(&self, text: &mut String) {
        csv::texts(text, &[self.kept.clone(), self.said.names()].concat());
    }

    /// Predicts and appends a chunk of rows; `before` were written already.
    fn rows(
        &self,
        model: &Ensemble,
        x: &Gaussian,
        kept: &[String],
        args: &Args,
        before: u64,
        text: &mut String,
    ) -> Outcome {
        let (mut row, mut kept) = (before, kept.chunks(self.kept.len().max(1)));
        match &self.said {
            Said::Values(targets, columns) => {
                for part in in_parts(Input::from(x), |x| numbers(&model.predict(x)?, args))? {
                    // Column after column; of each, row after row and target after target.
                    for at in 0..part[0].len() / targets.len() {
                        let of = |column: usize, target: usize| part[column][at * targets.len() + target];
                        let id = kept.next().unwrap_or(&[]);
                        if args.json {
                            let predicted = Predicted::values(columns.len(), targets.len(), args, of);
                            json_row(text, &Row { row, id, predicted });
                        } else {
                            push_texts(text, id.iter().map(String::as_str));
                            let std = columns.len() - 3;
                            // What a deviation says needs no more digits than itself.
                            let cell = |c: usize, t: usize| match c < std {
                                true => csv::rounded(of(c, t), of(std, t)),
                                false => csv::rounded(of(c, t), 0.0),
                            };
                            let targets = 0..targets.len();
                            csv::numbers(
                                text,
                                targets.flat_map(|t| (0..columns.len()).map(move |c| cell(c, t))),
                            );
                        }
                        row += 1;
                    }
                }
            }
            Said::Classes { names, threshold, .. } => {
                // The rarer class where it reaches its threshold, otherwise the other one.
                let decided = |p: &[f64]| {
                    threshold
                        .map(|(class, least)| &names[if p[class] >= least { class } else { 1 - class }][..])
                };
                for p in in_parts(Input::from(x), |x| model.predict_classes(x))? {
                    for at in 0..p.rows() {
                        let p = p.row(at);
                        let class = &names[metrics::argmax(p)];
                        let id = kept.next().unwrap_or(&[]);
                        if args.json {
                            let by_threshold = decided(p);
                            let predicted = Predicted::Class { class, probabilities: p, by_threshold };
                            json_row(text, &Row { row, id, predicted });
                        } else {
                            push_texts(text, id.iter().map(String::as_str));
                            push_texts(text, [&class[..]].into_iter().chain(decided(p)));
                            csv::numbers(text, p.iter().map(|p| csv::rounded(*p, 0.0)));
                        }
                        row += 1;
                    }
                }
            }
        }
        Ok(())
    }
}

fn push_texts<'t>(text: &mut String, cells: impl IntoIterator<Item = &'t str>) {
    for cell in cells {
        *text += &csv::quoted(cell);
        text.push(',');
    }
}

impl Predicted<'_> {
    /// From the number of a column and a target.
    fn values(columns: usize, targets: usize, args: &Args, of: impl Fn(usize, usize) -> f64) -> Self {
        let list = |c: usize| -> Vec<f64> { (0..targets).map(|t| of(c, t)).collect() };
        let bounds = args.quantiles.is_empty();
        let quantiles = |t: usize| (0..args.quantiles.len()).map(|q| of(1 + q, t)).collect();
        Predicted::Values {
            mean: list(0),
            lower: bounds.then(|| list(1)),
            upper: bounds.then(|| list(2)),
            quantiles: (!bounds).then(|| (0..targets).map(quantiles).collect()),
            std: list(columns - 3),
            std_model: list(columns - 2),
            std_noise: list(columns - 1),
        }
    }
}

/// The columns of every target, in the order of [`Said::Values`].
fn numbers(out: &Prediction, args: &Args) -> tractable::Result<Vec<Vec<f64>>> {
    let mut all = vec![out.mean().to_vec()];
    if args.quantiles.is_empty() {
        let (lower, upper) = out.interval(args.level)?;
        all.extend([lower, upper]);
    }
    for &p in &args.quantiles {
        all.push(out.quantile(p)?);
    }
    let noise = out.noise_var().iter().map(|v| v.sqrt()).collect();
    all.extend([out.total_std(), out.output().std(), noise]);
    Ok(all)
}

fn json_row(text: &mut String, row: &Row<'_>) {
    *text += &json_line("row", row);
    text.push('\n');
}
