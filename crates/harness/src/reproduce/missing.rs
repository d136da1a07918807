//! `cargo xtask reproduce missing`: tables with cells removed at random. Missing inputs as uncertain ones, beside the same model
//! after the usual repair, which fills in a number and forgets that it was a guess.

use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tractable::data::{self, Dataset, Target};
use tractable::ensemble::Settings;
use tractable::{Ensemble, Matrix, metrics, rng};
use tractable_cli::interrupt;
use tractable_cli::jobs::side_by_side;
use tractable_cli::report::{Exit, Outcome, Report, file_error, table};
use tractable_cli::results::Clock;

const AFTER_HELP: &str = "\
Example:
  cargo xtask reproduce missing --data uci/ -o docs/results

Cells of the inputs are removed at random, from the rows to train on and from those to test with. `uncertain` is the default model
with missing inputs as Gaussians. `mean` fills in the mean of the column, `guess` the mean given the rest of the row; both then
count it as known. Seeds of the removal: the number of the split.";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Folder with NAME.csv and NAME_splits.json
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Data sets
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "boston,concrete,energy,yacht"
    )]
    sets: Vec<String>,
    /// Number of splits of each
    #[arg(long, value_name = "N", default_value_t = 5)]
    splits: usize,
    /// Shares of the cells that are removed
    #[arg(long, value_name = "SHARE,...", value_delimiter = ',', default_values_t = [0.1, 0.3])]
    shares: Vec<f64>,
    /// Folder for missing.json
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Repair {
    Uncertain,
    Guess,
    Mean,
}

const REPAIRS: [Repair; 3] = [Repair::Uncertain, Repair::Guess, Repair::Mean];

#[derive(Deserialize)]
struct Splits {
    splits: Vec<Split>,
}

#[derive(Deserialize)]
struct Split {
    train: Vec<usize>,
    test: Vec<usize>,
}

struct Set {
    name: String,
    data: Dataset,
    splits: Vec<Split>,
}

struct Job<'a> {
    set: &'a Set,
    split: usize,
    share: f64,
    repair: Repair,
}

/// On one test part.
#[derive(Clone, Copy, Serialize)]
struct Tested {
    rmse: f64,
    log_likelihood: f64,
    coverage_90: f64,
}

/// Means over the splits.
#[derive(Serialize)]
struct Row<'a> {
    set: &'a str,
    share: f64,
    repair: Repair,
    splits: usize,
    #[serde(flatten)]
    mean: Tested,
}

#[derive(Serialize)]
struct Rows<'a> {
    rows: Vec<Row<'a>>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    let clock = Clock::start();
    if let Some(share) = args.shares.iter().find(|s| !(0.0..0.9).contains(*s)) {
        return Err(Exit::Error(format!("--shares: {share} is not between 0 and 0.9")));
    }
    let sets = args.sets.iter().map(|name| load(&args.data, name)).collect::<Outcome<Vec<_>>>()?;
    let mut jobs = Vec::new();
    for set in &sets {
        for &share in &args.shares {
            for repair in REPAIRS {
                let splits = 0..args.splits.min(set.splits.len());
                jobs.extend(splits.map(|split| Job { set, split, share, repair }));
            }
        }
    }
    let tested = side_by_side(&jobs, "missing", one)?;
    let tested: Vec<Tested> = tested
        .into_iter()
        .collect::<Option<_>>()
        .ok_or_else(|| Exit::Interrupted("nothing was written".into()))?;
    let row = |first: usize| {
        let Job { set, share, repair, .. } = jobs[first];
        let same = |j: &Job<'_>| j.set.name == set.name && j.share == share && j.repair == repair;
        let own: Vec<Tested> = jobs.iter().zip(&tested).filter(|(j, _)| same(j)).map(|(_, t)| *t).collect();
        let mean = |f: fn(&Tested) -> f64| own.iter().map(f).sum::<f64>() / own.len() as f64;
        let mean = Tested {
            rmse: mean(|t| t.rmse),
            log_likelihood: mean(|t| t.log_likelihood),
            coverage_90: mean(|t| t.coverage_90),
        };
        Row { set: &set.name, share, repair, splits: own.len(), mean }
    };
    let rows: Vec<Row<'_>> = (0..jobs.len()).filter(|&i| jobs[i].split == 0).map(row).collect();
    let report = Report::new(args.json);
    match args.json {
        true => rows.iter().try_for_each(|row| report.say("missing", row, String::new))?,
        false => report.say("", &(), || text(&rows))?,
    }
    let command = format!("cargo xtask reproduce missing --data DIR --splits {}", args.splits);
    args.out.as_ref().map_or(Ok(()), |out| clock.write(out, "missing", &command, Rows { rows }))
}

fn load(dir: &Path, name: &str) -> Outcome<Set> {
    let file = dir.join(format!("{name}_splits.json"));
    let text = std::fs::read_to_string(&file).map_err(file_error(&file, "open it"))?;
    let splits: Splits = serde_json::from_str(&text)
        .map_err(|e| Exit::Error(format!("{}: not a list of splits: {e}", file.display())))?;
    let csv = data::csv(dir.join(format!("{name}.csv")))?;
    let target = csv.names().last().cloned().unwrap_or_default();
    Ok(Set { name: name.into(), data: csv.target(&target)?, splits: splits.splits })
}

