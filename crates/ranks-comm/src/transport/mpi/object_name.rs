//! Names of communicators and windows, as libraries take them.

use std::ffi::CString;

use crate::call::checks::cut;
use crate::result::{Error, ErrorKind, Result};

/// The name for the library. Names longer than the shortest limit of any library are cut, at the
/// end of a character.
///
/// # Errors
/// [`ErrorKind::Argument`] if the name holds a zero byte.
pub fn object_name(operation: &'static str, name: &str) -> Result<CString> {
    const LIMIT: usize = 63;
    if name.contains('\0') {
        let why = "a name cannot hold a zero byte";
        return Err(Error::new(ErrorKind::Argument, operation, why));
    }
    Ok(CString::new(cut(name, LIMIT)).unwrap_or_default())
}
