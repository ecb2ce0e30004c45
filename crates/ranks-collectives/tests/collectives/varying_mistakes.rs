//! Blocks that do not fit their slices or the ranks: an `Err` before anything is sent or written.

use ranks_collectives::ops::Sum;
use ranks_collectives::{Blocks, InPlaceCollectives, NeighborCollectives, VaryingCollectives};
use ranks_comm::{Communicator, ErrorKind, Result};

use crate::in_process::without_comparing;
use crate::mistakes::{refused, still_works};
use crate::model::Guarded;

/// Each rank is the root of a call of its own: none gets as far as communicating.
fn every_form_refuses(
    world: &Communicator,
    send: &[i64],
    blocks: &Blocks,
    (kind, parts): (ErrorKind, &[&str]),
) {
    let me = world.rank();
    let fine = Blocks::from_counts(&vec![2; world.size()]).unwrap();
    let much = vec![1; 2 * world.size()];
    let mut recv = Guarded::<i64>::new(2 * world.size());
    refused(
        world.allgatherv_into(send, recv.buffer(), blocks),
        kind,
        parts,
    );
    refused(
        world.allgatherv_in_place(recv.buffer(), blocks),
        kind,
        parts,
    );
    refused(
        world.gatherv_into(send, recv.buffer(), blocks, me),
        kind,
        parts,
    );
    refused(
        world.gatherv_in_place(recv.buffer(), blocks, me),
        kind,
        parts,
    );
    refused(
        world.alltoallv_into(&much, &fine, recv.buffer(), blocks),
        kind,
        parts,
    );
    refused(world.alltoallv_in_place(recv.buffer(), blocks), kind, parts);
    refused(
        world.scatterv_into(&much, blocks, &mut recv.buffer()[..2], me),
        kind,
        parts,
    );
    refused(
        world.scatterv_in_place(recv.buffer(), blocks, me),
        kind,
        parts,
    );
    recv.expect_untouched("calls with mistakes");
    still_works(world);
}

/// As H2 and S4 of other bindings: blocks outside the slice, of other numbers than the ranks, upon
/// each other.
#[ranks_test::ranks(1, 2, 3, 4)]
fn h2_blocks_that_do_not_fit(world: Communicator) {
    let size = world.size();
    let mine = [1; 2];
    let length = ErrorKind::Length;

    let more = Blocks::from_counts(&vec![2; size + 1]).unwrap();
    let text = format!("{} blocks for {size} rank", size + 1);
    every_form_refuses(&world, &mine, &more, (length, &[&text]));

    let far = Blocks::new(
        &vec![2; size],
        &(0..size).map(|r| 2 * r + 1).collect::<Vec<_>>(),
    )
    .unwrap();
    let ends = (2 * size + 1).to_string();
    every_form_refuses(&world, &mine, &far, (length, &["ends at", &ends]));

    let very_far = Blocks::new(&vec![2; size], &vec![usize::MAX - 2; size]).unwrap();
    every_form_refuses(&world, &mine, &very_far, (length, &["ends at"]));

    if size > 1 {
        let few = Blocks::from_counts(&vec![2; size - 1]).unwrap();
        every_form_refuses(&world, &mine, &few, (length, &["each rank has one"]));
        let upon = Blocks::new(&vec![2; size], &vec![0; size]).unwrap();
        let overlap = (ErrorKind::Argument, &["ranks 0 and 1", "overlap"][..]);
        every_form_refuses(&world, &mine, &upon, overlap);
    }
}

