//! The program on the doubles: each case can pass, so that one that fails on a GPU says something
//! about that.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use std::path::PathBuf;
use std::process::{Command, Output};

fn double(name: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    here.parent().unwrap().join(format!("lib{name}.so"))
}

fn on_the_doubles(devices: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_ranks-gpu"));
    with_doubles(program.args(devices), variables)
        .output()
        .unwrap()
}

fn with_doubles<'a>(command: &'a mut Command, variables: &[(&str, &str)]) -> &'a mut Command {
    let driver = double("cuda_double");
    command
        .env("RANKS_NCCL", double("nccl_double"))
        .env("RANKS_CUDA", &driver)
        .env("NCCL_DOUBLE_CUDA", &driver)
        .env("RANKS_NVSHMEM", double("nvshmem_double"))
        .env("NVSHMEM_DOUBLE_CUDA", &driver)
        .env("NVSHMEM_DOUBLE_DELAY_US", "100")
        .envs(variables.iter().copied())
}

fn passes(devices: &[&str], variables: &[(&str, &str)]) -> String {
    let output = on_the_doubles(devices, variables);
    let (said, complained) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{said}{complained}");
    assert!(said.contains(" 0 failed"), "{said}");
    said.into_owned()
}

/// What a compiler makes of `ring_shift.cu`, as far as the double reads it.
const KERNEL: &str = ".version 8.0
.const .align 8 .b8 nvshmemi_device_state_d[848];
.const .align 4 .b8 nvshmemi_device_lib_version_d[12] = {3};
.visible .entry ring_shift(.param .u64 to, .param .u64 from, .param .u64 count) { ret; }
";

/// With a kernel, which on the double puts to its own PE.
#[test]
fn one_rank_passes() {
    let kernel = std::env::temp_dir().join(format!("ranks-gpu-kernel-{}", std::process::id()));
    std::fs::write(&kernel, KERNEL).unwrap();
    let said = passes(&[], &[("RANKS_GPU_KERNEL", kernel.to_str().unwrap())]);
    std::fs::remove_file(kernel).unwrap();
    assert!(said.contains("ok        a kernel that puts"), "{said}");
}

#[test]
fn three_ranks_pass() {
    let said = passes(&["0", "1", "2"], &[]);
    assert!(
        said.contains("NVSHMEM 3.8.0, 3 PEs, all that it has"),
        "{said}"
    );
}

/// The NCCL that PyTorch brings refuses a GPU that is named twice.
#[test]
fn two_ranks_on_one_gpu_are_not_here_before_nccl_2_30() {
    for (release, there) in [("2.28.9", false), ("2.30.7", true)] {
        let said = passes(
            &["0", "0"],
            &[
                ("NCCL_DOUBLE_VERSION", release),
                ("NCCL_MULTI_RANK_GPU_ENABLE", "1"),
            ],
        );
        let not_here = format!("NCCL {release} has one rank on a GPU");
        assert_eq!(said.contains(&not_here), !there, "{said}");
    }
}

/// As where PEs share a GPU: what would end a process there is left out.
#[test]
fn limited_pes_pass() {
    let said = passes(&["0", "1"], &[("NVSHMEM_DOUBLE_LIMITED", "1")]);
    assert!(said.contains("not in limited mode"), "{said}");
}

/// Threads are the ranks here. No library is given what a double says is memory of a GPU.
#[test]
fn ranks_without_nccl_pass_by_copies() {
    let threads = [("RANKS_BACKEND", "inprocess"), ("RANKS_NP", "2")];
    let said = passes(&["--mpi", "0", "1"], &threads);
    assert!(said.contains("ok        memory that is copied"), "{said}");
    let given = "not here  memory that the library is given";
    assert!(said.contains(given), "{said}");
}

/// The script of a kit, beside the program; it needs nothing of the path but a shell.
fn kit(name: &str, variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let folder = std::env::temp_dir().join(format!("ranks-gpu-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = env!("CARGO_BIN_EXE_ranks-gpu");
    std::fs::copy(program, folder.join("ranks-gpu")).unwrap();
    let script = folder.join("run.sh");
    std::fs::write(&script, include_str!("../run.sh")).unwrap();
    std::fs::write(folder.join("about"), "ranks of a test\n").unwrap();
    let output = with_doubles(Command::new("/bin/sh").arg(&script), variables)
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    let report = std::fs::read_to_string(folder.join("report.md")).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("the report: "), "{said}{output:?}");
    (output.status.code(), report)
}

#[test]
fn a_kit_runs_by_its_script_and_reports() {
    let launcher = "/usr/bin/env RANKS_BACKEND=inprocess RANKS_NP=2";
    let (code, report) = kit(
        "kit",
        &[
            ("NCCL_DOUBLE_VERSION", "2.28.9"),
            ("RANKS_GPU_LAUNCHER", launcher),
        ],
    );
    assert_eq!(code, Some(0), "{report}");
    for said in [
        "# What ran on GPUs: ",
        "| ranks | of a test |",
        "libnccl_double.so |",
        "## One rank on the first GPU\n\n`ranks-gpu 0` ended with 0.\n\n```text\nCUDA driver 13.0",
        "## Two ranks on the first GPU",
        "NCCL 2.28.9 has one rank on a GPU",
        "RANKS_NP=2 ranks-gpu --mpi` ended with 0.\n\n```text\n2 ranks, ",
        " 0 failed, ",
    ] {
        assert!(report.contains(said), "{said}: {report}");
    }
}

#[test]
fn a_kit_on_a_machine_without_a_gpu_says_so() {
    for variable in [
        ("CUDA_DOUBLE_DEVICES", "0"),
        ("RANKS_CUDA", "/nowhere/libcuda.so.1"),
    ] {
        let (code, report) = kit(&format!("none-{}", variable.0), &[variable]);
        assert_eq!(code, Some(3), "{report}");
        assert!(
            report.contains("ended with 3.\n\n```text\nno device: "),
            "{report}"
        );
        assert!(!report.contains("Two ranks"), "{report}");
    }
}

#[test]
fn without_a_gpu_of_that_number_it_says_so() {
    let output = on_the_doubles(&["99"], &[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("no device: ") && said.contains("99"),
        "{said}"
    );
}
