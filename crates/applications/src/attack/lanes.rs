//! Many attacks in parallel: every image has a lane until it is done, then the next one takes it.

use super::Attacked;
use super::limits::{Limits, l_inf, l2};
use super::settings::{Settings, Stop};
use super::targets::{Targets, Task};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Gaussian, Matrix};
use tractable_core::metrics::argmax;
use tractable_network::network::Network;
use tractable_network::output::{ClassUnits, Output};

/// Images moved at a time: enough for all threads, few enough to stay in their caches; on a GPU enough to fill it.
const LANES: usize = 32;
const LANES_OF_GPU: usize = 1024;

/// Images in progress.
pub(super) struct Lanes<'a> {
    pub(super) net: &'a Network,
    pub(super) units: ClassUnits,
    pub(super) settings: &'a Settings,
    images: &'a Matrix,
    pub(super) tasks: Vec<Task>,
    /// Iterations done, one per lane.
    done: Vec<usize>,
    pub(super) mean: Vec<f64>,
    pub(super) var: Vec<f64>,
}

/// The result of one iteration for all lanes.
pub(super) struct Moved {
    /// The output's nodes where the images were.
    pub(super) output: Gaussian,
    /// Whether that output was computed without any variance of the image.
    pub(super) exact: bool,
    /// Where the images are now, not yet within their limits.
    pub(super) mean: Vec<f64>,
    pub(super) var: Vec<f64>,
}

/// How one kind of attack starts and iterates.
pub(super) struct Method<'m> {
    /// Where an image starts, given its index, and its variance before freezing pixels.
    pub(super) begin: &'m dyn Fn(usize, &Task, &mut [f64]) -> f64,
    pub(super) step: &'m dyn Fn(&Lanes<'_>) -> Result<Moved>,
}

/// What is known before the attacks begin.
pub(super) struct Begun {
    pub(super) units: ClassUnits,
    /// Probabilities of the classes of every image.
    pub(super) before: Matrix,
    pub(super) tasks: Vec<Task>,
}

/// Checks everything.
pub(super) fn begin(
    net: &Network,
    images: &Matrix,
    targets: &Targets<'_>,
    settings: &Settings,
) -> Result<Begun> {
    let Output::Classes { classes, .. } = net.output() else {
        return Err(Error::invalid("attack", "this is a regression model; only classifiers can be attacked"));
    };
    if images.width() != net.input().len() {
        let expected = format!("images of {}, {} numbers each", net.input(), net.input().len());
        return Err(Error::shape("images", expected, images.width()));
    }
    if images.rows() == 0 {
        return Err(Error::shape("images", "at least one", 0));
    }
    targets.check(images.rows(), classes)?;
    settings.check(net, images)?;
    let before = net.predict_classes(images)?;
    let tasks = targets.tasks(&before);
    Ok(Begun { units: net.output().class_units()?, before, tasks })
}

/// Attacks. Results do not depend on which images share a batch.
pub(super) fn run(
    net: &Network,
    images: &Matrix,
    settings: &Settings,
    begun: &Begun,
    method: &Method<'_>,
) -> Result<Vec<Attacked>> {
    let Begun { units, before, tasks } = begun;
    let mut found: Vec<Option<Attacked>> = vec![None; tasks.len()];
    // Numbers of the tasks in the lanes.
    let (mut numbers, mut next) = (Vec::new(), 0);
    let mut lanes = Lanes {
        net,
        units: *units,
        settings,
        images,
        tasks: Vec::new(),
        done: Vec::new(),
        mean: Vec::new(),
        var: Vec::new(),
    };
    let most = if net.device().is_gpu() { LANES_OF_GPU } else { LANES.min(net.rows_at_once()).max(1) };
    loop {
        while next < tasks.len() && numbers.len() < most {
            lanes.enter(tasks[next], next, method);
            numbers.push(next);
            next += 1;
        }
        if numbers.is_empty() {
            break;
        }
        for (lane, after) in lanes.advance(method)?.into_iter().rev() {
            let number = numbers.swap_remove(lane);
            found[number] = Some(lanes.leave(lane, before, after)?);
        }
    }
    Ok(found.into_iter().map(|a| a.expect("every task was given a lane")).collect())
}

