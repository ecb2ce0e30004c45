//! The library's own values of the predefined handles.

use std::ffi::c_void;
use std::ops::Range;
use std::ptr;

use ranks_load::Library;

use super::column::at;
use super::handle::{CONSTANTS, HandleKind, PREDEFINED};
use super::openmpi::OBJECTS;
use crate::Family;
use crate::generated::columns::{self, Address, HANDLES, Handle};
use crate::slot::Slot;
use crate::types::*;

/// The constants of each kind of handle; the first of a kind is its null handle.
const KINDS: [Range<usize>; 11] = [
    MPI_Op::CONSTANTS,
    MPI_Comm::CONSTANTS,
    MPI_Group::CONSTANTS,
    MPI_Win::CONSTANTS,
    MPI_File::CONSTANTS,
    MPI_Session::CONSTANTS,
    MPI_Message::CONSTANTS,
    MPI_Info::CONSTANTS,
    MPI_Errhandler::CONSTANTS,
    MPI_Request::CONSTANTS,
    MPI_Datatype::CONSTANTS,
];

/// Fills the table of predefined handles.
///
/// A handle that the library does not have (an optional datatype, a constant of a later standard)
/// stands as the null handle of its kind, which the library itself will refuse by name.
///
/// # Safety
/// Under the lock of `load`.
pub(crate) unsafe fn fill(library: &Library, family: Family) {
    let value = |handle: &Handle| match family {
        Family::Standard => Some(ptr::without_provenance_mut(handle.canonical)),
        Family::Mpich => Some(ptr::without_provenance_mut(handle.mpich)),
        Family::OpenMpi => library
            .own_symbol(handle.openmpi?)
            .map(|address| address.as_ptr()),
    };
    // SAFETY: the caller holds the lock of `load`.
    unsafe { fill_pointers(library, family) };
    // SAFETY: the caller holds the lock of `load`.
    let table = unsafe { PREDEFINED.fill() };
    if family == Family::Standard {
        *table = std::array::from_fn(ptr::without_provenance_mut);
        return;
    }
    for kind in KINDS {
        let null = HANDLES
            .iter()
            .find(|handle| handle.canonical == kind.start)
            .and_then(value);
        table[kind].fill(null.unwrap_or(ptr::null_mut()));
    }
    for handle in HANDLES {
        if let Some(word) = value(handle) {
            table[handle.canonical] = word;
        }
    }
    if family == Family::OpenMpi {
        // SAFETY: the caller holds the lock of `load`.
        unsafe { OBJECTS.set(span(table)) };
    }
}

/// The library's own value of each pointer with a meaning, in the order of the generated list.
static POINTERS: Slot<[*mut c_void; columns::POINTERS.len()]> =
    Slot::new([ptr::null_mut(); columns::POINTERS.len()]);

/// The library's own value of the pointer of that name, null if it has none.
pub(crate) fn pointer(name: &str) -> *mut c_void {
    // SAFETY: filled by `load`, which the caller of MPI has seen return.
    let values = unsafe { POINTERS.get() };
    let found = columns::POINTERS
        .iter()
        .zip(values)
        .find(|(pointer, _)| pointer.name == name);
    found.map_or(ptr::null_mut(), |(_, value)| *value)
}

/// # Safety
/// Under the lock of `load`.
unsafe fn fill_pointers(library: &Library, family: Family) {
    // SAFETY: the caller holds the lock of `load`.
    let values = unsafe { POINTERS.fill() };
    for (pointer, value) in columns::POINTERS.iter().zip(values) {
        let address = match family {
            Family::Standard => Address::At(pointer.canonical as isize),
            Family::Mpich => pointer.mpich,
            Family::OpenMpi => pointer.openmpi,
        };
        *value = match address {
            Address::At(address) => at(address),
            Address::In(symbol) => library
                .own_symbol(symbol)
                .map_or(ptr::null_mut(), |variable| {
                    // SAFETY: the library's variable of that name holds a pointer.
                    unsafe { variable.cast::<*mut c_void>().read() }
                }),
            Address::Absent | Address::Function(_) => ptr::null_mut(),
        };
    }
}

/// The lowest and the highest address of a predefined object.
fn span(table: &[*mut c_void; CONSTANTS]) -> (usize, usize) {
    let addresses = || {
        table
            .iter()
            .map(|word| word.addr())
            .filter(|&address| address != 0)
    };
    (
        addresses().min().unwrap_or(usize::MAX),
        addresses().max().unwrap_or(0),
    )
}
