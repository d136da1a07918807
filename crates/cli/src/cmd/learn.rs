//! `tractable learn`: a trained model continues learning, row by row, from a file or a stream.

// `cmd/learn.rs` -> `run/incoming.rs` (rows are read on another thread, so that waiting for one can be
// interrupted) -> for every row `Ensemble::predict`, `recalibrate` (T62), `learn`, and `Drift::count`,
// which returns the factor by which `Ensemble::discount` widens the weights (T60, T61). In the library,
// `Network::learn_one` takes the prediction from the same pass that learns the row. The model is saved
// every `--every` rows; its file holds all that it is, so how often it is saved and read changes nothing.
// `run/followed.rs` writes the place in the stream just before the model, with that of the model
// before: after a crash one of the two fits the model, and `--resume` continues there.

use crate::files;
use crate::interrupt;
use crate::progress::ProgressDisplay;
use crate::report::{Exit, Outcome, Report, count, json_line};
use crate::run::{FOLLOWED, Followed, Incoming, Next, RunFolder, STREAM, commands, load_any, model_first};
use crate::scores::{Scored, Tally};
use crate::settings::whole;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tractable::data::LabelledRow;
use tractable::{
    Ensemble, Matrix,
    network::{Drift, Observation, Output, Surprise},
};

const AFTER_HELP: &str = "\
Examples:
  tractable learn run/ new.csv
  tractable learn run/ new.csv --score --json > scores.jsonl
  tail -n +1 -f log.csv | tractable learn run/ - --score --every 100
  tractable learn run/ new.csv --skip 5000          (the first 5000 were learned before)
  tractable learn run/ new.csv --resume             (after a crash: continue where the saved model is)

Each row is learned once, in order; nothing is retrained. Columns are found by name and read as in training; missing inputs
are uncertain; a row without a target is skipped. - is stdin. The file may be larger than memory.
The model in the folder is replaced every --every rows, at the end, after Ctrl-C, and before an error about a row that cannot
be read. A crash leaves a complete model, from before or after a save. Messages say how many rows it has learned.
With --score every row is predicted before it is learned: rmse, the share inside 90 % intervals, nll, and surprise, the
squared error over its expected value; about 1 if the intervals are right. `tractable report run/ --follow` plots them as they come.
A model whose errors are larger than expected forgets in proportion: see the book, Streams.";

/// Keep learning from new rows
#[derive(clap::Args, Clone)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Folder of a run
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Rows with targets, with the columns of the training data
    #[arg(value_name = "FILE.csv")]
    file: PathBuf,
    /// Predict every row before it is learned, and score the predictions
    #[arg(long)]
    score: bool,
    /// Rows per line of scores
    #[arg(long, value_name = "N", default_value = "1000", value_parser = whole, requires = "score")]
    window: usize,
    /// Rows between two saves of the model
    #[arg(long, value_name = "N", default_value = "1000", value_parser = whole)]
    every: usize,
    /// Skip the first N rows
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: u64,
    /// Continue after the rows of this file that the saved model has read, if any
    #[arg(long)]
    resume: bool,
    /// Never forget, however surprising the rows are
    #[arg(long)]
    keep: bool,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// An idle stream is saved after this long.
const IDLE: Duration = Duration::from_secs(10);

/// Line `end` of `learn`.
#[derive(Serialize)]
struct End<'a> {
    /// Folder of the run.
    run: &'a Path,
    /// File of the model.
    model: &'a Path,
    /// Learned by this command.
    rows: u64,
    /// Rows skipped because they have no target.
    without_target: u64,
    /// How often the model has forgotten.
    forgot: u64,
    /// In total.
    seconds: f64,
}

pub fn run(args: &Args) -> Outcome {
    let mut args = args.clone();
    model_first(&mut args.run, &mut args.file);
    let args = &args;
    if !args.run.is_dir() {
        return Err(Exit::Error(format!("{}: not a folder; give the folder of a run", args.run.display())));
    }
    let _held = RunFolder::hold(&args.run)?;
    if RunFolder::images(&args.run)?.is_some() {
        return Err(Exit::Error(format!("{}: a run on images; learn needs a table", args.run.display())));
    }
    let folder = RunFolder::new(&args.run);
    let path = folder.model();
    if !path.is_file() {
        let why = "no finished model; train it first: `tractable train FILE.csv --target NAME -o RUN`";
        return Err(Exit::Error(format!("{}: {why}", args.run.display())));
    }
    let model = load_any(&args.run)?;
    let followed = Followed::of(&args.run, &path);
    let log = args.run.join(STREAM);
    let before = followed.last().map_or_else(|| logged(&log), |f| f.rows);
    let skip = match followed.iter().find(|at| at.file == args.file) {
        _ if !args.resume => args.skip,
        Some(at) => at.read,
        // It was killed before the first row.
        None if !args.run.join(FOLLOWED).exists() => args.skip,
        None => {
            let why = "--resume: the model in this folder has read nothing of";
            return Err(Exit::Error(format!("{why} {}", args.file.display())));
        }
    };
    cut(&log, before)?;
    interrupt::listen()?;
    let rows = Incoming::open(&args.file, &model)?;
    let targets = match model.output() {
        Output::Classes { .. } => 1,
        _ => model.output_names().len(),
    };
    let mut session = Session {
        args,
        skip,
        names: model.output_names().to_vec(),
        classes: matches!(model.output(), Output::Classes { .. }),
        report: Report::new(args.json).ignoring_closed_pipe(),
        log,
        before,
        drift: followed.last().map_or_else(Drift::default, |f| f.drift.clone()),
        followed,
        window: vec![Tally::default(); targets],
        all: vec![Tally::default(); targets],
        in_window: 0,
        seen: 0,
        learned: 0,
        saved: skip,
        last_save: Instant::now(),
        began: Instant::now(),
        model,
        path,
    };
    session.follow(&rows)
}

