//! Attacks on a set of images, a few at a time: who is attacked, what is kept of it, and the summary.

use crate::image_sets::ImageSet;
use crate::interrupt;
use crate::progress::Progress;
use crate::report::{Outcome, Stop, short, table};
use crate::run_folder::{AnyConfig, RunFolder};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tractable::attack::{self, Attacked, Settings, Targets};
use tractable::data::Images;
use tractable::{Matrix, Network};

/// Images attacked between two looks at Ctrl-C.
const AT_ONCE: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Method {
    /// Inference: the posterior of the image given the label
    Infer,
    /// Projected gradient descent
    Pgd,
    /// One step along the sign of the gradient
    Fgsm,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Infer => "inference",
            Method::Pgd => "PGD",
            Method::Fgsm => "FGSM",
        }
    }

    fn attack(
        self,
        net: &Network,
        x: &Matrix,
        t: &Targets<'_>,
        s: &Settings,
    ) -> tractable::Result<Vec<Attacked>> {
        match self {
            Method::Infer => attack::infer(net, x, t, s),
            Method::Pgd => attack::pgd(net, x, t, s),
            Method::Fgsm => attack::fgsm(net, x, t, s),
        }
    }
}

/// Which classes the images are to be taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    All,
    Random,
    LeastLikely,
    One(usize),
    Untargeted,
}

/// The test images that belong to a run, or those that were asked for; at most `limit` of them.
pub(crate) fn test_images(
    model: &Path,
    set: Option<ImageSet>,
    data: Option<&Path>,
    limit: usize,
) -> Outcome<(ImageSet, Images)> {
    let run = match model.join("config.json").is_file() {
        true => RunFolder::config(model)?,
        false => return with_images(model, set, None, data, limit),
    };
    match run {
        AnyConfig::Images(run) => {
            with_images(model, set, Some((run.images.set, run.images.folder)), data, limit)
        }
        AnyConfig::Table(_) => with_images(model, set, None, data, limit),
    }
}

fn with_images(
    model: &Path,
    set: Option<ImageSet>,
    run: Option<(ImageSet, Option<PathBuf>)>,
    data: Option<&Path>,
    limit: usize,
) -> Outcome<(ImageSet, Images)> {
    let Some(set) = set.or(run.as_ref().map(|r| r.0)) else {
        return Err(Stop::Error(format!(
            "{}: not a run on images, so it is not known what to attack; say which with --set",
            model.display()
        )));
    };
    // The run's own folder counts for the run's own set.
    let folder = run.filter(|r| r.0 == set).and_then(|r| r.1);
    Ok((set, set.load(data.or(folder.as_deref()), Some(limit))?.1))
}

/// One attack as files and summaries keep it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Record {
    pub(crate) image: usize,
    pub(crate) label: usize,
    pub(crate) target: Option<usize>,
    pub(crate) success: bool,
    pub(crate) class_before: usize,
    pub(crate) class_after: usize,
    pub(crate) l_inf: f64,
    pub(crate) l2: f64,
    pub(crate) iterations: usize,
    /// Probability of the target, or of all classes but the label, before and after.
    pub(crate) wanted_before: f64,
    pub(crate) wanted_after: f64,
}

impl Record {
    fn new(a: &Attacked, image: usize) -> Self {
        let wanted = |p: &[f64]| a.target.map_or(1.0 - p[a.label], |t| p[t]);
        Record {
            image,
            label: a.label,
            target: a.target,
            success: a.success,
            class_before: a.class_before(),
            class_after: a.class_after(),
            l_inf: a.l_inf,
            l2: a.l2,
            iterations: a.iterations,
            wanted_before: wanted(&a.before),
            wanted_after: wanted(&a.after),
        }
    }
}

/// A number of every attack, in short.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    pub(crate) median: f64,
}

fn spread(values: impl Iterator<Item = f64>) -> Option<Spread> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let median = (values.get(n / 2)? + values[(n - 1) / 2]) / 2.0;
    Some(Spread { mean: values.iter().sum::<f64>() / n as f64, median })
}

/// What came of many attacks. Distances and iterations are those of the attacks that succeeded.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Summary {
    pub(crate) method: Method,
    pub(crate) budget: Option<String>,
    pub(crate) attacks: usize,
    /// Images that were taken for something else before any attack.
    pub(crate) error_before: f64,
    pub(crate) success: f64,
    /// Attacks after which the class is not the label, whatever the target was.
    pub(crate) changed: f64,
    pub(crate) l_inf: Option<Spread>,
    pub(crate) l2: Option<Spread>,
    pub(crate) iterations: Option<Spread>,
    pub(crate) ms_an_attack: f64,
    pub(crate) seconds: f64,
}

