//! The program on the doubles: each case can pass, so that one that fails on a GPU says something about that.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use std::path::PathBuf;
use std::process::{Command, Output};

fn double(name: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    here.parent().unwrap().join(format!("lib{name}.so"))
}

fn on_the_doubles(devices: &[&str]) -> Output {
    let driver = double("cuda_double");
    Command::new(env!("CARGO_BIN_EXE_ranks-gpu"))
        .args(devices)
        .env("RANKS_NCCL", double("nccl_double"))
        .env("RANKS_CUDA", &driver)
        .env("NCCL_DOUBLE_CUDA", &driver)
        .output()
        .unwrap()
}

fn passes(devices: &[&str]) {
    let output = on_the_doubles(devices);
    let (said, complained) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{said}{complained}");
    assert!(said.contains(" 0 failed"), "{said}");
}

#[test]
fn one_rank_passes() {
    passes(&[]);
}

#[test]
fn three_ranks_pass() {
    passes(&["0", "1", "2"]);
}

#[test]
fn without_a_gpu_of_that_number_it_says_so() {
    let output = on_the_doubles(&["99"]);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && complained.contains("99"),
        "{complained}"
    );
}
