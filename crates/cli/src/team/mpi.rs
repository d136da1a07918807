//! Messages over MPI: the only part of the program that uses it.

use crate::report::{Exit, Outcome};
use mpi::collective::SystemOperation;
use mpi::datatype::{Partition, PartitionMut};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use mpi::{Count, Threading, environment::Universe};
use std::borrow::Cow;
use tractable::workers::Transport;
use tractable::{Error, Result};

/// Bytes sent by one process from which on sizes are checked: with less, even a thousand processes stay below MPI's limit.
const LARGE: u64 = 1 << 20;

/// The processes of one `mpirun`. Dropping it ends MPI.
pub(super) struct World {
    world: SimpleCommunicator,
    _universe: Universe,
}

impl World {
    pub(super) fn join() -> Outcome<Self> {
        let (universe, _) = mpi::initialize_with_threading(Threading::Funneled)
            .ok_or_else(|| Exit::Error("MPI failed to start".into()))?;
        Ok(World { world: universe.world(), _universe: universe })
    }
}

impl Transport for World {
    fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    fn ranks(&self) -> usize {
        self.world.size() as usize
    }

    fn exchange(&self, to: &[&[u8]]) -> Result<Vec<Vec<u8>>> {
        let counts: Vec<u64> = to.iter().map(|message| message.len() as u64).collect();
        // Every process learns how much each of the others sends in all, so that all of them know whether a message may be too large.
        let sent: u64 = counts.iter().sum();
        let pairs: Vec<u64> = counts.iter().flat_map(|&count| [count, sent]).collect();
        let mut said = vec![0u64; pairs.len()];
        self.world.all_to_all_into(&pairs[..], &mut said[..]);
        let coming: Vec<u64> = said.iter().step_by(2).copied().collect();
        if said.iter().skip(1).step_by(2).any(|&sent| sent > LARGE) {
            let (mine, mut most) = (sent.max(coming.iter().sum()), 0);
            self.world.all_reduce_into(&mine, &mut most, SystemOperation::max());
            if most > Count::MAX as u64 {
                let why = format!("a process would send or receive {most} bytes at once; the limit is 2 GiB");
                return Err(Error::Invalid { what: "message".into(), why });
            }
        }
        let (send, receive) = (places(&counts), places(&coming));
        let mut received = vec![0u8; coming.iter().sum::<u64>() as usize];
        // With two workers there is one message in each direction; it is sent without a copy.
        let sent = match only(&counts) {
            Some(one) => Cow::Borrowed(to[one]),
            None => Cow::Owned(to.concat()),
        };
        self.world.all_to_all_varcount_into(
            &Partition::new(&sent[..], &send.0[..], &send.1[..]),
            &mut PartitionMut::new(&mut received[..], &receive.0[..], &receive.1[..]),
        );
        if let Some(one) = only(&coming) {
            let mut all = vec![Vec::new(); coming.len()];
            all[one] = received;
            return Ok(all);
        }
        let mut rest = &received[..];
        Ok(coming.iter().map(|&n| rest.split_off(..n as usize).expect("as many bytes").to_vec()).collect())
    }
}

/// The index of the only message that is not empty, if there is just one.
fn only(counts: &[u64]) -> Option<usize> {
    let mut some = (0..counts.len()).filter(|&k| counts[k] > 0);
    some.next().filter(|_| some.next().is_none())
}

/// Sizes and offsets of messages, whose sum is checked, in MPI's integer type.
fn places(counts: &[u64]) -> (Vec<Count>, Vec<Count>) {
    let starts = counts.iter().scan(0, |at, n| Some(std::mem::replace(at, *at + *n as Count)));
    (counts.iter().map(|&n| n as Count).collect(), starts.collect())
}
