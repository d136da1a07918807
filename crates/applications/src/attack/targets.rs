//! Labels and target classes: [`Targets`].

use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Matrix;
use tractable_core::metrics::argmax;
use tractable_core::rng;

/// The label and the target class of every image.
///
/// ```
/// use tractable::attack::Targets;
/// let shown = [3, 8];
/// let (one_each, nine_each) = (Targets::given(&shown, &[5, 0]), Targets::all_wrong(&shown));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Targets<'a> {
    labels: &'a [usize],
    choice: Choice<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Choice<'a> {
    Given(&'a [usize]),
    AllWrong,
    Random(u64),
    LeastLikely,
    Untargeted,
}

/// One attack to run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    pub(super) image: usize,
    pub(super) label: usize,
    pub(super) target: Option<usize>,
    pub(super) towards: usize,
}

impl<'a> Targets<'a> {
    /// One target for every image.
    ///
    /// ```
    /// let seven_into_one = tractable::attack::Targets::given(&[7], &[1]);
    /// ```
    pub fn given(labels: &'a [usize], targets: &'a [usize]) -> Self {
        Targets { labels, choice: Choice::Given(targets) }
    }

    /// Every wrong class, for every image: image by image, class by class.
    ///
    /// ```
    /// let nine = tractable::attack::Targets::all_wrong(&[7]);
    /// ```
    pub fn all_wrong(labels: &'a [usize]) -> Self {
        Targets { labels, choice: Choice::AllWrong }
    }

    /// A random wrong class, uniformly.
    ///
    /// ```
    /// let some = tractable::attack::Targets::random(&[7], 0);
    /// ```
    pub fn random(labels: &'a [usize], seed: u64) -> Self {
        Targets { labels, choice: Choice::Random(seed) }
    }

    /// The wrong class that the network finds least likely.
    ///
    /// ```
    /// let hardest = tractable::attack::Targets::least_likely(&[7]);
    /// ```
    pub fn least_likely(labels: &'a [usize]) -> Self {
        Targets { labels, choice: Choice::LeastLikely }
    }

    /// Any wrong class. [`infer`](super::infer) aims at the most likely wrong class at the
    /// start; gradient attacks move away from the label.
    ///
    /// ```
    /// let any = tractable::attack::Targets::untargeted(&[7]);
    /// ```
    pub fn untargeted(labels: &'a [usize]) -> Self {
        Targets { labels, choice: Choice::Untargeted }
    }

    /// Checks labels and targets before anything is computed.
    pub(super) fn check(&self, images: usize, classes: usize) -> Result<()> {
        in_range("label", self.labels, images, classes)?;
        let Choice::Given(targets) = self.choice else { return Ok(()) };
        in_range("target", targets, images, classes)?;
        match self.labels.iter().zip(targets).position(|(label, target)| label == target) {
            None => Ok(()),
            Some(row) => Err(Error::OutOfRange {
                what: "target".into(),
                row,
                column: 0,
                value: targets[row] as f64,
                why: "this is the image's own class; choose another, or leave the image out".into(),
            }),
        }
    }

    /// The attacks to run, given the class probabilities of every original image.
    pub(super) fn tasks(&self, before: &Matrix) -> Vec<Task> {
        let classes = before.width();
        let mut rng =
            rng::stream(if let Choice::Random(seed) = self.choice { seed } else { 0 }, "targets", 0);
        let mut tasks = Vec::new();
        for (image, &label) in self.labels.iter().enumerate() {
            let p = before.row(image);
            let wrong = || (0..classes).filter(move |&k| k != label);
            let towards = |target| Task { image, label, target: Some(target), towards: target };
            match self.choice {
                Choice::Given(targets) => tasks.push(towards(targets[image])),
                Choice::AllWrong => tasks.extend(wrong().map(towards)),
                Choice::Random(_) => {
                    let draw = rng::below(classes as u64 - 1, &mut rng) as usize;
                    tasks.push(towards(draw + usize::from(draw >= label)));
                }
                Choice::LeastLikely => {
                    let least = wrong().reduce(|least, k| if p[k] < p[least] { k } else { least });
                    tasks.push(towards(least.expect("there are two classes at least")));
                }
                Choice::Untargeted => {
                    let others: Vec<f64> = wrong().map(|k| p[k]).collect();
                    let nearest = argmax(&others);
                    let nearest = nearest + usize::from(nearest >= label);
                    tasks.push(Task { image, label, target: None, towards: nearest });
                }
            }
        }
        tasks
    }
}

fn in_range(what: &str, labels: &[usize], images: usize, classes: usize) -> Result<()> {
    if labels.len() != images {
        return Err(Error::shape(format!("{what}s"), format!("{images}, one per image"), labels.len()));
    }
    match labels.iter().position(|&l| l >= classes) {
        None => Ok(()),
        Some(row) => Err(Error::OutOfRange {
            what: what.into(),
            row,
            column: 0,
            value: labels[row] as f64,
            why: format!("the network has {classes} classes, 0 to {}", classes - 1),
        }),
    }
}
