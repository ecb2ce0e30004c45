//! The backend of a PE whose calls observers are told of.

use std::any::Any;
use std::rc::Rc;

use ranks_comm::Result;
use ranks_comm::backend::{CallFacts, Track, observed};

use crate::backend::block::{Block, Offset};
use crate::backend::in_process::HostStream;
use crate::backend::names::{
    ALLOC, FILL, FINALIZE, FREE, PUT_SIGNAL, READ, REGISTER, REGISTER_SYMMETRIC, SIGNAL_OP,
    SIGNAL_WAIT, TEAM_DESTROY, TEAM_INIT, TEAM_SPLIT_2D, TEAM_SPLIT_STRIDED, TEAM_UNIQUE_ID,
    UNREGISTER, WRITE,
};
use crate::backend::stream::StreamRef;
use crate::backend::{
    Access, Backend, Comparison, DeviceCode, Facts, Life, Memory, Moved, Movement, Movements,
    OneSided, Order, Point, Reuse, SignalUpdate, Strides, TeamHandle, Teams,
};

/// A backend, and the observers' view of its PE.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) track: Rc<Track>,
}

impl Observed {
    /// Makes a call of that C name.
    fn call<R>(
        &self,
        name: &'static str,
        call: impl FnOnce(&dyn Backend) -> Result<R>,
    ) -> Result<R> {
        observed(&self.track, || name.into(), || call(&*self.backend))
    }

    /// Makes one that moves so many bytes from or to that PE.
    fn transfer<R>(
        &self,
        name: &'static str,
        bytes: usize,
        pe: Option<usize>,
        call: impl FnOnce(&dyn Backend) -> Result<R>,
    ) -> Result<R> {
        let facts = || CallFacts {
            peer: pe,
            count: bytes as u64,
            bytes: bytes as u64,
            ..name.into()
        };
        observed(&self.track, facts, || call(&*self.backend))
    }
}

impl Life for Observed {
    fn facts(&self) -> &Facts {
        self.backend.facts()
    }

    fn init_code(&self, code: DeviceCode, release: Option<[i32; 3]>) -> Result<()> {
        self.backend.init_code(code, release)
    }

    fn finalize_code(&self, code: DeviceCode) -> Result<()> {
        self.backend.finalize_code(code)
    }

    fn host_stream(&self) -> Result<HostStream> {
        self.backend.host_stream()
    }

    fn accept(&self, operation: &'static str, stream: StreamRef<'_>) -> Result<()> {
        self.backend.accept(operation, stream)
    }

    fn is_parked(&self) {
        self.backend.is_parked();
    }

    fn finalize(&self) -> Result<()> {
        self.call(FINALIZE, |backend| backend.finalize())
    }
}

impl Memory for Observed {
    fn alloc(&self, bytes: usize, number: u64) -> Result<Block> {
        self.transfer(ALLOC, bytes, None, |backend| backend.alloc(bytes, number))
    }

    fn has_room(&self, bytes: usize) -> Result<()> {
        self.backend.has_room(bytes)
    }

    fn free(&self, block: Block) -> Result<()> {
        self.call(FREE, |backend| backend.free(block))
    }

    fn read(&self, from: Offset<'_>, to: &mut [u8]) -> Result<()> {
        self.transfer(READ, to.len(), None, |backend| backend.read(from, to))
    }

    fn write(&self, from: &[u8], to: Offset<'_>) -> Result<()> {
        self.transfer(WRITE, from.len(), None, |backend| backend.write(from, to))
    }

    fn fill(&self, to: Offset<'_>, bytes: usize, value: u8, order: Order<'_>) -> Result<()> {
        self.transfer(FILL, bytes, None, |backend| {
            backend.fill(to, bytes, value, order)
        })
    }

    fn peer(&self, place: Offset<'_>, pe: usize) -> Option<*mut u8> {
        self.backend.peer(place, pe)
    }

    fn multicast(&self, place: Offset<'_>, team: TeamHandle) -> Option<*mut u8> {
        self.backend.multicast(place, team)
    }

    fn register(&self, address: u64, bytes: usize) -> Result<()> {
        self.transfer(REGISTER, bytes, None, |backend| {
            backend.register(address, bytes)
        })
    }

    fn unregister(&self, address: u64) -> Result<()> {
        self.call(UNREGISTER, |backend| backend.unregister(address))
    }

    fn register_symmetric(
        &self,
        address: u64,
        bytes: usize,
        number: u64,
        memory: Box<dyn Any>,
    ) -> Result<Block> {
        self.transfer(REGISTER_SYMMETRIC, bytes, None, |backend| {
            backend.register_symmetric(address, bytes, number, memory)
        })
    }
}

