//! `cargo xtask dist`: an archive of programs that run on old systems, without an installation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ranks_harness::programs::built_by;
use ranks_harness::workspace;

use crate::Outcome;
use crate::glibc::{self, Release};
use crate::package::empty;
use crate::zig::System;

mod archive;
mod licences;
mod programs;
mod trial;

pub(crate) use archive::sum;

/// The systems to build for, and the programs.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The oldest glibc that the programs run on.
    #[arg(long, default_value_t = Release::OLD)]
    glibc: Release,
    /// A package whose programs are to be in the archive too: its name in this workspace, or the
    /// folder of another one.
    #[arg(short, long, num_args = 1)]
    package: Vec<String>,
    /// Runs the programs in a root of that older release of Debian too, such as `bullseye`, which
    /// is brought below `target`: in process, and on the MPIs of wheels that are here.
    #[arg(long, value_name = "RELEASE")]
    try_on: Option<String>,
    /// Downloads nothing: takes the zig that was fetched before.
    #[arg(long)]
    offline: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let system = System {
        oldest: arguments.glibc,
        ..System::old()
    };
    let build = |options: &[&str]| -> Result<Vec<(String, PathBuf)>, String> {
        let mut cargo = workspace::cargo();
        system.prepare(&mut cargo, !arguments.offline)?;
        let options = [&["--release", "--bins"], options].concat();
        built_by(cargo, &options)
    };
    let target = workspace::root().join("target/dist");
    let version = env!("CARGO_PKG_VERSION");
    let folder = target.join(format!("ranks-{version}-{}-linux-gnu", system.processor));
    empty(&folder)?;

    let crate_of_programs = programs::write(&target.join("programs"))?;
    let manifest = crate_of_programs.join("Cargo.toml").display().to_string();
    let mut programs: Vec<(PathBuf, PathBuf)> = build(&["--manifest-path", &manifest])?
        .into_iter()
        .map(|(name, path)| {
            let is_command = name == programs::COMMAND;
            let place = if is_command { "bin" } else { "examples" };
            (Path::new(place).join(name), path)
        })
        .collect();
    // Packages, and the folders of their workspaces.
    let mut sources = vec![(None, crate_of_programs)];
    for package in &arguments.package {
        let folder = Path::new(package);
        let (options, source) = if folder.join("Cargo.toml").is_file() {
            let folder = fs::canonicalize(folder)?;
            let manifest = folder.join("Cargo.toml").display().to_string();
            (["--manifest-path".to_owned(), manifest], (None, folder))
        } else {
            let options = ["--package", package].map(str::to_owned);
            (options, (Some(package.as_str()), workspace::root()))
        };
        let built = build(&options.each_ref().map(String::as_str))?;
        if built.is_empty() {
            return Err(format!("{package} has no programs").into());
        }
        let built = built.into_iter();
        programs.extend(built.map(|(name, path)| (Path::new("bin").join(name), path)));
        sources.push(source);
    }

    programs.sort();
    for (place, program) in programs {
        let needs = glibc::check(&fs::read(&program)?, system.oldest)
            .map_err(|why| format!("{}: {why}", place.display()))?;
        let needs = needs.map_or("no glibc".to_owned(), |needs| format!("glibc {needs}"));
        println!("{:<24} {needs}", place.display());
        let place = folder.join(place);
        fs::create_dir_all(place.parent().unwrap_or(&folder))?;
        fs::copy(&program, place)?;
    }
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(workspace::root().join(name), folder.join(name))?;
    }
    licences::copy(
        &sources,
        &system,
        !arguments.offline,
        &folder.join("licences"),
    )?;
    fs::write(folder.join("README"), readme(&system))?;
    archive::sums(&folder)?;
    let archive = archive::pack(&folder)?;
    println!("{}  {}", archive::sum(&archive)?, archive.display());
    if let Some(release) = &arguments.try_on {
        trial::run(&archive, release)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn readme(system: &System) -> String {
    format!(
        "ranks {} for Linux on {}, with glibc {} or later. Nothing has to be installed.\n\n\
         RANKS_NP=2 examples/hello             two ranks in process, without an MPI\n\
         bin/ranks doctor                      the MPIs that are here, and what is wrong\n\
         bin/ranks run -n 2 examples/hello     two ranks on the MPI that is here\n\
         sha256sum --check SHA256SUMS          whether the files are whole\n\n\
         The licences of ranks are beside this file, those of what is linked with it in licences/.\n",
        env!("CARGO_PKG_VERSION"),
        system.processor,
        system.oldest,
    )
}
