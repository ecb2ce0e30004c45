//! Operations that combine elements: each is described once, in the table at the end; what is done
//! in each form is written once for all.

use bytemuck::Pod;
use ranks_comm::backend::{InProcessComm, MpiComm, StartedOp};
use ranks_comm::record::{self, Kind};
use ranks_comm::{Communicator, Persistent, Result};

use crate::agreement::{CallSignature, begin};
use crate::arguments::blocks::Blocks;
use crate::arguments::call::Call;
use crate::arguments::crossing::must_fit;
use crate::arguments::kept::Kept;
use crate::arguments::reducing::{Reducing, Share};
use crate::arguments::transfer::Transfer;
use crate::in_flight::post_process::Finishing;
use crate::in_flight::stable::{self, Shape, Slices, Stable};
use crate::in_process;
use crate::mpi::functions::{self, Named, Reduces};
use crate::mpi::reductions as mpi;
use crate::mpi::{OwnedOperation, predefined};
use crate::operation::between_groups::BetweenGroups;
use crate::operation::moves::OneSlice;
use crate::operation::trial::{self, Tried};
use crate::operation::with_deadline::carry_out_in_time;
use crate::ops::Reduction;

/// One operation that combines elements.
pub(crate) trait Reducer: Named + Tried + 'static {
    type Functions: Reduces;
    /// The rank that gets the result, or the blocks in which it is dealt out, if the program says
    /// one of them.
    type With<'a>: Copy;

    /// Proves that the slices fit.
    fn prove<'a, 'w: 'a, T>(
        call: Call<'_>,
        slices: Slices<'a, T>,
        with: Self::With<'w>,
    ) -> Result<Transfer<'a, T>>;

    /// The part of the result that this rank gets.
    fn share<'a>(comm: &Communicator, with: Self::With<'a>) -> Share<'a>;

    /// The rank that alone gets the result.
    fn root(with: Self::With<'_>) -> Option<usize>;

    fn in_process<T: Pod, O: Reduction<T>>(
        comm: &InProcessComm,
        op: &O,
        reducing: Reducing<'_, T>,
    ) -> Result<()>;

    fn nonblocking_in_process<T: Pod, O: Reduction<T> + Send + 'static>(
        comm: &InProcessComm,
        op: O,
        reducing: Stable<Reducing<'_, T>>,
    ) -> Result<StartedOp>;
}

/// The call of that C name, as ranks compare it.
fn call<R: Reducer, T: Pod, O: Reduction<T>>(
    operation: &'static str,
    op: &O,
    with: R::With<'_>,
) -> CallSignature {
    CallSignature::reducing::<T, O>(operation)
        .rooted(R::root(with))
        .in_order(!op.commutes())
}

/// Returns `true` if this rank gets a result.
#[inline(always)]
fn gets<R: Reducer>(comm: &Communicator, with: R::With<'_>) -> bool {
    R::root(with).is_none_or(|root| root == comm.rank())
}

/// Blocking, from one slice to another.
#[inline]
pub(crate) fn reduce<R: Reducer, T: Pod, O: Reduction<T>>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    op: O,
    with: R::With<'_>,
) -> Result<()> {
    // Only MPI's own operations are quick to begin with; an item of theirs is an element.
    let fast = predefined::<T, O>().and_then(|_| comm.fast_path_collective(send.len()));
    let blocks = R::share(comm, with).counts();
    let counts = blocks.map(|blocks| blocks.kept_ints(1));
    match fast {
        Some(over) if !matches!(counts, Some(None)) => {
            let call = match R::root(with) {
                None => record::Call::of(const { &Kind::reducing::<T, O>(R::BLOCKING) }),
                Some(root) => {
                    record::Call::of(const { &Kind::reducing::<T, O>(R::BLOCKING).rooted() })
                        .root(root)
                }
            };
            let slices = Slices::between(send, &mut *recv);
            let transfer = R::prove(Call::new(R::BLOCKING, comm), slices, with)?;
            mpi::small::<R::Functions, T, O>(
                comm.recorded(over, call.count_u32(send.len())),
                &op,
                transfer,
                counts.flatten(),
            )
        }
        _ => slow_path::<R, T, O>(comm, Some(send), recv, &op, with).map(drop),
    }?;
    if gets::<R>(comm, with) {
        op.finish(recv, comm.peers());
    }
    Ok(())
}

/// Blocking, in one slice.
pub(crate) fn reduce_in_place<R: Reducer + OneSlice, T: Pod, O: Reduction<T>>(
    comm: &Communicator,
    data: &mut [T],
    op: O,
    with: R::With<'_>,
) -> Result<()> {
    let block = slow_path::<R, T, O>(comm, None, data, &op, with)?;
    if gets::<R>(comm, with) {
        op.finish(&mut data[..block], comm.peers());
    }
    Ok(())
}

