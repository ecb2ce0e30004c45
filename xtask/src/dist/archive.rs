//! A folder as an archive: the same files make the same bytes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::command::succeeded;

/// The time that all files of an archive have.
const TIME: &str = "2000-01-01 00:00:00Z";

/// The file with the sums of the others.
const SUMS: &str = "SHA256SUMS";

/// The SHA-256 of a file, as `sha256sum` prints it.
pub(crate) fn sum(file: &Path) -> io::Result<String> {
    let digest = Sha256::digest(fs::read(file)?);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes the sums of all files below a folder into it, as `sha256sum --check` reads them.
pub(super) fn sums(folder: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    below(folder, &mut files)?;
    files.sort();
    let mut lines = String::new();
    for file in files {
        let name = file.strip_prefix(folder).unwrap_or(&file);
        lines.push_str(&format!("{}  {}\n", sum(&file)?, name.display()));
    }
    fs::write(folder.join(SUMS), lines)
}

fn below(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            below(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// Packs a folder beside itself: the archive. Neither the order of its entries nor their times,
/// their owner or the umask matter.
pub(super) fn pack(folder: &Path) -> Result<PathBuf, String> {
    let name = folder.file_name().ok_or("a folder without a name")?;
    let beside = folder.parent().ok_or("a folder without a parent")?;
    let archive = beside.join(format!("{}.tar.gz", name.display()));
    let mut tar = Command::new("tar");
    tar.args(["--create", "--format=ustar", "--sort=name"])
        .args(["--owner=0", "--group=0", "--numeric-owner"])
        .args(["--mode=u=rwX,go=rX", "--mtime", TIME])
        .args(["--use-compress-program", "gzip -9n", "--file"])
        .arg(&archive)
        .arg("--directory")
        .arg(beside)
        .arg(name);
    succeeded(&mut tar).map(|_| archive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::empty;

    /// A folder of this name with the same files, made in an order.
    fn folder(within: &str, files: &[&str], mode: u32) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let here = format!("xtask-archive-{}-{within}", std::process::id());
        let folder = std::env::temp_dir().join(here).join("all");
        empty(&folder.join("bin")).unwrap();
        for file in files {
            fs::write(folder.join(file), file).unwrap();
            fs::set_permissions(folder.join(file), fs::Permissions::from_mode(mode)).unwrap();
        }
        sums(&folder).unwrap();
        folder
    }

    #[test]
    fn the_same_files_are_the_same_archive() {
        let first = folder("first", &["bin/a", "bin/b", "README"], 0o755);
        let second = folder("second", &["README", "bin/b", "bin/a"], 0o700);
        let hour = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        let readme = fs::File::options().append(true).open(second.join("README"));
        readme.unwrap().set_modified(hour).unwrap();
        let archives = [&first, &second].map(|folder| pack(folder).unwrap());
        assert!(archives[0].ends_with("all.tar.gz"));
        let [one, other] = archives.map(|archive| fs::read(archive).unwrap());
        assert_eq!(one, other);
        for folder in [first, second] {
            let mut check = Command::new("sha256sum");
            check.args(["--check", SUMS]).current_dir(&folder);
            let said = succeeded(&mut check).unwrap();
            assert_eq!(said, "README: OK\nbin/a: OK\nbin/b: OK\n");
            fs::remove_dir_all(folder.parent().unwrap()).unwrap();
        }
    }
}
