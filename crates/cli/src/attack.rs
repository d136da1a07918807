//! Attacks on a set of images, a few at a time: targets, results and summary.

mod live;
pub mod npy;
pub mod pictures;
mod summary;

pub(crate) use live::{LIVE, Live};
pub use summary::{MeanMedian, Record, Summary, percent};

use crate::image_sets::ImageSet;
use crate::interrupt;
use crate::progress::ProgressDisplay;
use crate::report::{Exit, Outcome};
use crate::run::RunFolder;
use crate::team;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;
use tractable::attack::{self, Attacked, Settings, Targets};
use tractable::data::Images;
use tractable::{Matrix, Network, network::Output, rng};

/// Images attacked between two looks at Ctrl-C.
const AT_ONCE: usize = 32;
/// The same on a GPU.
const AT_ONCE_ON_GPU: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Method {
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

/// The choice of target classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    All,
    Random,
    LeastLikely,
    One(usize),
    Untargeted,
}

/// The test images that belong to a run, or those that were asked for; at most `limit` of them.
pub fn test_images(
    model: &Path,
    set: Option<ImageSet>,
    data: Option<&Path>,
    limit: usize,
) -> Outcome<(ImageSet, Images)> {
    let run = RunFolder::images(model)?.map(|run| run.images);
    let Some(set) = set.or(run.as_ref().map(|run| run.set)) else {
        return Err(Exit::Error(format!(
            "{}: not a run on images; choose an image set with --set",
            model.display()
        )));
    };
    // The run's own folder counts for the run's own set.
    let folder = run.filter(|run| run.set == set).and_then(|run| run.folder);
    Ok((set, set.load_test(data.or(folder.as_deref()), Some(limit))?))
}

/// Images the network can be shown, with as many classes as it has.
pub fn check_images(net: &Network, images: &Images, model: &Path) -> Outcome {
    let wrong = match net.output() {
        Output::Classes { classes, .. } if classes == images.class_names().len() => None,
        Output::Classes { classes, .. } => {
            Some(format!("has {classes} classes, but the images have {}", images.class_names().len()))
        }
        _ => Some("is a regression model; only classifiers can be attacked".into()),
    };
    let size = || format!("takes inputs of {}, but the images are {}", net.input(), images.shape());
    match wrong.or_else(|| (net.input().len() != images.shape().len()).then(size)) {
        None => Ok(()),
        Some(why) => Err(Exit::Error(format!("{}: the network {why}", model.display()))),
    }
}

/// The attacks of all processes, in their order.
fn all_of(mine: Vec<Attacked>, ranks: usize) -> Outcome<Vec<Vec<Attacked>>> {
    if ranks == 1 {
        return Ok(vec![mine]);
    }
    let said = team::share(&serde_json::to_vec(&mine).expect("plain structures"))?;
    let read = |bytes: &Vec<u8>| serde_json::from_slice(bytes);
    said.iter().map(read).collect::<Result<_, _>>().map_err(|e| Exit::Error(format!("another process: {e}")))
}

/// What is to be done to which images.
pub struct Job<'a> {
    pub net: &'a Network,
    pub images: &'a Images,
    pub choice: Choice,
    pub method: Method,
    pub settings: Settings,
    /// Seed for random targets and PGD's random start.
    pub seed: u64,
    pub random_start: bool,
    pub budget: Option<String>,
    /// No progress of its own.
    pub quiet: bool,
}

