//! Barrier: each rank hears from all above it in a tree, then lets them go.

use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::call::{Call, Outcome};
use super::intercommunicators::barrier_between;

pub(crate) fn barrier(comm: &Comm) -> Result<()> {
    let call = Call {
        comm,
        operation: "MPI_Barrier",
        width: 0,
    };
    if comm.is_between() {
        return barrier_between(&call);
    }
    let me = call.rank();
    let mut outcome = Outcome::default();
    // The lowest one of a rank's number leads down to rank 0.
    let below = 1 << me.trailing_zeros().min(usize::BITS - 1);
    let above = || {
        let powers = (0..usize::BITS).map(|power| 1 << power);
        let powers = powers.take_while(move |&power| me == 0 || power < below);
        powers
            .map(move |power| me + power)
            .take_while(|&rank| rank < call.size())
    };
    for rank in above() {
        outcome.note(call.receive(rank, &mut []));
    }
    if me > 0 {
        outcome.note(call.send(me - below, &[]));
        outcome.note(call.receive(me - below, &mut []));
    }
    for rank in above() {
        outcome.note(call.send(rank, &[]));
    }
    outcome.result()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ranks_comm::{Backend, Checks, Runtime};

    use crate::Collectives;

    #[test]
    fn nobody_leaves_before_all_have_come() {
        for size in 1..=17 {
            let came = AtomicUsize::new(0);
            let all = |world: ranks_comm::Communicator| {
                for round in 1..4 {
                    came.fetch_add(1, Ordering::Relaxed);
                    world.barrier()?;
                    assert!(came.load(Ordering::Relaxed) >= round * size);
                }
                Ok::<(), ranks_comm::Error>(())
            };
            ranks(size).run(all).unwrap();
        }
    }

    #[test]
    fn two_thousand_ranks_meet_and_compare_their_calls() {
        let runtime = ranks(2000).checks(Checks::Collective);
        runtime.run(|world| world.barrier()).unwrap();
    }

    fn ranks(size: usize) -> ranks_comm::Builder {
        Runtime::builder().backend(Backend::InProcess).ranks(size)
    }
}
