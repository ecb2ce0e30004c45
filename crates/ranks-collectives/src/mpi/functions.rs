//! The C functions of the collectives: one row an operation, its arguments in the order of the
//! standard.
//!
//! All six functions of an operation take the same arguments. After them comes the communicator,
//! and what the form adds: nothing for a blocking call, a request for a nonblocking one, an info
//! and a request for a persistent one.

use std::ffi::{c_int, c_void};
use std::ptr;

use bytemuck::Pod;
use ranks_comm::backend::{OpInfo, TypeOf};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::native::{self, DatatypeWord};
use ranks_mpi_sys::{MPI_Aint, MPI_Comm, MPI_Count, MPI_Datatype, MPI_Op, MPI_Request};

use super::begun::Cell;
use super::pointer::{recv_pointer, send_pointer, standard_recv_pointer, standard_send_pointer};

/// The types of the numbers and handles of a function.
pub(crate) trait Abi: 'static {
    type Count: Copy + Default + Send + Sync;
    type Displacement: Copy + Send + Sync;
    type Datatype: Copy;
    type Op: Copy;

    /// The address of what is sent; `None` is `MPI_IN_PLACE`.
    fn send<T>(slice: Option<&[T]>) -> *const c_void {
        standard_send_pointer(slice)
    }

    /// The address of what is received; `None` is `MPI_IN_PLACE`.
    fn recv<T>(slice: Option<&mut [T]>) -> *mut c_void {
        standard_recv_pointer(slice)
    }

    fn datatype<T: Pod>() -> Self::Datatype;

    /// So many elements in items of their datatype, which a `Count` can say, as the caller knows.
    fn count<T: Pod>(elements: usize) -> Self::Count;
}

/// `int`s, and handles in the library's own form.
pub(crate) enum Native {}

/// `int`s, and handles of the standard.
pub(crate) enum Standard {}

/// `MPI_Count`s, and handles of the standard.
pub(crate) enum Large {}

impl Abi for Native {
    type Count = c_int;
    type Displacement = c_int;
    type Datatype = native::Datatype;
    type Op = native::Op;

    #[inline(always)]
    fn send<T>(slice: Option<&[T]>) -> *const c_void {
        send_pointer(slice)
    }

    #[inline(always)]
    fn recv<T>(slice: Option<&mut [T]>) -> *mut c_void {
        recv_pointer(slice)
    }

    #[inline(always)]
    fn datatype<T: Pod>() -> native::Datatype {
        // SAFETY: the library is loaded: this is called by operations on a `Comm` only.
        unsafe { native::datatype(TypeOf::<T>::datatype()) }
    }

    #[inline(always)]
    fn count<T: Pod>(elements: usize) -> c_int {
        TypeOf::<T>::count(elements)
    }
}

impl Abi for Standard {
    type Count = c_int;
    type Displacement = c_int;
    type Datatype = MPI_Datatype;
    type Op = MPI_Op;

    fn datatype<T: Pod>() -> MPI_Datatype {
        TypeOf::<T>::datatype()
    }

    fn count<T: Pod>(elements: usize) -> c_int {
        TypeOf::<T>::count(elements)
    }
}

impl Abi for Large {
    type Count = MPI_Count;
    type Displacement = MPI_Aint;
    type Datatype = MPI_Datatype;
    type Op = MPI_Op;

    fn datatype<T: Pod>() -> MPI_Datatype {
        TypeOf::<T>::datatype()
    }

    fn count<T: Pod>(elements: usize) -> MPI_Count {
        // What is more than any slice has is a rank's that has no such slice, and not significant
        // there.
        MPI_Count::try_from(elements.saturating_mul(TypeOf::<T>::items())).unwrap_or(MPI_Count::MAX)
    }
}

impl Large {
    /// So many elements from the beginning of a slice, in items of their datatype.
    pub(super) fn displacement<T: Pod>(elements: usize) -> MPI_Aint {
        MPI_Aint::try_from(Self::count::<T>(elements)).unwrap_or(MPI_Aint::MAX)
    }
}

/// The arguments of a function that moves elements. Which of them it takes is said by its row.
pub(crate) struct Moved<A: Abi> {
    pub(super) send: *const c_void,
    pub(super) send_count: A::Count,
    pub(super) send_counts: *const A::Count,
    pub(super) send_displacements: *const A::Displacement,
    pub(super) recv: *mut c_void,
    pub(super) recv_count: A::Count,
    pub(super) recv_counts: *const A::Count,
    pub(super) recv_displacements: *const A::Displacement,
    pub(super) datatype: A::Datatype,
    pub(super) root: c_int,
}

