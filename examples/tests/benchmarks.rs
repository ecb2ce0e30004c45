//! The examples on every backend: each compares its own results with those published, or with what it was given.

use ranks::prelude::*;
use ranks_examples::nas::Class;
use ranks_examples::nas_cg::Problem;
use ranks_examples::report::Report;
use ranks_examples::{nas_cg, nas_ft, nas_is, sample_sort};

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

/// 1170 collectives, and as many comparisons of calls: where more ranks than cores spin while they wait, that takes long.
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
