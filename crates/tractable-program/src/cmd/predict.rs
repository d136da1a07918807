//! `tractable predict`: streams a CSV file through a model, some thousand rows at a time.

use crate::console;
use crate::files::NewFile;
use crate::interrupt;
use crate::progress::ProgressDisplay;
use crate::report::{Exit, Outcome, file_error};
use crate::run::load_trained;
use crate::settings::DeviceName;
use serde::Serialize;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use tractable::data::CsvRows;
use tractable::{Matrix, Network, Output};

const AFTER_HELP: &str = "\
Examples:
  tractable predict run/ new.csv > prices.csv
  tractable predict run/ new.csv --noise -o prices.csv

Numbers: columns TARGET_mean and TARGET_std. Classes: TARGET, the most probable class, and
p_CLASS for each; one without a name has its number, from 0. Columns are found by name;
others are ignored. The file may be larger than memory.";

/// Numbers read and written at a time.
const CHUNK_NUMBERS: usize = 1 << 20;

/// Mean and standard deviation, or class probabilities, for every row of a CSV file
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Folder of a run, or a model file
    #[arg(value_name = "RUN|MODEL")]
    model: PathBuf,
    /// Rows to predict: the columns the model was trained on
    #[arg(value_name = "FILE.csv")]
    file: PathBuf,
    /// File to write [default: stdout]
    #[arg(short, long, value_name = "FILE.csv")]
    out: Option<PathBuf>,
    /// Spread of a new observation: with the noise, not of the network's output alone
    #[arg(long)]
    noise: bool,
    /// cpu (fast, f32) or reference (slow, f64)
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    device: DeviceName,
    /// JSON Lines instead of CSV
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    let net = load_trained(&args.model, args.device.with(console::threads()))?;
    let mut rows = CsvRows::open(&args.file, net.input_names())?;
    let Some(path) = &args.out else {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        predict(args, &net, &mut rows, &mut out, &Exit::from)?;
        return Ok(out.flush()?);
    };
    if let (Ok(from), Ok(to)) = (fs::canonicalize(&args.file), fs::canonicalize(path))
        && from == to
    {
        return Err(Exit::Error(format!("-o {}: that is the input", path.display())));
    }
    let fail = file_error(path, "write it");
    if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        // A pipe or a device is written into, not replaced.
        let fail = |e: io::Error| match e.kind() {
            ErrorKind::BrokenPipe => Exit::PipeClosed,
            _ => fail(e),
        };
        let file = File::options().write(true).open(path).map_err(file_error(path, "open it"))?;
        let mut out = BufWriter::with_capacity(1 << 16, file);
        predict(args, &net, &mut rows, &mut out, &fail)?;
        return out.flush().map_err(fail);
    }
    if path.file_name().is_none() {
        return Err(Exit::Error(format!("{}: not a file name", path.display())));
    }
    // Under another name until it is whole.
    let file = pointed_to(path).and_then(|path| NewFile::beside(&path));
    let mut out = BufWriter::with_capacity(1 << 16, file.map_err(file_error(path, "create a file there"))?);
    predict(args, &net, &mut rows, &mut out, &fail)?;
    out.into_inner().map_err(|e| e.into_error()).and_then(NewFile::keep).map_err(&fail)
}

/// Where symbolic links lead; there need not be a file yet.
fn pointed_to(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    // As many as the system follows.
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::other("too many symbolic links"))
}

fn predict(
    args: &Args,
    net: &Network,
    rows: &mut CsvRows,
    out: &mut impl Write,
    fail: &dyn Fn(io::Error) -> Exit,
) -> Outcome {
    let columns = Columns::of(net);
    let mut progress = ProgressDisplay::new(None);
    let (mut x, mut text, mut total) = (Vec::new(), String::new(), 0u64);
    if !args.json {
        columns.header(&mut text);
    }
    let chunk = (CHUNK_NUMBERS / (rows.width() + columns.width())).clamp(1, 4096);
    loop {
        x.clear();
        let n = rows.next_chunk(chunk, &mut x)?;
        if n == 0 {
            break;
        }
        let input = Matrix::new(std::mem::take(&mut x), rows.width())?;
        columns.rows(net, &input, args, total, &mut text)?;
        out.write_all(text.as_bytes()).map_err(fail)?;
        text.clear();
        total += n as u64;
        if interrupt::requested() {
            return Err(Exit::Interrupted("the output is not whole; a file is not kept".into()));
        }
        progress.at(total, || format!("{total} rows"));
    }
    progress.done(&format!("{total} rows"));
    Ok(())
}

