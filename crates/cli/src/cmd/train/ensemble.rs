//! Trains the default model on the rows of a CSV file.

use super::source::Source;
use super::{Args, columns, data_files, describe, say_left_out, say_test};
use crate::console::{self, note};
use crate::interrupt;
use crate::progress::ProgressDisplay;
use crate::report::{Exit, Outcome, Report, count};
use crate::run::{DataFile, RunFolder, TableConfig};
use crate::settings::{DeviceName, Kind, RunSettings};
use crate::team;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tractable::Ensemble;
use tractable::data::{ColumnAbout, Dataset};
use tractable::ensemble::{Settings, Stage};

/// Line `start` (table) of `train`.
#[derive(Serialize)]
struct Start<'a> {
    /// Folder of the run.
    run: &'a Path,
    /// Training rows; each is left out by one network in five.
    rows: usize,
    /// Rows held out by `--test`.
    test_rows: usize,
    /// Names of the inputs that the columns become.
    inputs: &'a [String],
    /// Names of the target columns.
    outputs: &'a [String],
    /// For every column of the file its `name`, `what` it is taken for, the share `missing`, and a `problem` or null.
    columns: &'a [ColumnAbout],
    /// As in `config.json`.
    settings: &'a RunSettings,
}

/// Line `end` (table) of `train`.
#[derive(Serialize)]
struct End<'a> {
    /// Folder of the run.
    run: &'a Path,
    /// File of the model to use.
    model: PathBuf,
    /// Number of models: networks, lines and Gaussian processes.
    networks: usize,
    /// In total; 0 if already finished before.
    seconds: f64,
}

/// `out` is the folder of the run; `old` its settings if it is restarted.
pub(super) fn run(args: &Args, out: &Path, old: Option<&TableConfig>) -> Outcome {
    if args.sync.is_some() {
        let why =
            "--sync: applies to images and to a single network with your own settings, such as --hidden";
        return Err(Exit::Error(why.into()));
    }
    let report = Report::new(args.json).ignoring_closed_pipe();
    let files = data_files(args, Kind::Ensemble, old)?;
    let (source, settings) = match old {
        Some(old) => (None, args.flags.resumed(&old.settings)?),
        None => {
            let (source, settings) = Source::new(args, &files)?;
            (Some(source), settings)
        }
    };
    let config = TableConfig::new(DataFile::read(&files)?, settings);
    config.check_same(old)?;
    let folder = RunFolder::new(out);
    let done = if old.is_some() && folder.model().is_file() {
        let why = "the run is finished; start a new one to train on more rows";
        let model = Ensemble::load_on(folder.model(), console::device())?;
        report.say("end", &finished(out, &folder, &model), || format!("{}: {why}", out.display()))?;
        if folder.is_scored()? {
            return Ok(());
        }
        Some(model)
    } else {
        None
    };
    let settings = &config.settings;
    let source = &source.map_or_else(|| Source::again(settings, &files), Ok)?;
    let (train, test) = (source.train(), source.test());
    if let Some(model) = done {
        // Stopped between its model and its scores.
        say_left_out(&folder, report, &model, &source.judge(&model)?)?;
        return test.map_or(Ok(()), |test| say_test(&folder, report, &model, test));
    }
    let start = Start {
        run: out,
        rows: source.rows(),
        test_rows: test.map_or(0, Dataset::rows),
        inputs: train.input_names(),
        outputs: train.output_names(),
        columns: &source.columns,
        settings,
    };
    let start_again =
        format!("nothing was saved; start again with `tractable train --resume -o {}`", out.display());
    let as_it_was = "nothing was saved; an earlier run is unchanged";
    let mut prepared = None;
    // Called once the data have been looked at: before that no file is touched.
    let mut begin = || {
        // Remembered while files are touched.
        interrupt::listen()?;
        match old {
            Some(_) => folder.resume(&config)?,
            None => {
                let place = prepared.insert(folder.prepare(args.force)?);
                // An earlier run stays until there is a model to replace it.
                if !place.replaces {
                    folder.start(&config)?;
                }
            }
        }
        let replaces = prepared.as_ref().is_some_and(|p| p.replaces);
        interrupt::leave_at_once(if replaces { as_it_was } else { &start_again })?;
        columns::show(&source.columns);
        if !matches!(args.flags.values.device, DeviceName::Cpu | DeviceName::Auto) {
            note(
                "the default model trains on the CPU; --device applies to a network of your own, as with --hidden",
            );
        }
        note(&describe(source.rows(), train, test));
        report.say("start", &start, String::new)
    };
    let began = Instant::now();
    team::agree(&format!("{settings:?} {:?}", config.data.content()))?;
    if team::place().0 > 0 {
        return fit(source, settings, &mut || Ok(())).map(drop);
    }
    let model = fit(source, settings, &mut begin);
    let replaces = prepared.as_ref().is_some_and(|p| p.replaces);
    if let (Err(_), Some(place), false) = (&model, &prepared, replaces) {
        folder.forget(place);
    }
    let Some(model) = model? else {
        return Err(Exit::Interrupted(if replaces { as_it_was.into() } else { start_again }));
    };
    interrupt::listen()?;
    if replaces {
        folder.replace(&config, "", |staged| Ok(model.save(staged.model())?))?;
    } else {
        folder.write("metrics.jsonl", "")?;
        model.save(folder.model())?;
    }
    interrupt::leave_at_once(&format!("the model is saved in {}, without its scores", out.display()))?;
    let (networks, seconds) = (model.models(), began.elapsed().as_secs_f64());
    let end = End { run: out, model: folder.model(), networks, seconds };
    report.say("end", &end, || {
        let (models, rows) = (count(networks as u64, "model"), count(source.rows() as u64, "row"));
        format!("run {}: {models} learned from {rows} in {seconds:.1} s", out.display())
    })?;
    say_left_out(&folder, report, &model, &source.judge(&model)?)?;
    test.map_or(Ok(()), |test| say_test(&folder, report, &model, test))
}

