//! `submit --test`, where jobs are submitted: builds all that the job runs, waits for it, and packs
//! what came of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ranks_harness::{programs, suites, workspace};
use ranks_launch::Installation;

use super::super::slurm::By;
use super::plan::Plan;
use super::system::System;
use super::{Arguments, Wish, hand_in, script, words};
use crate::Outcome;

/// What is measured where nothing is named: sums and messages to neighbours, an exchange of all
/// with all, large blocks that are put into windows.
const BENCH: [&str; 3] = ["nas_cg", "nas_ft", "prk_transpose"];

pub(super) fn main(
    arguments: &Arguments,
    system: System,
    wish: &Wish,
    chosen: &[Installation],
    by: &[By],
) -> Outcome {
    let folder = super::folder()?;
    let text = script::tests(system, wish, &std::env::current_exe()?, &folder);
    if arguments.dry_run {
        print!("{text}");
        return Ok(ExitCode::SUCCESS);
    }
    let mut plan = Plan {
        nodes: wish.hosts,
        ppn: wish.each,
        mpi: chosen.iter().map(|one| one.name.clone()).collect(),
        by: by.to_vec(),
        filter: arguments.program.clone(),
        binaries: Vec::new(),
        ranks: PathBuf::new(),
        job: Vec::new(),
        bench: Vec::new(),
        deadline: arguments.deadline,
    };
    if plan.layouts().is_empty() {
        return Err("tests are on two ranks at least: ask for more by --nodes or --ppn".into());
    }
    let binaries = suites::binaries(suites::cargo_test(&arguments.package))?;
    // Of a build of all packages they lie beside the folder of the tests.
    let built = |package: &str, name: &str| {
        let path = binaries.first().and_then(|one| one.path.ancestors().nth(2));
        let there = path
            .map(|path| path.join(name))
            .filter(|_| arguments.package.is_empty());
        match there.filter(|path| path.is_file()) {
            Some(path) => Ok(path),
            None => programs::build(package, name, true),
        }
    };
    plan.ranks = built("ranks-cli", "ranks")?;
    let job = built("ranks-jobs", "job-program")?;
    plan.job = words(&[job.display().to_string(), "hosts".to_owned()])?;
    let tests = suites::tests(&binaries)?;
    plan.binaries = tests.into_iter().map(|(binary, _)| binary.into()).collect();
    let bench = if arguments.bench.is_empty() {
        BENCH.map(str::to_owned).to_vec()
    } else {
        arguments.bench.clone()
    };
    for program in bench {
        let program: Vec<String> = program.split_whitespace().map(str::to_owned).collect();
        plan.bench.push(words(&program)?);
    }
    fs::create_dir_all(&folder)?;
    plan.write(&folder)?;
    fs::write(folder.join("versions"), versions(system))?;

    let ended = hand_in(system, &folder, &text);
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let table = read("table");
    print!("{}", if table.is_empty() { read("log") } else { table });
    // Of a job that its system has ended as well.
    println!("{} has all of it", pack(&folder)?.display());
    ended?;
    Ok(if read("status").trim() == "0" {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The versions of what has built the tests, and of what has taken the job.
fn versions(system: System) -> String {
    let root = workspace::root().display().to_string();
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let asked: [&[&str]; 4] = [
        &[
            "git", "-C", &root, "describe", "--always", "--dirty", "--tags",
        ],
        &[&rustc, "--version", "--verbose"],
        &["uname", "-a"],
        &[system.submits()[0], system.version()],
    ];
    asked.map(said).concat()
}

/// A command, and what it says.
pub(super) fn said(words: &[&str]) -> String {
    let output = Command::new(words[0]).args(&words[1..]).output();
    let text = match output {
        Ok(output) => [output.stdout, output.stderr].concat(),
        Err(error) => error.to_string().into_bytes(),
    };
    let text = String::from_utf8_lossy(&text);
    format!("$ {}\n{}\n\n", words.join(" "), text.trim_end())
}

/// Packs a folder beside itself.
fn pack(folder: &Path) -> Result<PathBuf, String> {
    let (beside, name) = folder
        .parent()
        .zip(folder.file_name())
        .ok_or("a folder without a name")?;
    let archive = folder.with_extension("tar.gz");
    let mut tar = Command::new("tar");
    tar.args(["--create", "--gzip", "--file"]).arg(&archive);
    tar.arg("--directory").arg(beside).arg(name);
    match tar.status() {
        Ok(status) if status.success() => Ok(archive),
        Ok(status) => Err(format!("tar ended with {status}")),
        Err(error) => Err(format!("tar: {error}")),
    }
}
