//! Packages of Debian, unpacked without root and without installing anything.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::succeeded;

/// Fetches packages, with what they need as if nothing were installed here, and unpacks them:
/// `root` is there in the end.
///
/// They are for an architecture, as Debian names it; of a `release`, such as `bullseye`, or else of
/// those that this machine takes packages from. Lists and state are of this call alone.
pub(crate) fn unpack(
    packages: &[&str],
    architecture: &str,
    release: Option<&str>,
    root: &Path,
) -> Result<(), String> {
    let work = root.with_extension(std::process::id().to_string());
    for folder in ["lists/partial", "archives/partial", "root"] {
        let folder = work.join(folder);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let sources = work.join("sources.list");
    if let Some(release) = release {
        let line = format!("deb {} {release} main\n", mirror()?);
        fs::write(&sources, line).map_err(|error| format!("{}: {error}", sources.display()))?;
    }
    let apt = || {
        let mut apt = Command::new("apt-get");
        apt.arg("-qq")
            .arg(format!("-oDir::State={}", work.display()));
        apt.arg(format!("-oDir::Cache={}", work.display()));
        apt.arg(format!("-oAPT::Architectures::={architecture}"));
        apt.args(["-oDir::State::status=/dev/null"]);
        apt.args(["-oDebug::NoLocking=1", "-oAPT::Sandbox::User="]);
        if release.is_some() {
            apt.arg(format!("-oDir::Etc::sourcelist={}", sources.display()));
            apt.arg("-oDir::Etc::sourceparts=/dev/null");
        }
        apt
    };
    succeeded(apt().arg("update"))?;
    let mut fetch = apt();
    fetch.args([
        "install",
        "--yes",
        "--download-only",
        "--no-install-recommends",
    ]);
    succeeded(fetch.args(packages))?;
    let entries = fs::read_dir(work.join("archives")).map_err(|error| error.to_string())?;
    for package in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if package.extension().is_some_and(|ending| ending == "deb") {
            let mut dpkg = Command::new("dpkg");
            succeeded(dpkg.arg("-x").arg(&package).arg(work.join("root")))?;
        }
    }
    let made = fs::rename(work.join("root"), root);
    let _ = fs::remove_dir_all(&work);
    made.map_err(|error| format!("{}: {error}", root.display()))
}

/// The first address that this machine takes packages of Debian from.
fn mirror() -> Result<String, String> {
    let mut apt = Command::new("apt-get");
    apt.args(["indextargets", "--format", "$(ORIGIN) $(REPO_URI)"]);
    let said = succeeded(apt.arg("Created-By: Packages"))?;
    let mut lines = said.lines();
    let found = lines.find_map(|line| line.strip_prefix("Debian "));
    found
        .map(str::to_owned)
        .ok_or_else(|| "apt knows no mirror of Debian: apt-get update".to_owned())
}
