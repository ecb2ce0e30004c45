//! Statuses: the library's own, decoded on demand, and the standard's, decoded immediately.

use std::ffi::c_int;
use std::ptr;

use ranks_mpi_sys::{
    MPI_BYTE, MPI_Comm, MPI_Count, MPI_Get_elements_x, MPI_SUCCESS, MPI_Status, native,
    native::MPI_Test_cancelled,
};

use super::communicator::on_own_comm;
use super::error::check;
use super::session;
use crate::call::thread_guard::THREAD_GUARD;
use crate::result::status::{EMPTY_STATUS, Reader, Status, Words};
use crate::result::{Error, ErrorKind, Result};

const _: () = assert!(size_of::<native::Status>() == size_of::<Words>());
const _: () = assert!(align_of::<native::Status>() <= align_of::<Words>());

/// The pointer that the library writes a status to.
#[inline(always)]
pub(crate) fn to_write(words: &mut Words) -> *mut native::Status {
    (&raw mut *words).cast()
}

/// `MPI_STATUS_IGNORE`, as the library has it, one load away.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatusIgnore(usize);

impl StatusIgnore {
    pub(crate) fn of_library() -> Self {
        Self(native::status_ignore().addr())
    }

    /// The pointer, which the library takes for no status at all.
    #[inline(always)]
    pub(crate) fn pointer(self) -> *mut native::Status {
        ptr::without_provenance_mut(self.0)
    }
}

fn native(words: &Words) -> native::Status {
    // SAFETY: the words are as large and at least as aligned, and any bits are a status: it is
    // integers only.
    unsafe { (&raw const *words).cast::<native::Status>().read() }
}

/// Reads the statuses of the library.
pub(super) const READER: Reader = Reader {
    source: |words| usize::try_from(native(words).source()).ok(),
    tag: |words| Some(native(words).tag()).filter(|&tag| tag >= 0),
    bytes: |operation, words| bytes(words).ok_or_else(|| unknown(operation)),
};

/// The length of the message; `None` if the library does not know, or must not be called any more.
pub(crate) fn bytes(words: &Words) -> Option<usize> {
    // A status holds no runtime: another thread may end it meanwhile, and must wait.
    let _alive = session::keep_alive();
    if THREAD_GUARD.is_closed() {
        return None;
    }
    // SAFETY: a status comes from a completed call, so MPI was initialised; it is not finalized
    // before `_alive` goes.
    unsafe { native(words).bytes() }
}

/// An error: the length is unknown, because the library has ended, or because it does not report
/// one.
#[cold]
fn unknown(operation: &'static str) -> Error {
    match THREAD_GUARD.enter(operation) {
        Err(error) if error.kind() == ErrorKind::Finalized => error,
        _ => Error::new(
            ErrorKind::Library,
            operation,
            "the library does not tell how long the message is",
        ),
    }
}

/// The library's code of one of several operations, after `MPI_ERR_IN_STATUS`.
pub(crate) fn error(words: &Words) -> c_int {
    native(words).error()
}

/// Returns `true` if the operation was cancelled. MPI must be alive.
pub(crate) fn is_cancelled(words: &Words) -> bool {
    let mut flag: c_int = 0;
    // SAFETY: the status was written by a call that completed, and the flag is ours.
    let code = unsafe { MPI_Test_cancelled(&native(words), &raw mut flag) };
    code == MPI_SUCCESS && flag != 0
}

/// The word of a native status in which the library keeps the lower half of the message's length in
/// bytes.
///
/// Calling the library for the length costs more than all else that is added to a receive. The
/// place where it keeps the length is not in any standard, so it is looked for once, in statuses of
/// messages of known lengths.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CountWord(Word);

/// The number of a word. An enum, because the compiler need not compare it with the length of a
/// status.
#[derive(Debug, Clone, Copy, Default)]
#[repr(u8)]
enum Word {
    #[default]
    W0,
    W1,
    W2,
    W3,
    W4,
    W5,
    W6,
    W7,
}

