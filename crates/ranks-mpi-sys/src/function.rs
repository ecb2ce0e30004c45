//! Facts about each function of the standard: its name, its age, whether the library has it.

use std::ffi::{c_int, c_void};
use std::fmt;

use crate::fault_tolerance;
use crate::fill::{AnyCall, Filling};
use crate::generated::functions::FAMILIES;
use crate::slot::Slot;

/// One of the 664 functions of the MPI-5.0 ABI, or of an extension.
pub struct Function {
    pub(crate) name: &'static str,
    pub(crate) since: &'static str,
    pub(crate) library: &'static Slot<*const c_void>,
    pub(crate) table: &'static Slot<AnyCall>,
    pub(crate) filling: &'static Filling,
}

impl Function {
    /// The C name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The version of the MPI standard that is needed for it ("3.1" stands for that or any before),
    /// or the extension.
    pub fn since(&self) -> &'static str {
        self.since
    }

    /// Returns `true` if the loaded library itself exports it. False before [`crate::load()`] has
    /// returned.
    ///
    /// A function that the library lacks may still work: large-count forms are carried out with the
    /// older ones where that is possible.
    pub fn is_in_library(&self) -> bool {
        if crate::loaded().is_none() {
            return false;
        }
        // SAFETY: `loaded` answers only after `load` has filled every slot.
        let library = unsafe { self.library.get() };
        !library.is_null()
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function")
            .field("name", &self.name)
            .field("since", &self.since)
            .finish()
    }
}

/// All functions of the standard, by family.
pub fn functions() -> impl Iterator<Item = &'static Function> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

/// The function of that C name.
pub fn function(name: &str) -> Option<&'static Function> {
    functions().find(|function| function.name == name)
}

/// The function whose slot gave the return code `code`, if it is the code of a function that the
/// loaded library does not have.
#[cold]
pub fn missing(code: c_int) -> Option<&'static Function> {
    let known = functions().chain(fault_tolerance::FUNCTIONS);
    known
        .into_iter()
        .find(|function| absent_code(function.name) == code)
}

/// The return code of a slot with no function behind it: negative, as no code of a library is, and
/// another for each function.
pub(crate) const fn absent_code(name: &str) -> c_int {
    // FNV-1a; that the codes differ is checked by a test.
    let bytes = name.as_bytes();
    let mut hash = 0x811c_9dc5_u32;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    i32::MIN | (hash & 0x3fff_ffff) as c_int
}

/// The return type of a function, with the value that a slot without a function behind it returns.
pub(crate) trait Returned {
    /// The value for the function whose [`absent_code`] this is.
    fn absent(code: c_int) -> Self;
}

impl Returned for c_int {
    fn absent(code: c_int) -> Self {
        code
    }
}

impl Returned for f64 {
    /// Times: no clock, no time.
    fn absent(_: c_int) -> Self {
        f64::NAN
    }
}

impl Returned for isize {
    fn absent(_: c_int) -> Self {
        0
    }
}

macro_rules! null_handles {
    ($($handle:ident: $null:expr;)*) => {$(
        impl Returned for crate::types::$handle {
            fn absent(_: c_int) -> Self {
                $null
            }
        }
    )*};
}

null_handles! {
    MPI_Comm: crate::MPI_COMM_NULL;
    MPI_Group: crate::MPI_GROUP_NULL;
    MPI_Win: crate::MPI_WIN_NULL;
    MPI_File: crate::MPI_FILE_NULL;
    MPI_Session: crate::MPI_SESSION_NULL;
    MPI_Message: crate::MPI_MESSAGE_NULL;
    MPI_Info: crate::MPI_INFO_NULL;
    MPI_Errhandler: crate::MPI_ERRHANDLER_NULL;
    MPI_Request: crate::MPI_REQUEST_NULL;
    MPI_Datatype: crate::MPI_DATATYPE_NULL;
    MPI_Op: crate::MPI_OP_NULL;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_function_of_the_standard_is_in_the_table_once() {
        let names: HashSet<_> = functions().map(Function::name).collect();
        assert_eq!(names.len(), 664);
        assert_eq!(functions().count(), 664);
    }

    #[test]
    fn the_codes_of_absent_functions_are_negative_and_differ() {
        let codes: HashSet<_> = functions().map(|f| absent_code(f.name)).collect();
        assert_eq!(codes.len(), 664);
        assert!(codes.iter().all(|&code| code < 0));
        assert_eq!(
            missing(absent_code("MPI_Send_c")).map(Function::name),
            Some("MPI_Send_c")
        );
        assert!(missing(15).is_none());
    }
}
