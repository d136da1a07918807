//! A team of threads, the only one who starts any to compute. Kernels that take microseconds share their tasks by fork and
//! join: workers spin a little before they sleep, so that the next kernel finds them awake, and a round never waits for a
//! worker that has not joined. Every member has a share of neighbouring tasks, the same for every kernel, so that a sample
//! stays in one core's cache; members that are done help the others. Longer jobs are begun one after another, in their order.
//! Every output element belongs to exactly one task, so results do not depend on which thread ran it.

use crate::stop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, TryLockError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// Threads a team may have; no machine has more cores.
pub const MOST_THREADS: usize = 1024;
/// Spins before a worker goes to sleep: some tens of microseconds, hours where every instruction is interpreted.
const SPINS: u32 = if cfg!(miri) { 20 } else { 20_000 };
/// Spins and yields before a caller that waits for its workers sleeps: some ten milliseconds.
const YIELDS: u32 = 2 * SPINS;
/// Between two looks at workers that are busy for long.
const NAP: Duration = Duration::from_millis(1);

/// A piece of work for every worker that joins, which is told its number.
type Part<'a> = dyn Fn(usize) + Sync + 'a;

/// The part on offer. The pointer is only followed by workers that have come through the gate, and
/// [`Crew::round`] keeps the closure alive until the gate is shut and they have all left.
#[derive(Clone, Copy)]
struct Offer(*const Part<'static>);

// SAFETY: the closure behind the pointer is `Sync`, and `Crew::round` outlives every use of it.
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

/// How many threads there are to compute with, and these threads. It is a handle: clones share them, and so does whoever asks
/// for as many while they are in use. Work that asks its own team for help finds it busy and goes on alone, so that nesting
/// never makes more threads. A team of one starts none.
///
/// ```
/// use tractable::workers::Team;
/// let squares = Team::of(2).map(10, |i| i * i);
/// assert_eq!(squares[9], 81);
/// ```
#[derive(Clone)]
pub struct Team(Arc<Inner>);

struct Inner {
    size: usize,
    /// Started by the first work that can be shared. Whoever holds the lock has the turn.
    crew: Mutex<Option<Crew>>,
}

/// Teams in use.
static IN_USE: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());

impl Team {
    /// So many threads, the caller's own included; 0 means one per core.
    ///
    /// ```
    /// use tractable::workers::Team;
    /// assert!(Team::of(2) == Team::of(2) && Team::of(0).size() > 0);
    /// ```
    pub fn of(threads: usize) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let size = if threads == 0 { cores() } else { threads };
        let mut in_use = lock(&IN_USE);
        in_use.retain(|team| team.strong_count() > 0);
        if let Some(team) = in_use.iter().filter_map(Weak::upgrade).find(|team| team.size == size) {
            return Team(team);
        }
        let team = Arc::new(Inner { size, crew: Mutex::new(None) });
        in_use.push(Arc::downgrade(&team));
        Team(team)
    }

    /// Threads it has, the caller's own included.
    pub fn size(&self) -> usize {
        self.0.size
    }

    /// Calls `job(task, member)` for every task below `tasks`, and returns when all are done, or when the work is to
    /// [stop]. Members are numbered below the team's size.
    pub fn run(&self, tasks: usize, job: &(dyn Fn(usize, usize) + Sync)) {
        match self.turn(tasks) {
            Some(turn) => turn.as_ref().expect("it was started").share(tasks, job),
            None => (0..tasks).take_while(|_| stop::check().is_ok()).for_each(|task| job(task, 0)),
        }
    }

    /// Does so many jobs, begun in their order, and returns their results in order.
    pub fn map<T: Send>(&self, jobs: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
        self.watched(jobs, |job, _| work(job), || {})
    }

    /// [`map`](Team::map), with `watch` called on this thread every now and then: after each of its jobs, while it waits for the
    /// others, when all are done, and by jobs that call the function they are given.
    pub fn watched<T: Send>(
        &self,
        jobs: usize,
        work: impl Fn(usize, &mut dyn FnMut()) -> T + Sync,
        mut watch: impl FnMut(),
    ) -> Vec<T> {
        let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(jobs)));
        let take_jobs = |watch: &mut dyn FnMut()| {
            let begin = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|job| *job < jobs);
            while let Some(job) = begin() {
                let result = catch_unwind(AssertUnwindSafe(|| work(job, watch)));
                lock(&results).push((job, result));
                watch();
            }
        };
        self.together(jobs, &|_| take_jobs(&mut || {}), || {
            take_jobs(&mut watch);
            wait(|| lock(&results).len() == jobs, &mut watch);
            watch();
        });
        let mut results = std::mem::take(&mut *lock(&results));
        results.sort_unstable_by_key(|(job, _)| *job);
        results.into_iter().map(|(_, result)| result.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    }

    /// Does both: `mine` on this thread, `other` on another one if there is one, or else afterwards.
    pub fn beside<A, B: Send>(&self, other: impl FnOnce() -> B + Send, mine: impl FnOnce() -> A) -> (A, B) {
        let (other, result) = (Mutex::new(Some(other)), Mutex::new(None));
        let take = || {
            let other = lock(&other).take();
            if let Some(other) = other {
                *lock(&result) = Some(other());
            }
        };
        let mine = self.together(2, &|_| take(), || {
            let mine = mine();
            take();
            mine
        });
        let other = lock(&result).take();
        (mine, other.expect("it was done"))
    }

    /// Lets free workers do `theirs` while this thread does `mine`.
    fn together<R>(&self, tasks: usize, theirs: &Part<'_>, mine: impl FnOnce() -> R) -> R {
        match self.turn(tasks) {
            Some(turn) => turn.as_ref().expect("it was started").round(theirs, mine),
            None => mine(),
        }
    }

    /// The threads, for one round; none where the caller is alone, or they are busy.
    fn turn(&self, tasks: usize) -> Option<MutexGuard<'_, Option<Crew>>> {
        if tasks < 2 || self.0.size < 2 {
            return None;
        }
        let mut turn = match self.0.crew.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        // A fork of the process has none of its threads.
        if turn.as_ref().is_none_or(|crew| crew.process != std::process::id()) {
            *turn = Some(Crew::start(self.0.size.min(MOST_THREADS)));
        }
        Some(turn)
    }
}