/// What there is to say of a run that has its model.
fn finished<'a>(out: &'a Path, folder: &RunFolder, model: &Ensemble) -> End<'a> {
    End { run: out, model: folder.model(), networks: model.models(), seconds: 0.0 }
}

/// Of the bar: how much there is to do changes on the way.
const STEPS: u64 = 1000;

/// `None` where it was interrupted.
fn fit(
    source: &Source,
    settings: &RunSettings,
    begin: &mut dyn FnMut() -> Outcome,
) -> Outcome<Option<Ensemble>> {
    let how = Settings::default().seed(settings.seed).single(settings.single).threads(console::threads());
    let (mut progress, mut failed) = (None, None);
    let model = source.fit(&how, |stage| {
        let progress = match &mut progress {
            Some(progress) => progress,
            none => {
                failed = begin().err();
                none.insert((ProgressDisplay::new(Some(STEPS)), Instant::now()))
            }
        };
        if failed.is_some() || interrupt::requested() {
            return ControlFlow::Break(());
        }
        show(&mut progress.0, progress.1, stage);
        ControlFlow::Continue(())
    });
    // A failure to write stands behind the break it caused.
    failed.map_or_else(|| team::heard(model), Err)
}

fn show(progress: &mut ProgressDisplay, began: Instant, stage: Stage) {
    let share = stage.done as f64 / stage.of as f64;
    let left = began.elapsed().as_secs_f64() * (1.0 / share - 1.0);
    // A bar says it itself.
    let line = !progress.is_bar() && share > 0.02 && share < 1.0;
    let how_far = if line { format!("  {:.0} %  eta {left:.0} s", 100.0 * share) } else { String::new() };
    progress.at((share * STEPS as f64) as u64, || format!("{}{how_far}", stage.what));
}
