//! Counts calls of MPI as profiling tools do: it defines the functions, and forwards each to its
//! `PMPI_` twin.
//!
//! It is preloaded, links no MPI, and finds the twins in the global scope when they are first
//! needed. At `MPI_Finalize` each process writes a file with its counts into the folder that
//! `PMPI_COUNTER_FOLDER` names.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use ranks_load::Library;

use super::Handle;

/// Where a status is written; its form is the library's business.
type Status = *mut c_void;

/// What is returned where the library has no such function: no MPI has a code like this.
const NO_SUCH_FUNCTION: c_int = c_int::MAX;

/// The address of a function of the library; null if it has none.
fn twin(name: &CStr) -> *mut c_void {
    Library::in_process(name)
        .and_then(|library| library.own_symbol(name))
        .map_or(std::ptr::null_mut(), |address| address.as_ptr())
}

/// Each line becomes a function of that name that counts and forwards, and a line of [`counts`].
macro_rules! counted {
    ($($name:ident = $twin:literal ($($argument:ident: $type:ty),*);)*) => {
        $(
            /// Counts, and calls the library's.
            ///
            /// # Safety
            /// As the library's.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, clippy::too_many_arguments, reason = "the names and the arguments are MPI's")]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                counter::$name.fetch_add(1, Ordering::Relaxed);
                let twin = twin($twin);
                if twin.is_null() {
                    return NO_SUCH_FUNCTION;
                }
                // SAFETY: the function of that name has this type in every library with such
                // handles.
                let twin: unsafe extern "C" fn($($type),*) -> c_int = unsafe { std::mem::transmute(twin) };
                // SAFETY: the arguments are the caller's own, who keeps the contract.
                unsafe { twin($($argument),*) }
            }
        )*

        #[allow(non_upper_case_globals, reason = "a counter has the name of its function")]
        mod counter {
            use super::AtomicUsize;
            $(pub(super) static $name: AtomicUsize = AtomicUsize::new(0);)*
        }

        /// Name and count of each function that was called, a line each.
        fn counts() -> String {
            let mut text = String::new();
            $(
                let count = counter::$name.load(Ordering::Relaxed);
                if count > 0 {
                    let _ = writeln!(text, "{} {count}", stringify!($name));
                }
            )*
            text
        }
    };
}

counted! {
    MPI_Init = c"PMPI_Init" (argc: *mut c_int, argv: *mut *mut *mut c_char);
    MPI_Init_thread = c"PMPI_Init_thread" (argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int);
    MPI_Send = c"PMPI_Send" (data: *const c_void, count: c_int, datatype: Handle, dest: c_int, tag: c_int, comm: Handle);
    MPI_Ssend = c"PMPI_Ssend" (data: *const c_void, count: c_int, datatype: Handle, dest: c_int, tag: c_int, comm: Handle);
    MPI_Recv = c"PMPI_Recv" (data: *mut c_void, count: c_int, datatype: Handle, source: c_int, tag: c_int, comm: Handle, status: Status);
    MPI_Sendrecv = c"PMPI_Sendrecv" (send: *const c_void, sends: c_int, sent: Handle, dest: c_int, send_tag: c_int,
        recv: *mut c_void, recvs: c_int, received: Handle, source: c_int, recv_tag: c_int, comm: Handle, status: Status);
    MPI_Isend = c"PMPI_Isend" (data: *const c_void, count: c_int, datatype: Handle, dest: c_int, tag: c_int, comm: Handle, request: *mut Handle);
    MPI_Wait = c"PMPI_Wait" (request: *mut Handle, status: Status);
    MPI_Iprobe = c"PMPI_Iprobe" (source: c_int, tag: c_int, comm: Handle, flag: *mut c_int, status: Status);
    MPI_Mprobe = c"PMPI_Mprobe" (source: c_int, tag: c_int, comm: Handle, message: *mut Handle, status: Status);
    MPI_Improbe = c"PMPI_Improbe" (source: c_int, tag: c_int, comm: Handle, flag: *mut c_int, message: *mut Handle, status: Status);
    MPI_Mrecv = c"PMPI_Mrecv" (data: *mut c_void, count: c_int, datatype: Handle, message: *mut Handle, status: Status);
    MPI_Barrier = c"PMPI_Barrier" (comm: Handle);
    MPI_Bcast = c"PMPI_Bcast" (data: *mut c_void, count: c_int, datatype: Handle, root: c_int, comm: Handle);
    MPI_Reduce = c"PMPI_Reduce" (send: *const c_void, recv: *mut c_void, count: c_int, datatype: Handle, op: Handle, root: c_int, comm: Handle);
    MPI_Allreduce = c"PMPI_Allreduce" (send: *const c_void, recv: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle);
    MPI_Gather = c"PMPI_Gather" (send: *const c_void, sends: c_int, sent: Handle, recv: *mut c_void, recvs: c_int, received: Handle, root: c_int, comm: Handle);
    MPI_Allgather = c"PMPI_Allgather" (send: *const c_void, sends: c_int, sent: Handle, recv: *mut c_void, recvs: c_int, received: Handle, comm: Handle);
    MPI_Scatter = c"PMPI_Scatter" (send: *const c_void, sends: c_int, sent: Handle, recv: *mut c_void, recvs: c_int, received: Handle, root: c_int, comm: Handle);
    MPI_Alltoall = c"PMPI_Alltoall" (send: *const c_void, sends: c_int, sent: Handle, recv: *mut c_void, recvs: c_int, received: Handle, comm: Handle);
    MPI_Comm_dup = c"PMPI_Comm_dup" (comm: Handle, new: *mut Handle);
    MPI_Comm_split = c"PMPI_Comm_split" (comm: Handle, color: c_int, key: c_int, new: *mut Handle);
    MPI_Comm_free = c"PMPI_Comm_free" (comm: *mut Handle);
}

/// Writes down what was counted, and calls the library's.
///
/// # Safety
/// As the library's.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is MPI's")]
pub unsafe extern "C" fn MPI_Finalize() -> c_int {
    if let Some(folder) = std::env::var_os("PMPI_COUNTER_FOLDER") {
        let file = Path::new(&folder).join(std::process::id().to_string());
        if let Err(error) = fs::write(&file, format!("{}MPI_Finalize 1\n", counts())) {
            eprintln!("pmpi-counter: {}: {error}", file.display());
        }
    }
    let twin = twin(c"PMPI_Finalize");
    if twin.is_null() {
        return NO_SUCH_FUNCTION;
    }
    // SAFETY: the function has this type in every library.
    let twin: unsafe extern "C" fn() -> c_int = unsafe { std::mem::transmute(twin) };
    // SAFETY: the caller keeps the contract.
    unsafe { twin() }
}
