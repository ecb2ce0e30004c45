//! Blocks of different lengths: what each rank sends is told by its rank, so that every rank knows
//! what it must get.

use ranks_collectives::{Blocks, Collectives, Gathered, VaryingCollectives};
use ranks_comm::{Communicator, ErrorKind};

use crate::model::Depth::{self, All, EachOnce};
use crate::model::{
    Guarded, LONGEST, Particle, Sample, block, case, for_types, lengths, long, roots,
};

/// The counts of `size` ranks: some are none, and one is `longest`.
fn counts(size: usize, longest: usize, scale: usize) -> Vec<usize> {
    [3, 0, longest, 17][..size]
        .iter()
        .map(|&count: &usize| count.checked_div(scale).unwrap_or(0))
        .collect()
}

/// The same blocks in the opposite order and with gaps.
fn scattered_about(counts: &[usize]) -> Blocks {
    let mut start = 5;
    let mut places = vec![0; counts.len()];
    for rank in (0..counts.len()).rev() {
        places[rank] = start;
        start += counts[rank] + 3;
    }
    Blocks::new(counts, &places).unwrap()
}

/// What a buffer of canaries holds after each rank's block of `count(rank)` elements has come to
/// its place.
fn expected<T: Sample>(blocks: &Blocks, length: usize, from: fn(usize, usize) -> Vec<T>) -> Vec<T> {
    let mut whole = vec![T::sample(77, 123_456); length];
    for rank in 0..blocks.len() {
        whole[blocks.range(rank)].copy_from_slice(&from(rank, blocks.counts()[rank]));
    }
    whole
}

fn of_rank<T: Sample>(rank: usize, count: usize) -> Vec<T> {
    block(rank, 0, count)
}

/// Blocks to try a type with: no elements at all, some ranks' none and one rank's many, and one
/// rank's alone; each one after the other and scattered about, or where not all are tried, at least
/// one of each.
fn divisions<T>(depth: Depth, size: usize) -> Vec<Blocks> {
    let longest = lengths::<T>(depth).into_iter().max().unwrap_or(0);
    let few = longest / 4;
    let in_order = |scale| Blocks::from_counts(&counts(size, longest, scale)).unwrap();
    let about = |scale| scattered_about(&counts(size, longest, scale));
    match depth {
        Depth::All => vec![
            in_order(0),
            about(0),
            in_order(1),
            about(1),
            in_order(few),
            about(few),
        ],
        Depth::EachOnce => vec![in_order(0), in_order(1), about(1), about(few)],
    }
}

