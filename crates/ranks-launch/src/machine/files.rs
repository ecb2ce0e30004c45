//! Small files, as the kernel has many.

use std::fs;
use std::path::Path;

/// The text of a file without the blanks around it.
pub(crate) fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}