/// As B of other bindings: what this rank sends is not what it says that it sends.
#[ranks_test::ranks(1, 2, 3, 4)]
fn b_a_slice_that_is_not_as_long_as_its_block(world: Communicator) {
    let (me, size) = (world.rank(), world.size());
    let blocks = Blocks::from_counts(&vec![2; size]).unwrap();
    let mut recv = Guarded::<i64>::new(2 * size);
    let kind = ErrorKind::Length;
    let parts = &["the block of rank", "9"];
    let (long, much) = ([1; 9], vec![1; 2 * size]);
    refused(
        world.allgatherv_into(&long, recv.buffer(), &blocks),
        kind,
        parts,
    );
    // At the root and elsewhere alike.
    for root in 0..size {
        refused(
            world.gatherv_into(&long, recv.buffer(), &blocks, root),
            kind,
            parts,
        );
        let mut nine = [0; 9];
        refused(
            world.scatterv_into(&much, &blocks, &mut nine, root),
            kind,
            parts,
        );
        if root != me {
            refused(
                world.gatherv_in_place(&mut nine, &blocks, root),
                kind,
                parts,
            );
            refused(
                world.scatterv_in_place(&mut nine, &blocks, root),
                kind,
                parts,
            );
        }
    }
    let mut counts = vec![2; size];
    counts[me] = 9;
    let other = Blocks::from_counts(&counts).unwrap();
    let more = vec![1; other.end()];
    refused(
        world.alltoallv_into(&more, &other, recv.buffer(), &blocks),
        kind,
        parts,
    );
    refused(
        world.reduce_scatter(&much, &mut [0; 9], &blocks, Sum),
        kind,
        parts,
    );
    let gap = Blocks::new(&vec![1; size], &(1..=size).collect::<Vec<_>>()).unwrap();
    refused(
        world.reduce_scatter(&much, &mut [0], &gap, Sum),
        ErrorKind::Argument,
        &["one after the other"],
    );
    recv.expect_untouched("calls with mistakes");
    still_works(&world);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn roots_that_do_not_exist(world: Communicator) {
    let size = world.size();
    let blocks = Blocks::from_counts(&vec![1; size]).unwrap();
    let mut data = Guarded::<f64>::new(size);
    let kind = ErrorKind::Root;
    for root in [size, 1 << 31, usize::MAX] {
        let number = root.to_string();
        let parts = &[number.as_str()];
        let all = vec![1.0; size];
        refused(world.gatherv(&[1.0], root).map(|_| ()), kind, parts);
        refused(
            world.gatherv_into(&[1.0], data.buffer(), &blocks, root),
            kind,
            parts,
        );
        refused(
            world.gatherv_in_place(data.buffer(), &blocks, root),
            kind,
            parts,
        );
        refused(world.scatterv(&all, &blocks, root).map(|_| ()), kind, parts);
        refused(
            world.scatterv_into(&all, &blocks, &mut data.buffer()[..1], root),
            kind,
            parts,
        );
        refused(
            world.scatterv_in_place(data.buffer(), &blocks, root),
            kind,
            parts,
        );
    }
    data.expect_untouched("calls with mistakes");
    still_works(&world);
}

#[test]
fn counts_that_ranks_do_not_agree_on_are_found_in_process() {
    without_comparing(|world| {
        let (me, size) = (world.rank(), world.size());
        let mut counts = vec![2; size];
        if me == 0 {
            counts[size - 1] = 3;
        }
        let blocks = Blocks::from_counts(&counts).unwrap();
        let mut all = vec![0_u32; blocks.end()];
        let result = world.allgatherv_into(&[7; 2], &mut all, &blocks);
        assert_eq!(result.is_err(), me == 0);
        if let Err(error) = result {
            assert_eq!(error.kind(), ErrorKind::Length);
            assert!(error.to_string().contains("MPI_Allgatherv"), "{error}");
        }
        still_works(world);
    });
}

/// One rank was told that its library has no such function, and the others waited for it.
#[ranks_test::ranks(2, 3)]
fn blocks_too_far_for_the_library_of_one_rank(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let is_last = me + 1 == size;
    let near = Blocks::from_counts(&vec![2; size])?;
    let mut places = near.displacements().to_vec();
    if is_last {
        places[0] = (1 << 31) + 1;
    }
    let far = Blocks::new(&vec![2; size], &places)?;
    let mine = vec![me as u8; 2 * size];
    let mut theirs = vec![0; far.end()];
    let ring = world.cart_create(&[size], &[true], false)?.unwrap();
    let both = Blocks::from_counts(&[2; 2])?;
    let apart = Blocks::new(&[2; 2], &[if is_last { (1 << 31) + 1 } else { 2 }, 0])?;
    let outcomes = [
        world.alltoallv_into(&mine, &near, &mut theirs, &far),
        ring.neighbor_alltoallv(&mine[..4], &both, &mut theirs, &apart),
    ];
    for outcome in outcomes {
        let refused = outcome.err().map(|error| (error.kind(), error.to_string()));
        let mut number = [usize::from(refused.is_some())];
        world.allreduce_in_place(&mut number, Sum)?;
        assert!([0, size].contains(&number[0]), "of {number:?}: {refused:?}");
        if let Some((kind, text)) = refused {
            assert_eq!(kind == ErrorKind::NotInLibrary, is_last, "{text}");
            assert!(text.contains("use alltoallw"), "{text}");
        }
    }
    let mut theirs = vec![0; 2 * size];
    world.alltoallv_into(&mine, &near, &mut theirs, &near)?;
    assert!((0..2 * size).all(|index| usize::from(theirs[index]) == index / 2));
    Ok(())
}
