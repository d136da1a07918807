//! Workers that are threads of one process.

use super::Transport;
use crate::error::{Error, Result};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A worker among the threads of this process. Dropping it ends it: others that wait for its messages get an error.
///
/// ```
/// use tractable::workers::{Threads, Transport};
/// let team = Threads::team(3);
/// assert_eq!((team[2].rank(), team[2].ranks()), (2, 3));
/// ```
#[derive(Debug)]
pub struct Threads {
    rank: usize,
    ranks: usize,
    shared: Arc<(Mutex<Mail>, Condvar)>,
}

#[derive(Debug)]
struct Mail {
    /// From worker `i` to worker `k`, in order, at `i * ranks + k`.
    boxes: Vec<VecDeque<Vec<u8>>>,
    gone: Vec<bool>,
}

impl Threads {
    /// This many workers, one per thread.
    ///
    /// ```
    /// assert_eq!(tractable::workers::Threads::team(4).len(), 4);
    /// ```
    pub fn team(ranks: usize) -> Vec<Threads> {
        let mail = Mail { boxes: vec![VecDeque::new(); ranks * ranks], gone: vec![false; ranks] };
        let shared = Arc::new((Mutex::new(mail), Condvar::new()));
        (0..ranks).map(|rank| Threads { rank, ranks, shared: shared.clone() }).collect()
    }

    fn mail(&self) -> MutexGuard<'_, Mail> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn exchange(&self, to: &[&[u8]]) -> Result<Vec<Vec<u8>>> {
        let (rank, ranks) = (self.rank, self.ranks);
        let mut mail = self.mail();
        for (k, message) in to.iter().enumerate() {
            mail.boxes[rank * ranks + k].push_back(message.to_vec());
        }
        self.shared.1.notify_all();
        let mut from = Vec::with_capacity(ranks);
        while from.len() < ranks {
            let k = from.len();
            match mail.boxes[k * ranks + rank].pop_front() {
                Some(message) => from.push(message),
                None if mail.gone[k] => return Err(Error::Worker { rank: k, why: "has ended".into() }),
                None => mail = self.shared.1.wait(mail).unwrap_or_else(PoisonError::into_inner),
            }
        }
        Ok(from)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.mail().gone[self.rank] = true;
        self.shared.1.notify_all();
    }
}
