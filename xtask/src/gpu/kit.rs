//! A folder for a machine with a GPU and with neither Rust nor a registry: the programs, compiled,
//! and a script that runs them.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ranks_harness::programs::built_by;
use ranks_harness::workspace;

use super::libraries;
use crate::command::succeeded;
use crate::glibc;
use crate::zig::System;

/// The largest that a kit may be.
const MOST: u64 = 64 << 20;

/// The programs that run there.
const SCRIPT: &str = include_str!("../../../testing/gpu/run.sh");

/// The kernel, and the architecture that it is compiled for: H100 and H200.
const KERNEL: &str = "examples/device_put/ring_shift.cu";
const ARCHITECTURE: &str = "sm_90";

/// What a compiler of CUDA is made of, with the version that all were tried with.
const COMPILER: [&str; 5] = [
    "nvidia-cuda-nvcc==13.5.37",
    "nvidia-nvvm==13.5.37",
    "nvidia-cuda-runtime==13.5.37",
    "nvidia-cuda-crt==13.5.37",
    "nvidia-cuda-cccl==13.3.5.0.6",
];

type Done<T> = Result<T, Box<dyn Error>>;

/// Makes the kit in `folder`, for old systems. With `provision` what is missing for that, and for
/// the kernel, is fetched.
pub(super) fn make(folder: &Path, provision: bool) -> Done<()> {
    fs::create_dir_all(folder)?;
    let mut about = Vec::new();
    let system = System::old();
    for (name, program) in programs(&system, provision)? {
        fs::copy(&program, folder.join(&name))?;
        let oldest = system.oldest;
        glibc::check(&fs::read(&program)?, oldest).map_err(|why| format!("{name}: {why}"))?;
        about.push(format!("{name} compiled for glibc {oldest} and later"));
    }
    let cubin = folder.join("ring_shift.cubin");
    about.push(match kernel(&cubin, provision) {
        Ok(compiler) => format!("ring_shift.cubin compiled for {ARCHITECTURE} by {compiler}"),
        Err(why) => {
            eprintln!("the kit has no kernel: {why}");
            format!("ring_shift.cubin not compiled: {why}")
        }
    });
    about.push(format!("ranks {}", revision()));
    fs::write(folder.join("about"), about.join("\n") + "\n")?;
    fs::write(folder.join("run.sh"), SCRIPT)?;
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    println!(
        "{} has {:.1} MiB; on the machine with the GPU: sh run.sh",
        folder.display(),
        bytes as f64 / f64::from(1 << 20)
    );
    if bytes > MOST {
        return Err(format!("a kit may have {MOST} bytes, and this one has {bytes}").into());
    }
    Ok(())
}

/// Compiles the programs: their names, and where they are.
fn programs(system: &System, provision: bool) -> Done<Vec<(String, PathBuf)>> {
    let mut cargo = workspace::cargo();
    system.prepare(&mut cargo, provision)?;
    let programs = built_by(
        cargo,
        &[
            "--release",
            "--package=ranks-gpu",
            "--package=ranks-nccl",
            "--bin=ranks-gpu",
            "--example=nccl_enqueue",
        ],
    )?;
    if programs.len() == 2 {
        return Ok(programs);
    }
    Err("the programs were not compiled".into())
}

/// Compiles the kernel with the headers of the older NVSHMEM, which newer ones take: which compiler
/// it was.
fn kernel(cubin: &Path, provision: bool) -> Result<String, String> {
    let wheel = libraries::NVSHMEM[1];
    let library = libraries::nvshmem(wheel, provision)?;
    let home = library.ancestors().nth(2).ok_or("NVSHMEM has no folder")?;
    let nvcc = compiler(provision)?;
    let object = cubin.with_extension("o");
    let run = |arguments: &[&str], paths: [(&str, &Path); 2]| {
        let mut command = Command::new(&nvcc);
        command.args(["-std=c++17", &format!("-arch={ARCHITECTURE}")]);
        command.args(arguments);
        for (option, path) in paths {
            command.arg(format!("{option}{}", path.display()));
        }
        succeeded(&mut command)
    };
    let source = workspace::root().join(KERNEL);
    run(
        &["-rdc=true", "-c", "-o", &object.display().to_string()],
        [("-I", &home.join("include")), ("", &source)],
    )?;
    let linked = run(
        &[
            "-dlink",
            "-cubin",
            "-lnvshmem_device",
            "-o",
            &cubin.display().to_string(),
        ],
        [("-L", &home.join("lib")), ("", &object)],
    );
    let _ = fs::remove_file(&object);
    linked?;
    let said = succeeded(Command::new(&nvcc).arg("--version"))?;
    let version = said.lines().find(|line| line.contains("release"));
    Ok(format!(
        "{}, with the headers of {wheel}",
        version.unwrap_or("nvcc").trim()
    ))
}

/// An `nvcc`: that of the path, or one that Python's packages bring.
fn compiler(provision: bool) -> Result<PathBuf, String> {
    if Command::new("nvcc").arg("--version").output().is_ok() {
        return Ok("nvcc".into());
    }
    let folder = workspace::root().join("target/cuda");
    let found = || -> Option<PathBuf> {
        let python = fs::read_dir(folder.join("lib")).ok()?;
        let mut nvccs = python
            .filter_map(Result::ok)
            .map(|entry| entry.path().join("site-packages/nvidia/cu13/bin/nvcc"));
        nvccs.find(|nvcc| nvcc.is_file())
    };
    if let Some(nvcc) = found() {
        return Ok(nvcc);
    }
    if !provision {
        return Err("there is no nvcc, and with --offline none is fetched".into());
    }
    let mut make = Command::new("python3");
    make.args(["-m", "venv"]).arg(&folder);
    let mut install = Command::new(folder.join("bin/pip"));
    install.args(["install", "--quiet"]).args(COMPILER);
    for mut command in [make, install] {
        succeeded(&mut command)?;
    }
    found().ok_or_else(|| "the packages of Python have no nvcc".to_owned())
}

/// The commit, if there is one, and whether it is what was compiled.
fn revision() -> String {
    let mut git = Command::new("git");
    git.current_dir(workspace::root());
    let said = succeeded(git.args(["describe", "--always", "--dirty"]));
    said.map_or("of an unknown revision".to_owned(), |said| {
        said.trim().to_owned()
    })
}
