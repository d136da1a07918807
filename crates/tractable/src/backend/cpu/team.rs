//! A fork-join team of threads for kernels that take microseconds: workers spin a little before they sleep,
//! so that the next kernel finds them awake. Which worker does which task is left to chance; kernels give
//! every output element to exactly one task, so results do not depend on it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

/// Spins before a worker goes to sleep: some tens of microseconds.
const SPINS: u32 = 20_000;

type Job<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// The job on offer. The pointer is only followed between `start` and the last `done` of a round, while
/// [`Team::run`] keeps the closure alive.
#[derive(Clone, Copy)]
struct Offer {
    job: *const Job<'static>,
    tasks: usize,
}

// SAFETY: the closure behind the pointer is `Sync`, and `Team::run` outlives every use of it.
unsafe impl Send for Offer {}

struct Shared {
    offer: Mutex<Offer>,
    /// Number of the round; a change wakes the workers.
    round: AtomicUsize,
    next: AtomicUsize,
    busy: AtomicUsize,
    panicked: AtomicBool,
    quit: AtomicBool,
    asleep: Mutex<usize>,
    wake: Condvar,
}

pub(crate) struct Team {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// One round at a time.
    turn: Mutex<()>,
}

impl Team {
    /// A team of `threads`, the caller included.
    pub(crate) fn new(threads: usize) -> Self {
        fn nothing(_: usize, _: usize) {}
        let shared = Arc::new(Shared {
            offer: Mutex::new(Offer { job: &nothing as *const Job<'static>, tasks: 0 }),
            round: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
            quit: AtomicBool::new(false),
            asleep: Mutex::new(0),
            wake: Condvar::new(),
        });
        let workers = (1..threads)
            .filter_map(|id| {
                let shared = shared.clone();
                // A thread that cannot be had only makes the team smaller.
                std::thread::Builder::new()
                    .name(format!("tractable-{id}"))
                    .spawn(move || work(&shared, id))
                    .ok()
            })
            .collect();
        Self { shared, workers, turn: Mutex::new(()) }
    }

    /// Members of the team, the caller included; worker numbers given to a job lie below this.
    pub(crate) fn size(&self) -> usize {
        self.workers.len() + 1
    }

    /// Calls `job(task, worker)` for every task below `tasks`, and returns when all are done.
    pub(crate) fn run(&self, tasks: usize, job: &Job<'_>) {
        if self.workers.is_empty() || tasks < 2 {
            (0..tasks).for_each(|task| job(task, 0));
            return;
        }
        let _turn = self.turn.lock().unwrap_or_else(|e| e.into_inner());
        let s = &*self.shared;
        // SAFETY: only the lifetime is erased; this function returns after the last worker has let go.
        let erased = unsafe { std::mem::transmute::<*const Job<'_>, *const Job<'static>>(job) };
        *lock(&s.offer) = Offer { job: erased, tasks };
        s.next.store(0, Ordering::Relaxed);
        s.busy.store(self.workers.len(), Ordering::Relaxed);
        {
            // The lock pairs with the one a worker takes to sleep, so that no wake-up is lost.
            let asleep = lock(&s.asleep);
            s.round.fetch_add(1, Ordering::Release);
            if *asleep > 0 {
                s.wake.notify_all();
            }
        }
        let mine = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| take_tasks(s, job, tasks, 0)));
        let mut spins = 0u32;
        while s.busy.load(Ordering::Acquire) > 0 {
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

fn take_tasks(s: &Shared, job: &Job<'_>, tasks: usize, worker: usize) {
    loop {
        let task = s.next.fetch_add(1, Ordering::Relaxed);
        if task >= tasks {
            return;
        }
        job(task, worker);
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
        let Offer { job, tasks } = *lock(&s.offer);
        // SAFETY: `Team::run` waits for this round's `busy` to fall to zero before the closure goes away.
        let job = unsafe { &*job };
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| take_tasks(s, job, tasks, id))).is_err() {
            s.panicked.store(true, Ordering::Relaxed);
        }
        s.busy.fetch_sub(1, Ordering::Release);
    }
}
