//! The examples on every backend: each compares its own results with those published, or with what
//! it was given.

mod heap;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ranks::prelude::*;
use ranks_examples::nas::Class;
use ranks_examples::nas_cg::Problem;
use ranks_examples::prk::{Form, Problem as Prk, wait_for};
use ranks_examples::report::{Outcome, Report};
use ranks_examples::{
    nas_cg, nas_ft, nas_is, nas_mg, prk_stencil, prk_synch_p2p, prk_transpose, sample_sort, sgd,
};

fn assert_verified(report: &Report) {
    assert!(report.is_verified(), "{report:#?}");
}

#[ranks_test::ranks(1, 2, 3, 4, 8)]
fn integer_sort(world: Communicator) -> Result<()> {
    assert_verified(&nas_is::benchmark(&world, Class::S)?);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4, 8)]
fn fourier_transform(world: Communicator) -> Result<()> {
    assert_verified(&nas_ft::benchmark(&world, Class::S)?);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4, 8)]
fn multigrid(world: Communicator) -> Result<()> {
    assert_verified(&nas_mg::benchmark(&world, Class::S)?);
    Ok(())
}

/// So many that each has the whole grid; and more than there are planes.
#[ranks_test::ranks(9, 33, in_process_only)]
fn multigrid_undivided(world: Communicator) -> Result<()> {
    assert_verified(&nas_mg::benchmark(&world, Class::S)?);
    Ok(())
}

/// 1170 collectives, and as many comparisons of calls: where more ranks than cores spin while they
/// wait, that takes long.
#[ranks_test::ranks(1, 2, 3, 4, 8, timeout = 120)]
fn conjugate_gradient(world: Communicator) -> Result<()> {
    assert_verified(&nas_cg::benchmark(&world, Problem::of(Class::S))?);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4, 8)]
fn sorting(world: Communicator) -> Result<()> {
    sorted(&world, 100_000, "b02c67c8e6db8e93")
}

#[ranks_test::ranks(2, in_process_only)]
fn sorting_of_many(world: Communicator) -> Result<()> {
    sorted(&world, 10_000_000, "d90ffc0715c6ef33")
}

/// Fewer keys than ranks, and none.
#[ranks_test::ranks(1, 2, 3, 4, 8)]
fn sorting_of_few(world: Communicator) -> Result<()> {
    assert_verified(&sample_sort::benchmark(&world, 2)?);
    assert_verified(&sample_sort::benchmark(&world, 0)?);
    Ok(())
}

/// Whatever the number of ranks, the keys are the same and so is their order.
fn sorted(world: &Communicator, keys: usize, order: &str) -> Result<()> {
    let report = sample_sort::benchmark(world, keys)?;
    assert_verified(&report);
    assert_eq!(report.result("order"), Some(order));
    Ok(())
}

/// Fewer rows than the star reaches beyond are refused by all ranks.
#[ranks_test::ranks(1, 2, 3, 4)]
fn stencil(world: Communicator) -> Result<()> {
    // One of the forms is for ranks that share memory: each host works by itself.
    let world = world.split_shared(0)?;
    for problem in both_forms(23, 5) {
        assert_verified(&prk_stencil::benchmark(&world, problem)?);
    }
    for problem in both_forms(4, 1) {
        let refused = prk_stencil::benchmark(&world, problem).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Argument, "{refused}");
    }
    Ok(())
}

/// Of whole tiles and parts of such, and of fewer columns than ranks.
#[ranks_test::ranks(1, 2, 3, 4)]
fn transpose(world: Communicator) -> Result<()> {
    // One of the forms is for ranks that share memory: each host works by itself.
    let world = world.split_shared(0)?;
    for problem in both_forms(75, 3).into_iter().chain(both_forms(2, 1)) {
        assert_verified(&prk_transpose::benchmark(&world, problem)?);
    }
    Ok(())
}

/// With fewer columns than ranks as well.
#[ranks_test::ranks(1, 2, 3, 4)]
fn pipeline(world: Communicator) -> Result<()> {
    // One of the forms is for ranks that share memory: each host works by itself.
    let world = world.split_shared(0)?;
    for problem in both_forms(20, 2).into_iter().chain(both_forms(2, 3)) {
        assert_verified(&prk_synch_p2p::benchmark(&world, problem)?);
    }
    Ok(())
}

fn both_forms(order: usize, iterations: usize) -> [Prk; 2] {
    [Form::Rma, Form::Shm].map(|form| Prk {
        form,
        iterations,
        order,
    })
}

/// To the last bit.
#[ranks_test::ranks(1, 2, 3, 4)]
fn training(world: Communicator) -> Outcome<()> {
    assert_verified(&sgd::on_hosts(&world)?);
    Ok(())
}

/// The file of a double, which cargo builds beside this program.
#[allow(clippy::unwrap_used, reason = "of a test")]
fn double(name: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    here.with_file_name(format!("lib{name}.so"))
}

/// The program as it is, on doubles of NCCL and of the driver.
#[test]
fn training_on_gpus() {
    for ranks in ["1", "2", "3", "4"] {
        let ended = Command::new(env!("CARGO_BIN_EXE_sgd"))
            .args(["--backend", "nccl"])
            .env("RANKS_BACKEND", "inprocess")
            .env("RANKS_NP", ranks)
            .env("RANKS_CUDA", double("cuda_double"))
            .env("RANKS_NCCL", double("nccl_double"))
            .env("NCCL_DOUBLE_CUDA", double("cuda_double"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        let result = format!("ranks={ranks} verified=yes");
        assert!(
            ended.status.success() && said.contains(&result) && said.contains("NCCL"),
            "{ended:?}"
        );
    }
}

/// A wait for a value that never comes is an error in the end, and one for a value that comes late
/// gets it.
#[test]
fn waiting_ends() {
    let never = wait_for(Duration::ZERO, || Ok(None::<f64>)).unwrap_err();
    assert_eq!(never.kind(), ErrorKind::TimedOut);
    let mut looks = 0..;
    let late = wait_for(Duration::MAX, || Ok(looks.next().filter(|&look| look == 3)));
    assert_eq!(late.unwrap(), 3);
}
