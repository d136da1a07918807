//! `tractable evaluate`: scores of a model on a CSV file with targets, or on images.

use crate::console::note;
use crate::image_sets::ImageSet;
use crate::report::{Exit, Outcome, Report, short};
use crate::run::asked::{self, with_targets};
use crate::run::{DataFile, DataFiles, Rows, RunFolder, TableConfig, load_for, load_model, model_first};
use crate::scores::{self, Judged, RowsAre, Score};
use crate::settings::{DeviceName, Kind, whole};
use std::path::{Path, PathBuf};
use tractable::{Ensemble, Network, network::Output};

const AFTER_HELP: &str = "\
Examples:
  tractable evaluate run/ test.csv
  tractable evaluate run/ test.csv --json --max-nll 2.5
  tractable evaluate run/ --ood fashion-mnist       (a run on images, with its own test images)
  tractable evaluate run/ mnist --data DIR

Numbers: rmse, mae, nll (mean negative log-likelihood of the values), crps, the share of the values
inside their 50, 90 and 95 % intervals, a calibration table, and the squared error over the variance,
which is near 1 if the variances are right. Classes: error rate, nll, Brier score and expected
calibration error with its bins. A line at the end says if intervals or probabilities are off.
For the file a run was trained on, every row is evaluated by networks that left it out.
Images: scores of classes, the variance of the label split into model uncertainty and label
noise, and with --ood how well that variance detects images of another set (area under the
ROC curve). Exits 1 if a limit is exceeded.";

/// Score a model on a CSV file with targets, or on images
#[derive(clap::Args, Clone)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Folder of a run, or a model file
    #[arg(value_name = "RUN|MODEL")]
    model: PathBuf,
    /// Rows with targets, columns found by name; or an image set [default: the run's]
    #[arg(value_name = "FILE.csv|SET")]
    file: Option<PathBuf>,
    /// Folder with the image set's files, or its parent
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Another image set, to test out-of-distribution detection
    #[arg(long, value_name = "SET", value_parser = ImageSet::parse)]
    ood: Option<ImageSet>,
    /// Folder with that set's files [default: as --data]
    #[arg(long, value_name = "DIR", requires = "ood")]
    ood_data: Option<PathBuf>,
    /// Use only the first N test images
    #[arg(long, value_name = "N", value_parser = whole)]
    limit: Option<usize>,
    /// Exit 1 if the nll of a target is above this
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    max_nll: Option<f64>,
    /// Exit 1 if the rmse of a target is above this
    #[arg(long, value_name = "X")]
    max_rmse: Option<f64>,
    /// Exit 1 if the error rate, 0 to 1, is above this
    #[arg(long, value_name = "X")]
    max_error: Option<f64>,
    /// Where to compute, for images
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    device: DeviceName,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let mut args = args.clone();
    if let Some(file) = &mut args.file {
        model_first(&mut args.model, file);
    }
    let args = &args;
    let file = match images_of(args)? {
        Source::Images(set, folder, limit) => {
            let net = load_for(&args.model, args.device, limit.unwrap_or(usize::MAX))?;
            check_limits(args, net.output())?;
            return images(args, &net, set, folder.as_deref(), limit);
        }
        Source::Table(file) => file,
    };
    let report = Report::new(args.json);
    let model = load_model(&args.model)?;
    check_limits(args, model.output())?;
    let scores = match own_rows(args, file)? {
        Some(config) => judge_own(&model, file, &config)?,
        None => {
            let data = with_targets(file, &model)?;
            let mut judged = Judged::default();
            judged.predict(&model, data.input(), data.target())?;
            judged.scores(data.output_names(), RowsAre::New)?
        }
    };
    for (i, score) in scores.iter().enumerate() {
        if i > 0 {
            report.text("\n")?;
        }
        score.say(report, "score", true)?;
    }
    let broken: Vec<String> = scores
        .iter()
        .filter_map(|s| broken(args, &format!(" of `{}`", s.target()), s.nll(), s.rmse(), s.error_rate()))
        .collect();
    if broken.is_empty() { Ok(()) } else { Err(Exit::CheckFailed(broken.join("; "))) }
}

fn check_limits(args: &Args, output: Output) -> Outcome {
    let limits =
        [("--max-nll", args.max_nll), ("--max-rmse", args.max_rmse), ("--max-error", args.max_error)];
    if let Some((flag, _)) = limits.iter().find(|(_, limit)| limit.is_some_and(f64::is_nan)) {
        return Err(Exit::Error(format!("{flag}: nan is not a limit; use a number")));
    }
    let classes = matches!(output, Output::Classes { .. });
    if classes && args.max_rmse.is_some() {
        return Err(Exit::Error("--max-rmse: the model has classes; use --max-error".into()));
    }
    if !classes && args.max_error.is_some() {
        return Err(Exit::Error("--max-error: this is a regression model; use --max-rmse".into()));
    }
    Ok(())
}

/// The run's settings, where it learned from this very file.
fn own_rows(args: &Args, file: &Path) -> Outcome<Option<Box<TableConfig>>> {
    // Settings that cannot be read are no reason not to judge a model by other rows, and what can be read only once is new.
    let Some(config) = asked::config(&args.model).filter(|_| file.is_file()) else { return Ok(None) };
    let files = DataFiles::open(std::slice::from_ref(&file.to_path_buf()))?;
    let own = config.data.is_one_of_several(file) || DataFile::read(&files)?.same_content(&config.data);
    Ok(own.then_some(config))
}

