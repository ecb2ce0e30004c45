//! Operations of all PEs of a team, as NVSHMEM has them.
#![allow(unsafe_code)]

use ranks_comm::{Error, ErrorKind, Result};
use ranks_nvshmem_sys::{Element, Form, Operation, Reduction, ReductionOnStream};

use super::memory::address_of;
use super::teams::int;
use super::{Function, LibraryHeap};
use crate::backend::{Kind, Moved, Movement, Movements, OneSided, Order, Point, TeamHandle};

impl Movements for LibraryHeap {
    fn moves(
        &self,
        team: TeamHandle,
        movement: Movement,
        moved: Option<Moved<'_>>,
        order: Order<'_>,
    ) -> Result<()> {
        match (movement, moved) {
            (Movement::Barrier, _) => self.together(team, movement, Point::BarrierAll, order),
            (Movement::Sync, _) => self.together(team, movement, Point::SyncAll, order),
            (_, Some(moved)) => self.move_elements(team, movement, moved, order),
            (_, None) => Ok(()),
        }
    }
}

impl LibraryHeap {
    /// A barrier, or a sync: `of_all` is that of all PEs, which is there where several share a GPU,
    /// too.
    fn together(
        &self,
        team: TeamHandle,
        movement: Movement,
        of_all: Point,
        order: Order<'_>,
    ) -> Result<()> {
        if self.facts.limited && team == TeamHandle::WORLD {
            return self.point(of_all, order);
        }
        let (table, name) = (self.library.table(), movement.name(order));
        let functions = match movement {
            Movement::Barrier => (table.nvshmem_barrier, table.nvshmemx_barrier_on_stream),
            _ => (table.nvshmem_team_sync, table.nvshmemx_team_sync_on_stream),
        };
        self.full(name)?;
        let _entered = self.enter(name)?;
        let code = match self.function(name, functions, order)? {
            // SAFETY: the team is live, by the contract of the seam.
            Function::Now(function) => unsafe { function(team.0) },
            // SAFETY: as above; the stream is live while it is borrowed.
            Function::On(function, stream) => unsafe { function(team.0, stream) },
        };
        self.check(name, code)
    }

    fn move_elements(
        &self,
        team: TeamHandle,
        movement: Movement,
        moved: Moved<'_>,
        order: Order<'_>,
    ) -> Result<()> {
        // A PE that has not come may still use what it will receive into.
        if movement.puts_at_once() {
            self.moves(team, Movement::Sync, None, order)?;
        }
        let (table, name) = (self.library.table(), movement.name(order));
        let (to, from, amount) = (
            address_of(moved.dest),
            address_of(moved.source),
            moved.amount,
        );
        self.full(name)?;
        let _entered = self.enter(name)?;
        let functions = match movement {
            Movement::Barrier | Movement::Sync => return Ok(()),
            Movement::Broadcast(root) => {
                let root = int(name, root)?;
                let functions = (
                    table.nvshmem_broadcastmem,
                    table.nvshmemx_broadcastmem_on_stream,
                );
                let code = match self.function(name, functions, order)? {
                    // SAFETY: so many bytes of the heap lie at both places, and the team is live
                    // and has the root, by the contract of the seam.
                    Function::Now(function) => unsafe { function(team.0, to, from, amount, root) },
                    // SAFETY: as above; the memory stays until the stream is past it, and the
                    // stream is live while it is borrowed.
                    Function::On(function, stream) => unsafe {
                        function(team.0, to, from, amount, root, stream)
                    },
                };
                return self.check(name, code);
            }
            Movement::Fcollect => (
                table.nvshmem_fcollectmem,
                table.nvshmemx_fcollectmem_on_stream,
            ),
            Movement::Alltoall => (
                table.nvshmem_alltoallmem,
                table.nvshmemx_alltoallmem_on_stream,
            ),
            Movement::Reduce(kind, op) => {
                self.reductions(name, (Form::Reduce, op, element(kind)), order)?
            }
            Movement::Reducescatter(kind, op) => {
                self.reductions(name, (Form::ReduceScatter, op, element(kind)), order)?
            }
        };
        let code = match self.function(name, functions, order)? {
            // SAFETY: as many bytes, or elements of a type, as the operation takes in the team lie
            // at both places; else as for a broadcast.
            Function::Now(function) => unsafe { function(team.0, to, from, amount) },
            // SAFETY: as above, and as for a broadcast.
            Function::On(function, stream) => unsafe { function(team.0, to, from, amount, stream) },
        };
        self.check(name, code)
    }

    /// The functions of a reduction, of which the one for the order is there.
    fn reductions(
        &self,
        name: &'static str,
        (form, operation, element): (Form, Operation, Element),
        order: Order<'_>,
    ) -> Result<(Option<Reduction>, Option<ReductionOnStream>)> {
        let library = self.library;
        let (functions, is_there) = match order {
            Order::Now => {
                let function = library.reduction(form, operation, element);
                ((function, None), function.is_some())
            }
            Order::On(_) => {
                let function = library.reduction_on_stream(form, operation, element);
                ((None, function), function.is_some())
            }
        };
        if is_there {
            return Ok(functions);
        }
        let on_stream = matches!(order, Order::On(_));
        let text = library.lacks_reduction(form, operation, element, on_stream);
        Err(Error::with_text(ErrorKind::NotInLibrary, name, text))
    }
}

fn element(kind: Kind) -> Element {
    match kind {
        Kind::I8 => Element::Int8,
        Kind::U8 => Element::Uint8,
        Kind::I16 => Element::Int16,
        Kind::U16 => Element::Uint16,
        Kind::I32 => Element::Int32,
        Kind::U32 => Element::Uint32,
        Kind::I64 => Element::Int64,
        Kind::U64 => Element::Uint64,
        Kind::F32 => Element::Float,
        Kind::F64 => Element::Double,
        Kind::F16 => Element::Half,
        Kind::Bf16 => Element::Bfloat16,
    }
}
