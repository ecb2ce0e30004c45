//! Operations that move elements: each is described once, in the table at the end; what is done in
//! each form is written once for all.

use bytemuck::Pod;
use ranks_comm::backend::{InProcessComm, MpiComm, StartedOp, TypeOf};
use ranks_comm::record::{self, Kind, Recorded};
use ranks_comm::{Communicator, Neighborhood, Persistent, Result};

use crate::agreement::{CallSignature, begin};
use crate::arguments::blocks::Blocks;
use crate::arguments::call::Call;
use crate::arguments::crossing::{Crossing, RootGroup};
use crate::arguments::kept::Kept;
use crate::arguments::layouts::{Layouts, Pattern};
use crate::arguments::neighbors::Trade;
use crate::arguments::proven::{Movable, Proven};
use crate::arguments::transfer::Transfer;
use crate::arguments::varying::{Exchange, Gathering, Scattering};
use crate::in_flight::stable::{self, Shape, Slices, Stable};
use crate::mpi::functions::{self, Moves, Named};
use crate::operation::between_groups::BetweenGroups;
use crate::operation::trial::{self, Tried};
use crate::operation::with_deadline::carry_out_in_time;
use crate::{in_process, mpi};

/// One operation that moves elements.
pub(crate) trait Mover: Named + Tried + 'static {
    /// The arguments besides slices: a root, blocks, layouts, neighbours.
    type With<'a>: Copy;
    /// Slices that were proven to fit.
    type Proven<'a, T: Pod>: Movable<'a>;

    /// Proves that the slices fit.
    fn prove<'a, 'w: 'a, T: Pod>(
        call: Call<'_>,
        slices: Slices<'a, T>,
        with: Self::With<'w>,
    ) -> Result<Self::Proven<'a, T>>;

    /// The rank that sends or receives all.
    fn root(with: Self::With<'_>) -> Option<usize>;

    fn over_mpi<T: Pod>(comm: &MpiComm, proven: Self::Proven<'_, T>) -> Result<()>;

    fn nonblocking_over_mpi<T: Pod>(
        comm: &MpiComm,
        proven: Stable<Self::Proven<'_, T>>,
    ) -> Result<StartedOp>;

    fn init_over_mpi<T: Pod>(
        comm: &MpiComm,
        proven: Stable<Self::Proven<'_, T>>,
    ) -> Result<Option<StartedOp>>;

    fn in_process<T: Pod>(comm: &InProcessComm, proven: Self::Proven<'_, T>) -> Result<()>;

    fn nonblocking_in_process<T: Pod>(
        comm: &InProcessComm,
        proven: Stable<Self::Proven<'_, T>>,
    ) -> Result<StartedOp>;
}

/// An operation that moves or combines elements within one slice: one with a form in place, or a
/// broadcast.
pub(crate) trait OneSlice {}

impl OneSlice for functions::Bcast {}
impl OneSlice for BetweenGroups<functions::Bcast> {}

/// Blocking, in one slice.
#[inline]
pub(crate) fn moved_in_place<M: Mover + OneSlice, T: Pod>(
    comm: &Communicator,
    data: &mut [T],
    with: M::With<'_>,
) -> Result<()> {
    moved::<M, T>(comm, None, data, with)
}

/// Blocking.
#[inline(always)]
pub(crate) fn moved<M: Mover, T: Pod>(
    comm: &Communicator,
    send: Option<&[T]>,
    recv: &mut [T],
    with: M::With<'_>,
) -> Result<()> {
    let Some(over) = comm.fast_path_collective(1) else {
        return slow_path::<M, T>(comm, send, recv, with);
    };
    let proven = M::prove(Call::new(M::BLOCKING, comm), Slices { send, recv }, with)?;
    let call = call::<M, T>(with).items(proven.elements());
    comm.recorded(over, call)
        .during(|comm| M::over_mpi(comm, proven))
}

/// As [`moved`], of blocks of one length: `block` is as long as one.
#[inline]
pub(crate) fn transferred<M, T: Pod>(
    comm: &Communicator,
    block: usize,
    send: &[T],
    recv: &mut [T],
    with: M::With<'_>,
) -> Result<()>
where
    M: Moves + for<'a> Mover<Proven<'a, T> = Transfer<'a, T>>,
{
    let Some(over) = comm.fast_path_collective(block * TypeOf::<T>::items()) else {
        return slow_path::<M, T>(comm, Some(send), recv, with);
    };
    let slices = Slices::between(send, recv);
    let transfer = M::prove(Call::new(M::BLOCKING, comm), slices, with)?;
    let call = call::<M, T>(with).count_u32(block);
    mpi::transfers::small::<M, T>(comm.recorded(over, call), transfer)
}

/// As [`moved`], of blocks of different lengths: `block` is as long as that of this rank. `small`
/// calls the function with their `ints`, if those are there.
#[inline(always)]
pub(crate) fn transferred_by<M: Mover, T: Pod, I>(
    comm: &Communicator,
    block: usize,
    (send, recv): (&[T], &mut [T]),
    with: M::With<'_>,
    ints: Option<I>,
    small: impl FnOnce(Recorded<'_, MpiComm>, I, M::Proven<'_, T>) -> Result<()>,
) -> Result<()> {
    if let Some(ints) = ints
        && let Some(over) = comm.fast_path_collective(1)
    {
        let slices = Slices::between(send, recv);
        let proven = M::prove(Call::new(M::BLOCKING, comm), slices, with)?;
        let call = call::<M, T>(with).count_u32(block);
        return small(comm.recorded(over, call), ints, proven);
    }
    slow_path::<M, T>(comm, Some(send), recv, with)
}

/// The blocking call, as it is recorded.
#[inline(always)]
fn call<M: Mover, T>(with: M::With<'_>) -> record::Call {
    match M::root(with) {
        None => record::Call::of(const { &Kind::moving::<T>(M::BLOCKING) }),
        Some(root) => {
            record::Call::of(const { &Kind::moving::<T>(M::BLOCKING).rooted() }).root(root)
        }
    }
}

/// Takes the arguments one by one, so that nothing need be built in memory before it is called.
#[cold]
#[inline(never)]
pub(crate) fn slow_path<M: Mover, T: Pod>(
    comm: &Communicator,
    send: Option<&[T]>,
    recv: &mut [T],
    with: M::With<'_>,
) -> Result<()> {
    carry_out_in_time(
        comm,
        CallSignature::moving::<T>(M::BLOCKING).rooted(M::root(with)),
        M::prove(Call::new(M::BLOCKING, comm), Slices { send, recv }, with),
        M::over_mpi::<T>,
        Some((M::NONBLOCKING_ROLE, M::nonblocking_over_mpi::<T>)),
        M::in_process::<T>,
    )
}

/// Nonblocking.
#[inline]
pub(crate) fn begun<M: Mover, T: Pod>(
    comm: &Communicator,
    slices: Stable<Slices<'_, T>>,
    with: M::With<'_>,
) -> Result<StartedOp> {
    let root = M::root(with);
    let kind = match root {
        None => const { &Kind::moving::<T>(M::NONBLOCKING) },
        Some(_) => const { &Kind::moving::<T>(M::NONBLOCKING).rooted() },
    };
    begin(
        comm,
        kind,
        root,
        false,
        || proven::<M, T>(Call::new(M::NONBLOCKING, comm), slices, with),
        M::nonblocking_over_mpi::<T>,
        M::nonblocking_in_process::<T>,
    )
}

/// The proof that slices which stay where they are fit.
#[inline(always)]
#[allow(unsafe_code)]
fn proven<'a, 'w: 'a, M: Mover, T: Pod>(
    call: Call<'_>,
    slices: Stable<Slices<'a, T>>,
    with: M::With<'w>,
) -> Result<Stable<M::Proven<'a, T>>> {
    // SAFETY: a row makes its proof of the slices and of divisions, and is passed no other
    // elements.
    unsafe { slices.proven(|slices| M::prove(call, slices, with)) }
}

