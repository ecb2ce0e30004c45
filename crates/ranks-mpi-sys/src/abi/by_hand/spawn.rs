//! Starting processes: arrays of hints, and a code for each process.

use std::ffi::{c_char, c_int, c_void};

use super::{Handles, length, through};
use crate::abi::Abi;
use crate::abi::handle;
use crate::abi::kinds::{Conversion, OutComm};
use crate::abi::numbers::Codes;
use crate::generated::functions::spawn as slots;
use crate::types::{MPI_Comm, MPI_Info};

type Texts = *mut *mut c_char;

/// The mark of a code that the library has not written: no code of any library.
const UNWRITTEN: c_int = c_int::MIN;

/// The codes of the processes that are to be started, one for each. Which of them a library writes,
/// on which rank, and after which errors differs; what it does not write stays.
struct ErrorCodes {
    place: *mut c_int,
    before: Vec<c_int>,
}

impl ErrorCodes {
    /// # Safety
    /// At `place` are `count` codes until this is over, unless it is `MPI_ERRCODES_IGNORE`.
    unsafe fn new(place: *mut c_int, count: usize) -> Self {
        if place == crate::MPI_ERRCODES_IGNORE || count == 0 {
            let before = Vec::new();
            return Self { place, before };
        }
        // SAFETY: by this function's contract.
        let codes = unsafe { std::slice::from_raw_parts_mut(place, count) };
        let before = codes.to_vec();
        codes.fill(UNWRITTEN);
        Self { place, before }
    }

    /// Converts what the library has written.
    ///
    /// # Safety
    /// The call has returned.
    unsafe fn leave<A: Abi>(self) {
        if self.before.is_empty() {
            return;
        }
        // SAFETY: by the contract of `new`; the library is done with them.
        let codes = unsafe { std::slice::from_raw_parts_mut(self.place, self.before.len()) };
        for (code, before) in codes.iter_mut().zip(self.before) {
            *code = match *code {
                UNWRITTEN => before,
                written => Codes::to_standard::<A>(written),
            };
        }
    }
}

/// The number of processes that are to be started, which the root alone knows; 0 if that cannot be
/// told.
///
/// # Safety
/// The communicator is one of the caller's, in whose group `root` is; collective.
unsafe fn of_root(mine: usize, root: c_int, comm: MPI_Comm) -> usize {
    let mut count = c_int::try_from(mine).unwrap_or(0);
    let place = (&raw mut count).cast::<c_void>();
    // SAFETY: a place for one int, on a communicator of the caller's, all of whose ranks are in
    // this call.
    let code = unsafe { crate::MPI_Bcast(place, 1, crate::MPI_INT, root, comm) };
    if code == crate::MPI_SUCCESS {
        length(count)
    } else {
        0
    }
}

/// Returns `true` if this is the root.
///
/// # Safety
/// The communicator is one of the caller's.
unsafe fn is_root(root: c_int, comm: MPI_Comm) -> bool {
    let mut rank = 0;
    // SAFETY: by this function's contract; a place for an int.
    unsafe { crate::MPI_Comm_rank(comm, &raw mut rank) };
    rank == root
}

pub(crate) unsafe extern "C" fn MPI_Comm_spawn<A: Abi>(
    command: *const c_char,
    arguments: Texts,
    processes: c_int,
    info: MPI_Info,
    root: c_int,
    comm: MPI_Comm,
    children: *mut MPI_Comm,
    codes: *mut c_int,
) -> c_int {
    type Comm<A> = <A as Abi>::Handle<MPI_Comm>;
    type Call<A> = unsafe extern "C" fn(
        *const c_char,
        Texts,
        c_int,
        <A as Abi>::Handle<MPI_Info>,
        c_int,
        Comm<A>,
        *mut Comm<A>,
        *mut c_int,
    ) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_Comm_spawn::LIBRARY.function::<Call<A>>() };
    // SAFETY: the caller of MPI gave this communicator.
    let is_root = unsafe { is_root(root, comm) };
    let mine = if is_root { length(processes) } else { 0 };
    // SAFETY: all ranks of the communicator are in this call.
    let count = unsafe { of_root(mine, root, comm) };
    // SAFETY: the tables are filled: the caller has seen `load` return.
    let info = unsafe { handle::to_native::<A, _>(info) };
    // SAFETY: as above.
    let comm = unsafe { handle::to_native::<A, _>(comm) };
    // SAFETY: the caller of MPI gives room for a code of each process, on every rank.
    let written = unsafe { ErrorCodes::new(codes, count) };
    // SAFETY: the arguments are in the family's own form.
    let call = |children| unsafe {
        call(
            command, arguments, processes, info, root, comm, children, codes,
        )
    };
    // SAFETY: the caller of MPI gives a place for the communicator.
    let code = unsafe { through::<A, OutComm>(children, call) };
    // SAFETY: the call has returned.
    unsafe { written.leave::<A>() };
    code
}