impl Lanes<'_> {
    pub(super) fn limits(&self, lane: usize) -> Limits<'_> {
        let image = self.tasks[lane].image;
        Limits::new(self.settings, self.images.row(image), image)
    }

    /// Lowest and highest value of every pixel of every lane.
    pub(super) fn boxes(&self) -> [Vec<f64>; 2] {
        let mut all = [Vec::new(), Vec::new()];
        for lane in 0..self.tasks.len() {
            all.iter_mut().zip(self.limits(lane).boxes()).for_each(|(all, own)| all.extend(own));
        }
        all
    }

    fn enter(&mut self, task: Task, number: usize, method: &Method<'_>) {
        let mut x = self.images.row(task.image).to_vec();
        let var = (method.begin)(number, &task, &mut x);
        let limits = Limits::new(self.settings, self.images.row(task.image), task.image);
        limits.project(&mut x);
        self.var.extend((0..x.len()).map(|i| if limits.is_frozen(i) { 0.0 } else { var }));
        self.mean.extend(x);
        self.tasks.push(task);
        self.done.push(0);
    }

    /// One iteration of every lane; those that are done, in order, with the probabilities of their classes.
    fn advance(&mut self, method: &Method<'_>) -> Result<Vec<(usize, Vec<f64>)>> {
        let mut moved = (method.step)(self)?;
        let width = self.images.width();
        let mut finished: Vec<Option<Vec<f64>>> = vec![None; self.tasks.len()];
        let mut doubtful = Vec::new();
        let p = self.net.class_probabilities(&moved.output)?;
        for (lane, p) in (0..p.rows()).map(|lane| (lane, p.row(lane))) {
            if self.has_done_enough(lane, p) {
                match moved.exact {
                    true => finished[lane] = Some(p.to_vec()),
                    // Without the variance of the image, its class may still differ.
                    false => doubtful.push(lane),
                }
            }
        }
        for (lane, p) in self.classes_of(&doubtful)? {
            finished[lane] = self.has_done_enough(lane, &p).then_some(p);
        }
        let mut out_of_time = Vec::new();
        for lane in (0..self.tasks.len()).filter(|&l| finished[l].is_none()) {
            let at = lane * width..(lane + 1) * width;
            self.limits(lane).project(&mut moved.mean[at.clone()]);
            self.mean[at.clone()].copy_from_slice(&moved.mean[at.clone()]);
            self.var[at.clone()].copy_from_slice(&moved.var[at]);
            self.done[lane] += 1;
            if self.done[lane] == self.settings.iterations {
                out_of_time.push(lane);
            }
        }
        for (lane, p) in self.classes_of(&out_of_time)? {
            finished[lane] = Some(p);
        }
        Ok(finished.into_iter().enumerate().filter_map(|(lane, p)| Some((lane, p?))).collect())
    }

    fn has_done_enough(&self, lane: usize, p: &[f64]) -> bool {
        is_enough(self.settings, &self.tasks[lane], p)
    }

    /// Probabilities of the classes of some lanes' images, known exactly.
    fn classes_of(&self, lanes: &[usize]) -> Result<Vec<(usize, Vec<f64>)>> {
        if lanes.is_empty() {
            return Ok(Vec::new());
        }
        let width = self.images.width();
        let x = lanes.iter().flat_map(|&l| &self.mean[l * width..(l + 1) * width]).copied().collect();
        let p = self.net.predict_classes(&Matrix::new(x, width)?)?;
        Ok(lanes.iter().enumerate().map(|(row, &lane)| (lane, p.row(row).to_vec())).collect())
    }

    /// Ends a lane; the last one takes its number.
    fn leave(&mut self, lane: usize, before: &Matrix, after: Vec<f64>) -> Result<Attacked> {
        let width = self.images.width();
        let (task, iterations) = (self.tasks.swap_remove(lane), self.done.swap_remove(lane));
        let x = swap_remove_row(&mut self.mean, lane, width);
        let var = swap_remove_row(&mut self.var, lane, width);
        attacked(task, self.images, before, iterations, &x, var, after)
    }
}

/// Whether these probabilities end an attack.
pub(super) fn is_enough(settings: &Settings, task: &Task, p: &[f64]) -> bool {
    match settings.stop {
        Stop::Never => false,
        Stop::Flipped => succeeded(task.label, task.target, p),
        Stop::Probability(enough) => task.target.map_or(1.0 - p[task.label], |t| p[t]) >= enough,
    }
}

/// The result of an attack that ended at `x`.
pub(super) fn attacked(
    Task { image, label, target, towards }: Task,
    images: &Matrix,
    before: &Matrix,
    iterations: usize,
    x: &[f64],
    var: Vec<f64>,
    after: Vec<f64>,
) -> Result<Attacked> {
    let from = images.row(image);
    let change = x.iter().zip(from).map(|(x, from)| x - from).collect();
    Ok(Attacked {
        image,
        label,
        target,
        towards,
        success: succeeded(label, target, &after),
        change: Gaussian::new(change, var, images.width())?,
        l_inf: l_inf(x, from),
        l2: l2(x, from),
        iterations,
        before: before.row(image).to_vec(),
        after,
    })
}

fn succeeded(label: usize, target: Option<usize>, p: &[f64]) -> bool {
    let class = argmax(p);
    target.map_or(class != label, |t| class == t)
}

/// As `swap_remove`, for rows of a matrix.
fn swap_remove_row(data: &mut Vec<f64>, row: usize, width: usize) -> Vec<f64> {
    let last = data.len() - width;
    let removed = data[row * width..(row + 1) * width].to_vec();
    data.copy_within(last.., row * width);
    data.truncate(last);
    removed
}
