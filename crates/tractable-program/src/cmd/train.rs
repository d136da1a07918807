//! `tractable train`: fits a network to a CSV file and keeps the run in a folder; images are in `train_images`.

use crate::cmd::train_images;
use crate::console;
use crate::console::note;
use crate::image_sets::ImageSet;
use crate::interrupt;
use crate::progress::Progress;
use crate::report::{Exit, Outcome, Report, json_line, short};
use crate::run::{AnyConfig, Config, DataFile, RunFolder};
use crate::scores;
use crate::settings::ImageFlags;
use crate::settings::{Flags, Settings};
use clap::{Args as _, FromArgMatches};
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tractable::data::{self, Dataset, Target};
use tractable::{Epoch, Fit, Network};

/// Epochs that follow each other faster than this are not all saved.
const SAVE_EVERY: Duration = Duration::from_secs(1);

const AFTER_HELP: &str = "\
Examples:
  tractable train housing.csv --target price -o run/ --test 0.1
  tractable train iris.csv --target species --classes --validation 0.1 --patience 5
  tractable train mnist --epochs 5 -o run/          (or fashion-mnist, cifar10, digits)
  tractable train --resume -o run/ --epochs 100

RUN gets model.safetensors, metrics.jsonl and config.json (last.safetensors too with --patience). Ctrl-C saves whole epochs and stops;
--resume then goes on to the same bits. Image sets are mnist, fashion-mnist, cifar10 (get them with `tractable data fetch`) and
digits, which needs no files; they take the flags under Images and those of the network and its noise.";

/// Fit a network to a CSV file or to images
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, allow_negative_numbers = true)]
pub struct Args {
    /// A header row and numbers; a target may be empty (not observed) or a class. Or an image set
    #[arg(value_name = "FILE.csv|SET", required_unless_present = "resume")]
    pub(super) file: Option<PathBuf>,
    /// Folder of the run [default: the file's name with "-run"]
    #[arg(short, long, value_name = "RUN")]
    out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) flags: Flags,
    /// Replace a run that is there, once the first epoch is done
    #[arg(long, conflicts_with = "resume")]
    pub(super) force: bool,
    /// Go on with the run in the folder, with its settings
    #[arg(long)]
    resume: bool,
    /// Results as JSON Lines
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) images: ImageFlags,
}

#[derive(Serialize)]
struct Start<'a> {
    run: &'a Path,
    resumed_after_epoch: usize,
    rows: usize,
    test_rows: usize,
    inputs: &'a [String],
    outputs: &'a [String],
    parameters: usize,
    settings: &'a Settings,
}

#[derive(Serialize)]
struct End<'a> {
    run: &'a Path,
    model: PathBuf,
    epochs: usize,
    best_epoch: Option<usize>,
    seconds: f64,
}

/// Runs `tractable train` with these words after it.
pub fn run_typed(words: impl IntoIterator<Item = std::ffi::OsString>) -> Outcome {
    let command = Args::augment_args(clap::Command::new("tractable train").no_binary_name(true));
    let typed = command.try_get_matches_from(words).and_then(|m| Args::from_arg_matches(&m));
    run(&typed.map_err(|e| Exit::Error(e.to_string()))?)
}