/// Takes the arguments one by one, so that nothing need be built in memory before it is called.
/// Returns the length of a block.
#[cold]
#[inline(never)]
fn slow_path<R: Reducer, T: Pod, O: Reduction<T>>(
    comm: &Communicator,
    send: Option<&[T]>,
    recv: &mut [T],
    op: &O,
    with: R::With<'_>,
) -> Result<usize> {
    let transfer = R::prove(Call::new(R::BLOCKING, comm), Slices { send, recv }, with);
    let block = transfer.as_ref().map_or(0, Transfer::block);
    let (me, share) = (comm.rank(), R::share(comm, with));
    carry_out_in_time(
        comm,
        call::<R, T, O>(R::BLOCKING, op, with),
        transfer.map(|transfer| Reducing { transfer, share }),
        |comm, reducing| mpi::blocking::<R::Functions, T, O>(comm, me, op, reducing),
        predefined::<T, O>().map(|_| {
            let begin = |comm: &MpiComm, reducing: Stable<Reducing<'_, T>>| {
                mpi::nonblocking_in_pieces::<R::Functions, T, O>(comm, me, reducing)
            };
            (R::NONBLOCKING_ROLE, begin)
        }),
        |comm, reducing| R::in_process(comm, op, reducing),
    )?;
    Ok(block)
}

/// Nonblocking.
#[inline]
pub(crate) fn begun<R: Reducer, T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Communicator,
    mut slices: Stable<Slices<'_, T>>,
    op: O,
    with: R::With<'_>,
) -> Result<StartedOp> {
    // Known where this is compiled.
    let in_place = slices.get().send.is_none();
    let finishing = Finishing::of(&mut slices, op, comm.peers()).filter(|_| gets::<R>(comm, with));
    let root = R::root(with);
    let kind = match root {
        None => const { &Kind::reducing::<T, O>(R::NONBLOCKING) },
        Some(_) => const { &Kind::reducing::<T, O>(R::NONBLOCKING).rooted() },
    };
    let begun = begin(
        comm,
        kind,
        root,
        !op.commutes(),
        || proven::<R, T>(Call::new(R::NONBLOCKING, comm), slices, with),
        |comm, reducing| {
            let make = || OwnedOperation::of::<T, O>(op);
            if in_place {
                mpi::nonblocking_in_place::<R::Functions, T, O>(comm, make, reducing)
            } else {
                mpi::nonblocking::<R::Functions, T, O>(comm, make, reducing)
            }
        },
        |comm, reducing| R::nonblocking_in_process(comm, op, reducing),
    )?;
    Ok(Finishing::after(finishing, begun))
}

/// The proof that slices which stay where they are fit.
#[inline(always)]
#[allow(unsafe_code)]
fn proven<'a, 'w: 'a, R: Reducer, T>(
    call: Call<'_>,
    slices: Stable<Slices<'a, T>>,
    with: R::With<'w>,
) -> Result<Stable<Reducing<'a, T>>> {
    let share = R::share(call.comm, with);
    let prove = |slices| {
        let transfer = R::prove(call, slices, with)?;
        Ok(Reducing { transfer, share })
    };
    // SAFETY: a row makes its proof of the slices and of blocks, and is passed no other elements.
    unsafe { slices.proven(prove) }
}

/// Persistent, on the slices of `buffer`, with what else the program has passed, which is kept for
/// each start where the library has no such function.
pub(crate) fn persistent<M, B, T, O, K, const ONE: bool>(
    comm: &Communicator,
    buffer: B,
    shape: Shape<B, T, ONE>,
    op: O,
    kept: K,
) -> Result<Persistent<B>>
where
    M: Reducer,
    B: Send + 'static,
    T: Pod,
    O: Reduction<T> + Send + 'static,
    K: for<'a> Kept<Lent<'a> = M::With<'a>>,
{
    let kept_again = kept.clone();
    let again = move |comm: &Communicator, slices: Stable<Slices<'_, T>>| {
        begun::<M, _, _>(comm, slices, op, kept_again.lent())
    };
    let init = |mut slices: Stable<Slices<'_, T>>| {
        let with = kept.lent();
        let finishing = Finishing::of(&mut slices, op, comm.peers());
        let finishing = finishing.filter(|_| gets::<M>(comm, with));
        let reducing = proven::<M, _>(Call::new(M::INIT, comm), slices, with);
        let call = call::<M, T, O>(M::INIT, &op, with);
        let made = trial::kept::<M, _>(comm, call, reducing, |comm, reducing| {
            mpi::init::<M::Functions, _, O>(comm, op, reducing)
        })?;
        Ok(made.map(|made| Finishing::after(finishing, made)))
    };
    stable::prepared(comm, M::INIT_ROLE, buffer, shape, init, again)
}

