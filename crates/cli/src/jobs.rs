//! Parallel jobs: the program's work queue.

use crate::console;
use crate::interrupt;
use crate::progress::ProgressDisplay;
use crate::report::{Exit, Outcome};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// Begins jobs in their order; `finished` takes the number of each and its result, on this thread. Its first error ends the
/// queue, and so does Ctrl-C: jobs that are running are waited for, others do not begin.
pub fn each<J: Sync, T: Send>(
    jobs: &[J],
    work: impl Fn(&J) -> T + Sync,
    mut finished: impl FnMut(usize, T) -> Outcome,
) -> Outcome {
    let (sender, receiver) = mpsc::channel();
    let (over, mut outcome) = (AtomicBool::new(false), Ok(()));
    let one = |i: usize, _: &mut dyn FnMut()| {
        if !interrupt::requested() && !over.load(Ordering::Relaxed) {
            let _ = sender.send((i, work(&jobs[i])));
        }
    };
    console::device().team().watched(jobs.len(), one, || {
        if outcome.is_ok() {
            outcome = receiver.try_iter().try_for_each(|(i, result)| finished(i, result));
            over.store(outcome.is_err(), Ordering::Relaxed);
        }
    });
    outcome
}

/// Does all of them, with their results in the order of the jobs; `what` names them in the progress.
pub fn side_by_side<J: Sync, T: Send>(
    jobs: &[J],
    what: &str,
    work: impl Fn(&J) -> tractable::Result<T> + Sync,
) -> Outcome<Vec<T>> {
    let (mut n, of) = (0, jobs.len());
    let mut results: Vec<Option<tractable::Result<T>>> = jobs.iter().map(|_| None).collect();
    let mut progress = ProgressDisplay::new(Some(of as u64));
    each(jobs, work, |i, result| {
        (results[i], n) = (Some(result), n + 1);
        progress.at(n, || format!("{n} of {of} {what}"));
        Ok(())
    })?;
    if interrupt::requested() {
        return Err(Exit::Interrupted(format!("after {n} of {of} {what}")));
    }
    results.into_iter().flatten().map(|result| result.map_err(Exit::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_the_first_error_counts() {
        let jobs: Vec<u64> = (0..50).collect();
        let squares = side_by_side(&jobs, "squares", |j| {
            std::thread::sleep(std::time::Duration::from_micros(500 - 10 * j));
            Ok(j * j)
        });
        assert!(squares.is_ok_and(|s| s == jobs.iter().map(|j| j * j).collect::<Vec<_>>()));
        let failing = side_by_side(&jobs, "failures", |j| {
            tractable::Network::mlp([1, 1], tractable::Activation::Relu).build()?;
            tractable::Matrix::new(vec![0.0; 3], if *j < 40 { 3 } else { 2 }).map(drop)
        });
        assert!(matches!(failing, Err(Exit::Error(_))));
    }

    #[test]
    fn an_error_ends_the_queue() {
        let jobs: Vec<u64> = (0..10_000).collect();
        let mut seen = 0;
        let ended = each(
            &jobs,
            |&j| j,
            |i, j| {
                assert_eq!(i as u64, j);
                seen += 1;
                if seen < 5 { Ok(()) } else { Err(Exit::Error("enough".into())) }
            },
        );
        assert!(matches!(ended, Err(Exit::Error(why)) if why == "enough"));
        assert_eq!(seen, 5);
    }
}
