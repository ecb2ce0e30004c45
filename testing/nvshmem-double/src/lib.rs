//! An NVSHMEM over shared memory, for tests: the C functions of `libnvshmem_host.so.3` of 3.8, with
//! its manners.
//!
//! It is loaded by its path alone, and takes CUDA from the file that `NVSHMEM_DOUBLE_CUDA` or
//! `nvshmemDouble_use_cuda` names. What it does lies in `double`, which says how it is made; the
//! functions that it exports, all of its release, lie in `api`, by what they are for, those that
//! are newer than 3.4 apart, so that a sibling can export those of an old release only. Functions
//! named `nvshmemDouble_…` are for tests.
//!
//! What it does as the library does (`README.md` beside the crate says where each was read):
//!
//! * A call before the init or after the end, and a finalize after an init that has failed, end the
//!   process by `exit(-1)`. Without a GPU an init returns 7, in the old release 0, and leaves
//!   status 1. Without a current context the first allocation ends the init.
//! * Each PE has its heap at an address of its own. Fresh memory of it, and memory that was freed,
//!   holds nonsense.
//! * What is put arrives with the next quiet or barrier, or after a while
//!   (`NVSHMEM_DOUBLE_DELAY_US`), the last first; a fence keeps what is before it before what is
//!   behind. An operation with `nbi` reads its source when it arrives. A signal arrives at once,
//!   behind its own data and what a fence was behind. A sync waits for PEs, and for nothing else.
//! * What is on a stream is done when the stream comes to it: sources are read then.
//! * In limited mode (`NVSHMEM_DOUBLE_LIMITED=1`, status 3) what is not allowed there ends the
//!   process.
//!
//! What the library would hang or crash at, or what would corrupt memory, ends the process with a
//! diagnosis by `abort`: a PE or a team that is none, memory that is not in the heap, PEs that call
//! different things (unless `NVSHMEM_DOUBLE_STRICT=0`; then they are counted), and waiting for
//! longer than `NVSHMEM_DOUBLE_PATIENCE` seconds. `NVSHMEM_DOUBLE_FAIL=FUNCTION=CODE` makes a call
//! fail, `nvshmemDouble_fail_next` the next one. `NVSHMEM_DOUBLE_NO_GPU`, `_REMOTE` (`nvshmem_ptr`
//! gives nothing), `_FULL` (status 4) and `NVSHMEM_SYMMETRIC_SIZE` are the other settings;
//! `nvshmemDouble_set` changes them. Memory of a program's cannot be made symmetric
//! (`nvshmemx_buffer_register_symmetric` gives nothing): the driver's double has none that could
//! be. With `NVSHMEM_DOUBLE_TAKES_MEMORY=1` it is, and other PEs do not see it.

mod api;
mod double;

/// The release that this is.
const VERSION: (i32, i32, i32) = (3, 8, 0);