/// Persistent, on the slices of `buffer`, with what else the program has passed, which is kept for
/// each start where the library has no such function.
pub(crate) fn persistent<M, B, T, K, const ONE: bool>(
    comm: &Communicator,
    buffer: B,
    shape: Shape<B, T, ONE>,
    kept: K,
) -> Result<Persistent<B>>
where
    M: Mover,
    B: Send + 'static,
    T: Pod,
    K: for<'a> Kept<Lent<'a> = M::With<'a>>,
{
    let kept_again = kept.clone();
    let again = move |comm: &Communicator, slices: Stable<Slices<'_, T>>| {
        begun::<M, T>(comm, slices, kept_again.lent())
    };
    let init = |slices: Stable<Slices<'_, T>>| {
        let with = kept.lent();
        let proven = proven::<M, T>(Call::new(M::INIT, comm), slices, with);
        let call = CallSignature::moving::<T>(M::INIT).rooted(M::root(with));
        trial::kept::<M, _>(comm, call, proven, M::init_over_mpi::<T>)
    };
    stable::prepared(comm, M::INIT_ROLE, buffer, shape, init, again)
}

/// The rows: what the program passes besides slices, the root among it, what is proven of the
/// slices, or of the one slice in place, and the functions that do it, by the module over MPI and
/// by name in process.
macro_rules! movers {
    ($($mover:ty: ($with:pat in $type:ty) root($root:expr)
       prove($proven:ident, |$call:ident, $send:pat_param, $recv:ident| $prove:expr)
       $(in_place $one:ident($prove_in_place:expr))?
       mpi($module:ident $(::<$functions:ident>)?) in_process($blocking:ident, $nonblocking:ident);)*) => { $(
        $(impl $one for $mover {})?

        impl Mover for $mover {
            type With<'a> = $type;
            type Proven<'a, T: Pod> = $proven<'a, T>;

            #[inline(always)]
            fn prove<'a, 'w: 'a, T: Pod>(
                $call: Call<'_>,
                slices: Slices<'a, T>,
                $with: Self::With<'w>,
            ) -> Result<$proven<'a, T>> {
                let $recv = slices.recv;
                $(if slices.send.is_none() {
                    return $prove_in_place;
                })?
                let $send = slices.send.unwrap_or_default();
                $prove
            }

            #[inline(always)]
            #[allow(unused_variables, reason = "not all have a root")]
            fn root($with: Self::With<'_>) -> Option<usize> {
                $root
            }

            #[inline]
            fn over_mpi<T: Pod>(comm: &MpiComm, proven: $proven<'_, T>) -> Result<()> {
                mpi::$module::blocking::<$(functions::$functions,)? T>(comm, proven)
            }

            #[inline]
            fn nonblocking_over_mpi<T: Pod>(
                comm: &MpiComm,
                proven: Stable<$proven<'_, T>>,
            ) -> Result<StartedOp> {
                mpi::$module::nonblocking::<$(functions::$functions,)? T>(comm, proven)
            }

            fn init_over_mpi<T: Pod>(
                comm: &MpiComm,
                proven: Stable<$proven<'_, T>>,
            ) -> Result<Option<StartedOp>> {
                mpi::$module::init::<$(functions::$functions,)? T>(comm, proven)
            }

            fn in_process<T: Pod>(comm: &InProcessComm, proven: $proven<'_, T>) -> Result<()> {
                in_process::$blocking(comm, proven)
            }

            fn nonblocking_in_process<T: Pod>(
                comm: &InProcessComm,
                proven: Stable<$proven<'_, T>>,
            ) -> Result<StartedOp> {
                in_process::$nonblocking(comm, proven)
            }
        }
    )* };
}