impl PartialEq for Team {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Team {}

impl std::fmt::Debug for Team {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Team of {}", self.0.size)
    }
}

/// The threads of a team beside the caller's.
struct Crew {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// The process that has the workers.
    process: u32,
}

impl Crew {
    fn start(size: usize) -> Self {
        fn nothing(_: usize) {}
        let shared = Arc::new(Shared {
            offer: Mutex::new(Offer(&nothing)),
            round: AtomicUsize::new(0),
            next: (0..size).map(|_| Next(AtomicUsize::new(0))).collect(),
            gate: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
            quit: AtomicBool::new(false),
            asleep: Mutex::new(0),
            wake: Condvar::new(),
        });
        let workers = (1..size)
            .map_while(|id| {
                let shared = shared.clone();
                // A thread that cannot be created only makes the team smaller.
                std::thread::Builder::new()
                    .name(format!("tractable-{id}"))
                    .spawn(move || work(&shared, id))
                    .ok()
            })
            .collect();
        Crew { shared, workers, process: std::process::id() }
    }

    /// Every member takes tasks until none is left.
    fn share(&self, tasks: usize, job: &(dyn Fn(usize, usize) + Sync)) {
        let next = &self.shared.next[..];
        for (member, first) in next.iter().enumerate() {
            first.0.store(share(member, next.len(), tasks), Ordering::Relaxed);
        }
        self.round(&|member| take_tasks(next, job, tasks, member), || take_tasks(next, job, tasks, 0));
    }

    /// Workers that are awake in time do `theirs` while this thread does `mine`; returns when all are done.
    fn round<R>(&self, theirs: &Part<'_>, mine: impl FnOnce() -> R) -> R {
        let s = &*self.shared;
        let stopped = stop::shared();
        let theirs: &Part<'_> = &|id| stop::helping(&stopped, || theirs(id));
        // SAFETY: only the lifetime is erased; this function returns after the last worker has let go.
        let erased = unsafe { std::mem::transmute::<*const Part<'_>, *const Part<'static>>(theirs) };
        *lock(&s.offer) = Offer(erased);
        s.gate.store(OPEN, Ordering::Release);
        {
            // The lock pairs with the one a worker takes to sleep, so that no wake-up is lost.
            let asleep = lock(&s.asleep);
            s.round.fetch_add(1, Ordering::Release);
            if *asleep > 0 {
                s.wake.notify_all();
            }
        }
        let mine = catch_unwind(AssertUnwindSafe(mine));
        // Nothing is left: nobody else needs to join.
        s.gate.fetch_sub(OPEN, Ordering::AcqRel);
        wait(|| s.gate.load(Ordering::Acquire) == 0, || {});
        let theirs = s.panicked.swap(false, Ordering::Relaxed);
        let mine = mine.unwrap_or_else(|panic| resume_unwind(panic));
        assert!(!theirs, "a worker thread panicked");
        mine
    }
}

