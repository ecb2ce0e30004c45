//! The kept value of an operation may be of any type of the program's, whose drop may call MPI.
#![allow(unsafe_code)]

use ranks_comm::backend::{InFlight, Keep, OpInfo, StartedOp};
use ranks_comm::{Communicator, Request, Result};
use ranks_mpi_sys::{MPI_COMM_SELF, MPI_Ibarrier, MPI_REQUEST_NULL, native};

static BARRIER: OpInfo = OpInfo::of("MPI_Ibarrier");

const TAG: i32 = 31;

/// Starts a send when it is dropped, and drops the request.
#[derive(Debug)]
struct Sends(Communicator);

impl Keep for Sends {
    fn ended(&mut self, _: &'static str) -> Result<()> {
        Ok(())
    }
}

impl Drop for Sends {
    fn drop(&mut self) {
        drop(self.0.isend(vec![7_u8; 9], self.0.rank(), TAG));
    }
}

fn barrier_of_oneself(world: &Communicator) -> Result<Request<Vec<u8>>> {
    let mut request = MPI_REQUEST_NULL;
    // SAFETY: MPI is initialised, as there is a communicator; the request is ours.
    let code = unsafe { MPI_Ibarrier(MPI_COMM_SELF, &raw mut request) };
    assert_eq!(code, 0);
    // SAFETY: the library is loaded, and has just made the request.
    let cell = unsafe { native::Cell::holding(request) };
    let keep = InFlight::new(Box::new(Sends(world.clone())) as Box<dyn Keep>);
    let begin = |_: &mut Vec<u8>| Ok(StartedOp::MpiKeeping(cell, keep));
    // SAFETY: a barrier works on no memory.
    unsafe { Request::begun(world, &BARRIER, Vec::new(), begin) }
}

#[ranks_test::ranks(1, 2, mpi_only)]
fn what_is_dropped_where_requests_that_were_left_are_looked_at_deadlocked(
    world: Communicator,
) -> Result<()> {
    for _ in 0..8 {
        drop(barrier_of_oneself(&world)?);
        let (received, _) = world.recv_vec::<u8>(world.rank(), TAG)?;
        assert_eq!(received, [7; 9]);
    }
    Ok(())
}
