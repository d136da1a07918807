//! Attacks by inference whose images stay on the device until they are done.

use super::lanes::{Begun, attacked, is_enough};
use super::limits::Limits;
use super::{Attacked, Budget, Settings};
use tractable_core::error::Result;
use tractable_core::gaussian::Matrix;
use tractable_network::condition::{SearchStart, Searches};
use tractable_network::network::Network;

/// Images moved at a time: enough to fill a GPU.
pub(super) const SLOTS: usize = 1024;

/// An attack in progress: its slot, the number of its task, and the iterations done.
#[derive(Clone, Copy)]
struct Going {
    slot: usize,
    number: usize,
    done: usize,
}

/// Attacks with `prior_var` for every pixel that may move; one result for each task.
pub(super) fn run(
    net: &Network,
    mut searches: Searches<'_>,
    images: &Matrix,
    settings: &Settings,
    begun: &Begun,
    prior_var: f64,
) -> Result<Vec<Attacked>> {
    let Begun { before, tasks, .. } = begun;
    let mut found: Vec<Option<Attacked>> = vec![None; tasks.len()];
    let mut free: Vec<usize> = (0..SLOTS).rev().collect();
    let (mut going, mut next) = (Vec::<Going>::new(), 0);
    let limits_of = |number: usize| {
        let image = tasks[number].image;
        Limits::new(settings, images.row(image), image)
    };
    let var_of = |number: usize| {
        let limits = limits_of(number);
        let var = |i: usize| if limits.is_frozen(i) { 0.0 } else { prior_var };
        (0..images.width()).map(var).collect::<Vec<_>>()
    };
    loop {
        let first = going.len();
        while next < tasks.len()
            && let Some(slot) = free.pop()
        {
            going.push(Going { slot, number: next, done: 0 });
            next += 1;
        }
        if going.is_empty() {
            break;
        }
        // A few at a time: they take four times the memory of their images.
        for some in going[first..].chunks(64) {
            let numbers: Vec<[Vec<f64>; 3]> = some
                .iter()
                .map(|g| {
                    let [low, high] = limits_of(g.number).boxes();
                    [var_of(g.number), low, high]
                })
                .collect();
            let start = |(i, g): (usize, &Going)| {
                let (task, [var, low, high]) = (tasks[g.number], &numbers[i]);
                let radius = if let Some(Budget::L2(size)) = settings.budget { size } else { f64::INFINITY };
                let other_than = task.target.is_none();
                let label = if other_than { task.label } else { task.towards };
                let mean = images.row(task.image);
                (g.slot, SearchStart { mean, var, low, high, radius, label, other_than })
            };
            searches.enter(&some.iter().enumerate().map(start).collect::<Vec<_>>())?;
        }
        let out = searches.round(&going.iter().map(|g| g.slot).collect::<Vec<_>>())?;
        let p = net.class_probabilities(&out)?;
        let (mut over, mut more) = (Vec::new(), Vec::new());
        for (row, g) in going.iter().enumerate() {
            match is_enough(settings, &tasks[g.number], p.row(row)) {
                true => over.push((*g, p.row(row).to_vec())),
                false => more.push(Going { done: g.done + 1, ..*g }),
            }
        }
        searches.go(&more.iter().map(|g| g.slot).collect::<Vec<_>>())?;
        let (late, more): (Vec<_>, Vec<_>) = more.into_iter().partition(|g| g.done == settings.iterations);
        going = more;
        let ended: Vec<usize> = over.iter().map(|(g, _)| g).chain(&late).map(|g| g.slot).collect();
        if ended.is_empty() {
            continue;
        }
        let places = searches.places(&ended)?;
        let rows =
            |from: usize, to: usize| places.data()[from * images.width()..to * images.width()].to_vec();
        if !late.is_empty() {
            let p = net.predict_classes(&Matrix::new(rows(over.len(), ended.len()), images.width())?)?;
            over.extend(late.into_iter().enumerate().map(|(row, g)| (g, p.row(row).to_vec())));
        }
        for (row, (g, p)) in over.into_iter().enumerate() {
            let Going { slot, number, done } = g;
            let x = places.row(row);
            found[number] = Some(attacked(tasks[number], images, before, done, x, var_of(number), p)?);
            free.push(slot);
        }
    }
    Ok(found.into_iter().map(|a| a.expect("every task was given a slot")).collect())
}
