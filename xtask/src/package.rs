//! `cargo xtask package`: makes the packages of all published crates, compiles them with the lowest
//! versions of others that they ask for, and runs README's program from them alone.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ranks_harness::workspace;

use crate::Outcome;
use crate::command::succeeded;
use crate::tidy::metadata::Metadata;

/// Files that each package has besides its sources.
const NEEDED: [&str; 4] = ["Cargo.toml", "README.md", "LICENSE-APACHE", "LICENSE-MIT"];
/// Files that cargo adds.
const OF_CARGO: [&str; 3] = [".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml.orig"];
/// The words that README's program prints on two ranks.
const SAID: &str = "2 ranks, in process: [1.0, 1.0, 1.0, 1.0]";
/// The manifest of README's program.
const HELLO: &str =
    "[package]\nname = \"hello\"\nedition = \"2024\"\n\n[dependencies]\nranks = \"*\"\n";

pub(crate) fn main() -> Outcome {
    let metadata = Metadata::of_workspace()?;
    let published = metadata.members().filter(|package| package.is_published());
    let names: Vec<&str> = published.map(|package| package.name.as_str()).collect();
    let packages = packages(&names)?;
    if packages.len() != names.len() {
        return Err(format!("{} packages of {} crates", packages.len(), names.len()).into());
    }

    let folder = empty(&target().join("package/unpacked"))?;
    let mut faults = Vec::new();
    for package in &packages {
        let listed = tar(&["-tzf"], package, &folder)?;
        let files = files(&listed);
        println!("{:>4} files  {}", files.len(), shown(package));
        let wrong = wrong(&files);
        faults.extend(wrong.map(|fault| format!("{}: {fault}", shown(package))));
        tar(&["-xzf"], package, &folder)?;
    }
    for fault in &faults {
        println!("FAULT: {fault}");
    }
    if !faults.is_empty() {
        return Ok(ExitCode::FAILURE);
    }

    let said = program(&folder)?;
    if said.trim_end() != SAID {
        return Err(format!("README's program printed {said:?}, not {SAID:?}").into());
    }
    println!("README's program, built from the packages: {SAID}");
    Ok(ExitCode::SUCCESS)
}

/// Makes the packages of these crates: their files.
fn packages(names: &[&str]) -> Result<Vec<PathBuf>, Box<dyn std::error::Error>> {
    let folder = empty(&target().join("package/made"))?;
    let mut cargo = workspace::cargo();
    cargo.args(["package", "--no-verify", "--allow-dirty", "--quiet"]);
    cargo.arg("--target-dir").arg(&folder);
    cargo.args(names.iter().map(|name| format!("--package={name}")));
    succeeded(&mut cargo)?;
    let files = fs::read_dir(folder.join("package"))?;
    let mut packages = Vec::new();
    for file in files {
        let path = file?.path();
        if path.extension().is_some_and(|end| end == "crate") {
            packages.push(path);
        }
    }
    packages.sort();
    Ok(packages)
}

/// The paths in a list of a package's files, below its one folder.
fn files(list: &str) -> BTreeSet<&str> {
    list.lines()
        .filter_map(|line| Some(line.split_once('/')?.1))
        .collect()
}

/// The faults in the files of a package: something is missing, or no source.
fn wrong(files: &BTreeSet<&str>) -> impl Iterator<Item = String> {
    let missing = NEEDED.into_iter().filter(|name| !files.contains(name));
    let missing = missing.map(|name| format!("there is no {name}"));
    let known = |path: &str| NEEDED.contains(&path) || OF_CARGO.contains(&path);
    let others = files
        .iter()
        .filter(move |path| !known(path) && !path.starts_with("src/"));
    missing.chain(others.map(|path| format!("{path} is no source")))
}

/// Makes one workspace of the unpacked packages and the program of `ranks`' README, with the lowest
/// versions of others that manifests ask for; compiles it, and runs the program on two ranks: what
/// it prints.
fn program(packages: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let mut members = vec![String::from("hello")];
    let mut patches = String::new();
    let mut readme = None;
    for folder in fs::read_dir(packages)? {
        let folder = folder?.path();
        let own = fs::read_to_string(folder.join("Cargo.toml"))?;
        let own: toml::Table = own.parse()?;
        let name = own["package"]["name"].as_str().unwrap_or_default();
        patches.push_str(&format!("{name} = {{ path = {folder:?} }}\n"));
        // What numr needs decides which versions this one is compiled with.
        if name != "ranks-numr" {
            members.push(folder.display().to_string());
        }
        if name == "ranks" {
            readme = Some(fs::read_to_string(folder.join("README.md"))?);
        }
    }
    let readme = readme.ok_or("there is no package of ranks")?;
    let source = readme
        .split("```rust\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let root = target().join("package");
    let hello = empty(&root.join("hello"))?;
    fs::create_dir(hello.join("src"))?;
    fs::write(
        hello.join("src/main.rs"),
        source.ok_or("README has no program")?,
    )?;
    fs::write(hello.join("Cargo.toml"), HELLO)?;
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n[patch.crates-io]\n{patches}"
    );
    fs::write(root.join("Cargo.toml"), manifest)?;
    let cargo = |arguments: &[&str]| {
        let mut cargo = Command::new(workspace::cargo().get_program());
        cargo.args(arguments).current_dir(&root);
        cargo.env("CARGO_TARGET_DIR", root.join("built"));
        cargo
    };
    // Cargo takes this option where it is told that it may be another one in a later version.
    let mut lowest = cargo(&["update", "--quiet", "-Zdirect-minimal-versions"]);
    succeeded(lowest.env("RUSTC_BOOTSTRAP", "1"))?;
    let mut check = cargo(&["check", "--quiet", "--workspace", "--all-features"]);
    succeeded(check.args(["--lib", "--bins"]))?;
    let mut run = cargo(&["run", "--quiet", "--package", "hello"]);
    Ok(succeeded(run.env("RANKS_NP", "2"))?)
}

/// Lists or extracts a package, in a folder.
fn tar(arguments: &[&str], package: &Path, folder: &Path) -> Result<String, String> {
    let mut tar = Command::new("tar");
    succeeded(tar.args(arguments).arg(package).current_dir(folder))
}

pub(crate) fn target() -> PathBuf {
    workspace::root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// A folder in which there is nothing.
pub(crate) fn empty(folder: &Path) -> std::io::Result<PathBuf> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir_all(folder)?;
    Ok(folder.to_path_buf())
}

fn shown(package: &Path) -> String {
    package
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_belong_into_a_package_is_found() {
        let good = "a-1/Cargo.toml\na-1/Cargo.toml.orig\na-1/README.md\na-1/LICENSE-APACHE\na-1/LICENSE-MIT\na-1/src/lib.rs\n";
        assert_eq!(wrong(&files(good)).count(), 0);
        let bad = good.replace("a-1/README.md\n", "a-1/tests/b.rs\n");
        let faults: Vec<String> = wrong(&files(&bad)).collect();
        assert_eq!(faults, ["there is no README.md", "tests/b.rs is no source"]);
    }
}
