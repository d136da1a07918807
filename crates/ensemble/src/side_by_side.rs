//! Jobs on several threads, with one place that hears how they go.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// How often progress is told.
const EVERY: Duration = Duration::from_millis(50);

/// Does all jobs, with their results in order; `watch` is called on this thread every now and then.
pub(super) fn side_by_side<J: Sync, T: Send>(
    threads: usize,
    jobs: &[J],
    work: impl Fn(&J) -> T + Sync,
    mut watch: impl FnMut(),
) -> Vec<T> {
    let (next, (sender, receiver)) = (AtomicUsize::new(0), mpsc::channel());
    let mut results: Vec<Option<T>> = jobs.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(i) else { break };
                    if sender.send((i, work(job))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(EVERY) {
                Ok((i, result)) => results[i] = Some(result),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            watch();
        }
    });
    results.into_iter().map(|r| r.expect("every job was done")).collect()
}
