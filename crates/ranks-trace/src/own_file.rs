//! Files for the user under predictable names: dumps, timelines.
//!
//! In a folder that others can write to, somebody may have put a link there before. So a file is
//! created anew, for its user alone, and renamed when it is complete.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

#[cfg(not(unix))]
#[path = "own_file/elsewhere.rs"]
mod system;
#[cfg(unix)]
#[path = "own_file/unix.rs"]
mod system;

/// Writes a file into a folder, which is made if there is none. An existing file or link of that
/// name is replaced, not followed.
pub fn write(folder: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    system::make(folder)?;
    let unfinished = folder.join(format!(".{name}.{}", std::process::id()));
    let mut file = create(&unfinished)?;
    let written = file
        .write_all(content)
        .and_then(|()| fs::rename(&unfinished, folder.join(name)));
    if written.is_err() {
        // What is left of it keeps a full disk full.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// Tests with a temporary file that files can be written to a folder.
pub fn try_folder(folder: &Path) -> io::Result<()> {
    system::make(folder)?;
    try_in(folder)
}

/// Tests that a file can be written. One that is there stays as it is, and none is left.
pub fn try_file(file: &Path) -> io::Result<()> {
    match fs::metadata(file) {
        // A pipe would wait for its reader.
        Ok(there) if !there.is_file() && !there.is_dir() => Ok(()),
        Ok(_) => fs::OpenOptions::new().append(true).open(file).map(drop),
        Err(_) => {
            let folder = file
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            try_in(folder.unwrap_or(Path::new(".")))
        }
    }
}

fn try_in(folder: &Path) -> io::Result<()> {
    // Ranks of this process, and processes of this number on other hosts, may try at the same time.
    static TRIALS: AtomicU64 = AtomicU64::new(0);
    let (process, trial) = (std::process::id(), TRIALS.fetch_add(1, Ordering::Relaxed));
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = time.map_or(0, |time| time.as_nanos());
    let trial = folder.join(format!(".ranks.{process}.{trial}.{time}"));
    create(&trial)?;
    fs::remove_file(trial)
}

/// Creates a file. A file of this user that an earlier process of the same number has left is
/// removed first; nothing else is.
fn create(path: &Path) -> io::Result<fs::File> {
    match system::create_new(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let there = fs::symlink_metadata(path)?;
            if !there.is_file() || !system::may_be_mine(&there) {
                let text = format!("{} is there, and is no file of this user", path.display());
                return Err(io::Error::new(ErrorKind::AlreadyExists, text));
            }
            fs::remove_file(path)?;
            system::create_new(path)
        }
        file => file,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ranks-file-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_link_under_a_name_that_was_guessed_is_not_followed() {
        let root = scratch("links");
        let folder = root.join("dumps");
        fs::create_dir(&folder).unwrap();
        let victim = root.join("victim");
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, folder.join("rank-0.json")).unwrap();
        write(&folder, "rank-0.json", b"{}").unwrap();
        assert!(
            fs::symlink_metadata(folder.join("rank-0.json"))
                .unwrap()
                .is_file()
        );

        let unfinished = folder.join(format!(".rank-1.json.{}", std::process::id()));
        symlink(&victim, &unfinished).unwrap();
        let error = write(&folder, "rank-1.json", b"{}").unwrap_err();
        assert!(
            error.to_string().contains("no file of this user"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn what_is_written_is_its_users_alone_and_replaces_what_was_there() {
        let root = scratch("modes");
        let folder = root.join("a/b");
        let left = folder.join(format!(".rank-0.json.{}", std::process::id()));
        write(&folder, "rank-0.json", b"old").unwrap();
        fs::write(&left, "half of").unwrap();
        write(&folder, "rank-0.json", b"new").unwrap();
        let file = folder.join("rank-0.json");
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(&folder)), (0o600, 0o700));
        fs::remove_dir_all(root).unwrap();
    }

    /// It took the room that there was for other files.
    #[test]
    fn what_could_not_be_written_was_left_half_done() {
        let root = scratch("half");
        let folder = root.join("rank-0.json");
        fs::create_dir(&folder).unwrap();
        write(&root, "rank-0.json", b"new").unwrap_err();
        let left: Vec<_> = fs::read_dir(&root).unwrap().flatten().collect();
        let left: Vec<_> = left.iter().map(fs::DirEntry::path).collect();
        assert_eq!(left, [folder]);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_is_found_out() {
        let root = scratch("folder");
        fs::write(root.join("file"), "").unwrap();
        assert!(try_folder(&root.join("file/dumps")).is_err());
        try_folder(&root.join("dumps")).unwrap();
        assert_eq!(fs::read_dir(root.join("dumps")).unwrap().count(), 0);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_file_that_is_tried_stays_as_it_is() {
        let root = scratch("try-file");
        let file = root.join("file");
        try_file(&file).unwrap();
        assert!(fs::read_dir(&root).unwrap().next().is_none());
        fs::write(&file, "precious").unwrap();
        try_file(&file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
        for bad in [&root, &root.join("none/file"), &file.join("file")] {
            assert!(try_file(bad).is_err(), "{}", bad.display());
        }
        try_file(Path::new("/dev/stdout")).unwrap();
        fs::remove_dir_all(root).unwrap();
    }
}