/// What is written for each row.
enum Columns<'a> {
    Values(&'a [String]),
    Classes { target: &'a str, names: Vec<String> },
}

/// One row as JSON.
#[derive(Serialize)]
struct Row<'a> {
    r#type: &'static str,
    row: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean: Option<&'a [f64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    std: Option<&'a [f64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probabilities: Option<&'a [f64]>,
}

impl<'a> Columns<'a> {
    fn of(net: &'a Network) -> Self {
        match net.output() {
            Output::Classes { classes } => Columns::Classes {
                target: net.output_names().first().map_or("class", String::as_str),
                names: class_names(net.class_names(), classes),
            },
            _ => Columns::Values(net.output_names()),
        }
    }

    /// Numbers a row.
    fn width(&self) -> usize {
        match self {
            Columns::Values(names) => 2 * names.len(),
            Columns::Classes { names, .. } => names.len(),
        }
    }

    fn header(&self, text: &mut String) {
        let cells: Vec<String> = match self {
            Columns::Values(names) => {
                names.iter().flat_map(|n| [format!("{n}_mean"), format!("{n}_std")]).collect()
            }
            Columns::Classes { target, names } => {
                std::iter::once(target.to_string()).chain(names.iter().map(|n| format!("p_{n}"))).collect()
            }
        };
        *text += &cells.iter().map(|c| quoted(c)).collect::<Vec<_>>().join(",");
        text.push('\n');
    }

    /// Predicts and appends a chunk of rows; `before` were written already.
    fn rows(&self, net: &Network, x: &Matrix, args: &Args, before: u64, text: &mut String) -> Outcome {
        match self {
            Columns::Values(_) => {
                let y = net.predict(x)?;
                let (width, std) = (y.width(), if args.noise { y.total_std() } else { y.output().std() });
                let rows = y.mean().chunks_exact(width).zip(std.chunks_exact(width));
                for (row, (mean, std)) in rows.enumerate() {
                    if args.json {
                        let row = before + row as u64;
                        json_row(text, &Row { mean: Some(mean), std: Some(std), ..Row::new(row) });
                    } else {
                        let cells = mean.iter().zip(std).flat_map(|(m, s)| [m, s]);
                        csv_row(text, cells);
                    }
                }
            }
            Columns::Classes { names, .. } => {
                let p = net.predict_classes(x)?;
                for row in 0..p.rows() {
                    let p = p.row(row);
                    let top = (1..p.len()).fold(0, |best, k| if p[k] > p[best] { k } else { best });
                    let class = &names[top];
                    if args.json {
                        let row = Row::new(before + row as u64);
                        json_row(text, &Row { class: Some(class), probabilities: Some(p), ..row });
                    } else {
                        *text += &quoted(class);
                        text.push(',');
                        csv_row(text, p);
                    }
                }
            }
        }
        Ok(())
    }
}

/// A name for every class: a network may have more than its data had names for. The others get their number.
fn class_names(names: &[String], classes: usize) -> Vec<String> {
    let numbered = |k: usize| {
        let mut name = k.to_string();
        while names.contains(&name) {
            name.insert(0, '#');
        }
        name
    };
    (0..classes).map(|k| names.get(k).cloned().unwrap_or_else(|| numbered(k))).collect()
}

impl Row<'_> {
    fn new(row: u64) -> Self {
        Row { r#type: "row", row, mean: None, std: None, class: None, probabilities: None }
    }
}

fn json_row(text: &mut String, row: &Row<'_>) {
    *text += &serde_json::to_string(row).expect("a row is plain numbers");
    text.push('\n');
}

/// The shortest digits that read back as the same numbers.
fn csv_row<'a>(text: &mut String, cells: impl IntoIterator<Item = &'a f64>) {
    for (i, v) in cells.into_iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        write!(text, "{comma}{v:?}").expect("a string takes everything");
    }
    text.push('\n');
}

/// A cell of text, in quotes where CSV needs them.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) || cell != cell.trim() {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_string()
    }
}