/// The number of rows in the last line of the log.
fn logged(log: &Path) -> u64 {
    let text = if log.is_file() { files::read_text(log).unwrap_or_default() } else { String::new() };
    let line = text.lines().rev().find_map(|l| serde_json::from_str::<serde_json::Value>(l).ok());
    line.and_then(|l| l.get("rows")?.as_u64()).unwrap_or(0)
}

/// Removes the last lines of a log that was ahead of the model when a process was killed: their rows are learned again.
fn cut(log: &Path, rows: u64) -> Outcome {
    let text = if log.is_file() { files::read_text(log)? } else { String::new() };
    let ahead = |line: &&str| {
        let line = serde_json::from_str::<serde_json::Value>(line).ok();
        line.and_then(|l| l.get("rows")?.as_u64()).is_none_or(|at| at > rows)
    };
    let kept: Vec<&str> = text.lines().filter(|line| !ahead(line)).collect();
    match kept.len() == text.lines().count() {
        true => Ok(()),
        false => files::write(log, kept.iter().map(|l| format!("{l}\n")).collect::<String>().as_bytes()),
    }
}

struct Session<'a> {
    args: &'a Args,
    /// Rows at the start of the file that are left out.
    skip: u64,
    /// Where the model in the file is, in every stream that it was given.
    followed: Vec<Followed>,
    names: Vec<String>,
    classes: bool,
    report: Report,
    log: PathBuf,
    /// Rows of earlier streams.
    before: u64,
    model: Ensemble,
    path: PathBuf,
    drift: Drift,
    window: Vec<Tally>,
    all: Vec<Tally>,
    in_window: usize,
    /// Rows of the file read so far, learned or not; the saved model has learned the first `saved` of them.
    seen: u64,
    learned: u64,
    saved: u64,
    last_save: Instant,
    began: Instant,
}

