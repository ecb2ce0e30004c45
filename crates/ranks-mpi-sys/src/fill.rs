//! Fills the slots of the table from an open library.

use std::ffi::{CString, c_void};
use std::ptr;

use ranks_load::Library;

use crate::abi::by_hand;
use crate::slot::Slot;
use crate::{Family, Function};

/// A function of any type: which one is said by the slot that holds it.
pub(crate) type AnyCall = unsafe extern "C" fn();

/// The functions that may stand in the slots of one function of MPI.
pub(crate) struct Filling {
    /// The shims for MPICH's family and for Open MPI's; none where the library's own function
    /// serves in any.
    shims: Option<(AnyCall, AnyCall)>,
    /// The slot of [`crate::native`], and what stands there in MPICH's family, whose handles are
    /// narrower than words.
    native: Option<(&'static Slot<AnyCall>, AnyCall)>,
    /// The function that carries the call out where the library has none of that name.
    emulation: Option<AnyCall>,
}

impl Filling {
    /// The library's own function, whatever the family.
    pub(crate) const DIRECT: Self = Self {
        shims: None,
        native: None,
        emulation: None,
    };

    /// The library's own function if it has the standard ABI, else the shim of its family.
    pub(crate) const fn shims(mpich: AnyCall, openmpi: AnyCall) -> Self {
        Self {
            shims: Some((mpich, openmpi)),
            ..Self::DIRECT
        }
    }

    /// And an entry that converts nothing.
    pub(crate) const fn native(self, slot: &'static Slot<AnyCall>, narrow: AnyCall) -> Self {
        Self {
            native: Some((slot, narrow)),
            ..self
        }
    }

    /// And an emulation.
    pub(crate) const fn emulation(self, emulation: AnyCall) -> Self {
        Self {
            emulation: Some(emulation),
            ..self
        }
    }
}

/// Fills the slots of one function.
///
/// # Safety
/// Under the lock of [`crate::load()`]. The library's function of that name has the type of its
/// slots in the standard ABI, and in each other family the one that the shims call.
pub(crate) unsafe fn fill(function: &Function, library: &Library, family: Family) {
    let found = resolve(function.name, library);
    // SAFETY: under the lock of `load`.
    unsafe { function.library.set(found) };
    // SAFETY: null, or the address of a function.
    let own = unsafe { std::mem::transmute::<*const c_void, Option<AnyCall>>(found) };
    let filling = function.filling;
    let shim = match (family, filling.shims) {
        (Family::Standard, _) | (_, None) => None,
        (Family::Mpich, Some((mpich, _))) => Some(mpich),
        (Family::OpenMpi, Some((_, openmpi))) => Some(openmpi),
    };
    let without = || shim.filter(|_| by_hand::EMULATED.contains(&function.name));
    let call = match own {
        Some(own) => Some(shim.unwrap_or(own)),
        None => filling.emulation.or_else(without),
    };
    if let Some(call) = call {
        // SAFETY: under the lock of `load`; each of them has the type of this slot.
        unsafe { function.table.set(call) };
    }
    if let (Some(own), Some((slot, narrow))) = (own, filling.native) {
        let call = if family == Family::Mpich { narrow } else { own };
        // SAFETY: under the lock of `load`; where handles are words, the library's function has the
        // type of this slot.
        unsafe { slot.set(call) };
    }
}

/// The library's function of that name, or null.
///
/// Open MPI 4.1 has the persistent collectives of MPI 4.0 under the prefix of its extensions, with
/// the same signatures.
fn resolve(name: &str, library: &Library) -> *const c_void {
    let find = |name: &str| library.symbol(&CString::new(name).ok()?);
    let extension = || {
        find(&format!("MPIX_{}", name.strip_prefix("MPI_")?)).filter(|_| name.ends_with("_init"))
    };
    find(name)
        .or_else(extension)
        .map_or(ptr::null(), |address| address.as_ptr().cast_const())
}