fn gathers<T: Sample>(world: &Communicator, depth: Depth) {
    let divisions = divisions::<T>(depth, world.size());
    for (call, blocks) in divisions.into_iter().enumerate() {
        let me = world.rank();
        let mine = of_rank::<T>(me, blocks.counts()[me]);
        let length = blocks.end() + 4;
        let whole = expected(&blocks, length, of_rank::<T>);

        let what = case::<T>("allgatherv_into", blocks.end());
        let mut all = Guarded::<T>::new(length);
        world.allgatherv_into(&mine, all.buffer(), &blocks).unwrap();
        all.expect(&whole, &what);

        let what = case::<T>("allgatherv_in_place", blocks.end());
        let mut all = Guarded::<T>::new(length);
        all.buffer()[blocks.range(me)].copy_from_slice(&mine);
        world.allgatherv_in_place(all.buffer(), &blocks).unwrap();
        all.expect(&whole, &what);

        for root in roots(depth, world.size(), call) {
            let what = case::<T>("gatherv_into", blocks.end());
            let mut all = Guarded::<T>::new(length);
            world
                .gatherv_into(&mine, all.buffer(), &blocks, root)
                .unwrap();
            if me == root {
                all.expect(&whole, &what);
            } else {
                all.expect_untouched(&what);
            }

            let what = case::<T>("gatherv_in_place", blocks.end());
            let mut data = Guarded::<T>::new(if me == root { length } else { mine.len() });
            let own = if me == root {
                blocks.range(me)
            } else {
                0..mine.len()
            };
            data.buffer()[own].copy_from_slice(&mine);
            world
                .gatherv_in_place(data.buffer(), &blocks, root)
                .unwrap();
            data.expect(if me == root { &whole } else { &mine }, &what);
        }
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn gathers_of_every_width(world: Communicator) {
    for_types!(gathers(&world, EachOnce): u8, u16, Particle, [u8; 3], ());
    gathers::<f64>(&world, All);
}

/// Builds with debug assertions counted them one by one, for centuries.
#[ranks_test::ranks(1, 2, 3)]
fn endless_elements_of_no_size_were_counted(world: Communicator) {
    let each = usize::MAX / world.size();
    let send = &[(); usize::MAX][..each];
    let expected = vec![each; world.size()];
    let lengths = |gathered: &Gathered<()>| -> Vec<usize> {
        gathered.iter_blocks().map(<[()]>::len).collect()
    };
    let mut all = world.allgatherv(send).unwrap();
    assert_eq!(lengths(&all), expected);
    world.allgatherv_again(&[()], &mut all).unwrap();
    world.allgatherv_again(send, &mut all).unwrap();
    assert_eq!(lengths(&all), expected);
    let at_root = world.gatherv(send, 0).unwrap();
    assert_eq!(at_root.is_some(), world.rank() == 0);
    let blocks = Blocks::from_counts(&expected).unwrap();
    let whole = &[(); usize::MAX][..blocks.end()];
    let mine = world.scatterv(whole, &blocks, 0).unwrap();
    assert_eq!(mine.len(), each);
    if world.size() == 1 {
        let theirs = world.alltoallv(whole, &blocks).unwrap();
        assert_eq!(lengths(&theirs), expected);
    }
}

fn scatters<T: Sample>(world: &Communicator, depth: Depth) {
    let divisions = divisions::<T>(depth, world.size());
    for (call, blocks) in divisions.into_iter().enumerate() {
        let me = world.rank();
        let mine = of_rank::<T>(me, blocks.counts()[me]);
        let whole = expected(&blocks, blocks.end() + 4, of_rank::<T>);
        for root in roots(depth, world.size(), call) {
            let send = if me == root { &whole[..] } else { &[] };
            let what = case::<T>("scatterv_into", blocks.end());
            let mut recv = Guarded::<T>::new(mine.len());
            world
                .scatterv_into(send, &blocks, recv.buffer(), root)
                .unwrap();
            recv.expect(&mine, &what);

            let what = case::<T>("scatterv_in_place", blocks.end());
            let length = if me == root { whole.len() } else { mine.len() };
            let mut data = Guarded::<T>::new(length);
            if me == root {
                data.buffer().copy_from_slice(&whole);
            }
            world
                .scatterv_in_place(data.buffer(), &blocks, root)
                .unwrap();
            data.expect(if me == root { &whole } else { &mine }, &what);

            let told = if me == root {
                blocks.clone()
            } else {
                Blocks::default()
            };
            assert_eq!(world.scatterv(send, &told, root).unwrap(), mine);
        }
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn scatters_of_every_width(world: Communicator) {
    for_types!(scatters(&world, EachOnce): u8, i16, Particle, ());
    scatters::<f64>(&world, All);
}

/// What rank `from` sends to rank `to`.
fn between(size: usize, from: usize, to: usize) -> usize {
    [0, 1, long(40_000), 7][(from + 2 * to + size) % 4]
}

fn exchanges<T: Sample>(world: &Communicator, divide: fn(&[usize]) -> Blocks) {
    let (me, size) = (world.rank(), world.size());
    let sent: Vec<usize> = (0..size).map(|to| between(size, me, to)).collect();
    let received: Vec<usize> = (0..size).map(|from| between(size, from, me)).collect();
    let (here, there) = (divide(&sent), divide(&received));
    let mut send = vec![T::sample(9, 9); here.end()];
    for to in 0..size {
        send[here.range(to)].copy_from_slice(&block(me, to, sent[to]));
    }
    let mut whole = vec![T::sample(77, 123_456); there.end() + 2];
    for from in 0..size {
        whole[there.range(from)].copy_from_slice(&block(from, me, received[from]));
    }
    let mut recv = Guarded::<T>::new(whole.len());
    world
        .alltoallv_into(&send, &here, recv.buffer(), &there)
        .unwrap();
    recv.expect(&whole, &case::<T>("alltoallv_into", whole.len()));

    let found = world.alltoallv(&send, &here).unwrap();
    assert_eq!(found.blocks().counts(), received);
    for from in 0..size {
        assert_eq!(found.block(from), Some(&whole[there.range(from)]));
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn exchanges_of_every_width(world: Communicator) {
    for divide in [
        |counts: &[usize]| Blocks::from_counts(counts).unwrap(),
        scattered_about,
    ] {
        for_types!(exchanges(&world, divide): u8, f64, Particle, ());
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn exchanges_in_place(world: Communicator) {
    let (me, size) = (world.rank(), world.size());
    // As much from i to j as from j to i.
    let counts: Vec<usize> = (0..size).map(|rank| (me + rank) * 3).collect();
    let blocks = scattered_about(&counts);
    let mut data = Guarded::<i32>::new(blocks.end());
    let mut whole = vec![i32::sample(77, 123_456); blocks.end()];
    for rank in 0..size {
        data.buffer()[blocks.range(rank)].copy_from_slice(&block(me, rank, counts[rank]));
        whole[blocks.range(rank)].copy_from_slice(&block(rank, me, counts[rank]));
    }
    world.alltoallv_in_place(data.buffer(), &blocks).unwrap();
    data.expect(&whole, "alltoallv_in_place");
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn what_is_sent_to_several_may_be_the_same(world: Communicator) {
    let size = world.size();
    let here = Blocks::new(&vec![2; size], &vec![0; size]).unwrap();
    let found = world.alltoallv(&[world.rank(), 77], &here).unwrap();
    let expected: Vec<usize> = (0..size).flat_map(|rank| [rank, 77]).collect();
    assert_eq!(found.into_vec(), expected);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn lengths_are_found_out(world: Communicator) {
    let (me, size) = (world.rank(), world.size());
    for scale in [0, 1, 100] {
        let counts = counts(size, LONGEST, scale);
        let mine = of_rank::<u16>(me, counts[me]);
        let whole: Vec<u16> = (0..size)
            .flat_map(|rank| of_rank::<u16>(rank, counts[rank]))
            .collect();
        let all = world.allgatherv(&mine).unwrap();
        assert_eq!(all.blocks().counts(), counts);
        assert_eq!(all.block(me), Some(&mine[..]));
        assert_eq!(&*all, whole);
        for root in 0..size {
            let all = world.gatherv(&mine, root).unwrap();
            assert_eq!(all.is_some(), me == root);
            assert_eq!(all.map_or(whole.clone(), |all| all.into_parts().0), whole);
        }
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn places_that_an_int_cannot_say(world: Communicator) {
    // Nothing but the blocks is written, so that the gap takes no memory.
    let far = (1 << 31) + 11;
    let (me, size) = (world.rank(), world.size());
    let places: Vec<usize> = (0..size)
        .map(|rank| if rank == 0 { 0 } else { far + 8 * rank })
        .collect();
    let blocks = Blocks::new(&vec![3; size], &places).unwrap();
    let mine = of_rank::<u8>(me, 3);
    let mut all = vec![0_u8; blocks.end()];
    let check = |all: &[u8], operation: &str| {
        for rank in 0..size {
            assert_eq!(
                all[blocks.range(rank)],
                of_rank::<u8>(rank, 3),
                "{operation}"
            );
        }
        assert!(all[3..].iter().take(6).all(|&byte| byte == 0));
    };
    world.allgatherv_into(&mine, &mut all, &blocks).unwrap();
    check(&all, "allgatherv_into");
    for rank in (0..size).filter(|&rank| rank != me) {
        all[blocks.range(rank)].fill(0);
    }
    world.allgatherv_in_place(&mut all, &blocks).unwrap();
    check(&all, "allgatherv_in_place");
    let root = size - 1;
    let mut back = [0; 3];
    world.scatterv_into(&all, &blocks, &mut back, root).unwrap();
    assert_eq!(back[..], mine);
    world.barrier().unwrap();
    for rank in 0..size {
        all[blocks.range(rank)].fill(0);
    }
    world.gatherv_into(&mine, &mut all, &blocks, root).unwrap();
    if me == root {
        check(&all, "gatherv_into");
    }
}

/// COR-28 of another binding: empty slices, whose pointers are sentinels of MPI or equal to each
/// other.
fn nothing<T: Sample>(world: &Communicator, depth: Depth) {
    let size = world.size();
    for blocks in [
        Blocks::from_counts(&vec![0; size]).unwrap(),
        Blocks::new(&vec![0; size], &vec![usize::MAX; size]).unwrap(),
    ] {
        world.allgatherv_into::<T>(&[], &mut [], &blocks).unwrap();
        world.allgatherv_in_place::<T>(&mut [], &blocks).unwrap();
        world
            .alltoallv_into::<T>(&[], &blocks, &mut [], &blocks)
            .unwrap();
        world.alltoallv_in_place::<T>(&mut [], &blocks).unwrap();
        assert!(world.alltoallv::<T>(&[], &blocks).unwrap().is_empty());
        for root in roots(depth, size, 1) {
            world
                .gatherv_into::<T>(&[], &mut [], &blocks, root)
                .unwrap();
            world.gatherv_in_place::<T>(&mut [], &blocks, root).unwrap();
            world
                .scatterv_into::<T>(&[], &blocks, &mut [], root)
                .unwrap();
            world
                .scatterv_in_place::<T>(&mut [], &blocks, root)
                .unwrap();
        }
    }
    assert!(world.allgatherv::<T>(&[]).unwrap().is_empty());
    // One rank has something, and so do its neighbours' empty slices' addresses.
    let last = size - 1;
    let mut counts = vec![0; size];
    counts[last] = 1;
    let blocks = Blocks::from_counts(&counts).unwrap();
    let mine = block::<T>(world.rank(), 0, counts[world.rank()]);
    let mut all = Guarded::<T>::new(1);
    world.allgatherv_into(&mine, all.buffer(), &blocks).unwrap();
    all.expect(&block(last, 0, 1), "allgatherv_into of one block");
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn cor_28_empty_blocks(world: Communicator) {
    nothing::<u8>(&world, All);
    for_types!(nothing(&world, EachOnce): u16, f64, Particle);
}

/// What is received again and again into the same memory, which grows and shrinks.
#[ranks_test::ranks(1, 2, 3, 4)]
fn memory_is_used_again(world: Communicator) {
    let (me, size) = (world.rank(), world.size());
    let mut all = Gathered::default();
    let mut from_all = Gathered::default();
    for scale in [1, 100, 100, 0, 7] {
        let of = |rank: usize| -> Vec<Particle> { block(rank, 0, (rank % 3) * scale) };
        world.allgatherv_again(&of(me), &mut all).unwrap();
        let expected: Vec<Vec<Particle>> = (0..size).map(of).collect();
        assert!(all.iter_blocks().eq(expected.iter().map(Vec::as_slice)));
        assert_eq!(*all, expected.concat());

        let counts: Vec<usize> = (0..size).map(|dest| (me + dest) % 3 * scale).collect();
        let blocks = Blocks::from_counts(&counts).unwrap();
        let mine: Vec<u64> = block(me, 0, blocks.end());
        world
            .alltoallv_again(&mine, &blocks, &mut from_all)
            .unwrap();
        for (source, found) in from_all.iter_blocks().enumerate() {
            let before: usize = (0..me).map(|dest| (source + dest) % 3 * scale).sum();
            assert_eq!(
                found,
                block::<u64>(source, before, (source + me) % 3 * scale)
            );
        }
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn parts_come_from_wherever_they_are(world: Communicator) {
    let (me, size) = (world.rank(), world.size());
    let of = |source: usize, dest: usize| -> Vec<u64> { block(source, dest, (source + dest) % 3) };
    let whole: Vec<Vec<u64>> = (0..size).map(|dest| of(me, dest)).collect();
    let found = world.alltoallv_from(whole.iter().enumerate()).unwrap();
    let expected: Vec<Vec<u64>> = (0..size).map(|source| of(source, me)).collect();
    assert!(found.iter_blocks().eq(expected.iter().map(Vec::as_slice)));
    // In any order, in several parts, and to some ranks none.
    let parts = [(0, [1u8, 2]), (size - 1, [3, 4]), (0, [5, 6])];
    let found = world.alltoallv_from(parts).unwrap();
    let expected: &[u8] = match (me, size) {
        (0, 1) => &[1, 2, 3, 4, 5, 6],
        (0, _) => &[1, 2, 5, 6],
        _ if me == size - 1 => &[3, 4],
        _ => &[],
    };
    assert!(found.iter_blocks().all(|block| block == expected));
    let nothing: [(usize, Vec<f32>); 0] = [];
    assert!(world.alltoallv_from(nothing).unwrap().is_empty());
    // For a rank that there is not.
    let parts = [(if me == 0 { size } else { 0 }, [1])];
    let error = world.alltoallv_from(parts).unwrap_err();
    let expected = [ErrorKind::Rank, ErrorKind::Mismatch][usize::from(me > 0)];
    assert_eq!(error.kind(), expected, "{error}");
}