/// Nothing where it was interrupted.
fn one(job: &Job<'_>) -> tractable::Result<Option<Tested>> {
    let Job { set, split, share, repair } = *job;
    let split_rows = &set.splits[split];
    let mut random = rng::stream(split as u64, "removed cells", (1000.0 * share) as u64);
    let cells = set.data.x().data().len();
    let removed: Vec<bool> = (0..cells).map(|_| rng::uniform(0.0, 1.0, &mut random) < share).collect();
    let (train, test) = match repair {
        Repair::Mean => filled_with_means(set, split_rows, &removed)?,
        _ => {
            // By way of a file, as a user's table would come.
            let (train, test) =
                (write(set, &split_rows.train, &removed)?, write(set, &split_rows.test, &removed)?);
            let train = data::csv(train.path())?.target("y")?;
            let preparation = train.preparation().expect("it was read from a file").clone();
            let test = data::csv(test.path())?.as_trained(&preparation, &["y".into()], &[])?;
            match repair {
                Repair::Uncertain => (train, test),
                _ => (known(&train)?, known(&test)?),
            }
        }
    };
    let settings = Settings::default().seed(split as u64).threads(1);
    let go_on = |_| if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let Some(model) = Ensemble::fit_with(&train, &settings, go_on)? else { return Ok(None) };
    let out = model.predict(test.input())?;
    let Target::Values { y, .. } = test.target() else { unreachable!("the target is a number") };
    let (lower, upper) = out.interval(0.9)?;
    let inside = y.data().iter().zip(lower.iter().zip(&upper)).filter(|(y, (l, u))| l <= y && y <= u).count();
    let rows = y.data().len() as f64;
    Ok(Some(Tested {
        rmse: metrics::rmse(y.data(), out.mean())?,
        log_likelihood: out.log_density(y)?.iter().sum::<f64>() / rows,
        coverage_90: inside as f64 / rows,
    }))
}

/// Some rows as a CSV file with empty cells.
fn write(set: &Set, rows: &[usize], removed: &[bool]) -> tractable::Result<Written> {
    let Target::Values { y, .. } = set.data.target() else { unreachable!("the target is a number") };
    let width = set.data.width();
    let mut text: String = (0..width).map(|i| format!("x{i},")).collect::<String>() + "y\n";
    for &row in rows {
        for (i, v) in set.data.x().row(row).iter().enumerate() {
            let cell = if removed[row * width + i] { String::new() } else { v.to_string() };
            write!(text, "{cell},").expect("a string takes everything");
        }
        writeln!(text, "{}", y.row(row)[0]).expect("a string takes everything");
    }
    Written::new(&text)
}

/// What was guessed counts as known.
fn known(data: &Dataset) -> tractable::Result<Dataset> {
    let Target::Values { y, .. } = data.target() else { unreachable!("the target is a number") };
    Dataset::new(data.x().clone(), y.clone())
}

fn filled_with_means(set: &Set, split: &Split, removed: &[bool]) -> tractable::Result<(Dataset, Dataset)> {
    let (x, width) = (set.data.x(), set.data.width());
    let mean = |column: usize| {
        let seen = split.train.iter().map(|r| r * width + column).filter(|i| !removed[*i]);
        let (sum, n) = seen.fold((0.0, 0.0), |(sum, n), i| (sum + x.data()[i], n + 1.0));
        if n > 0.0 { sum / n } else { 0.0 }
    };
    let means: Vec<f64> = (0..width).map(mean).collect();
    let cells = x.data().iter().enumerate().map(|(i, v)| if removed[i] { means[i % width] } else { *v });
    let x = Matrix::new(cells.collect(), width)?;
    let Target::Values { y, .. } = set.data.target() else { unreachable!("the target is a number") };
    let all = Dataset::new(x, y.clone())?;
    Ok((all.select(&split.train)?, all.select(&split.test)?))
}

fn text(rows: &[Row<'_>]) -> String {
    let head = ["set", "removed", "repair", "rmse", "log-likelihood", "in 90 %"].map(String::from).to_vec();
    let line = |r: &Row<'_>| {
        let repair = match r.repair {
            Repair::Uncertain => "uncertain",
            Repair::Guess => "guess",
            Repair::Mean => "mean",
        };
        let percent = |v: f64| format!("{:.1} %", 100.0 * v);
        vec![
            r.set.to_string(),
            percent(r.share),
            repair.into(),
            format!("{:.3}", r.mean.rmse),
            format!("{:.3}", r.mean.log_likelihood),
            percent(r.mean.coverage_90),
        ]
    };
    table(&std::iter::once(head).chain(rows.iter().map(line)).collect::<Vec<_>>(), &[0, 2])
}

/// A file that goes away.
struct Written(PathBuf);

impl Written {
    fn new(text: &str) -> tractable::Result<Self> {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("tractable-{}-{}.csv", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let fail = |source| tractable::Error::File { path: path.clone(), doing: "write", source };
        std::fs::write(&path, text).map_err(fail)?;
        Ok(Written(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
