//! Functions that a library of an older family lacks and that need nothing of it: handles as
//! Fortran integers, arithmetic on addresses, the version of the ABI.
//!
//! As in the standard ABI itself, the integer of a predefined handle is its constant.

use std::ffi::c_int;

use crate::abi::Abi;
use crate::abi::handle::{CONSTANTS, HandleKind, NativeHandle};
use crate::types::*;

/// The table speaks version 1.0 of the standard ABI, whatever the library behind it.
pub(crate) unsafe extern "C" fn MPI_Abi_get_version<A: Abi>(
    major: *mut c_int,
    minor: *mut c_int,
) -> c_int {
    // SAFETY: the caller of MPI gives two places for ints.
    unsafe { major.write(crate::MPI_ABI_VERSION) };
    // SAFETY: as above.
    unsafe { minor.write(crate::MPI_ABI_SUBVERSION) };
    crate::MPI_SUCCESS
}

pub(crate) unsafe extern "C" fn MPI_Aint_add<A: Abi>(
    base: MPI_Aint,
    displacement: MPI_Aint,
) -> MPI_Aint {
    base.wrapping_add(displacement)
}

pub(crate) unsafe extern "C" fn MPI_Aint_diff<A: Abi>(one: MPI_Aint, other: MPI_Aint) -> MPI_Aint {
    one.wrapping_sub(other)
}

/// Handles that are pointers have no natural integer: each gets the next free one, for good.
mod numbered {
    use std::ffi::{c_int, c_void};
    use std::ptr;
    use std::sync::{Mutex, PoisonError};

    static NUMBERED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

    pub(super) fn number(word: *mut c_void) -> c_int {
        let mut known = NUMBERED.lock().unwrap_or_else(PoisonError::into_inner);
        let index = known
            .iter()
            .position(|&address| address == word.expose_provenance());
        let index = index.unwrap_or_else(|| {
            known.push(word.expose_provenance());
            known.len() - 1
        });
        c_int::try_from(index + super::CONSTANTS).unwrap_or(c_int::MAX)
    }

    pub(super) fn word(number: c_int) -> Option<*mut c_void> {
        let known = NUMBERED.lock().unwrap_or_else(PoisonError::into_inner);
        let index = usize::try_from(number)
            .ok()?
            .checked_sub(super::CONSTANTS)?;
        known
            .get(index)
            .map(|&address| ptr::with_exposed_provenance_mut(address))
    }
}

fn to_integer<A: Abi, H: HandleKind>(handle: H) -> c_int {
    let word = handle.to_word();
    if word.addr() < CONSTANTS {
        return c_int::from_word(word);
    }
    // In the MPICH family a handle is an int, negative for what a user has made.
    if size_of::<A::Handle<H>>() == size_of::<c_int>() {
        return c_int::from_word(word);
    }
    numbered::number(word)
}

fn from_integer<A: Abi, H: HandleKind>(integer: c_int) -> H {
    let is_constant = usize::try_from(integer).is_ok_and(|integer| integer < CONSTANTS);
    if is_constant || size_of::<A::Handle<H>>() == size_of::<c_int>() {
        return H::from_word(integer.to_word());
    }
    let null = std::ptr::without_provenance_mut(H::CONSTANTS.start);
    H::from_word(numbered::word(integer).unwrap_or(null))
}

macro_rules! integers {
    ($($handle:ident: $toint:ident, $fromint:ident;)*) => {
        /// Functions of this file: their slots are filled even though the library does not have
        /// them.
        pub(crate) const EMULATED: &[&str] = &[
            "MPI_Abi_get_version",
            "MPI_Aint_add",
            "MPI_Aint_diff",
            $(stringify!($toint), stringify!($fromint),)*
        ];

    $(
        pub(crate) unsafe extern "C" fn $toint<A: Abi>(handle: $handle) -> c_int {
            to_integer::<A, $handle>(handle)
        }

        pub(crate) unsafe extern "C" fn $fromint<A: Abi>(integer: c_int) -> $handle {
            from_integer::<A, $handle>(integer)
        }
    )*};
}

integers! {
    MPI_Comm: MPI_Comm_toint, MPI_Comm_fromint;
    MPI_Errhandler: MPI_Errhandler_toint, MPI_Errhandler_fromint;
    MPI_File: MPI_File_toint, MPI_File_fromint;
    MPI_Group: MPI_Group_toint, MPI_Group_fromint;
    MPI_Info: MPI_Info_toint, MPI_Info_fromint;
    MPI_Message: MPI_Message_toint, MPI_Message_fromint;
    MPI_Op: MPI_Op_toint, MPI_Op_fromint;
    MPI_Request: MPI_Request_toint, MPI_Request_fromint;
    MPI_Session: MPI_Session_toint, MPI_Session_fromint;
    MPI_Datatype: MPI_Type_toint, MPI_Type_fromint;
    MPI_Win: MPI_Win_toint, MPI_Win_fromint;
}
