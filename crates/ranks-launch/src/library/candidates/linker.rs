//! The search of the dynamic linker, as far as it leads to the folder that a rank starts in.

use std::path::Path;

/// The entry of the linker's `path` by which it would open `name` from the current folder: the
/// first that has such a file, if it is empty or relative.
///
/// Lists that were put together from an unset variable end in an empty entry, and that is the
/// current folder.
pub(super) fn from_here(path: Option<String>, name: &str) -> Option<String> {
    let path = path?;
    let mut entries = path.split([':', ';']);
    // An empty path is the current folder here too.
    let has = |entry: &&str| Path::new(entry).join(name).is_file();
    let first = entries.find(has)?;
    (!first.starts_with('/')).then(|| first.to_owned())
}
