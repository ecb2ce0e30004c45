//! Enumerations: the same names with other numbers.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::Abi;
use crate::generated::columns::{Address, POINTERS, Pointer, Value};

/// A group of constants that the families number differently.
pub(crate) trait Enumeration: 'static {
    /// The constants.
    const VALUES: &'static [Value];
    /// Set if they are bits that are combined.
    const BITS: bool = false;
}

/// The library's number for the standard's; a number that is no constant of the group stays.
#[inline(never)]
pub(crate) fn to_native<A: Abi, E: Enumeration>(standard: c_int) -> c_int {
    let mut bits = 0;
    for value in E::VALUES {
        if E::BITS && standard & value.canonical != 0 {
            bits |= A::column(value).unwrap_or(0);
        } else if !E::BITS && standard == value.canonical {
            return A::column(value).unwrap_or(standard);
        }
    }
    if E::BITS { bits } else { standard }
}

/// The standard's number for the library's; a number that is no constant of the group stays.
#[inline(never)]
pub(crate) fn to_standard<A: Abi, E: Enumeration>(native: c_int) -> c_int {
    let mut bits = 0;
    for value in E::VALUES {
        let Some(column) = A::column(value) else {
            continue;
        };
        if E::BITS && native & column != 0 {
            bits |= value.canonical;
        } else if !E::BITS && native == column {
            return value.canonical;
        }
    }
    if E::BITS { bits } else { native }
}

/// The MPICH family's number of one constant, at compile time.
pub(crate) const fn mpich_value(group: &[Value], standard: c_int) -> c_int {
    match find(group, standard).mpich {
        Some(native) => native,
        None => panic!("the MPICH family has no such constant"),
    }
}

/// Open MPI's number of one constant, at compile time.
pub(crate) const fn openmpi_value(group: &[Value], standard: c_int) -> c_int {
    match find(group, standard).openmpi {
        Some(native) => native,
        None => panic!("Open MPI has no such constant"),
    }
}

const fn find(group: &[Value], standard: c_int) -> &Value {
    let mut i = 0;
    while group[i].canonical != standard {
        i += 1;
    }
    &group[i]
}

/// The entry of a pointer with a meaning, which holds its address in each family, at compile time.
pub(crate) const fn address_of(name: &str) -> &'static Pointer {
    let mut i = 0;
    while !same(POINTERS[i].name, name) {
        i += 1;
    }
    &POINTERS[i]
}

/// A pointer that is a constant of its family, or none.
pub(crate) const fn constant(address: Address) -> Option<*mut c_void> {
    match address {
        Address::At(address) => Some(at(address)),
        _ => None,
    }
}

/// The pointer of an address as C headers write it: -1 is the last one.
#[expect(clippy::cast_sign_loss, reason = "an address has no sign")]
pub(crate) const fn at(address: isize) -> *mut c_void {
    ptr::without_provenance_mut(address as usize)
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
