//! Workers that learn together: messages between them, and sums in the same order on every worker.
//!
//! Each worker holds a [`Transport`]: [`Threads`] inside one process, MPI in the program, or anything else that can send bytes.
//! `Network::fit_together` needs nothing more.

mod numbers;
mod threads;

pub use numbers::Numbers;
pub use threads::Threads;

use crate::error::{Error, Result};

/// Sends messages between workers. All workers call [`exchange`](Transport::exchange) in the same order.
///
/// ```
/// use tractable::workers::{Threads, Transport};
/// let [a, b] = Threads::team(2).try_into().unwrap();
/// let other = std::thread::spawn(move || b.exchange(&[b"to a", b""]));
/// assert_eq!(a.exchange(&[b"", b"to b"])?, [b"".to_vec(), b"to a".to_vec()]);
/// assert_eq!(other.join().unwrap()?[0], b"to b");
/// # Ok::<(), tractable::Error>(())
/// ```
pub trait Transport {
    /// Number of this worker, from 0.
    fn rank(&self) -> usize;
    /// How many workers there are.
    fn ranks(&self) -> usize;
    /// Sends `to[k]` to worker `k` and returns what each of them sent here, in the order of their ranks. Waits for all workers; an error if
    /// one of them has ended.
    fn exchange(&self, to: &[&[u8]]) -> Result<Vec<Vec<u8>>>;
}

/// The purpose of a meeting; all workers must come for the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// Telling the others of an error.
    Failed = 0,
    /// Ending.
    Leaving = 1,
    /// Making sure that all have the same.
    Comparing = 2,
    /// Adding up the statistics of a batch.
    Normalizing = 3,
    /// Adding up the updates of a batch.
    Learning = 4,
    /// Exchanging what each has learned.
    Merging = 5,
    /// Agreeing on what to do.
    Deciding = 6,
    /// Sending bytes from one worker to all.
    Sharing = 7,
}

/// The messages of all workers, in the order of ranks. A worker that failed reports it here, and all workers return its error.
fn meet(workers: &dyn Transport, doing: Doing, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
    let message: Vec<u8> = std::iter::once(doing as u8).chain(mine.iter().copied()).collect();
    let mut all = workers.exchange(&vec![&message[..]; workers.ranks()])?;
    for (rank, said) in all.iter().enumerate() {
        if said.first() == Some(&(Doing::Failed as u8)) {
            return Err(Error::Worker { rank, why: String::from_utf8_lossy(&said[1..]).into_owned() });
        }
    }
    for (rank, said) in all.iter_mut().enumerate() {
        if said.first() != Some(&(doing as u8)) {
            let why = "is not in step with the others; all must run the same command".into();
            return Err(Error::Worker { rank, why });
        }
        said.remove(0);
    }
    Ok(all)
}

/// Tells the others that this worker has failed; their next step returns an [`Error::Worker`].
///
/// ```
/// use tractable::workers::{self, Threads};
/// let [a, b] = Threads::team(2).try_into().unwrap();
/// let other = std::thread::spawn(move || workers::leave(&b));
/// workers::fail(&a, "the disk is full");
/// assert_eq!(other.join().unwrap().unwrap_err().to_string(), "worker 0: the disk is full");
/// ```
pub fn fail(workers: &dyn Transport, why: &str) {
    // If the others have ended too, there is nobody to tell.
    let _ = meet(workers, Doing::Failed, why.as_bytes());
}

/// Waits until all workers are done; an error if one of them [failed](fail).
///
/// ```
/// use tractable::workers::{self, Threads};
/// let [alone] = Threads::team(1).try_into().unwrap();
/// workers::leave(&alone)?;
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn leave(workers: &dyn Transport) -> Result<()> {
    meet(workers, Doing::Leaving, &[]).map(drop)
}

/// The bytes of all workers, in the order of ranks.
///
/// ```
/// use tractable::workers::{self, Threads};
/// let [alone] = Threads::team(1).try_into().unwrap();
/// assert_eq!(workers::share(&alone, b"rows")?, [b"rows"]);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn share(workers: &dyn Transport, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
    meet(workers, Doing::Sharing, mine)
}

/// An error unless all workers pass the same bytes for `what`: they must agree on settings, data and program.
///
/// ```
/// use tractable::workers::{self, Threads};
/// let [a, b] = Threads::team(2).try_into().unwrap();
/// let other = std::thread::spawn(move || workers::agree(&b, "seed", b"1"));
/// assert!(workers::agree(&a, "seed", b"0").unwrap_err().to_string().contains("seed"));
/// assert!(other.join().unwrap().is_err());
/// ```
pub fn agree(workers: &dyn Transport, what: &str, mine: &[u8]) -> Result<()> {
    let all = meet(workers, Doing::Comparing, mine)?;
    match all.iter().position(|said| *said != all[0]) {
        None => Ok(()),
        Some(rank) => Err(Error::Worker { rank, why: format!("its {what} differs from that of worker 0") }),
    }
}

/// Whether any worker passes true.
pub fn any(workers: &dyn Transport, mine: bool) -> Result<bool> {
    Ok(meet(workers, Doing::Deciding, &[u8::from(mine)])?.iter().any(|said| said == &[1]))
}

/// Adds the numbers of all workers in the order of ranks: the same bits on every worker, every time.
pub fn add_few(workers: &dyn Transport, doing: Doing, few: &mut [f64]) -> Result<()> {
    let mine: Vec<u8> = few.iter().flat_map(|v| v.to_le_bytes()).collect();
    let all = meet(workers, doing, &mine)?;
    few.fill(0.0);
    for (rank, said) in all.iter().enumerate() {
        if said.len() != mine.len() {
            return Err(other_size(rank));
        }
        few.iter_mut().zip(said.as_chunks().0).for_each(|(sum, v)| *sum += f64::from_le_bytes(*v));
    }
    Ok(())
}

/// The same for many numbers: each worker adds up one slice, and all workers receive all slices.
pub fn add_many(workers: &dyn Transport, many: &mut Numbers) -> Result<()> {
    let (rank, ranks, len) = (workers.rank(), workers.ranks(), many.len());
    if ranks == 1 {
        return Ok(());
    }
    let slice = |k: usize| k * len / ranks..(k + 1) * len / ranks;
    let to: Vec<Vec<u8>> =
        (0..ranks).map(|k| if k == rank { Vec::new() } else { many.bytes(slice(k)) }).collect();
    let from = workers.exchange(&to.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    let own = many.add_in_order(slice(rank), rank, &from).map_err(other_size)?;
    let to: Vec<&[u8]> = (0..ranks).map(|k| if k == rank { &[][..] } else { &own }).collect();
    for (k, bytes) in workers.exchange(&to)?.iter().enumerate().filter(|(k, _)| *k != rank) {
        many.set(slice(k), bytes).ok_or_else(|| other_size(k))?;
    }
    Ok(())
}

fn other_size(rank: usize) -> Error {
    Error::Worker { rank, why: "sent a different number of values; all must run the same program".into() }
}