/// Slices and layouts among neighbours.
type LaidOut<'a, T> = Trade<'a, T, &'a Layouts>;

movers! {
    functions::Bcast: (root in usize) root(Some(root))
        prove(Transfer, |call, _, recv| Transfer::broadcast(call, recv, root))
        mpi(transfers::<Bcast>) in_process(bcast, ibcast);
    functions::Gather: (root in usize) root(Some(root))
        prove(Transfer, |call, send, recv| Transfer::gathered_at(call, send, recv, root))
        in_place OneSlice(Transfer::gathered_in_place(call, recv, root))
        mpi(transfers::<Gather>) in_process(gather, igather);
    functions::Scatter: (root in usize) root(Some(root))
        prove(Transfer, |call, send, recv| Transfer::scattered_from(call, send, recv, root))
        in_place OneSlice(Transfer::scattered_in_place(call, recv, root))
        mpi(transfers::<Scatter>) in_process(scatter, iscatter);
    functions::Allgather: (() in ()) root(None)
        prove(Transfer, |call, send, recv| Transfer::gathered(call, send, recv))
        in_place OneSlice(Transfer::blocks_in_place(call, recv))
        mpi(transfers::<Allgather>) in_process(allgather, iallgather);
    functions::Alltoall: (() in ()) root(None)
        prove(Transfer, |call, send, recv| Transfer::exchanged(call, send, recv))
        in_place OneSlice(Transfer::blocks_in_place(call, recv))
        mpi(transfers::<Alltoall>) in_process(alltoall, ialltoall);

    functions::Gatherv: ((blocks, root) in (&'a Blocks, usize)) root(Some(root))
        prove(Gathering, |call, send, recv| Gathering::at(call, send, recv, blocks, root))
        in_place OneSlice(Gathering::in_place_at(call, recv, blocks, root))
        mpi(gatherings::<Gatherv>) in_process(gather, igather);
    functions::Scatterv: ((blocks, root) in (&'a Blocks, usize)) root(Some(root))
        prove(Scattering, |call, send, recv| Scattering::from(call, send, recv, blocks, root))
        in_place OneSlice(Scattering::in_place_from(call, recv, blocks, root))
        mpi(scatterings) in_process(scatter, iscatter);
    functions::Allgatherv: (blocks in &'a Blocks) root(None)
        prove(Gathering, |call, send, recv| Gathering::new(call, send, recv, blocks))
        in_place OneSlice(Gathering::in_place(call, recv, blocks))
        mpi(gatherings::<Allgatherv>) in_process(allgatherv, iallgather);
    functions::Alltoallv: ((here, there) in (&'a Blocks, &'a Blocks)) root(None)
        prove(Exchange, |call, send, recv| Exchange::new(call, (send, here), (recv, there)))
        in_place OneSlice(Exchange::in_place(call, recv, there))
        mpi(exchanges) in_process(alltoallv, ialltoall);
    functions::Alltoallw: ((here, there) in (&'a Layouts, &'a Layouts)) root(None)
        prove(Pattern, |call, send, recv| Pattern::among_all(call, (send, here), (recv, there)))
        mpi(layouts::<Alltoallw>) in_process(alltoallw, ialltoallw);

    BetweenGroups<functions::Bcast>: (root in RootGroup) root(None)
        prove(Crossing, |call, _, recv| Crossing::from_root(call, recv, root))
        mpi(intercommunicators::<Bcast>) in_process(bcast_between, ibcast_between);
    BetweenGroups<functions::Allgather>: (() in ()) root(None)
        prove(Crossing, |call, send, recv| Crossing::gathered(call, send, recv))
        mpi(intercommunicators::<Allgather>) in_process(allgather_between, iallgather_between);

    functions::NeighborAllgather: (around in &'a dyn Neighborhood) root(None)
        prove(Trade, |call, send, recv| Trade::gathered(call.operation, around, send, recv))
        mpi(neighbors::<NeighborAllgather>) in_process(neighbor_exchange, ineighbor_exchange);
    functions::NeighborAllgatherv: ((around, blocks) in (&'a dyn Neighborhood, &'a Blocks)) root(None)
        prove(Trade, |call, send, recv| Trade::gathered_into(call.operation, around, send, (recv, blocks)))
        mpi(neighbors::<NeighborAllgatherv>) in_process(neighbor_exchange, ineighbor_exchange);
    functions::NeighborAlltoall: (around in &'a dyn Neighborhood) root(None)
        prove(Trade, |call, send, recv| Trade::exchanged(call.operation, around, send, recv))
        mpi(neighbors::<NeighborAlltoallv>) in_process(neighbor_exchange, ineighbor_exchange);
    functions::NeighborAlltoallv: ((around, here, there) in (&'a dyn Neighborhood, &'a Blocks, &'a Blocks)) root(None)
        prove(Trade, |call, send, recv| Trade::exchanged_into(call.operation, around, (send, here), (recv, there)))
        mpi(neighbors::<NeighborAlltoallv>) in_process(neighbor_exchange, ineighbor_exchange);
    functions::NeighborAlltoallw: ((around, here, there) in (&'a dyn Neighborhood, &'a Layouts, &'a Layouts)) root(None)
        prove(LaidOut, |call, send, recv| Trade::laid_out(call.operation, around, (send, here), (recv, there)))
        mpi(layouts::<NeighborAlltoallw>) in_process(neighbor_alltoallw, ineighbor_alltoallw);
}