pub fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    let report = Report::new(args.json).ignoring_closed_pipe();
    let out = out_folder(args)?;
    // Before anything of the run is read: another process may be about to change it.
    let _held = if args.resume { Some(RunFolder::hold(&out)?) } else { None };
    let old = if args.resume { Some(RunFolder::config(&out)?) } else { None };
    let set = args.file.as_deref().map_or(Ok(None), ImageSet::meant)?;
    let old = match (old, set) {
        (Some(AnyConfig::Images(old)), _) => return train_images::run(args, &out, set, Some(&old)),
        (None, Some(_)) => return train_images::run(args, &out, set, None),
        (Some(AnyConfig::Table(_)), Some(set)) => {
            let why = format!("--resume: the run is not on images, let alone on {}", set.name());
            return Err(Exit::Error(why));
        }
        (Some(AnyConfig::Table(old)), None) => Some(old),
        (None, None) => None,
    };
    if let Some(flag) = args.images.given().keys().next() {
        return Err(Exit::Error(format!("--{flag}: is for image sets, not for CSV files; leave it out")));
    }
    let (config, resumed) = if let Some(old) = old {
        let file = args.file.as_deref().unwrap_or(&old.data.path);
        let data = DataFile::look(file)?;
        if !data.same_content(&old.data) {
            let why = "is not what the run began with, and cannot give the same result; start a new run";
            return Err(Exit::Error(format!("{}: {why}", file.display())));
        }
        (Config::new(data, args.flags.settings_of(&old.settings)?), true)
    } else {
        if !args.force {
            RunFolder::check_free(&out)?;
        }
        let file = args.file.as_deref().expect("clap asks for it");
        let settings = args.flags.settings()?;
        (Config::new(DataFile::look(file)?, settings), false)
    };
    let settings = &config.settings;
    let file = args.file.as_deref().unwrap_or(&config.data.path);
    let (train, test) = read(file, settings)?;
    let folder = RunFolder::new(&out, settings.patience.is_some());
    let device = settings.device.with(console::threads());
    let mut net = if resumed {
        let net = Network::load(folder.state(), device)?;
        check_same(&net, &train, &folder.state())?;
        net
    } else {
        build(&train, settings)?.device(device).build()?
    };
    if resumed && settings.epochs < net.epochs() {
        let why = format!("--epochs {}: the run has {} already", settings.epochs, net.epochs());
        return Err(Exit::Error(why));
    }
    let fit = fit(settings).first_epoch(net.epochs());
    check(&mut net, &train, &fit)?;
    let untouched = net.clone();
    if interrupt::asked() {
        return Err(Exit::Interrupted("nothing was written".into()));
    }

    // From here on files are touched: everything that can be checked has been.
    let mut best = None;
    let _held_new = if resumed {
        best = best_of(&folder, &net)?;
        folder.go_on(&config)?;
        None
    } else {
        Some(folder.prepare()?)
    };
    let start = Start {
        run: &out,
        resumed_after_epoch: net.epochs(),
        rows: train.rows(),
        test_rows: test.as_ref().map_or(0, Dataset::rows),
        inputs: train.input_names(),
        outputs: train.output_names(),
        parameters: net.parameters(),
        settings,
    };
    report.say("start", &start, String::new)?;
    note(&describe(&train, test.as_ref(), &net));
    let began = Instant::now();
    let mut session = Session {
        folder: &folder,
        config: &config,
        force: args.force,
        begun: resumed,
        report,
        progress: Progress::new(Some(train.rows().saturating_mul(settings.epochs) as u64), console::quiet()),
        patience: settings.patience,
        best,
        finished: net.epochs(),
        saved: Instant::now(),
        unsaved: false,
        failed: None,
        rows: train.rows(),
    };
    let mut interrupted = false;
    if !session.out_of_patience() {
        let result = net.fit_with(&train, &fit, |p| session.step(p));
        // A failure to save or write stands behind the break it caused.
        if let Some(stop) = session.failed.take() {
            return Err(stop);
        }
        interrupted = result?.interrupted && interrupt::asked();
        if session.unsaved {
            folder.save(&net, false)?;
        }
    }
    let (finished, best) = (session.finished, session.best);
    if interrupted && !session.begun {
        if args.force {
            let why = "no epoch is finished, nothing was saved; a run that was there is as it was";
            return Err(Exit::Interrupted(why.into()));
        }
        folder.begin(&config, &untouched, "", false)?;
    }
    if interrupted {
        return Err(Exit::Interrupted(format!(
            "{finished} of {} epochs are saved; go on with `tractable train --resume -o {}`",
            settings.epochs,
            out.display()
        )));
    }
    let seconds = began.elapsed().as_secs_f64();
    session.progress.done(&format!("{finished} epochs in {seconds:.1} s"));
    let best_epoch = best.map(|(_, epoch)| epoch);
    let end = End { run: &out, model: folder.model(), epochs: finished, best_epoch, seconds };
    report.say("end", &end, || {
        let best = best_epoch.map_or(String::new(), |e| format!(", the model is that of epoch {e}"));
        format!("run {}: {finished} epochs{best}", out.display())
    })?;
    let Some(test) = test else { return Ok(()) };
    let net = if best_epoch.is_some() { Network::load(folder.model(), device)? } else { net };
    for score in scores::of(&net, test.x(), test.target(), test.output_names())? {
        folder.append(&json_line("test", &score))?;
        score.say(report, "test", false)?;
    }
    Ok(())
}

