//! Blocking collectives under a time limit, over MPI: as operations that return at once, on copies of the slices, which are left to the
//! runtime if the limit comes first.

use bytemuck::Pod;
use ranks_comm::backend::{Backend, InProcessComm, MpiComm, OpInfo, StartedOp};
use ranks_comm::{Communicator, Result};

use crate::agreement::{Call, Proven, carry_out_by};
use crate::blocks::Blocks;
use crate::layouts::Pattern;
use crate::neighbors::{Division, Trade};
use crate::reductions::Reducing;
use crate::stable::{self, Stable};
use crate::transfer::Transfer;
use crate::varying::{Exchange, Gathering, Scattering};

/// Both slices of a call, to be put elsewhere; `None` for the one whose part the other plays.
pub(crate) type Both<'s, 'a, T> = (Option<&'s mut &'a [T]>, Option<&'s mut &'a mut [T]>);

/// The blocks that both slices are divided into, if they are.
pub(crate) type Divisions<'s, 'a> = [Option<&'s mut &'a Blocks>; 2];

/// Slices of a call, proven to fit it, in whose place others of the same lengths can be put; or others with the same blocks at other places,
/// and what says so.
pub(crate) trait Movable<'a>: Proven {
    type Element: Pod;

    fn slices(&mut self) -> Both<'_, 'a, Self::Element>;

    fn divisions(&mut self) -> Divisions<'_, 'a> {
        [None, None]
    }
}

impl<'a> Movable<'a> for () {
    type Element = u8;

    fn slices(&mut self) -> Both<'_, 'a, u8> {
        (None, None)
    }
}

impl<'a, T: Pod> Movable<'a> for Transfer<'a, T> {
    type Element = T;

    fn slices(&mut self) -> Both<'_, 'a, T> {
        self.slices_mut()
    }
}

impl<'a, T: Pod> Movable<'a> for Reducing<'a, T> {
    type Element = T;

    fn slices(&mut self) -> Both<'_, 'a, T> {
        self.transfer.slices_mut()
    }
}

impl<'a, T: Pod> Movable<'a> for Gathering<'a, T> {
    type Element = T;

    fn slices(&mut self) -> Both<'_, 'a, T> {
        (self.send.as_mut(), self.recv.slice.as_mut())
    }

    fn divisions(&mut self) -> Divisions<'_, 'a> {
        [None, Some(&mut self.recv.blocks)]
    }
}

impl<'a, T: Pod> Movable<'a> for Scattering<'a, T> {
    type Element = T;

    fn slices(&mut self) -> Both<'_, 'a, T> {
        (self.send.slice.as_mut(), self.recv.as_mut())
    }

    fn divisions(&mut self) -> Divisions<'_, 'a> {
        [Some(&mut self.send.blocks), None]
    }
}

impl<'a, T: Pod> Movable<'a> for Exchange<'a, T> {
    type Element = T;

    fn slices(&mut self) -> Both<'_, 'a, T> {
        (self.send.slice.as_mut(), self.recv.slice.as_mut())
    }

    fn divisions(&mut self) -> Divisions<'_, 'a> {
        [Some(&mut self.send.blocks), Some(&mut self.recv.blocks)]
    }
}

impl<'a, T: Pod> Movable<'a> for Pattern<'a, T> {
    type Element = T;

    fn slices(&mut self) -> Both<'_, 'a, T> {
        (Some(&mut self.send.0), Some(&mut self.recv.0))
    }
}

impl<'a, T: Pod, D: Division> Movable<'a> for Trade<'a, T, D> {
    type Element = T;

    fn slices(&mut self) -> Both<'_, 'a, T> {
        (Some(&mut self.send.slice), Some(&mut self.recv.slice))
    }
}

/// As [`carry_out`](crate::agreement::carry_out), where a time limit can end the call: by `begin`, which begins it under the name of
/// `role`. `None` if all ranks know that it cannot be begun.
pub(crate) fn carry_out_in_time<'a, P: Movable<'a>>(
    comm: &Communicator,
    call: Call,
    proven: Result<P>,
    over_mpi: impl FnOnce(&MpiComm, P) -> Result<()>,
    begin: Option<(
        &'static OpInfo,
        impl FnOnce(&MpiComm, Stable<P>) -> Result<StartedOp>,
    )>,
    in_process: impl FnOnce(&InProcessComm, P) -> Result<()>,
) -> Result<()> {
    carry_out_by(comm, call, proven, |proven| match comm.backend() {
        Backend::Mpi(over) => match begin.filter(|_| comm.ends_in_time()) {
            Some((role, begin)) => {
                let done = stable::on_copies(comm, role, proven, |proven| begin(over, proven));
                // The program has not called the operation that returns at once.
                done.map_err(|error| error.of(call.operation()))
            }
            None => over_mpi(over, proven),
        },
        Backend::InProcess(among) => {
            comm.keeping_step(call.operation(), || in_process(among, proven))
        }
    })
}