/// The rows: what the program passes besides slices and operation, who gets the result, what part
/// of it, what the slices must be, and the functions that do it in process.
macro_rules! reducers {
    ($($reducer:ty: $functions:ident($with:pat in $type:ty) root($root:expr) share(|$c:pat_param| $share:expr)
       prove(|$call:ident, $send:ident, $recv:ident| $prove:expr)
       $(in_place $one:ident($prove_in_place:expr))?
       in_process($blocking:ident, $nonblocking:ident);)*) => { $(
        $(impl $one for $reducer {})?

        impl Reducer for $reducer {
            type Functions = functions::$functions;
            type With<'a> = $type;

            #[inline(always)]
            #[allow(unused_variables, reason = "not all have a root")]
            fn root($with: Self::With<'_>) -> Option<usize> {
                $root
            }

            #[inline(always)]
            #[allow(unused_variables, reason = "not all have blocks")]
            fn share<'a>($c: &Communicator, $with: Self::With<'a>) -> Share<'a> {
                $share
            }

            #[inline(always)]
            fn prove<'a, 'w: 'a, T>(
                $call: Call<'_>,
                slices: Slices<'a, T>,
                $with: Self::With<'w>,
            ) -> Result<Transfer<'a, T>> {
                let $recv = slices.recv;
                $(if slices.send.is_none() {
                    return $prove_in_place;
                })?
                let $send = slices.send.unwrap_or_default();
                $prove
            }

            fn in_process<T: Pod, O: Reduction<T>>(
                comm: &InProcessComm,
                op: &O,
                reducing: Reducing<'_, T>,
            ) -> Result<()> {
                in_process::$blocking(comm, op, reducing)
            }

            fn nonblocking_in_process<T: Pod, O: Reduction<T> + Send + 'static>(
                comm: &InProcessComm,
                op: O,
                reducing: Stable<Reducing<'_, T>>,
            ) -> Result<StartedOp> {
                in_process::$nonblocking(comm, op, reducing)
            }
        }
    )* };
}

reducers! {
    functions::Reduce: Reduce(root in usize)
        root(Some(root)) share(|_| Share::Whole)
        prove(|call, send, recv| Transfer::to_root(call, send, recv, root))
        in_place OneSlice(Transfer::in_place_to_root(call, recv, root))
        in_process(reduce, ireduce);
    functions::Allreduce: Allreduce(() in ())
        root(None) share(|_| Share::Whole)
        prove(|call, send, recv| Transfer::equal(call.operation, send, recv))
        in_place OneSlice(Ok(Transfer::in_place(call.operation, recv)))
        in_process(allreduce, iallreduce);
    functions::Scan: Scan(() in ())
        root(None) share(|_| Share::Whole)
        prove(|call, send, recv| Transfer::equal(call.operation, send, recv))
        in_place OneSlice(Ok(Transfer::in_place(call.operation, recv)))
        in_process(scan, iscan);
    functions::Exscan: Exscan(() in ())
        root(None) share(|_| Share::Whole)
        prove(|call, send, recv| Transfer::equal(call.operation, send, recv))
        in_place OneSlice(Ok(Transfer::in_place(call.operation, recv)))
        in_process(exscan, iexscan);
    functions::ReduceScatterBlock: ReduceScatterBlock(() in ())
        root(None) share(|comm| Share::Block { ranks: comm.size() })
        prove(|call, send, recv| Transfer::scattered(call, send, recv))
        in_place OneSlice(Transfer::blocks_in_place(call, recv))
        in_process(reduce_scatter, ireduce_scatter);
    functions::ReduceScatter: ReduceScatter(blocks in &'a Blocks)
        root(None) share(|_| Share::Counts(blocks))
        prove(|call, send, recv| Transfer::dealt(call, send, recv, blocks))
        in_place OneSlice(Transfer::dealt_in_place(call, recv, blocks))
        in_process(reduce_scatter, ireduce_scatter);
    BetweenGroups<functions::Allreduce>: Allreduce(() in ())
        root(None) share(|_| Share::Whole)
        prove(|call, send, recv| {
            must_fit(call)?;
            Transfer::equal(call.operation, send, recv)
        })
        in_process(allreduce_between, iallreduce);
}
