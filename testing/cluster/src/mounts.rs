//! The files of a host: those of the machine, but for what programs on one host use to find each
//! other.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};

/// Folders that a host has for itself.
const OWN: [&str; 2] = ["/tmp", "/dev/shm"];

/// Makes this mount namespace that of a host: own `/proc`, `/tmp`, `/dev/shm` and `/etc/hosts`, and
/// nothing of it seen elsewhere.
///
/// Of what lies in the machine's `/tmp`, the folders `keep` stay visible.
pub(super) fn of_host(hosts: &Path, keep: &[PathBuf]) -> Result<(), String> {
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    attempt(
        "/",
        mount(None::<&str>, "/", None::<&str>, private, None::<&str>),
    )?;
    let guarded = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let proc_flags = guarded | MsFlags::MS_NOEXEC;
    attempt(
        "/proc",
        mount(
            Some("proc"),
            "/proc",
            Some("proc"),
            proc_flags,
            None::<&str>,
        ),
    )?;
    attempt(
        "/etc/hosts",
        mount(
            Some(hosts),
            "/etc/hosts",
            None::<&str>,
            MsFlags::MS_BIND,
            None::<&str>,
        ),
    )?;
    for folder in OWN {
        let kept: Vec<(&PathBuf, File)> = covered(folder, keep)
            .into_iter()
            .map(|path| match File::open(path) {
                Ok(file) => Ok((path, file)),
                Err(error) => Err(format!("{}: {error}", path.display())),
            })
            .collect::<Result<_, _>>()?;
        attempt(
            folder,
            mount(
                Some("tmpfs"),
                folder,
                Some("tmpfs"),
                guarded,
                Some("mode=1777"),
            ),
        )?;
        for (path, file) in kept {
            // What is covered can still be reached by what was opened before.
            fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))?;
            let source = format!("/proc/self/fd/{}", file.as_raw_fd());
            let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
            attempt(
                path,
                mount(
                    Some(source.as_str()),
                    path,
                    None::<&str>,
                    flags,
                    None::<&str>,
                ),
            )?;
        }
    }
    Ok(())
}

fn attempt(what: impl AsRef<Path>, result: nix::Result<()>) -> Result<(), String> {
    result.map_err(|error| format!("mount on {}: {error}", what.as_ref().display()))
}

/// Those of `keep` that a mount on `folder` covers, without those inside of others.
fn covered<'a>(folder: &str, keep: &'a [PathBuf]) -> Vec<&'a PathBuf> {
    let below: Vec<&PathBuf> = keep
        .iter()
        .filter(|path| path.starts_with(folder) && path.as_path() != Path::new(folder))
        .collect();
    let mut outermost: Vec<&PathBuf> = below
        .iter()
        .filter(|path| {
            !below
                .iter()
                .any(|other| other != *path && path.starts_with(other))
        })
        .copied()
        .collect();
    outermost.sort();
    outermost.dedup();
    outermost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_mount_covers_is_kept_once() {
        let keep = ["/tmp/a/b", "/tmp/a", "/tmp", "/tmp/a", "/home/x", "/tmpx"].map(PathBuf::from);
        assert_eq!(covered("/tmp", &keep), [Path::new("/tmp/a")]);
        assert!(covered("/dev/shm", &keep).is_empty());
    }
}
