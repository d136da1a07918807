//! Messages over MPI: the only part of the program that uses it.

use crate::report::{Exit, Outcome};
use mpi::datatype::{Partition, PartitionMut};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use mpi::{Count, Threading, environment::Universe};
use std::borrow::Cow;
use tractable::workers::Transport;
use tractable::{Error, Result};

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
        let mut coming = vec![0u64; to.len()];
        self.world.all_to_all_into(&counts[..], &mut coming[..]);
        let (send, receive) = (places(&counts)?, places(&coming)?);
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

/// Sizes and offsets of messages in MPI's integer type.
fn places(counts: &[u64]) -> Result<(Vec<Count>, Vec<Count>)> {
    let total = Count::try_from(counts.iter().sum::<u64>());
    total.map_err(|_| Error::Invalid { what: "message".into(), why: "is larger than 2 GiB".into() })?;
    let starts = counts.iter().scan(0, |at, n| Some(std::mem::replace(at, *at + *n as Count)));
    Ok((counts.iter().map(|&n| n as Count).collect(), starts.collect()))
}
