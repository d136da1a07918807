//! Long work that its caller may end: [`until`] says when, and the work looks now and then.
//!
//! The question goes with the thread, and with the team that helps it, so that no verb needs an argument for it.

use crate::error::{Error, Result};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two questions.
const EVERY: Duration = Duration::from_millis(50);

/// The work that this thread does.
struct Here {
    stopped: Arc<AtomicBool>,
    /// Only the thread that the caller waits for asks.
    ask: Option<Ask>,
    /// What it makes is thrown away if it stops.
    on_trial: bool,
}

struct Ask {
    stop: Box<dyn FnMut() -> bool>,
    last: Instant,
}

thread_local! {
    static HERE: Cell<Option<Here>> = const { Cell::new(None) };
}

/// Puts back what this thread did before, also after a panic.
struct Before(Option<Here>);

impl Before {
    fn begin(here: Option<Here>) -> Self {
        Before(HERE.replace(here))
    }
}

impl Drop for Before {
    fn drop(&mut self) {
        HERE.set(self.0.take());
    }
}

/// Does `work`, which ends early with [`Error::Stopped`] once `stop` returns true. `stop` is called on this thread, about 20 times a
/// second. Whatever was being changed is as it was before: `learn` learns all rows or none. Kernels that a team was computing are
/// left where they were.
///
/// ```
/// use tractable::{Error, Gaussian, Matrix, Network, Activation, stop};
/// let net = Network::mlp([2, 64, 64, 1], Activation::Tanh).build()?;
/// let prior = Gaussian::new(vec![0.0; 2 * 100_000], vec![1.0; 2 * 100_000], 2)?;
/// let wanted = Matrix::column(vec![1.0; 100_000])?;
/// // A button that somebody presses:
/// let pressed = || true;
/// let found = stop::until(pressed, || net.condition(&prior, &wanted));
/// assert!(matches!(found, Err(Error::Stopped)));
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn until<T>(stop: impl FnMut() -> bool + 'static, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let stopped = Arc::<AtomicBool>::default();
    let ask = Some(Ask { stop: Box::new(stop), last: Instant::now() });
    let _before = Before::begin(Some(Here { stopped: stopped.clone(), ask, on_trial: false }));
    let done = work();
    // What was left where it was may look as if it were done.
    if stopped.load(Ordering::Relaxed) { Err(Error::Stopped) } else { done }
}

/// An error if the work on this thread is to end. Long loops call it; outside of [`until`] it costs nothing.
///
/// ```
/// use tractable::stop;
/// assert!(stop::check().is_ok());
/// ```
pub fn check() -> Result<()> {
    look(EVERY)
}

/// [`check`], however short a time ago it was asked: before something that cannot be undone.
///
/// ```
/// use tractable::{Error, stop};
/// let stopped = stop::until(|| true, stop::check_now);
/// assert!(matches!(stopped, Err(Error::Stopped)));
/// ```
pub fn check_now() -> Result<()> {
    look(Duration::ZERO)
}

/// Does work that cannot be left half-done: until it is over, [`check`] finds no reason to stop.
///
/// ```
/// use tractable::stop;
/// assert!(stop::until(|| true, || stop::finish(stop::check_now)).is_ok());
/// ```
pub fn finish<T>(work: impl FnOnce() -> T) -> T {
    let here = HERE.take();
    let on_trial = here.as_ref().is_some_and(|here| here.on_trial);
    HERE.set(here);
    let _before = (!on_trial).then(|| Before::begin(None));
    work()
}

/// Does work on a copy, which may also stop inside of [`finish`]. If there is no error the copy is whole.
///
/// ```
/// use tractable::{Error, stop};
/// let stopped = stop::until(|| true, || stop::on_trial(|| stop::finish(stop::check_now)));
/// assert!(matches!(stopped, Err(Error::Stopped)));
/// ```
pub fn on_trial<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    mark(true);
    let done = work();
    mark(false);
    check_now()?;
    done
}

