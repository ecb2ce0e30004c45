//! Barrier: one round.

use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::call::RankCall;
use super::intercommunicators::barrier_between;
use super::rounds::Step;

pub(crate) fn barrier(comm: &Comm) -> Result<()> {
    let call = RankCall::of::<u8>(comm, "MPI_Barrier");
    if comm.is_between() {
        return barrier_between(&call);
    }
    call.round(Step::Barrier, 0, &[]).map(drop)
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
