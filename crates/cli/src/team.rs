//! The processes that `mpirun` started together. The first of them prints and writes files; the others only compute.

#[cfg(feature = "mpi")]
mod mpi;

use crate::report::{Exit, Outcome, PROGRAM};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tractable::fnv;
use tractable::workers::{self, Transport};

thread_local! {
    /// Set only on the thread that runs the verb, which sends all messages.
    static TEAM: RefCell<Option<Rc<dyn Transport>>> = const { RefCell::new(None) };
    /// No more messages are sent.
    static OVER: Cell<bool> = const { Cell::new(false) };
}

/// How many processes `mpirun` started, from the environment variables of Open MPI, or of MPICH and similar. A launcher that speaks PMIx,
/// as `srun --mpi=pmix` does, may say only that there is one: then MPI itself knows.
fn started() -> usize {
    let said = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"].iter().find_map(|name| std::env::var(name).ok());
    let asks_mpi = cfg!(feature = "mpi") && std::env::var_os("PMIX_RANK").is_some();
    said.and_then(|n| n.parse().ok()).unwrap_or(if asks_mpi { usize::MAX } else { 1 })
}

/// Finds the other processes, if there are any.
pub fn join() -> Outcome {
    match started() {
        0..=1 => Ok(()),
        #[cfg(feature = "mpi")]
        _ => {
            let world = mpi::World::join()?;
            crate::console::set_first(world.rank() == 0);
            if world.ranks() > 1 {
                TEAM.set(Some(Rc::new(world)));
            }
            Ok(())
        }
        #[cfg(not(feature = "mpi"))]
        n => Err(Exit::Error(format!(
            "started as one of {n} processes, but this program was built without MPI: build it with `cargo install --path crates/cli --features mpi`"
        ))),
    }
}

/// The processes, if there are several.
pub(crate) fn workers() -> Option<Rc<dyn Transport>> {
    if OVER.get() { None } else { TEAM.with_borrow(Clone::clone) }
}

/// Sends no more messages, because this process has reported a failure or all processes are done.
fn over() {
    OVER.set(true);
}

/// Ends MPI, once everything is printed: `mpirun` ends all processes as soon as one of them returns an error.
pub fn part() {
    TEAM.set(None);
}

/// Number of this process, and how many there are.
pub(crate) fn place() -> (usize, usize) {
    workers().map_or((0, 1), |w| (w.rank(), w.ranks()))
}

/// Rank of this process on its machine, from the environment variables of Open MPI, MPICH and similar, or Slurm.
pub(crate) fn place_here() -> usize {
    let names = ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"];
    let (rank, ranks) = place();
    let said = || names.iter().find_map(|name| std::env::var(name).ok()?.parse().ok());
    if ranks == 1 { 0 } else { said().unwrap_or(rank) }
}

/// Runs this on the first process only, while the others wait.
pub(crate) fn first_then_all<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<Option<T>> {
    let done = if place().0 == 0 { Some(work()?) } else { None };
    share(&[])?;
    Ok(done)
}

/// The outcome of a message. After an error, all processes have been told, and no more messages are sent.
pub(crate) fn heard<T>(result: tractable::Result<T>) -> Outcome<T> {
    result.map_err(|e| {
        over();
        e.into()
    })
}

/// The bytes of all processes, in the order of ranks.
pub(crate) fn share(mine: &[u8]) -> Outcome<Vec<Vec<u8>>> {
    match workers() {
        None => Ok(vec![mine.to_vec()]),
        Some(workers) => heard(workers::share(&*workers, mine)),
    }
}

/// An error unless all processes have the same program, settings and data; `said` describes the last two.
pub(crate) fn agree(said: &str) -> Outcome {
    let Some(workers) = workers() else { return Ok(()) };
    let program =
        std::env::current_exe().and_then(std::fs::read).map_or(0, |bytes| fnv::fnv1a_64(fnv::EMPTY, bytes));
    let vectors = format!("{PROGRAM} {program:x} {:?}", pulp::Arch::new());
    heard(workers::agree(&*workers, "program or processor", vectors.as_bytes()))?;
    heard(workers::agree(&*workers, "settings or data", said.as_bytes()))
}

/// An error unless all processes were given the same verb, or all were given flags that cannot be read.
pub fn agree_on_verb(verb: &str) -> Outcome {
    match workers() {
        None => Ok(()),
        Some(workers) => heard(workers::agree(&*workers, "verb or one of its flags", verb.as_bytes())),
    }
}

/// An error for a verb that would do the same work in every process.
pub fn needs_one_process(verb: &str) -> Outcome {
    match place().1 {
        1 => Ok(()),
        n => Err(Exit::Error(format!("`{verb}` uses one process, not {n}; start it without mpirun"))),
    }
}

/// The end of a verb: an error in one process is an error in all.
pub fn end(outcome: Outcome) -> Outcome {
    let Some(workers) = workers() else { return outcome };
    let why = match &outcome {
        Ok(()) | Err(Exit::PipeClosed) => return workers::leave(&*workers).map_err(Exit::from).and(outcome),
        Err(Exit::Error(why) | Exit::CheckFailed(why) | Exit::Interrupted(why)) => why,
    };
    workers::fail(&*workers, why);
    over();
    outcome
}
