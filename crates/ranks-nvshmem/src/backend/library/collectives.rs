//! Operations of all PEs of a team, as NVSHMEM has them.
#![allow(unsafe_code)]

use std::ffi::c_int;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_nvshmem_sys::{Element, Form, Operation, Table, cudaStream_t};

use super::LibraryHeap;
use super::memory::address_of;
use super::teams::int;
use crate::backend::stream::StreamRef;
use crate::backend::{Kind, Moved, Movement, Movements, OneSided, Order, TeamHandle, Teams};

impl Movements for LibraryHeap {
    fn barrier(&self, team: TeamHandle, order: Order<'_>) -> Result<()> {
        // That of all PEs is there where several share a GPU, too.
        if self.limited && team == self.world() {
            return self.barrier_all(order);
        }
        match order {
            Order::Now => self.call("nvshmem_barrier", |table| {
                let function = table.nvshmem_barrier?;
                // SAFETY: the team is live, by the contract of the seam.
                Some(unsafe { function(team.0) })
            }),
            Order::On(stream) => self.enqueue("nvshmemx_barrier_on_stream", stream, |table, on| {
                let function = table.nvshmemx_barrier_on_stream?;
                // SAFETY: as above; the stream is live while it is borrowed.
                Some(unsafe { function(team.0, on) })
            }),
        }
    }

    fn sync(&self, team: TeamHandle, order: Order<'_>) -> Result<()> {
        if self.limited && team == self.world() {
            return self.sync_all(order);
        }
        match order {
            Order::Now => self.call("nvshmem_team_sync", |table| {
                let function = table.nvshmem_team_sync?;
                // SAFETY: as for `barrier`.
                Some(unsafe { function(team.0) })
            }),
            Order::On(stream) => {
                self.enqueue("nvshmemx_team_sync_on_stream", stream, |table, on| {
                    let function = table.nvshmemx_team_sync_on_stream?;
                    // SAFETY: as for `barrier`.
                    Some(unsafe { function(team.0, on) })
                })
            }
        }
    }

    fn moves(
        &self,
        team: TeamHandle,
        movement: Movement,
        moved: Moved<'_>,
        order: Order<'_>,
    ) -> Result<()> {
        // A PE that has not come may still use what it will receive into.
        if movement.puts_at_once() {
            self.sync(team, order)?;
        }
        let name = movement.name(order);
        let (to, from) = (address_of(moved.dest), address_of(moved.source));
        let amount = moved.amount;
        match (movement, order) {
            (Movement::Barrier, _) => self.barrier(team, order),
            (Movement::Sync, _) => self.sync(team, order),
            (Movement::Broadcast(root), Order::Now) => {
                let root = int(name, root)?;
                self.call(name, |table| {
                    let function = table.nvshmem_broadcastmem?;
                    // SAFETY: so many bytes of the heap lie at both places, and the team is live
                    // and has the root, by the contract of the seam.
                    Some(unsafe { function(team.0, to, from, amount, root) })
                })
            }
            (Movement::Broadcast(root), Order::On(stream)) => {
                let root = int(name, root)?;
                self.enqueue(name, stream, |table, on| {
                    let function = table.nvshmemx_broadcastmem_on_stream?;
                    // SAFETY: as above; the memory stays until the stream is past it, and the
                    // stream is live while it is borrowed.
                    Some(unsafe { function(team.0, to, from, amount, root, on) })
                })
            }
            (Movement::Fcollect, Order::Now) => self.call(name, |table| {
                let function = table.nvshmem_fcollectmem?;
                // SAFETY: so many bytes lie at the source, and as many for each PE at the
                // destination; else as for a broadcast.
                Some(unsafe { function(team.0, to, from, amount) })
            }),
            (Movement::Fcollect, Order::On(stream)) => self.enqueue(name, stream, |table, on| {
                let function = table.nvshmemx_fcollectmem_on_stream?;
                // SAFETY: as above, and as for a broadcast.
                Some(unsafe { function(team.0, to, from, amount, on) })
            }),
            (Movement::Alltoall, Order::Now) => self.call(name, |table| {
                let function = table.nvshmem_alltoallmem?;
                // SAFETY: so many bytes for each PE lie at both places; else as for a broadcast.
                Some(unsafe { function(team.0, to, from, amount) })
            }),
            (Movement::Alltoall, Order::On(stream)) => self.enqueue(name, stream, |table, on| {
                let function = table.nvshmemx_alltoallmem_on_stream?;
                // SAFETY: as above, and as for a broadcast.
                Some(unsafe { function(team.0, to, from, amount, on) })
            }),
            (Movement::Reduce(kind, op), _) => {
                let reduced = (Form::Reduce, op, element(kind));
                self.reduced(name, reduced, team, moved, order)
            }
            (Movement::Reducescatter(kind, op), _) => {
                let reduced = (Form::ReduceScatter, op, element(kind));
                self.reduced(name, reduced, team, moved, order)
            }
        }
    }
}

impl LibraryHeap {
    /// A reduction, of whichever form.
    fn reduced(
        &self,
        name: &'static str,
        (form, operation, element): (Form, Operation, Element),
        team: TeamHandle,
        moved: Moved<'_>,
        order: Order<'_>,
    ) -> Result<()> {
        let (to, from) = (address_of(moved.dest), address_of(moved.source));
        let count = moved.amount;
        let library = self.library;
        let lacks = |on_stream| {
            let text = library.lacks_reduction(form, operation, element, on_stream);
            Error::with_text(ErrorKind::NotInLibrary, name, text)
        };
        match order {
            Order::Now => {
                let function = library.reduction(form, operation, element);
                let function = function.ok_or_else(|| lacks(false))?;
                self.call(name, |_| {
                    // SAFETY: as many elements of the type as this form takes lie at both places,
                    // by the contract of the seam; else as for a broadcast.
                    Some(unsafe { function(team.0, to, from, count) })
                })
            }
            Order::On(stream) => {
                let function = library.reduction_on_stream(form, operation, element);
                let function = function.ok_or_else(|| lacks(true))?;
                self.enqueue(name, stream, |_, on| {
                    // SAFETY: as above, and as for a broadcast.
                    Some(unsafe { function(team.0, to, from, count, on) })
                })
            }
        }
    }

    /// Calls a function of teams, which would end the process while several PEs share a GPU.
    fn call(
        &self,
        name: &'static str,
        function: impl FnOnce(&Table) -> Option<c_int>,
    ) -> Result<()> {
        self.full(name)?;
        let _entered = self.enter(name)?;
        match function(self.library.table()) {
            Some(code) => self.check(name, code),
            None => Err(self.missing(name)),
        }
    }

    /// As [`call`](Self::call), of one that is enqueued.
    fn enqueue(
        &self,
        name: &'static str,
        stream: StreamRef<'_>,
        function: impl FnOnce(&Table, cudaStream_t) -> Option<c_int>,
    ) -> Result<()> {
        let StreamRef::Cuda(_, raw) = stream else {
            let text = "the stream is of a PE that is a thread, and the heap is of GPUs";
            return Err(Error::new(ErrorKind::Argument, name, text));
        };
        self.call(name, |table| function(table, raw.0.cast()))
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