/// Scores on the file that the model learned from, as far as they can be honest.
fn judge_own(model: &Ensemble, file: &Path, config: &TableConfig) -> Outcome<Vec<Score>> {
    let mut judged = Judged::default();
    // Which rows of it were held out is not kept.
    if config.settings.stream || config.data.is_one_of_several(file) {
        let why = "the model was trained on most of these rows, so the scores are optimistic";
        note(&format!("{}: {why}", file.display()));
        let data = with_targets(file, model)?;
        judged.predict(model, data.input(), data.target())?;
        return judged.scores(data.output_names(), RowsAre::Learned);
    }
    let files = DataFiles::open(std::slice::from_ref(&file.to_path_buf()))?;
    let rows = Rows::new(config.settings.table(files.paths())?, &config.settings)?;
    let mut learned = rows.train.rows();
    if config.settings.kind == Kind::Ensemble {
        if model.rows() != learned {
            let why = "it has learned other rows since, so the scores are optimistic";
            note(&format!("{}: the model was trained on these rows; {why}", file.display()));
            judged.predict(model, rows.train.input(), rows.train.target())?;
            return judged.scores(rows.train.output_names(), RowsAre::Learned);
        }
        learned -= judged.predict_left_out(model, &rows.train)?;
    } else if let Some(aside) = &rows.calibration {
        judged.predict(model, aside.input(), aside.target())?;
    }
    if let Some(test) = &rows.test {
        judged.predict(model, test.input(), test.target())?;
    }
    let name = file.display();
    let names = rows.train.output_names();
    if judged.is_empty() {
        note(&format!("{name}: the model was trained on all of these rows, so the scores are optimistic"));
        judged.predict(model, rows.train.input(), rows.train.target())?;
        return judged.scores(names, RowsAre::Learned);
    }
    note(&match learned {
        0 => format!(
            "{name}: the model was trained on these rows; each is evaluated by networks that left it out"
        ),
        n => format!("{name}: the model was trained on these rows; {n} training rows are not evaluated"),
    });
    judged.scores(names, RowsAre::LeftOut)
}

/// What is to be evaluated on.
enum Source<'a> {
    Table(&'a Path),
    /// The set, its folder if one is known, and how many.
    Images(ImageSet, Option<PathBuf>, Option<usize>),
}

/// Images are asked for by name, or by saying nothing where the run is on images.
fn images_of(args: &Args) -> Outcome<Source<'_>> {
    let run = RunFolder::images(&args.model)?;
    let named = args.file.as_deref().map_or(Ok(None), ImageSet::from_argument)?;
    let set = match (&args.file, named, &run) {
        (_, Some(set), _) => set,
        (None, None, Some(run)) => run.images.set,
        (None, None, None) => {
            return Err(Exit::Error("specify a CSV file with targets, or an image set".into()));
        }
        (Some(file), None, _) => {
            let elsewhere = !matches!(args.device, DeviceName::Cpu | DeviceName::Auto);
            let flags = [
                args.ood.map(|_| "ood"),
                args.limit.map(|_| "limit"),
                args.data.as_ref().map(|_| "data"),
                elsewhere.then_some("device"),
            ];
            return match flags.into_iter().flatten().next() {
                Some(flag) => Err(Exit::Error(format!("--{flag}: applies to images, not to CSV files"))),
                None => Ok(Source::Table(file)),
            };
        }
    };
    // The run's own folder and number count for the run's own set.
    let own = run.filter(|r| r.images.set == set);
    let (folder, limit) = own.map_or((None, None), |r| (r.images.folder, r.settings.limit));
    Ok(Source::Images(set, args.data.clone().or(folder), args.limit.or(limit)))
}

fn images(args: &Args, net: &Network, set: ImageSet, folder: Option<&Path>, limit: Option<usize>) -> Outcome {
    if args.max_rmse.is_some() {
        return Err(Exit::Error("--max-rmse: images have classes; use --max-error".into()));
    }
    let test = set.load_test(folder, limit)?;
    if net.class_names() != test.class_names() {
        let why = format!("{}: its classes differ from the model's", set.name());
        return Err(Exit::Error(format!(
            "{why}; to test out-of-distribution detection, use --ood {}",
            set.name()
        )));
    }
    let other = match args.ood {
        None => None,
        Some(other) => {
            let folder = args.ood_data.as_deref().or(args.data.as_deref());
            Some((other.name(), other.load_test(folder, args.limit)?))
        }
    };
    let report = Report::new(args.json);
    let known = scores::images::predict(net, &test)?;
    let score = scores::images::score(&known, &test)?;
    let detection = match &other {
        None => None,
        Some((name, images)) => {
            let unknown = scores::images::predict(net, images).map_err(|e| match e {
                Exit::Error(why) => Exit::Error(format!("--ood {name}: {why}")),
                other => other,
            })?;
            Some(scores::images::detect(&known, &unknown, name)?)
        }
    };
    score.say(report, "score", true)?;
    detection.map_or(Ok(()), |d| d.say(report))?;
    broken(args, "", score.nll, None, Some(score.error_rate))
        .map_or(Ok(()), |why| Err(Exit::CheckFailed(why)))
}

/// The limits that scores do not keep, if any. NaN keeps none.
fn broken(args: &Args, of: &str, nll: f64, rmse: Option<f64>, error_rate: Option<f64>) -> Option<String> {
    let checks = [
        ("nll", Some(nll), args.max_nll),
        ("rmse", rmse, args.max_rmse),
        ("error rate", error_rate, args.max_error),
    ];
    let kept = |value: f64, limit: f64| value <= limit;
    let known = checks.into_iter().filter_map(|(what, value, limit)| Some((what, value?, limit?)));
    let broken = known.filter(|&(_, value, limit)| !kept(value, limit));
    let said = broken.map(|(what, v, limit)| format!("{what}{of} is {}, above {limit}", short(v)));
    Some(said.collect::<Vec<_>>().join("; ")).filter(|said| !said.is_empty())
}