impl<A: Abi> Moved<A> {
    /// No elements, from one slice to another.
    #[inline(always)]
    pub(super) fn between<T: Pod>(send: Option<&[T]>, recv: Option<&mut [T]>) -> Self {
        Self {
            send: A::send(send),
            send_count: A::Count::default(),
            send_counts: ptr::null(),
            send_displacements: ptr::null(),
            recv: A::recv(recv),
            recv_count: A::Count::default(),
            recv_counts: ptr::null(),
            recv_displacements: ptr::null(),
            datatype: A::datatype::<T>(),
            root: 0,
        }
    }
}

/// The arguments of a function that combines elements.
pub(crate) struct Reduced<A: Abi> {
    pub(super) send: *const c_void,
    pub(super) recv: *mut c_void,
    pub(super) count: A::Count,
    pub(super) counts: *const A::Count,
    pub(super) datatype: A::Datatype,
    pub(super) op: A::Op,
    pub(super) root: c_int,
}

/// Returns `true` if the library itself has the function of that C name.
pub(super) fn is_in_library(name: &str) -> bool {
    sys::function(name).is_some_and(sys::Function::is_in_library)
}

/// The C names of an operation.
pub(crate) trait Named {
    const BLOCKING: &'static str;
    const NONBLOCKING: &'static str;
    const INIT: &'static str;

    /// As its nonblocking form is recorded.
    const NONBLOCKING_ROLE: &'static OpInfo = &OpInfo::of(Self::NONBLOCKING);
    /// As its persistent form is recorded.
    const INIT_ROLE: &'static OpInfo = &OpInfo::of(Self::INIT);
}

macro_rules! named {
    ($operation:ident: $blocking:ident, $nonblocking:ident, $init:ident;) => {
        #[doc = concat!("`", stringify!($blocking), "`.")]
        pub(crate) enum $operation {}

        impl Named for $operation {
            const BLOCKING: &'static str = stringify!($blocking);
            const NONBLOCKING: &'static str = stringify!($nonblocking);
            const INIT: &'static str = stringify!($init);
        }
    };
}

macro_rules! functions {
    ($(#[$family:meta])* $trait:ident($arguments:ident) { $($operation:ident($($argument:ident),*):
       $blocking:ident $blocking_c:ident, $nonblocking:ident $nonblocking_c:ident, $init:ident $init_c:ident;)* }) => {
        $(#[$family])*
        ///
        /// # Safety
        /// Each function has the contract of the C function of its name: the pointers are good for
        /// what the counts say, from the call until the operation is complete or freed, and the
        /// communicator is alive.
        pub(crate) trait $trait: Named {
            const BLOCKING_C: &'static str;
            const NONBLOCKING_C: &'static str;
            const INIT_C: &'static str;

            unsafe fn blocking(with: $arguments<Native>, comm: native::Comm) -> c_int;
            unsafe fn blocking_c(with: $arguments<Large>, comm: MPI_Comm) -> c_int;
            unsafe fn nonblocking(with: $arguments<Native>, comm: native::Comm, request: *mut Cell) -> c_int;
            unsafe fn nonblocking_c(with: $arguments<Large>, comm: MPI_Comm, request: *mut MPI_Request) -> c_int;
            unsafe fn init(with: $arguments<Standard>, comm: MPI_Comm, request: *mut MPI_Request) -> c_int;
            unsafe fn init_c(with: $arguments<Large>, comm: MPI_Comm, request: *mut MPI_Request) -> c_int;
        }

        $(
            named! { $operation: $blocking, $nonblocking, $init; }

            impl $trait for $operation {
                const BLOCKING_C: &'static str = stringify!($blocking_c);
                const NONBLOCKING_C: &'static str = stringify!($nonblocking_c);
                const INIT_C: &'static str = stringify!($init_c);

                #[inline(always)]
                unsafe fn blocking(with: $arguments<Native>, comm: native::Comm) -> c_int {
                    // SAFETY: the contract of this function.
                    unsafe { native::$blocking($(with.$argument,)* comm) }
                }

                unsafe fn blocking_c(with: $arguments<Large>, comm: MPI_Comm) -> c_int {
                    // SAFETY: the contract of this function.
                    unsafe { sys::$blocking_c($(with.$argument,)* comm) }
                }

                #[inline(always)]
                unsafe fn nonblocking(with: $arguments<Native>, comm: native::Comm, request: *mut Cell) -> c_int {
                    // SAFETY: the contract of this function.
                    unsafe { native::$nonblocking($(with.$argument,)* comm, request) }
                }

                unsafe fn nonblocking_c(with: $arguments<Large>, comm: MPI_Comm, request: *mut MPI_Request) -> c_int {
                    // SAFETY: the contract of this function.
                    unsafe { sys::$nonblocking_c($(with.$argument,)* comm, request) }
                }

                unsafe fn init(with: $arguments<Standard>, comm: MPI_Comm, request: *mut MPI_Request) -> c_int {
                    // SAFETY: the contract of this function.
                    unsafe { sys::$init($(with.$argument,)* comm, sys::MPI_INFO_NULL, request) }
                }

                unsafe fn init_c(with: $arguments<Large>, comm: MPI_Comm, request: *mut MPI_Request) -> c_int {
                    // SAFETY: the contract of this function.
                    unsafe { sys::$init_c($(with.$argument,)* comm, sys::MPI_INFO_NULL, request) }
                }
            }
        )*
    };
}