impl Drop for Crew {
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// Waits for others, who are mostly about to end: burns little time where they are not, and looks then.
fn wait(over: impl Fn() -> bool, mut look: impl FnMut()) {
    let mut spins = 0u32;
    while !over() {
        spins = spins.saturating_add(1);
        match spins {
            ..SPINS => std::hint::spin_loop(),
            SPINS..YIELDS => std::thread::yield_now(),
            _ => {
                std::thread::sleep(NAP);
                // Those who are waited for learn of it.
                let _ = stop::check();
                look();
            }
        }
    }
}

/// The first task of a member's share; that of the next member is its end.
fn share(member: usize, members: usize, tasks: usize) -> usize {
    member * tasks / members
}

/// The worker's own share first, then what is left of the others'.
fn take_tasks(next: &[Next], job: &(dyn Fn(usize, usize) + Sync), tasks: usize, worker: usize) {
    let members = next.len();
    for member in (worker..members).chain(0..worker) {
        let end = share(member + 1, members, tasks);
        loop {
            let task = next[member].0.fetch_add(1, Ordering::Relaxed);
            if task >= end || stop::check().is_err() {
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
        let Offer(part) = *lock(&s.offer);
        // SAFETY: `Crew::round` does not return before this worker has left through the gate.
        let part = unsafe { &*part };
        if catch_unwind(AssertUnwindSafe(|| part(id))).is_err() {
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
            let team = Team::of(threads);
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
        let team = Team::of(3);
        for _ in 0..20 {
            let fall = AssertUnwindSafe(|| team.run(9, &|task, _| assert_ne!(task, 5)));
            assert!(catch_unwind(fall).is_err());
            team.run(9, &|_, _| {});
        }
    }

    #[test]
    fn jobs_begin_in_order_and_give_their_results_in_order() {
        for threads in [1, 2, 3] {
            let (begun, mut looks) = (Mutex::new(Vec::new()), 0);
            let work = |job: usize, look: &mut dyn FnMut()| {
                lock(&begun).push(job);
                look();
                job * job
            };
            let results = Team::of(threads).watched(40, work, || looks += 1);
            assert!(results.into_iter().eq((0..40).map(|job| job * job)));
            let begun = begun.into_inner().unwrap();
            // Whoever was about to begin a job may be overtaken by the others.
            assert!(begun.iter().enumerate().all(|(i, &job)| job < i + threads), "{begun:?}");
            assert!(looks > 0 && (threads > 1 || looks == 81), "{looks}");
        }
    }

    #[test]
    fn a_job_that_panics_says_why() {
        for threads in [1, 3] {
            let fall = || Team::of(threads).map(9, |job| assert!(job != 5, "job five"));
            let panic = catch_unwind(fall).unwrap_err();
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"job five"));
        }
    }

    #[test]
    fn nested_work_goes_on_alone() {
        let (team, busy, most) = (Team::of(2), AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |_: usize| {
            most.fetch_max(busy.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_micros(300));
            busy.fetch_sub(1, Ordering::SeqCst);
        };
        team.map(8, |_| Team::of(2).map(8, work));
        assert_eq!(most.swap(0, Ordering::SeqCst), 2);
        let (mine, other) = team.beside(|| team.map(8, work).len(), || team.map(8, work).len());
        assert_eq!((mine, other), (8, 8));
        assert!(most.into_inner() <= 2);
    }

    #[test]
    fn one_thread_starts_none() {
        let (alone, me) = (Team::of(1), std::thread::current().id());
        alone.run(100, &|_, member| assert_eq!((member, std::thread::current().id()), (0, me)));
        let ids = alone.map(100, |_| std::thread::current().id());
        assert!(ids.into_iter().all(|id| id == me));
        assert_eq!(alone.beside(|| std::thread::current().id(), || 5), (5, me));
        assert!(lock(&alone.0.crew).is_none());
    }

    #[test]
    fn sleepers_wake() {
        let team = Team::of(2);
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