impl Job<'_> {
    /// Attacks; `keep` sees every attack with its image. Ctrl-C ends it between two images.
    pub fn run(&self, mut keep: impl FnMut(&[f64], &Attacked, &Record)) -> Outcome<(Summary, Vec<Record>)> {
        // One class for all: images that show it cannot be taken for it.
        let index: Vec<usize> = (0..self.images.len())
            .filter(|&i| !matches!(self.choice, Choice::One(target) if target == self.images.label(i)))
            .collect();
        if index.is_empty() {
            return Err(Exit::Error("every image already shows the target; choose another".into()));
        }
        let given = self.given_targets(&index);
        let (began, mut records) = (Instant::now(), Vec::<Record>::new());
        let total = index.len() as u64;
        let mut progress =
            if self.quiet { ProgressDisplay::none() } else { ProgressDisplay::new(Some(total)) };
        let (rank, ranks) = team::place();
        let mut shared: Vec<Vec<Attacked>> = Vec::new();
        for (part, chunk) in index.chunks(self.at_once()).enumerate() {
            let (images, labels) = self.part(chunk)?;
            // With several processes, each attacks one part of a round.
            if part % ranks == 0 {
                let mine = match index.chunks(self.at_once()).nth(part + rank) {
                    Some(_) if rank == 0 => self.attack(part, &images, &labels, &given)?,
                    Some(chunk) => {
                        let (images, labels) = self.part(chunk)?;
                        self.attack(part + rank, &images, &labels, &given)?
                    }
                    None => Vec::new(),
                };
                shared = all_of(mine, ranks)?;
            }
            for a in std::mem::take(&mut shared[part % ranks]) {
                let record = Record::new(&a, chunk[a.image]);
                keep(images.row(a.image), &a, &record);
                records.push(record);
            }
            let done = part * self.at_once() + chunk.len();
            progress.at(done as u64, || {
                let won = records.iter().filter(|r| r.success).count() as f64 / records.len() as f64;
                let rate = records.len() as f64 / began.elapsed().as_secs_f64();
                format!("{done} of {} images  success {}  {rate:.0} attacks/s", index.len(), percent(won))
            });
            if interrupt::requested() {
                return Err(Exit::Interrupted(format!(
                    "after {done} of {} images; nothing was saved",
                    index.len()
                )));
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        progress.done(&format!("{} attacks by {} in {seconds:.1} s", records.len(), self.method.name()));
        Ok((Summary::of(self.method, self.budget.clone(), &records, seconds), records))
    }

    /// Some images as numbers, and their labels.
    fn part(&self, chunk: &[usize]) -> Outcome<(Matrix, Vec<usize>)> {
        let images = self.images.select(chunk)?;
        Ok((images.matrix(0..images.len())?, images.labels()))
    }

    /// Images attacked at a time.
    fn at_once(&self) -> usize {
        if self.net.device().is_gpu() { AT_ONCE_ON_GPU } else { AT_ONCE }
    }

    fn attack(&self, part: usize, x: &Matrix, labels: &[usize], given: &[usize]) -> Outcome<Vec<Attacked>> {
        // Each part has its own seed: otherwise all would draw the same numbers.
        let seed = self.seed ^ ((part as u64) << 32);
        let targets = match self.choice {
            Choice::All => Targets::all_wrong(labels),
            Choice::LeastLikely => Targets::least_likely(labels),
            Choice::Untargeted => Targets::untargeted(labels),
            Choice::Random | Choice::One(_) => {
                Targets::given(labels, &given[part * self.at_once()..][..labels.len()])
            }
        };
        let settings = self.settings.clone();
        let settings = if self.random_start { settings.random_start(seed) } else { settings };
        Ok(self.method.attack(self.net, x, &targets, &settings)?)
    }

    /// One target per image where they do not depend on the network: drawn for all images at once, as the library draws
    /// them, so that it does not matter how many are attacked at a time.
    fn given_targets(&self, index: &[usize]) -> Vec<usize> {
        let (mut draws, wrong) = (rng::stream(self.seed, "targets", 0), self.images.class_names().len() - 1);
        let target = |&i: &usize| match self.choice {
            Choice::One(target) => target,
            _ => {
                let draw = rng::uniform(0.0, wrong as f64, &mut draws) as usize;
                draw + usize::from(draw >= self.images.label(i))
            }
        };
        index.iter().map(target).collect()
    }
}