pub(crate) unsafe extern "C" fn MPI_Comm_spawn_multiple<A: Abi>(
    count: c_int,
    commands: Texts,
    arguments: *mut Texts,
    processes: *const c_int,
    infos: *const MPI_Info,
    root: c_int,
    comm: MPI_Comm,
    children: *mut MPI_Comm,
    codes: *mut c_int,
) -> c_int {
    type Comm<A> = <A as Abi>::Handle<MPI_Comm>;
    type Call<A> = unsafe extern "C" fn(
        c_int,
        Texts,
        *mut Texts,
        *const c_int,
        *const <A as Abi>::Handle<MPI_Info>,
        c_int,
        Comm<A>,
        *mut Comm<A>,
        *mut c_int,
    ) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_Comm_spawn_multiple::LIBRARY.function::<Call<A>>() };
    // SAFETY: the caller of MPI gave this communicator.
    let is_root = unsafe { is_root(root, comm) };
    // Everything but the root, the communicator and the results is significant at the root only.
    let hints = if is_root { length(count) } else { 0 };
    let mut mine = 0_usize;
    for command in 0..hints {
        // SAFETY: at the root the caller of MPI gives `count` numbers.
        let each = unsafe { processes.add(command) };
        // SAFETY: as above.
        mine = mine.saturating_add(length(unsafe { each.read() }));
    }
    // SAFETY: all ranks of the communicator are in this call.
    let total = unsafe { of_root(mine, root, comm) };
    // SAFETY: at the root the caller of MPI gives `count` hints.
    let infos = unsafe { Handles::<A, MPI_Info>::new(infos, hints) };
    // SAFETY: the tables are filled: the caller has seen `load` return.
    let comm = unsafe { handle::to_native::<A, _>(comm) };
    // SAFETY: the caller of MPI gives room for a code of each process, on every rank.
    let written = unsafe { ErrorCodes::new(codes, total) };
    // SAFETY: the arguments are in the family's own form.
    let call = |children| unsafe {
        call(
            count,
            commands,
            arguments,
            processes,
            infos.as_ptr(),
            root,
            comm,
            children,
            codes,
        )
    };
    // SAFETY: the caller of MPI gives a place for the communicator.
    let code = unsafe { through::<A, OutComm>(children, call) };
    // SAFETY: the call has returned.
    unsafe { written.leave::<A>() };
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::mpich::Mpich;
    use crate::abi::openmpi::OpenMpi;
    use crate::{MPI_ERR_SPAWN, MPI_SUCCESS};

    /// The content of `codes` after a library has written these, of which `None` are left alone.
    fn after<A: Abi>(codes: &mut [c_int], written: &[Option<c_int>]) {
        let place = codes.as_mut_ptr();
        // SAFETY: so many codes are there, which nobody else touches meanwhile.
        let held = unsafe { ErrorCodes::new(place, codes.len()) };
        for (index, code) in written.iter().enumerate() {
            if let Some(code) = code {
                // SAFETY: within the codes.
                let place = unsafe { place.add(index) };
                // SAFETY: as above.
                unsafe { place.write(*code) };
            }
        }
        // SAFETY: nothing is called here.
        unsafe { held.leave::<A>() };
    }

    /// `MPI_ERR_SPAWN` is 42 to MPICH and 50 to Open MPI.
    #[test]
    fn the_codes_of_processes_were_numbers_of_the_library() {
        let own = Codes::to_native::<Mpich>(MPI_ERR_SPAWN);
        assert_ne!(own, MPI_ERR_SPAWN);
        let mut codes = [-7; 4];
        after::<Mpich>(
            &mut codes,
            &[Some(own), Some(MPI_SUCCESS), Some(0x1234_5678), None],
        );
        assert_eq!(codes, [MPI_ERR_SPAWN, MPI_SUCCESS, 0x1234_5678, -7]);
        let own = Codes::to_native::<OpenMpi>(MPI_ERR_SPAWN);
        after::<OpenMpi>(&mut codes, &[None, Some(own)]);
        assert_eq!(codes, [MPI_ERR_SPAWN, MPI_ERR_SPAWN, 0x1234_5678, -7]);
    }

    #[test]
    fn codes_that_are_ignored_are_not_touched() {
        // SAFETY: nothing is behind this address, which says so.
        let held = unsafe { ErrorCodes::new(crate::MPI_ERRCODES_IGNORE, 4) };
        // SAFETY: nothing is called here.
        unsafe { held.leave::<OpenMpi>() };
        // SAFETY: no codes are expected.
        let held = unsafe { ErrorCodes::new(std::ptr::dangling_mut(), 0) };
        // SAFETY: as above.
        unsafe { held.leave::<OpenMpi>() };
    }
}