functions! {
    /// The functions of an operation that moves elements.
    Moves(Moved) {
        Bcast(recv, recv_count, datatype, root):
            MPI_Bcast MPI_Bcast_c, MPI_Ibcast MPI_Ibcast_c, MPI_Bcast_init MPI_Bcast_init_c;
        Gather(send, send_count, datatype, recv, recv_count, datatype, root):
            MPI_Gather MPI_Gather_c, MPI_Igather MPI_Igather_c, MPI_Gather_init MPI_Gather_init_c;
        Gatherv(send, send_count, datatype, recv, recv_counts, recv_displacements, datatype, root):
            MPI_Gatherv MPI_Gatherv_c, MPI_Igatherv MPI_Igatherv_c, MPI_Gatherv_init MPI_Gatherv_init_c;
        Scatter(send, send_count, datatype, recv, recv_count, datatype, root):
            MPI_Scatter MPI_Scatter_c, MPI_Iscatter MPI_Iscatter_c, MPI_Scatter_init MPI_Scatter_init_c;
        Scatterv(send, send_counts, send_displacements, datatype, recv, recv_count, datatype, root):
            MPI_Scatterv MPI_Scatterv_c, MPI_Iscatterv MPI_Iscatterv_c, MPI_Scatterv_init MPI_Scatterv_init_c;
        Allgather(send, send_count, datatype, recv, recv_count, datatype):
            MPI_Allgather MPI_Allgather_c, MPI_Iallgather MPI_Iallgather_c, MPI_Allgather_init MPI_Allgather_init_c;
        Allgatherv(send, send_count, datatype, recv, recv_counts, recv_displacements, datatype):
            MPI_Allgatherv MPI_Allgatherv_c, MPI_Iallgatherv MPI_Iallgatherv_c, MPI_Allgatherv_init MPI_Allgatherv_init_c;
        Alltoall(send, send_count, datatype, recv, recv_count, datatype):
            MPI_Alltoall MPI_Alltoall_c, MPI_Ialltoall MPI_Ialltoall_c, MPI_Alltoall_init MPI_Alltoall_init_c;
        Alltoallv(send, send_counts, send_displacements, datatype, recv, recv_counts, recv_displacements, datatype):
            MPI_Alltoallv MPI_Alltoallv_c, MPI_Ialltoallv MPI_Ialltoallv_c, MPI_Alltoallv_init MPI_Alltoallv_init_c;
        NeighborAllgather(send, send_count, datatype, recv, recv_count, datatype):
            MPI_Neighbor_allgather MPI_Neighbor_allgather_c, MPI_Ineighbor_allgather MPI_Ineighbor_allgather_c,
            MPI_Neighbor_allgather_init MPI_Neighbor_allgather_init_c;
        NeighborAllgatherv(send, send_count, datatype, recv, recv_counts, recv_displacements, datatype):
            MPI_Neighbor_allgatherv MPI_Neighbor_allgatherv_c, MPI_Ineighbor_allgatherv MPI_Ineighbor_allgatherv_c,
            MPI_Neighbor_allgatherv_init MPI_Neighbor_allgatherv_init_c;
        NeighborAlltoall(send, send_count, datatype, recv, recv_count, datatype):
            MPI_Neighbor_alltoall MPI_Neighbor_alltoall_c, MPI_Ineighbor_alltoall MPI_Ineighbor_alltoall_c,
            MPI_Neighbor_alltoall_init MPI_Neighbor_alltoall_init_c;
        NeighborAlltoallv(send, send_counts, send_displacements, datatype, recv, recv_counts, recv_displacements, datatype):
            MPI_Neighbor_alltoallv MPI_Neighbor_alltoallv_c, MPI_Ineighbor_alltoallv MPI_Ineighbor_alltoallv_c,
            MPI_Neighbor_alltoallv_init MPI_Neighbor_alltoallv_init_c;
    }
}