impl Summary {
    pub(crate) fn of(method: Method, budget: Option<String>, records: &[Record], seconds: f64) -> Self {
        let share = |f: &dyn Fn(&Record) -> bool| {
            records.iter().filter(|r| f(r)).count() as f64 / records.len().max(1) as f64
        };
        let won = |f: fn(&Record) -> f64| spread(records.iter().filter(|r| r.success).map(f));
        Summary {
            method,
            budget,
            attacks: records.len(),
            error_before: share(&|r| r.class_before != r.label),
            success: share(&|r| r.success),
            changed: share(&|r| r.class_after != r.label),
            l_inf: won(|r| r.l_inf),
            l2: won(|r| r.l2),
            iterations: won(|r| r.iterations as f64),
            ms_an_attack: seconds * 1e3 / records.len().max(1) as f64,
            seconds,
        }
    }

    pub(crate) const HEAD: [&'static str; 11] = [
        "",
        "attacks",
        "wrong before",
        "success",
        "any change",
        "L-inf",
        "median",
        "L2",
        "median",
        "iterations",
        "ms",
    ];

    pub(crate) fn cells(&self) -> Vec<String> {
        let pair =
            |s: Option<Spread>| s.map_or(["-".into(), "-".into()], |s| [short(s.mean), short(s.median)]);
        let name = match &self.budget {
            Some(budget) => format!("{}, {budget}", self.method.name()),
            None => self.method.name().into(),
        };
        let mut cells = vec![
            name,
            self.attacks.to_string(),
            percent(self.error_before),
            percent(self.success),
            percent(self.changed),
        ];
        cells.extend(pair(self.l_inf));
        cells.extend(pair(self.l2));
        cells.push(self.iterations.map_or("-".into(), |s| format!("{:.1}", s.mean)));
        cells.push(format!("{:.2}", self.ms_an_attack));
        cells
    }

    pub(crate) fn text(&self) -> String {
        table(&[Self::HEAD.map(String::from).to_vec(), self.cells()], &[0])
    }
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// What is to be done to which images.
pub(crate) struct Job<'a> {
    pub(crate) net: &'a Network,
    pub(crate) images: &'a Images,
    pub(crate) choice: Choice,
    pub(crate) method: Method,
    pub(crate) settings: Settings,
    /// Of random targets, and of PGD's beginning where that is random.
    pub(crate) seed: u64,
    pub(crate) random_start: bool,
    pub(crate) budget: Option<String>,
    pub(crate) quiet: bool,
}

impl Job<'_> {
    /// Attacks; `keep` sees every attack with its image. Ctrl-C ends it between two images.
    pub(crate) fn run(
        &self,
        mut keep: impl FnMut(&[f64], &Attacked, &Record),
    ) -> Outcome<(Summary, Vec<Record>)> {
        // One class for all: images that show it cannot be taken for it.
        let index: Vec<usize> = (0..self.images.len())
            .filter(|&i| !matches!(self.choice, Choice::One(target) if target == self.images.label(i)))
            .collect();
        if index.is_empty() {
            return Err(Stop::Error("every image shows the target already; choose another".into()));
        }
        let (began, mut records) = (Instant::now(), Vec::<Record>::new());
        let mut progress = Progress::new(Some(index.len() as u64), self.quiet);
        for (part, chunk) in index.chunks(AT_ONCE).enumerate() {
            let images = self.images.select(chunk)?;
            let (x, labels) = (images.matrix(0..images.len())?, images.labels());
            let given;
            // A seed for every part: the first numbers of one stream would come again in each.
            let seed = self.seed ^ ((part as u64) << 32);
            let targets = match self.choice {
                Choice::All => Targets::all_wrong(&labels),
                Choice::Random => Targets::random(&labels, seed),
                Choice::LeastLikely => Targets::least_likely(&labels),
                Choice::Untargeted => Targets::untargeted(&labels),
                Choice::One(target) => {
                    given = vec![target; labels.len()];
                    Targets::given(&labels, &given)
                }
            };
            let settings = self.settings.clone();
            let settings = if self.random_start { settings.random_start(seed) } else { settings };
            for a in self.method.attack(self.net, &x, &targets, &settings)? {
                let record = Record::new(&a, chunk[a.image]);
                keep(x.row(a.image), &a, &record);
                records.push(record);
            }
            let done = part * AT_ONCE + chunk.len();
            progress.at(done as u64, || {
                let won = records.iter().filter(|r| r.success).count() as f64 / records.len() as f64;
                let rate = records.len() as f64 / began.elapsed().as_secs_f64();
                format!("{done} of {} images  success {}  {rate:.0} attacks/s", index.len(), percent(won))
            });
            if interrupt::asked() {
                return Err(Stop::Interrupted(format!(
                    "after {done} of {} images; nothing kept",
                    index.len()
                )));
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        progress.done(&format!("{} attacks by {} in {seconds:.1} s", records.len(), self.method.name()));
        Ok((Summary::of(self.method, self.budget.clone(), &records, seconds), records))
    }
}
