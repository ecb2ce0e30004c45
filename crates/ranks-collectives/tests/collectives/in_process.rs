//! What only the in-process backend promises: the order of reductions, and errors where ranks
//! disagree, even if they do not compare their calls.

use ranks_collectives::ops::Sum;
use ranks_collectives::{Collectives, NonblockingCollectives};
use ranks_comm::{Backend, Checks, Communicator, Error, ErrorKind, Runtime};

/// Runs it on 2, 3 and 4 ranks that do not compare their calls.
pub(crate) fn without_comparing(body: impl Fn(&Communicator) + Send + Sync) {
    for ranks in 2..=4 {
        let builder = Runtime::builder().backend(Backend::InProcess).ranks(ranks);
        let outcome = builder.checks(Checks::Local).run(|world| {
            body(&world);
            Ok::<(), Error>(())
        });
        outcome.unwrap();
    }
}

/// The operations after a failed one start clean.
fn still_works(world: &Communicator) {
    for _ in 0..2 {
        let mut sum = [0];
        world.allreduce(&[1_usize], &mut sum, Sum).unwrap();
        assert_eq!(sum[0], world.size());
        world.barrier().unwrap();
    }
}

/// A meeting leaves nothing behind, however many there were.
#[ranks_test::ranks(1, 2, 3, 4, in_process_only)]
fn a_thousand_barriers_in_a_row_end(world: Communicator) {
    for _ in 0..1000 {
        world.barrier().unwrap();
    }
}

#[ranks_test::ranks(4, in_process_only)]
fn sums_are_taken_in_the_order_of_ranks(world: Communicator) {
    let mine = [[1e16, 1.0, -1e16, 1.0][world.rank()]];
    let in_order = 1.0;
    for root in 0..4 {
        let mut sum = [0.0];
        world.reduce(&mine, &mut sum, Sum, root).unwrap();
        if world.rank() == root {
            assert_eq!(sum, [in_order]);
        }
    }
    let mut sum = [0.0];
    world.allreduce(&mine, &mut sum, Sum).unwrap();
    assert_eq!(sum, [in_order]);
}

#[test]
fn a_broadcast_to_another_length_fails_where_it_differs() {
    without_comparing(|world| {
        let odd_one = world.size() - 1;
        let mut data = vec![7_u32; if world.rank() == odd_one { 11 } else { 10 }];
        let result = world.bcast(&mut data, 0);
        if world.rank() == odd_one {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Length);
            let text = error.to_string();
            assert!(
                text.contains("MPI_Bcast") && text.contains("10") && text.contains("11"),
                "{text}"
            );
        } else {
            result.unwrap();
        }
        still_works(world);
    });
}

#[test]
fn a_reduction_of_different_lengths_fails_on_every_rank() {
    without_comparing(|world| {
        for odd_one in 0..world.size() {
            let len = if world.rank() == odd_one { 3 } else { 4 };
            let mut sum = vec![0.0; len];
            let error = world.allreduce(&vec![1.0; len], &mut sum, Sum).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Length, "{error}");
            assert_eq!(error.operation(), "MPI_Allreduce");
            still_works(world);
        }
    });
}

#[test]
fn a_gather_of_different_lengths_fails_at_the_root() {
    without_comparing(|world| {
        let len = if world.rank() == 1 { 2 } else { 5 };
        let mut all = vec![0_u16; 5 * world.size()];
        let result = world.gather(&vec![1; len], &mut all, 0);
        assert_eq!(result.is_err(), world.rank() == 0);
        still_works(world);

        let mut all = vec![0_u16; len * world.size()];
        let error = world.allgather(&vec![1; len], &mut all).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Length);
        still_works(world);
    });
}

#[test]
fn a_scatter_and_an_exchange_of_different_lengths_fail_where_they_differ() {
    without_comparing(|world| {
        let all = vec![1_u64; 3 * world.size()];
        let mut mine = vec![0; if world.rank() == 1 { 4 } else { 3 }];
        let result = world.scatter(&all, &mut mine, 0);
        assert_eq!(result.is_err(), world.rank() == 1);
        still_works(world);

        let len = world.size() * mine.len();
        let error = world
            .alltoall(&vec![1_u8; len], &mut vec![0; len])
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Length);
        still_works(world);
    });
}

#[ranks_test::ranks(2, 3, 4, in_process_only)]
fn point_to_point_messages_do_not_meet_collectives(world: Communicator) {
    let next = (world.rank() + 1) % world.size();
    let previous = (world.rank() + world.size() - 1) % world.size();
    world.send(&[world.rank()], next, 0).unwrap();
    still_works(&world);
    let mut from = [usize::MAX];
    world.recv(&mut from, previous, 0).unwrap();
    assert_eq!(from[0], previous);
}

/// An error that names both calls.
fn mismatched(result: Result<(), Error>, names: [&str; 2]) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    let text = error.to_string();
    assert!(names.iter().all(|name| text.contains(name)), "{text}");
}

#[test]
fn elements_of_another_type_were_bits_of_this_one() {
    without_comparing(|world| {
        let odd = world.rank() == world.size() - 1;
        let types = ["f64", "u64"];
        let (mut floats, mut words) = (vec![0.0; world.size()], vec![0; world.size()]);
        let result = match odd {
            true => world.allgather(&[7_u64], &mut words),
            false => world.allgather(&[1.5], &mut floats),
        };
        mismatched(result, types);
        let result = match odd {
            true => world.allreduce(&[7_u64], &mut words[..1], Sum),
            false => world.allreduce(&[1.5], &mut floats[..1], Sum),
        };
        mismatched(result, types);
        let result = match odd {
            true => world.alltoall(&words.clone(), &mut words),
            false => world.alltoall(&floats.clone(), &mut floats),
        };
        mismatched(result, types);
        let result = match odd {
            true => world.bcast(&mut words, 0),
            false => world.bcast(&mut floats, 0),
        };
        match odd {
            true => mismatched(result, types),
            false => result.unwrap(),
        }
        let result = match odd {
            true => world
                .iallreduce(vec![7_u64], vec![0], Sum)
                .and_then(|sum| sum.wait().map(drop)),
            false => world
                .iallreduce(vec![1.5], vec![0.0], Sum)
                .and_then(|sum| sum.wait().map(drop)),
        };
        mismatched(result, types);
        // Bytes may be parts of any type.
        match odd {
            true => world
                .bcast(bytemuck::cast_slice_mut::<u64, u8>(&mut words), 0)
                .unwrap(),
            false => world.bcast(&mut floats, 0).unwrap(),
        }
        still_works(world);
    });
}

/// Had it the number of a communicator that others have, calls there would meet.
#[test]
fn a_duplicate_took_its_number_from_a_broadcast() {
    without_comparing(|world| {
        let before = world.dup().unwrap();
        if world.rank() == 0 {
            world.bcast(&mut [before.size() as u64], 0).unwrap();
        } else {
            mismatched(world.dup().map(drop), ["MPI_Bcast", "MPI_Comm_dup"]);
        }
        still_works(&before);
    });
}
