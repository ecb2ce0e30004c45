//! What a rank can see for itself is an error before anything is sent; in process, so is what ranks
//! do not agree on.

use std::time::Duration;

use ranks_collectives::ops::Sum;
use ranks_collectives::{Blocks, NonblockingCollectives, ScopedCollectives};
use ranks_comm::{Backend, Checks, Communicator, ErrorKind, Request, Result, Runtime};

use crate::still_works;

#[ranks_test::ranks(1, 2, 3, 4)]
fn mistakes_of_one_rank_are_errors_before_anything_is_sent(world: Communicator) -> Result<()> {
    let size = world.size();
    let kind =
        |result: Result<Request<(Vec<i32>, Vec<i32>)>>| result.expect_err("a mistake").kind();
    let (three, blocks) = (vec![1; 3], Blocks::from_counts(&vec![2; size])?);
    assert_eq!(
        kind(world.iallreduce(three.clone(), vec![0; 2], Sum)),
        ErrorKind::Length
    );
    assert_eq!(
        kind(world.iscan(three.clone(), vec![0; 2], Sum)),
        ErrorKind::Length
    );
    assert_eq!(
        kind(world.iexscan(three.clone(), vec![0; 2], Sum)),
        ErrorKind::Length
    );
    assert_eq!(
        kind(world.iallgather(three.clone(), vec![0; 3 * size + 1])),
        ErrorKind::Length
    );
    assert_eq!(
        kind(world.ialltoall(three.clone(), vec![0; 4])),
        ErrorKind::Length
    );
    assert_eq!(
        kind(world.ireduce_scatter_block(three.clone(), vec![0; 4], Sum)),
        ErrorKind::Length
    );
    assert_eq!(
        kind(world.ireduce_scatter(three.clone(), vec![0; 9], &blocks, Sum)),
        ErrorKind::Length
    );
    assert_eq!(
        kind(world.iallgatherv(three.clone(), vec![0; 2 * size], &blocks)),
        ErrorKind::Length
    );
    assert_eq!(
        kind(world.igather(three.clone(), vec![0; 3 * size], size)),
        ErrorKind::Root
    );
    assert_eq!(
        kind(world.iscatter(three.clone(), vec![0; 1], size)),
        ErrorKind::Root
    );
    assert_eq!(
        kind(world.ireduce(three.clone(), three.clone(), Sum, size)),
        ErrorKind::Root
    );
    assert_eq!(
        kind(world.igatherv(vec![1; 2], vec![0; 2 * size], &blocks, size)),
        ErrorKind::Root
    );
    let error = world.ibcast(three, size).expect_err("a mistake");
    assert_eq!(
        (error.kind(), error.operation()),
        (ErrorKind::Root, "MPI_Ibcast")
    );
    still_works(&world)
}

/// Where ranks do not compare their calls.
#[test]
fn another_length_is_an_error_where_it_is_seen() {
    for ranks in 2..=4 {
        let world = Runtime::builder().backend(Backend::InProcess).ranks(ranks);
        world
            .checks(Checks::Local)
            .run(of_another_length)
            .expect("all as said");
    }
}

fn of_another_length(world: Communicator) -> Result<()> {
    let odd_one = world.size() - 1;
    let length = if world.rank() == odd_one { 11 } else { 10 };
    let request = world.iallreduce(vec![1_u32; length], vec![0; length], Sum)?;
    let (_, outcome) = request.complete()?;
    let error = outcome.expect_err("lengths differ");
    assert_eq!(error.kind(), ErrorKind::Length);
    let text = error.to_string();
    let says = ["MPI_Iallreduce", "10", "11"];
    assert!(says.iter().all(|word| text.contains(word)), "{text}");

    let (_, outcome) = world.ibcast(vec![7_u32; length], 0)?.complete()?;
    assert_eq!(outcome.is_err(), world.rank() == odd_one);
    still_works(&world)
}

/// It waited for ten seconds, as after a panic.
#[ranks_test::ranks(3, in_process_only)]
fn a_scope_in_which_ranks_begin_different_operations_ends_soon(world: Communicator) -> Result<()> {
    const SOON: Duration = Duration::from_secs(6);
    let comm = world.dup()?;
    let me = world.rank();
    let mut data = [1_u64; 4];
    let outcome = comm.scope(|scope| scope.ibcast(&mut data, me / 2).map(drop));
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Mismatch);
    if me == 2 {
        return (0..2).try_for_each(|peer| world.send(&[0_u8], peer, 1));
    }
    world.within(SOON, |world| world.recv(&mut [0_u8], 2, 1).map(drop))
}

/// It was "a collective".
#[test]
fn a_wait_that_is_late_names_its_collective() {
    const LIMIT: Duration = Duration::from_millis(50);
    let world = Runtime::builder().backend(Backend::InProcess).ranks(2);
    let outcome = world.checks(Checks::Local).run(|world| {
        if world.rank() == 1 {
            std::thread::sleep(4 * LIMIT);
            return world.ibarrier()?.wait().map(drop);
        }
        let late = world.within(LIMIT, |world| world.ibarrier()?.wait().map(drop));
        let text = late.unwrap_err().to_string();
        let begin = "MPI_Wait (of MPI_Ibarrier): timed out after 50ms";
        assert!(text.starts_with(begin), "{text}");
        Ok(())
    });
    outcome.expect("all as said");
}
