//! Files that ranks wrote, in a folder that anybody may have written to.

use std::fs;
use std::path::Path;

/// The bytes of a file, which has at most as many as given.
///
/// # Errors
/// The reason, if it is none: a pipe would be waited for, a device read without end.
pub(crate) fn read(file: &Path, most: u64) -> Result<Vec<u8>, String> {
    let told = fs::metadata(file).map_err(|error| error.to_string())?;
    if !told.is_file() {
        return Err("it is no ordinary file".to_owned());
    }
    if told.len() > most {
        return Err(format!(
            "it has {} bytes, more than any such file",
            told.len()
        ));
    }
    fs::read(file).map_err(|error| error.to_string())
}
