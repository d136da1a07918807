//! A fork-join team of threads for kernels that take microseconds: workers spin a little before they sleep,
//! so that the next kernel finds them awake, and a round never waits for a worker that has not joined. Every member
//! has a share of neighbouring tasks, the same for every kernel, so that a sample stays in one core's cache;
//! members that are done help the others. Kernels assign every output element to exactly one task, so results do not
//! depend on which thread ran it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, TryLockError};
use std::thread::JoinHandle;

/// Spins before a worker goes to sleep: some tens of microseconds, hours where every instruction is interpreted.
const SPINS: u32 = if cfg!(miri) { 20 } else { 20_000 };

type Job<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// The job on offer. The pointer is only followed by workers that have come through the gate, and
/// [`Team::run`] keeps the closure alive until the gate is shut and they have all left.
#[derive(Clone, Copy)]
struct Offer {
    job: *const Job<'static>,
    tasks: usize,
}

// SAFETY: the closure behind the pointer is `Sync`, and `Team::run` outlives every use of it.
unsafe impl Send for Offer {}

const OPEN: usize = 1 << 16;

/// Apart from its neighbours in the cache.
#[repr(align(128))]
struct Next(AtomicUsize);

struct Shared {
    offer: Mutex<Offer>,
    /// Number of the round; a change wakes the workers.
    round: AtomicUsize,
    /// The next task of every member's share.
    next: Vec<Next>,
    /// [`OPEN`] while workers may join the round, plus the number of those that have.
    gate: AtomicUsize,
    panicked: AtomicBool,
    quit: AtomicBool,
    asleep: Mutex<usize>,
    wake: Condvar,
}

pub struct Team {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// One round at a time.
    turn: Mutex<()>,
    /// The process that has the workers: a fork of it has none.
    process: u32,
}