fn mark(on_trial: bool) {
    let here = HERE.take();
    HERE.set(here.map(|here| Here { on_trial, ..here }));
}

fn look(every: Duration) -> Result<()> {
    // While it asks nothing is here: what is asked may do work of its own.
    let Some(mut here) = HERE.take() else { return Ok(()) };
    if let Some(ask) = &mut here.ask
        && ask.last.elapsed() >= every
        && !here.stopped.load(Ordering::Relaxed)
    {
        here.stopped.store((ask.stop)(), Ordering::Relaxed);
        ask.last = Instant::now();
    }
    let stopped = here.stopped.load(Ordering::Relaxed);
    HERE.set(Some(here));
    if stopped { Err(Error::Stopped) } else { Ok(()) }
}

/// What the threads that help with this thread's work need to know.
pub(crate) fn shared() -> Option<Arc<AtomicBool>> {
    let here = HERE.take();
    let stopped = here.as_ref().map(|here| here.stopped.clone());
    HERE.set(here);
    stopped
}

/// Does a part of another thread's work.
pub(crate) fn helping<T>(stopped: &Option<Arc<AtomicBool>>, work: impl FnOnce() -> T) -> T {
    let _before = Before::begin(stopped.clone().map(|stopped| Here { stopped, ask: None, on_trial: false }));
    work()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::Team;

    /// True from so many milliseconds after now.
    fn after(ms: u64) -> impl FnMut() -> bool + 'static {
        let began = Instant::now();
        move || began.elapsed() >= Duration::from_millis(ms)
    }

    fn work_until_stopped(most: Duration) -> Result<()> {
        let began = Instant::now();
        while began.elapsed() < most {
            check()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    #[test]
    fn helpers_stop_too() {
        let began = Instant::now();
        let minute = Duration::from_secs(60);
        let all = until(after(100), || {
            Team::of(3).map(3, |_| work_until_stopped(minute)).into_iter().collect::<Result<Vec<_>>>()
        });
        assert!(matches!(all, Err(Error::Stopped)));
        assert!(began.elapsed() < Duration::from_secs(10));
        // Afterwards nobody is to stop.
        Team::of(3).map(3, |_| check()).into_iter().collect::<Result<Vec<_>>>().unwrap();
    }

    #[test]
    fn a_caller_that_waits_for_helpers_asks() {
        let (began, team) = (Instant::now(), Team::of(2));
        let work = || team.beside(|| work_until_stopped(Duration::from_secs(60)), || ());
        let done = until(after(100), || Ok(work()));
        assert!(matches!(done, Err(Error::Stopped)));
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_kernel_is_left_where_it_was() {
        for threads in [1, 2] {
            let began = Instant::now();
            let nap = |_, _| std::thread::sleep(Duration::from_millis(1));
            let done = until(after(100), || {
                Team::of(threads).run(60_000, &nap);
                Ok(())
            });
            assert!(matches!(done, Err(Error::Stopped)));
            assert!(began.elapsed() < Duration::from_secs(10));
        }
    }

    #[test]
    fn what_has_to_be_finished_is_finished() {
        let tasks = std::sync::atomic::AtomicUsize::new(0);
        let count = |_: usize, _: usize| _ = tasks.fetch_add(1, Ordering::Relaxed);
        let done = until(
            || true,
            || {
                finish(|| Team::of(2).run(1000, &count));
                check_now()
            },
        );
        assert!(matches!(done, Err(Error::Stopped)));
        assert_eq!(tasks.into_inner(), 1000);
    }

    #[test]
    fn what_is_asked_may_do_work_of_its_own() {
        let stopped = until(
            || until(|| false, || Ok(check_now().is_ok() && shared().is_some())).unwrap(),
            || {
                check_now().unwrap_err();
                check()
            },
        );
        assert!(matches!(stopped, Err(Error::Stopped)));
        assert!(shared().is_none());
    }
}
