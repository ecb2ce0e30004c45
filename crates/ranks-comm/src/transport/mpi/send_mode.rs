//! The modes of sends: one row a mode, with its C functions.

use std::ffi::{c_int, c_void};

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Comm, MPI_Count, MPI_Datatype, MPI_Request, native};

use super::pending_op::Cell;
use crate::call::record::Kind;
use crate::data::raw_slice::OpInfo;

/// The mode of a send, which defines its completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendMode {
    /// Complete when the buffer may be reused.
    Standard,
    /// Complete when the matching receive has started.
    Synchronous,
    /// Complete immediately, through the attached buffer.
    Buffered,
    /// As standard; the caller guarantees that the receive was posted before.
    Ready,
}

/// The functions of one mode: with `int`s and handles in the library's own form, or with large
/// counts.
pub(crate) struct Functions {
    pub(crate) blocking:
        unsafe fn(*const c_void, c_int, native::Datatype, c_int, c_int, native::Comm) -> c_int,
    pub(crate) blocking_c:
        unsafe fn(*const c_void, MPI_Count, MPI_Datatype, c_int, c_int, MPI_Comm) -> c_int,
    pub(crate) nonblocking: unsafe fn(
        *const c_void,
        c_int,
        native::Datatype,
        c_int,
        c_int,
        native::Comm,
        *mut Cell,
    ) -> c_int,
    pub(crate) nonblocking_c: LargeRequest,
    pub(crate) init_c: LargeRequest,
}

/// A function with large counts that makes a request.
type LargeRequest = unsafe fn(
    *const c_void,
    MPI_Count,
    MPI_Datatype,
    c_int,
    c_int,
    MPI_Comm,
    *mut MPI_Request,
) -> c_int;

macro_rules! modes {
    ($($mode:ident: $blocking:ident $blocking_c:ident, $nonblocking:ident $nonblocking_c:ident, $init:ident $init_c:ident;)*) => {
        impl SendMode {
            /// By value, so that a mode that is known when this is compiled costs no load.
            #[inline(always)]
            pub(crate) fn functions(self) -> Functions {
                match self {
                    $(Self::$mode => Functions {
                        blocking: native::$blocking,
                        blocking_c: sys::$blocking_c,
                        nonblocking: native::$nonblocking,
                        nonblocking_c: sys::$nonblocking_c,
                        init_c: sys::$init_c,
                    },)*
                }
            }

            /// The C name of the blocking send.
            #[inline(always)]
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$mode => stringify!($blocking),)*
                }
            }

            /// That of the nonblocking one, for its request.
            #[inline(always)]
            pub(crate) fn role(self) -> &'static OpInfo {
                match self {
                    $(Self::$mode => const { &OpInfo::of(stringify!($nonblocking)) },)*
                }
            }

            /// That of the persistent one.
            pub(crate) fn init_role(self) -> &'static OpInfo {
                match self {
                    $(Self::$mode => const { &OpInfo::of(stringify!($init)) },)*
                }
            }

            /// Returns the record of a blocking send of elements.
            #[inline(always)]
            pub(crate) fn kind<T>(self) -> &'static Kind {
                match self {
                    $(Self::$mode => const { &Kind::message::<T>(stringify!($blocking)) },)*
                }
            }

            /// Returns the record of a nonblocking send of elements.
            #[inline(always)]
            pub(crate) fn nonblocking_kind<T>(self) -> &'static Kind {
                match self {
                    $(Self::$mode => const { &Kind::message::<T>(stringify!($nonblocking)) },)*
                }
            }
        }
    };
}

modes! {
    Standard: MPI_Send MPI_Send_c, MPI_Isend MPI_Isend_c, MPI_Send_init MPI_Send_init_c;
    Synchronous: MPI_Ssend MPI_Ssend_c, MPI_Issend MPI_Issend_c, MPI_Ssend_init MPI_Ssend_init_c;
    Buffered: MPI_Bsend MPI_Bsend_c, MPI_Ibsend MPI_Ibsend_c, MPI_Bsend_init MPI_Bsend_init_c;
    Ready: MPI_Rsend MPI_Rsend_c, MPI_Irsend MPI_Irsend_c, MPI_Rsend_init MPI_Rsend_init_c;
}
