//! Names, as libraries take and give them.

use std::ffi::{CStr, CString, c_char, c_int};

use super::error::check;
use crate::call::checks::cut;
use crate::result::{Error, ErrorKind, Result};

/// The shortest limit of any library.
pub(super) const LIMIT: usize = 63;

/// The room for a name of the library's, which is more than any library asks for.
const ROOM: usize = 1024;

/// The name for the library. Names longer than the shortest limit of any library are cut, at the
/// end of a character.
///
/// # Errors
/// [`ErrorKind::Argument`] if the name holds a zero byte.
pub fn object_name(operation: &'static str, name: &str) -> Result<CString> {
    object_name_within(operation, name, LIMIT)
}

/// As [`object_name`], with another limit.
pub(super) fn object_name_within(
    operation: &'static str,
    name: &str,
    limit: usize,
) -> Result<CString> {
    if name.contains('\0') {
        let why = "a name cannot hold a zero byte";
        return Err(Error::new(ErrorKind::Argument, operation, why));
    }
    Ok(CString::new(cut(name, limit)).unwrap_or_default())
}

/// The name that a call of the library writes, to a place with room for it, with its length.
pub(crate) fn name_from(
    operation: &'static str,
    call: impl FnOnce(*mut c_char, *mut c_int) -> c_int,
) -> Result<String> {
    let mut name = [0u8; ROOM];
    let mut length = 0;
    let code = call(name.as_mut_ptr().cast(), &raw mut length);
    check(code, operation)?;
    let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}