/// All words of 32 bits that a status has.
const WORDS: [Word; size_of::<Words>() / size_of::<u32>()] = {
    use Word::*;
    [W0, W1, W2, W3, W4, W5, W6, W7]
};

impl CountWord {
    /// Sends three messages from this process to itself and compares their statuses.
    pub(crate) fn find() -> Result<Option<Self>> {
        on_own_comm(Self::find_on)
    }

    fn find_on(alone: MPI_Comm) -> Result<Option<Self>> {
        const LENGTHS: [u32; 3] = [13, 0, 102];
        const TAG: c_int = 3;
        let mut candidates = WORDS.to_vec();
        // SAFETY: the library is loaded.
        let comm = unsafe { native::comm(alone) };
        // SAFETY: the library is loaded.
        let byte = unsafe { native::datatype(MPI_BYTE) };
        let (data, mut room) = ([0u8; 128], [0u8; 128]);
        for length in LENGTHS {
            let mut status = EMPTY_STATUS;
            let count = c_int::try_from(length).unwrap_or(0);
            let (from, to) = (data.as_ptr().cast(), room.as_mut_ptr().cast());
            // SAFETY: both arrays have room for `count` bytes; this process is rank 0 of its own
            // communicator.
            let code = unsafe {
                native::MPI_Sendrecv(
                    from,
                    count,
                    byte,
                    0,
                    TAG,
                    to,
                    count,
                    byte,
                    0,
                    TAG,
                    comm,
                    to_write(&mut status),
                )
            };
            check(code, "MPI_Sendrecv")?;
            candidates.retain(|&word| Self(word).of(&status) == length);
        }
        Ok(candidates.first().copied().map(Self))
    }

    /// Returns `true` if it is certain, without calling the library, that the message is a whole
    /// number of elements of `width` bytes, and no more than `capacity` of them.
    #[inline(always)]
    pub(crate) fn surely_fits(self, status: &Words, width: usize, capacity: usize) -> bool {
        let bytes = self.of(status) as usize;
        // Of a power of two, neither has a bit below it.
        let is_whole = (bytes | width) & width.wrapping_sub(1) == 0;
        is_whole && bytes <= capacity * width
    }

    /// The word of that status.
    #[inline(always)]
    fn of(self, status: &Words) -> u32 {
        bytemuck::must_cast_ref::<Words, [u32; WORDS.len()]>(status)[self.0 as usize]
    }
}

/// Decodes a status of the standard ABI of an operation that failed; null if the library wrote
/// none.
pub(crate) fn decode_failed(status: &MPI_Status) -> Status {
    match *status {
        MPI_Status::EMPTY => Status::null(),
        _ => decode(status),
    }
}

/// Decodes a status of the standard ABI. MPI must be alive.
pub(crate) fn decode(status: &MPI_Status) -> Status {
    let Ok(source) = usize::try_from(status.MPI_SOURCE) else {
        return Status::null();
    };
    let mut count: MPI_Count = 0;
    // SAFETY: the status was written by a call that completed, and the count is ours.
    let code = unsafe { MPI_Get_elements_x(status, MPI_BYTE, &raw mut count) };
    let bytes = usize::try_from(count).ok();
    let bytes = bytes.filter(|_| code == MPI_SUCCESS).unwrap_or(0);
    Status::local(source, status.MPI_TAG, bytes)
}

/// Decodes a status that a completed call of `native` has written. MPI must be alive.
#[inline]
pub(crate) fn decode_words(words: &Words) -> Status {
    let status = native(words);
    let Ok(source) = usize::try_from(status.source()) else {
        return Status::null();
    };
    // SAFETY: a call has completed, so MPI is loaded and initialised, and it is alive.
    let bytes = unsafe { status.bytes() };
    Status::local(source, status.tag(), bytes.unwrap_or(0))
}