fn out_folder(args: &Args) -> Outcome<PathBuf> {
    if let Some(out) = &args.out {
        return Ok(out.clone());
    }
    let stem = args.file.as_deref().and_then(Path::file_stem);
    let stem = stem.ok_or_else(|| Exit::Error("--resume: say which run with -o RUN".into()))?;
    Ok(PathBuf::from(format!("{}-run", stem.to_string_lossy())))
}

/// What a run learns from, in a line.
fn describe(train: &Dataset, test: Option<&Dataset>, net: &Network) -> String {
    let missing = match train.target() {
        Target::Values { observed: Some(seen), .. } => seen.iter().filter(|s| !**s).count(),
        _ => 0,
    };
    let missing = if missing > 0 { format!(", {missing} of their values missing") } else { String::new() };
    let test = test.map_or(String::new(), |t| format!(" and {} to test", t.rows()));
    let few = |names: &[String]| match names.len() {
        0..=12 => names.join(", "),
        n => format!("{} and {} more", names[..10].join(", "), n - 10),
    };
    let (inputs, targets) = (few(train.input_names()), few(train.output_names()));
    let (rows, parameters) = (train.rows(), net.parameters());
    format!("{rows} rows{test}; inputs {inputs}; target {targets}{missing}; {parameters} parameters")
}

/// The rows to train on and those kept apart.
fn read(file: &Path, settings: &Settings) -> Outcome<(Dataset, Option<Dataset>)> {
    let mut csv = data::csv(file)?;
    for column in &settings.drop {
        csv = csv.drop(column)?;
    }
    let data = if settings.classes {
        csv.classes(&settings.target[0])?
    } else {
        let targets: Vec<&str> = settings.target.iter().map(String::as_str).collect();
        csv.targets(&targets)?
    };
    let data = if settings.no_standardize { data } else { data.standardize() };
    if settings.test == 0.0 {
        return Ok((data, None));
    }
    let (train, test) = data.split(1.0 - settings.test, settings.seed)?;
    Ok((train, Some(test)))
}

fn build(data: &Dataset, settings: &Settings) -> Outcome<tractable::NetworkBuilder> {
    let (outputs, classes) = match data.target() {
        Target::Values { y, .. } => (y.width(), None),
        Target::Labels { names, .. } => (names.len(), Some(names.len())),
    };
    let widths = [data.width()].into_iter().chain(settings.hidden.iter().copied()).chain([outputs]);
    let mut net = Network::mlp(widths, settings.activation)
        .prior(settings.weights_prior())
        .policy(settings.policy)
        .noise_std([settings.noise().at(0)])
        .seed(settings.seed);
    if let Some(classes) = classes {
        net = net.classes(classes);
    }
    Ok(net)
}

/// The library's fit, without its early stopping: that keeps the best epoch in memory, a run keeps it in a
/// file so that it can be resumed.
fn fit(settings: &Settings) -> Fit {
    let mut fit = Fit::new()
        .epochs(settings.epochs)
        .batch(settings.batch)
        .noise(settings.noise())
        .shuffle(!settings.no_shuffle)
        .seed(settings.seed);
    fit.validation = settings.validation;
    fit
}

/// Finds what a fit would refuse, with one of no epochs.
fn check(net: &mut Network, data: &Dataset, fit: &Fit) -> Outcome {
    net.fit(data, &fit.clone().first_epoch(fit.epochs))?;
    Ok(())
}

