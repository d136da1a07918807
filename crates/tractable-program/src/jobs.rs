//! Many jobs side by side, each on one thread; their results in the order in which they were given.

use crate::console;
use crate::interrupt;
use crate::progress::Progress;
use crate::report::{Exit, Outcome};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does all of them; `what` names them in the progress. Ctrl-C ends between two jobs.
pub fn side_by_side<J: Sync, T: Send>(
    jobs: &[J],
    what: &str,
    work: impl Fn(&J) -> tractable::Result<T> + Sync,
) -> Outcome<Vec<T>> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let progress = Mutex::new(Progress::new(Some(jobs.len() as u64), console::quiet()));
    std::thread::scope(|scope| {
        for _ in 0..console::workers().min(jobs.len()) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(i).filter(|_| !interrupt::asked()) else { break };
                    let result = work(job);
                    let mut done = done.lock().unwrap_or_else(|e| e.into_inner());
                    done.push((i, result));
                    let n = done.len();
                    let mut progress = progress.lock().unwrap_or_else(|e| e.into_inner());
                    progress.at(n as u64, || format!("{n} of {} {what}", jobs.len()));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|e| e.into_inner());
    if interrupt::asked() {
        return Err(Exit::Interrupted(format!("after {} of {} {what}", done.len(), jobs.len())));
    }
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result.map_err(Exit::from)).collect()
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
}