functions! {
    /// The functions of an operation that combines elements.
    Reduces(Reduced) {
        Reduce(send, recv, count, datatype, op, root):
            MPI_Reduce MPI_Reduce_c, MPI_Ireduce MPI_Ireduce_c, MPI_Reduce_init MPI_Reduce_init_c;
        Allreduce(send, recv, count, datatype, op):
            MPI_Allreduce MPI_Allreduce_c, MPI_Iallreduce MPI_Iallreduce_c, MPI_Allreduce_init MPI_Allreduce_init_c;
        Scan(send, recv, count, datatype, op):
            MPI_Scan MPI_Scan_c, MPI_Iscan MPI_Iscan_c, MPI_Scan_init MPI_Scan_init_c;
        Exscan(send, recv, count, datatype, op):
            MPI_Exscan MPI_Exscan_c, MPI_Iexscan MPI_Iexscan_c, MPI_Exscan_init MPI_Exscan_init_c;
        ReduceScatterBlock(send, recv, count, datatype, op):
            MPI_Reduce_scatter_block MPI_Reduce_scatter_block_c, MPI_Ireduce_scatter_block MPI_Ireduce_scatter_block_c,
            MPI_Reduce_scatter_block_init MPI_Reduce_scatter_block_init_c;
        ReduceScatter(send, recv, counts, datatype, op):
            MPI_Reduce_scatter MPI_Reduce_scatter_c, MPI_Ireduce_scatter MPI_Ireduce_scatter_c,
            MPI_Reduce_scatter_init MPI_Reduce_scatter_init_c;
    }
}

/// The arguments of a function that moves parts with a datatype each. Datatypes are in the form in
/// which the function reads them.
pub(crate) struct Exchanged<D, W> {
    pub(super) send: *const c_void,
    pub(super) send_counts: *const c_int,
    pub(super) send_displacements: *const D,
    pub(super) send_types: *const W,
    pub(super) recv: *mut c_void,
    pub(super) recv_counts: *const c_int,
    pub(super) recv_displacements: *const D,
    pub(super) recv_types: *const W,
}

macro_rules! exchanges {
    ($($operation:ident($Displacement:ty): $blocking:ident, $nonblocking:ident, $init:ident;)*) => {
        $(named! { $operation: $blocking, $nonblocking, $init; })*

        /// The functions of an operation that moves parts with a datatype each.
        ///
        /// # Safety
        /// As that of [`Moves`].
        pub(crate) trait Exchanges: Named {
            /// In bytes, of a part.
            type Displacement: Copy + Default + Send + TryFrom<usize> + 'static;

            unsafe fn blocking(with: Exchanged<Self::Displacement, MPI_Datatype>, comm: MPI_Comm) -> c_int;
            unsafe fn nonblocking(
                with: Exchanged<Self::Displacement, DatatypeWord>,
                comm: MPI_Comm,
                request: *mut MPI_Request,
            ) -> c_int;
            unsafe fn init(
                with: Exchanged<Self::Displacement, DatatypeWord>,
                comm: MPI_Comm,
                request: *mut MPI_Request,
            ) -> c_int;
        }

        $(
            impl Exchanges for $operation {
                type Displacement = $Displacement;

                unsafe fn blocking(with: Exchanged<$Displacement, MPI_Datatype>, comm: MPI_Comm) -> c_int {
                    // SAFETY: the contract of this function.
                    unsafe { exchange!($blocking(with) comm) }
                }

                unsafe fn nonblocking(
                    with: Exchanged<$Displacement, DatatypeWord>,
                    comm: MPI_Comm,
                    request: *mut MPI_Request,
                ) -> c_int {
                    // SAFETY: the contract of this function.
                    unsafe { exchange!($nonblocking(with) comm, request) }
                }

                unsafe fn init(
                    with: Exchanged<$Displacement, DatatypeWord>,
                    comm: MPI_Comm,
                    request: *mut MPI_Request,
                ) -> c_int {
                    // SAFETY: the contract of this function.
                    unsafe { exchange!($init(with) comm, sys::MPI_INFO_NULL, request) }
                }
            }
        )*
    };
}

/// A call with these arguments, and what comes after them.
macro_rules! exchange {
    ($function:ident($with:ident) $($after:expr),*) => {
        sys::$function(
            $with.send,
            $with.send_counts,
            $with.send_displacements,
            $with.send_types,
            $with.recv,
            $with.recv_counts,
            $with.recv_displacements,
            $with.recv_types,
            $($after),*
        )
    };
}

exchanges! {
    Alltoallw(c_int): MPI_Alltoallw, MPI_Ialltoallw, MPI_Alltoallw_init;
    NeighborAlltoallw(MPI_Aint):
        MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, MPI_Neighbor_alltoallw_init;
}