/// A state that does not belong to the run's data would be learned over without a word.
fn check_same(net: &Network, data: &Dataset, path: &Path) -> Outcome {
    let classes: &[String] = match data.target() {
        Target::Labels { names, .. } => names,
        Target::Values { .. } => &[],
    };
    let same = net.input_names() == data.input_names()
        && net.output_names() == data.output_names()
        && net.class_names() == classes;
    // Before the first epoch a model has no names yet.
    if net.epochs() > 0 && !same {
        let why = "its columns or classes are not those of the run's data";
        return Err(Exit::Error(format!("{}: {why}", path.display())));
    }
    Ok(())
}

/// The lowest validation score so far and its epoch.
fn best_of(folder: &RunFolder, net: &Network) -> Outcome<Option<(f64, usize)>> {
    let past = folder.past(net.epochs())?;
    let scores = past.iter().filter_map(|p| Some((p.validation_nll?, p.epoch)));
    let better = |best: Option<(f64, usize)>, (nll, epoch)| match best {
        Some((lowest, _)) if nll >= lowest => best,
        _ => Some((nll, epoch)),
    };
    Ok(if folder.keeps_best() { scores.fold(None, better) } else { None })
}

/// One run while it learns: what to do after every epoch and in between.
struct Session<'a> {
    folder: &'a RunFolder,
    config: &'a Config,
    force: bool,
    /// The folder holds this run, not an earlier one or none.
    begun: bool,
    report: Report,
    progress: Progress,
    patience: Option<usize>,
    /// The lowest validation score and its epoch, from 1.
    best: Option<(f64, usize)>,
    finished: usize,
    saved: Instant,
    /// The last finished epoch is not in the file yet.
    unsaved: bool,
    failed: Option<Exit>,
    rows: usize,
}

impl Session<'_> {
    fn step(&mut self, progress: tractable::Progress<'_>) -> ControlFlow<()> {
        match progress {
            tractable::Progress::Rows(done, of) => {
                // Scaled: with validation an epoch has fewer rows than the data.
                self.progress.moved((self.finished * self.rows + done * self.rows / of) as u64);
                // Half an epoch is never saved: where the last whole one is not in the file yet, epochs are
                // so short that this one is finished first.
                if interrupt::asked() && !self.unsaved {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            }
            tractable::Progress::Epoch(net, epoch) => match self.epoch(net, epoch) {
                Ok(()) if interrupt::asked() || self.out_of_patience() => ControlFlow::Break(()),
                Ok(()) => ControlFlow::Continue(()),
                Err(stop) => {
                    self.failed = Some(stop);
                    ControlFlow::Break(())
                }
            },
            _ => ControlFlow::Continue(()),
        }
    }

    fn epoch(&mut self, net: &Network, epoch: &Epoch) -> Outcome {
        self.finished = epoch.epoch;
        let mut improved = false;
        if let (Some(_), Some(nll)) = (self.patience, epoch.validation_nll)
            && self.best.is_none_or(|(lowest, _)| nll < lowest)
        {
            self.best = Some((nll, epoch.epoch));
            improved = true;
        }
        let line = json_line("epoch", epoch);
        if !self.begun {
            self.folder.begin(self.config, net, &format!("{line}\n"), self.force)?;
            (self.saved, self.begun) = (Instant::now(), true);
        } else {
            self.folder.append(&line)?;
            self.unsaved = true;
            if improved || self.saved.elapsed() >= SAVE_EVERY || interrupt::asked() {
                self.folder.save(net, improved)?;
                (self.saved, self.unsaved) = (Instant::now(), false);
            }
        }
        self.report.say("epoch", epoch, String::new)?;
        self.progress.at((epoch.epoch * self.rows) as u64, || {
            let nll =
                epoch.validation_nll.map_or(String::new(), |v| format!("  validation nll {}", short(v)));
            format!("epoch {}/{}  noise {}{nll}", epoch.epoch, epoch.of, short(epoch.noise_std))
        });
        Ok(())
    }

    fn out_of_patience(&self) -> bool {
        match (self.patience, self.best) {
            (Some(patience), Some((_, at))) => self.finished - at >= patience,
            _ => false,
        }
    }
}