impl Session<'_> {
    fn follow(&mut self, rows: &Incoming) -> Outcome {
        let mut progress = ProgressDisplay::new(None);
        loop {
            match rows.next() {
                Next::Row(row) => {
                    if self.seen == self.skip {
                        self.begin()?;
                    }
                    if self.seen >= self.skip {
                        self.row(&row).map_err(|e| self.failed(e))?;
                    }
                    self.seen += 1;
                    if self.seen.saturating_sub(self.saved) >= self.args.every as u64 {
                        self.save()?;
                    }
                    if self.seen.is_multiple_of(64) {
                        progress.at(self.seen, || self.pace());
                    }
                }
                Next::Idle if interrupt::requested() => {
                    self.save()?;
                    self.log_window()?;
                    return Err(Exit::Interrupted(self.stands()));
                }
                Next::Idle => {
                    if self.seen > self.saved && self.last_save.elapsed() >= IDLE {
                        self.save()?;
                    }
                }
                Next::Bad(e) => {
                    self.save()?;
                    self.log_window()?;
                    return Err(Exit::Error(format!("{e}; {}", self.stands())));
                }
                Next::End => break,
            }
        }
        self.save()?;
        self.log_window()?;
        if self.seen < self.skip {
            let why = format!("--skip {}: the file has only {}", self.skip, count(self.seen, "row"));
            return Err(Exit::Error(why));
        }
        progress.done(&self.pace());
        if self.args.score && self.learned > 0 {
            for (name, tally) in self.names.iter().zip(&self.all) {
                let scored = tally.scored(name, self.learned, self.classes);
                self.report.say("total", &scored, || format!("all: {}", scored.text()))?;
            }
        }
        let (seconds, rows) = (self.began.elapsed().as_secs_f64(), self.learned);
        let without_target = self.seen - self.skip - rows;
        let forgot = self.all[0].forgot();
        let end = End { run: &self.args.run, model: &self.path, rows, without_target, forgot, seconds };
        self.report.say("end", &end, || {
            let none = match without_target {
                0 => String::new(),
                n => format!(", skipped {} without a target", count(n, "row")),
            };
            let times = if forgot == 1 { "time" } else { "times" };
            let forgot = if forgot > 0 { format!(", forgot {forgot} {times}") } else { String::new() };
            format!("run {}: learned {}{none}{forgot}", self.args.run.display(), count(rows, "row"))
        })
    }

    /// Predicts and learns one row.
    fn row(&mut self, row: &LabelledRow) -> Outcome {
        if row.label.is_none() && row.y.iter().all(Option::is_none) {
            return Ok(());
        }
        let y = Matrix::new(row.y.iter().map(|y| y.unwrap_or(0.0)).collect(), row.y.len().max(1))?;
        let seen: Vec<bool> = row.y.iter().map(Option::is_some).collect();
        let label = row.label.map(|l| [l]);
        let observation = match &label {
            Some(label) => Observation::from(label),
            None => Observation::from(&y).seen(&seen),
        };
        let surprise = self.predict(row, &y, &seen, observation)?;
        self.model.learn(&row.x, observation)?;
        let mut forgot = false;
        if let Some(surprise) = surprise {
            let factor = if self.args.keep { 1.0 } else { self.drift.count(surprise) };
            if factor > 1.0 {
                self.model.discount(factor)?;
                forgot = true;
            }
            for tally in self.window.iter_mut().chain(&mut self.all) {
                tally.surprise(surprise, forgot);
            }
        }
        self.learned += 1;
        self.in_window += 1;
        if self.args.score && self.in_window == self.args.window {
            self.log_window()?;
        }
        Ok(())
    }

    /// Scores the prediction of a row and computes its surprise, if either is needed.
    fn predict(
        &mut self,
        row: &LabelledRow,
        y: &Matrix,
        seen: &[bool],
        observation: Observation<'_>,
    ) -> Outcome<Option<Surprise>> {
        let calibrates = !self.classes && self.model.is_calibrated();
        if self.args.keep && !self.args.score && !calibrates {
            return Ok(None);
        }
        let Some(label) = row.label else {
            let out = self.model.predict(&row.x)?;
            for (i, y) in row.y.iter().enumerate() {
                if let Some(y) = y {
                    self.window[i].value(&out, i, *y);
                    self.all[i].value(&out, i, *y);
                }
            }
            self.model.recalibrate(&out, y.data(), Some(seen))?;
            return Ok(Some(Surprise::of_values(&out, y.data(), Some(seen))?));
        };
        if self.args.score {
            let p = self.model.predict_classes(&row.x)?;
            self.window[0].class(p.row(0), label);
            self.all[0].class(p.row(0), label);
        }
        Ok(Some(self.model.surprise(&row.x, observation)?))
    }

    /// Before the first row: from here on `--resume` knows where to continue.
    fn begin(&mut self) -> Outcome {
        commands::note(&self.args.run, false)?;
        let others = std::mem::take(&mut self.followed);
        self.followed = self.at().begin(&self.args.run, &self.path, others)?;
        Ok(())
    }

    fn save(&mut self) -> Outcome {
        if self.seen <= self.saved {
            return Ok(());
        }
        let before = std::mem::take(&mut self.followed);
        self.followed = self.at().save(&self.args.run, &self.path, &self.model.to_bytes()?, before)?;
        (self.saved, self.last_save) = (self.seen, Instant::now());
        Ok(())
    }

    /// Where the model in memory is.
    fn at(&self) -> Followed {
        Followed::new(&self.args.file, self.seen, self.before + self.learned, &self.drift)
    }

    /// Prints and logs the scores of a window, and begins the next.
    fn log_window(&mut self) -> Outcome {
        if !self.args.score || self.in_window == 0 {
            return Ok(());
        }
        self.in_window = 0;
        for (i, tally) in self.window.iter_mut().enumerate() {
            let scored: Scored<'_> =
                std::mem::take(tally).scored(&self.names[i], self.before + self.learned, self.classes);
            files::append(&self.log, format!("{}\n", json_line("score", &scored)).as_bytes())?;
            self.report.say("score", &scored, || scored.text())?;
        }
        Ok(())
    }

    fn pace(&self) -> String {
        let speed = self.seen as f64 / self.began.elapsed().as_secs_f64();
        format!("{}  {speed:.0} rows/s", count(self.seen, "row"))
    }

    /// A row that was read but broke a network: the saved model is intact, but some rows behind.
    fn failed(&self, e: Exit) -> Exit {
        match e {
            Exit::Error(why) => Exit::Error(format!("row {}: {why}; {}", self.seen + 1, self.stands())),
            other => other,
        }
    }

    /// What the model in the file has learned.
    fn stands(&self) -> String {
        let saved = self.saved;
        if saved == 0 {
            return "the model is unchanged".into();
        }
        let (run, file) = (self.args.run.display(), self.args.file.display());
        match self.args.file == Path::new("-") {
            true => format!("the model has learned the first {} and is saved", count(saved, "row")),
            false => format!(
                "the model has learned the first {} and is saved; continue with `tractable learn {run} {file} --skip {saved}`",
                count(saved, "row")
            ),
        }
    }
}