/// `direct` is not passed on: what goes that way is not told.
impl OneSided for Observed {
    fn access(&self, access: Access<'_>, order: Order<'_>, reuse: Reuse) -> Result<()> {
        let name = access.direction.name(order, reuse);
        self.transfer(name, access.bytes, Some(access.pe), |backend| {
            backend.access(access, order, reuse)
        })
    }

    fn access_strided(
        &self,
        access: Access<'_>,
        strides: Strides,
        size: usize,
        order: Order<'_>,
    ) -> Result<()> {
        let name = access.direction.strided_name(size, order)?;
        self.transfer(name, access.bytes, Some(access.pe), |backend| {
            backend.access_strided(access, strides, size, order)
        })
    }

    fn put_signal(
        &self,
        put: Access<'_>,
        signal: SignalUpdate<'_>,
        stream: StreamRef<'_>,
        reuse: Reuse,
    ) -> Result<()> {
        let name = PUT_SIGNAL.of(Order::On(stream), reuse);
        self.transfer(name, put.bytes, Some(put.pe), |backend| {
            backend.put_signal(put, signal, stream, reuse)
        })
    }

    fn signal_op(&self, signal: SignalUpdate<'_>, pe: usize, stream: StreamRef<'_>) -> Result<()> {
        self.transfer(SIGNAL_OP, size_of::<u64>(), Some(pe), |backend| {
            backend.signal_op(signal, pe, stream)
        })
    }

    /// It is polled, and not told.
    fn signal_fetch(&self, signal: Offset<'_>) -> Result<u64> {
        self.backend.signal_fetch(signal)
    }

    fn signal_wait_until(
        &self,
        signal: Offset<'_>,
        comparison: Comparison,
        value: u64,
        stream: StreamRef<'_>,
    ) -> Result<()> {
        self.call(SIGNAL_WAIT, |backend| {
            backend.signal_wait_until(signal, comparison, value, stream)
        })
    }

    fn point(&self, point: Point, order: Order<'_>) -> Result<()> {
        self.call(point.name(order), |backend| backend.point(point, order))
    }
}

impl Teams for Observed {
    fn place_in(&self, team: TeamHandle) -> Result<(usize, usize)> {
        self.backend.place_in(team)
    }

    fn translate(&self, team: TeamHandle, pe: usize, to: TeamHandle) -> Result<Option<usize>> {
        self.backend.translate(team, pe, to)
    }

    fn split_strided(
        &self,
        parent: TeamHandle,
        start: usize,
        stride: usize,
        size: usize,
    ) -> Result<Option<TeamHandle>> {
        self.call(TEAM_SPLIT_STRIDED, |backend| {
            backend.split_strided(parent, start, stride, size)
        })
    }

    fn split_2d(&self, parent: TeamHandle, xrange: usize) -> Result<(TeamHandle, TeamHandle)> {
        self.call(TEAM_SPLIT_2D, |backend| backend.split_2d(parent, xrange))
    }

    fn team_unique_id(&self) -> Result<u64> {
        self.call(TEAM_UNIQUE_ID, |backend| backend.team_unique_id())
    }

    fn team_init(&self, id: u64, my_pe: usize, n_pes: usize) -> Result<TeamHandle> {
        self.call(TEAM_INIT, |backend| backend.team_init(id, my_pe, n_pes))
    }

    fn destroy(&self, team: TeamHandle) -> Result<()> {
        self.call(TEAM_DESTROY, |backend| backend.destroy(team))
    }
}

impl Movements for Observed {
    fn moves(
        &self,
        team: TeamHandle,
        movement: Movement,
        moved: Option<Moved<'_>>,
        order: Order<'_>,
    ) -> Result<()> {
        let root = match movement {
            Movement::Broadcast(root) => Some(root),
            _ => None,
        };
        let amount = moved.map_or(0, |moved| moved.amount);
        let facts = || CallFacts {
            root,
            count: amount as u64,
            bytes: (amount * movement.width()) as u64,
            ..movement.name(order).into()
        };
        let call = || self.backend.moves(team, movement, moved, order);
        observed(&self.track, facts, call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Kind, Reduce};

    #[test]
    fn elements_that_are_reduced_are_told_in_bytes() {
        assert_eq!(Movement::Reduce(Kind::F64, Reduce::Sum).width(), 8);
        assert_eq!(Movement::Reducescatter(Kind::Bf16, Reduce::Max).width(), 2);
        assert_eq!(Movement::Fcollect.width(), 1);
    }
}
