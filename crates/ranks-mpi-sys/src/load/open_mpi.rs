//! Open MPI's own account of its parameters, which the standard's (`MPI_T`) is made of.
//!
//! `MPI_T_init_thread` opens all of its components to register what they have: 0.2 s in 4.1.4 as
//! Debian has it. These functions read what the components that are in use have registered, in
//! microseconds. They have been the same since 1.7.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::{self, NonNull};

use crate::load::Loaded;

/// `int mca_base_var_find_by_name(const char *full_name, int *vari)`
type Find = unsafe extern "C" fn(*const c_char, *mut c_int) -> c_int;

/// `int mca_base_var_get_value(int vari, const void *value, mca_base_var_source_t *source, const char **source_file)`
type Value =
    unsafe extern "C" fn(c_int, *mut *const c_int, *mut c_int, *mut *const c_char) -> c_int;

/// The offset of the name in `mca_base_component_t`: behind nine numbers, the project's name of 16
/// and the type's of 32 characters.
const NAME: usize = 9 * size_of::<c_int>() + 16 + 32;

/// The longest that it may be.
const LONGEST: usize = 64;

/// The version in the name of an Open MPI, such as `Open MPI 5.0.11`; a part behind the first that
/// is no number is 0. `None` for another library.
#[doc(hidden)]
#[must_use]
pub fn open_mpi_version(name: &str) -> Option<[u32; 3]> {
    let mut parts = name.strip_prefix("Open MPI ")?.split('.');
    let major = parts.next()?.parse().ok()?;
    let mut number = || parts.next().and_then(|part| part.parse().ok()).unwrap_or(0);
    Some([major, number(), number()])
}

impl Loaded {
    /// The version of an Open MPI; `None` of another library.
    #[doc(hidden)]
    #[must_use]
    pub fn open_mpi_version(&self) -> Option<[u32; 3]> {
        open_mpi_version(self.name())
    }

    /// Of Open MPI, while it is initialised: the component that moves its messages, such as `ob1`
    /// or `ucx`.
    pub fn selected_pml(&self) -> Option<String> {
        let component = self.symbol(c"mca_pml_base_selected_component")?;
        let mut name = [0u8; LONGEST];
        // SAFETY: the library's description of a component begins with `mca_base_component_t`,
        // which is longer than this.
        let from = unsafe { component.as_ptr().cast::<u8>().add(NAME) };
        // SAFETY: so many characters are there, written before MPI was initialised.
        unsafe { ptr::copy_nonoverlapping(from, name.as_mut_ptr(), LONGEST) };
        let name = CStr::from_bytes_until_nul(&name).ok()?.to_str().ok()?;
        (!name.is_empty()).then(|| name.to_owned())
    }

    /// Of Open MPI: the value in force of a parameter; `None` if no component that is in use has
    /// it.
    ///
    /// # Safety
    /// The library is initialised, and the parameter is an `int` or an `unsigned int`.
    pub unsafe fn parameter(&self, name: &CStr) -> Option<i32> {
        let find = self.symbol(c"mca_base_var_find_by_name")?;
        let value = self.symbol(c"mca_base_var_get_value")?;
        // SAFETY: the function of that name has this type in every Open MPI.
        let find = unsafe { transmute::<NonNull<c_void>, Find>(find) };
        // SAFETY: the same.
        let value = unsafe { transmute::<NonNull<c_void>, Value>(value) };
        let mut index: c_int = -1;
        // SAFETY: the library is initialised, by this function's contract; the name ends with a
        // zero, and the index is ours.
        if unsafe { find(name.as_ptr(), &raw mut index) } != 0 {
            return None;
        }
        let mut place = ptr::null();
        // SAFETY: it takes nulls for what is not wanted, and the place is ours.
        let code = unsafe { value(index, &raw mut place, ptr::null_mut(), ptr::null_mut()) };
        // SAFETY: it is where the library keeps the parameter, which is such a number, by this
        // function's contract.
        (code == 0 && !place.is_null()).then(|| unsafe { place.read() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_an_open_mpi_is_in_its_name() {
        for (name, version) in [
            ("Open MPI 5.0.11", Some([5, 0, 11])),
            ("Open MPI 5.1.0rc1", Some([5, 1, 0])),
            ("Open MPI 3.1", Some([3, 1, 0])),
            ("Open MPI", None),
            ("MPICH 5.0.2", None),
        ] {
            assert_eq!(open_mpi_version(name), version, "{name}");
        }
    }
}