impl Team {
    /// A team of `threads`, the caller included.
    pub fn new(threads: usize) -> Self {
        fn nothing(_: usize, _: usize) {}
        let shared = Arc::new(Shared {
            offer: Mutex::new(Offer { job: &nothing as *const Job<'static>, tasks: 0 }),
            round: AtomicUsize::new(0),
            next: (0..threads.max(1)).map(|_| Next(AtomicUsize::new(0))).collect(),
            gate: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
            quit: AtomicBool::new(false),
            asleep: Mutex::new(0),
            wake: Condvar::new(),
        });
        let workers = (1..threads)
            .map_while(|id| {
                let shared = shared.clone();
                // A thread that cannot be created only makes the team smaller.
                std::thread::Builder::new()
                    .name(format!("tractable-{id}"))
                    .spawn(move || work(&shared, id))
                    .ok()
            })
            .collect();
        Self { shared, workers, turn: Mutex::new(()), process: std::process::id() }
    }

    /// Members of the team, the caller included; worker numbers given to a job lie below this.
    #[cfg(test)]
    pub fn size(&self) -> usize {
        self.workers.len() + 1
    }

    /// Calls `job(task, worker)` for every task below `tasks`, and returns when all are done.
    pub fn run(&self, tasks: usize, job: &Job<'_>) {
        if self.workers.is_empty() || tasks < 2 || self.process != std::process::id() {
            (0..tasks).for_each(|task| job(task, 0));
            return;
        }
        // One round at a time: a caller that finds the team busy runs alone.
        let _turn = match self.turn.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
            Err(TryLockError::WouldBlock) => return (0..tasks).for_each(|task| job(task, 0)),
        };
        let s = &*self.shared;
        // SAFETY: only the lifetime is erased; this function returns after the last worker has let go.
        let erased = unsafe { std::mem::transmute::<*const Job<'_>, *const Job<'static>>(job) };
        *lock(&s.offer) = Offer { job: erased, tasks };
        for (member, next) in s.next.iter().enumerate() {
            next.0.store(share(member, s.next.len(), tasks), Ordering::Relaxed);
        }
        s.gate.store(OPEN, Ordering::Release);
        {
            // The lock pairs with the one a worker takes to sleep, so that no wake-up is lost.
            let asleep = lock(&s.asleep);
            s.round.fetch_add(1, Ordering::Release);
            if *asleep > 0 {
                s.wake.notify_all();
            }
        }
        let mine = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| take_tasks(s, job, tasks, 0)));
        // No task is left: nobody else needs to join.
        s.gate.fetch_sub(OPEN, Ordering::AcqRel);
        let mut spins = 0u32;
        while s.gate.load(Ordering::Acquire) > 0 {
            spins += 1;
            if spins < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        let theirs = s.panicked.swap(false, Ordering::Relaxed);
        if let Err(panic) = mine {
            std::panic::resume_unwind(panic);
        }
        assert!(!theirs, "a worker thread panicked");
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // Nobody would answer, and a lock may be held for ever.
            std::mem::forget(std::mem::take(&mut self.workers));
            return;
        }
        self.shared.quit.store(true, Ordering::Relaxed);
        {
            let _asleep = lock(&self.shared.asleep);
            self.shared.round.fetch_add(1, Ordering::Release);
            self.shared.wake.notify_all();
        }
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// The first task of a member's share; that of the next member is its end.
fn share(member: usize, members: usize, tasks: usize) -> usize {
    member * tasks / members
}

/// The worker's own share first, then what is left of the others'.
fn take_tasks(s: &Shared, job: &Job<'_>, tasks: usize, worker: usize) {
    let members = s.next.len();
    for member in (worker..members).chain(0..worker) {
        let end = share(member + 1, members, tasks);
        loop {
            let task = s.next[member].0.fetch_add(1, Ordering::Relaxed);
            if task >= end {
                break;
            }
            job(task, worker);
        }
    }
}

fn work(s: &Shared, id: usize) {
    let mut seen = 0;
    loop {
        let mut spins = 0u32;
        while s.round.load(Ordering::Acquire) == seen {
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
                continue;
            }
            let mut asleep = lock(&s.asleep);
            *asleep += 1;
            while s.round.load(Ordering::Acquire) == seen {
                asleep = s.wake.wait(asleep).unwrap_or_else(|e| e.into_inner());
            }
            *asleep -= 1;
        }
        seen = s.round.load(Ordering::Acquire);
        if s.quit.load(Ordering::Relaxed) {
            return;
        }
        let enter = |gate| if gate & OPEN != 0 { Some(gate + 1) } else { None };
        if s.gate.fetch_update(Ordering::AcqRel, Ordering::Acquire, enter).is_err() {
            continue;
        }
        let Offer { job, tasks } = *lock(&s.offer);
        // SAFETY: `Team::run` does not return before this worker has left through the gate.
        let job = unsafe { &*job };
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| take_tasks(s, job, tasks, id))).is_err() {
            s.panicked.store(true, Ordering::Relaxed);
        }
        s.gate.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_done_once_by_a_member() {
        for threads in [1, 2, 3, 8] {
            let team = Team::new(threads);
            for tasks in [0, 1, 2, 7, 100] {
                for _ in 0..200 {
                    let done: Vec<AtomicUsize> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
                    team.run(tasks, &|task, worker| {
                        assert!(worker < team.size());
                        done[task].fetch_add(1, Ordering::Relaxed);
                    });
                    assert!(done.iter().all(|d| d.load(Ordering::Relaxed) == 1));
                }
            }
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_team_goes_on() {
        let team = Team::new(3);
        for _ in 0..20 {
            let fall = std::panic::AssertUnwindSafe(|| team.run(9, &|task, _| assert_ne!(task, 5)));
            assert!(std::panic::catch_unwind(fall).is_err());
            team.run(9, &|_, _| {});
        }
    }

    #[test]
    fn sleepers_wake() {
        let team = Team::new(2);
        for _ in 0..3 {
            std::thread::sleep(std::time::Duration::from_millis(5));
            let sum = AtomicUsize::new(0);
            team.run(10, &|task, _| {
                sum.fetch_add(task, Ordering::Relaxed);
            });
            assert_eq!(sum.into_inner(), 45);
        }
    }
}
