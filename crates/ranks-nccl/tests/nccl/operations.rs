//! Every operation on every type and number of ranks gives what a model says.

use ranks_collectives::ops::{Avg, Max, Min, Prod, Sum};
use ranks_cuda::Stream;
use ranks_nccl::{Fp8E4m3, Fp8E5m2, NcclCommunicator, PreMulSum, Reduction};

use crate::samples::{LEN, Place, Sample, folded, model, numbers, on_ranks, sum, value};
use crate::support::{each, isolated, old_nccl, options};

/// Does it for every type of NCCL's.
macro_rules! of_every_type {
    ($function:ident, $on:expr) => {{
        let on = $on;
        $function::<i8>(on);
        $function::<u8>(on);
        $function::<i32>(on);
        $function::<u32>(on);
        $function::<i64>(on);
        $function::<u64>(on);
        $function::<f32>(on);
        $function::<f64>(on);
        $function::<Fp8E4m3>(on);
        $function::<Fp8E5m2>(on);
        #[cfg(feature = "half")]
        $function::<half::f16>(on);
        #[cfg(feature = "half")]
        $function::<half::bf16>(on);
    }};
}

#[test]
fn blocks_of_every_type_move() {
    isolated("operations::blocks_of_every_type_move", &[], || {
        fn moves<T: Sample>(on: &Place<'_>) {
            let (comm, stream) = (on.comm, &on.stream);
            let (rank, size) = (comm.rank(), comm.size());
            let root = LEN % size;
            let all = LEN * size;
            let everybody = |index: usize| value(index / LEN, index % LEN);
            let mine = || on.vec::<T>(LEN, |index| value(rank, index));

            let buffer = if rank == root { mine() } else { on.zeros(LEN) };
            let buffer = comm.bcast(buffer, root, stream).unwrap().wait().unwrap();
            assert_eq!(numbers(on, &buffer), model(LEN, |index| value(root, index)));

            let gathered = comm.allgather(mine(), on.zeros(all), stream).unwrap();
            assert_eq!(
                numbers(on, &gathered.wait().unwrap().1),
                model(all, everybody)
            );

            let at_root = (rank == root).then(|| on.zeros::<T>(all));
            let gathered = comm.gather(mine(), at_root, root, stream).unwrap();
            if let (_, Some(gathered)) = gathered.wait().unwrap() {
                assert_eq!(numbers(on, &gathered), model(all, everybody));
            }

            let at_root = (rank == root).then(|| on.vec::<T>(all, everybody));
            let dealt = comm.scatter(at_root, on.zeros::<T>(LEN), root, stream);
            let dealt = dealt.unwrap().wait().unwrap().1;
            assert_eq!(numbers(on, &dealt), model(LEN, |index| value(rank, index)));

            // Rank r gives block b of its own the numbers r + b.
            let send = on.vec::<T>(all, |index| value(rank, index / LEN));
            let traded = comm.alltoall(send, on.zeros(all), stream).unwrap();
            let traded = traded.wait().unwrap().1;
            let theirs = model(all, |index| value(index / LEN, rank));
            assert_eq!(numbers(on, &traded), theirs);

            let (next, former) = ((rank + 1) % size, (rank + size - 1) % size);
            let shifted = comm.sendrecv(mine(), next, on.zeros::<T>(LEN), former, stream);
            let shifted = shifted.unwrap().wait().unwrap().1;
            assert_eq!(
                numbers(on, &shifted),
                model(LEN, |index| value(former, index))
            );
            if rank == 0 && size > 1 {
                let sent = comm.send(mine(), size - 1, stream).unwrap();
                sent.wait().unwrap();
            } else if rank == size - 1 && size > 1 {
                let received = comm.recv(on.zeros::<T>(LEN), 0, stream).unwrap();
                let received = received.wait().unwrap();
                assert_eq!(numbers(on, &received), model(LEN, |index| value(0, index)));
            }
        }
        on_ranks(|on| of_every_type!(moves, on));
    });
}

#[test]
fn blocks_of_every_type_move_in_place() {
    isolated(
        "operations::blocks_of_every_type_move_in_place",
        &[],
        || {
            fn moves<T: Sample>(on: &Place<'_>) {
                let (comm, stream) = (on.comm, &on.stream);
                let (rank, size) = (comm.rank(), comm.size());
                let root = size - 1;
                let all = LEN * size;
                let everybody = |index: usize| value(index / LEN, index % LEN);
                let own = |index: usize| match index / LEN {
                    block if block == rank => everybody(index),
                    _ => 0,
                };

                let gathered = comm.allgather_in_place(on.vec::<T>(all, own), stream);
                let gathered = gathered.unwrap().wait().unwrap();
                assert_eq!(numbers(on, &gathered), model(all, everybody));

                let buffer = match rank == root {
                    true => on.vec::<T>(all, own),
                    false => on.vec::<T>(LEN, |index| value(rank, index)),
                };
                let gathered = comm.gather_in_place(buffer, root, stream).unwrap();
                let gathered = gathered.wait().unwrap();
                if rank == root {
                    assert_eq!(numbers(on, &gathered), model(all, everybody));
                }

                let buffer = match rank == root {
                    true => on.vec::<T>(all, everybody),
                    false => on.zeros::<T>(LEN),
                };
                let dealt = comm.scatter_in_place(buffer, root, stream).unwrap();
                let dealt = dealt.wait().unwrap();
                let expected = match rank == root {
                    true => model(all, everybody),
                    false => model(LEN, |index| value(rank, index)),
                };
                assert_eq!(numbers(on, &dealt), expected);
            }
            on_ranks(|on| of_every_type!(moves, on));
        },
    );
}

/// Reduces in every form, and compares with what the model says of an index.
fn reduces<T: Sample>(
    on: &Place<'_>,
    op: impl Reduction<T> + Copy,
    mine: impl Fn(usize) -> u8,
    near: f64,
    expected: impl Fn(usize) -> f64,
) {
    let (comm, stream) = (on.comm, &on.stream);
    let (rank, size) = (comm.rank(), comm.size());
    let root = size / 2;
    let all = LEN * size;
    let same = |found: Vec<f64>, from: usize| {
        for (index, found) in found.into_iter().enumerate() {
            let expected = expected(from + index);
            let off = (found - expected).abs();
            let name = std::any::type_name::<T>();
            assert!(
                off <= near * expected.abs(),
                "{found} for {expected} of {name}, {index}"
            );
        }
    };
    let vec = |len| on.vec::<T>(len, &mine);

    let reduced = comm.allreduce(vec(LEN), on.zeros(LEN), op, stream).unwrap();
    same(numbers(on, &reduced.wait().unwrap().1), 0);
    let reduced = comm.allreduce_in_place(vec(LEN), op, stream).unwrap();
    same(numbers(on, &reduced.wait().unwrap()), 0);

    let at_root = (rank == root).then(|| on.zeros::<T>(LEN));
    let reduced = comm.reduce(vec(LEN), at_root, op, root, stream).unwrap();
    if let (_, Some(reduced)) = reduced.wait().unwrap() {
        same(numbers(on, &reduced), 0);
    }
    let reduced = comm.reduce_in_place(vec(LEN), op, root, stream).unwrap();
    let reduced = reduced.wait().unwrap();
    match rank == root {
        true => same(numbers(on, &reduced), 0),
        false => assert_eq!(numbers(on, &reduced), model(LEN, &mine)),
    }

    let reduced = comm.reduce_scatter_block(vec(all), on.zeros(LEN), op, stream);
    same(numbers(on, &reduced.unwrap().wait().unwrap().1), rank * LEN);
    let reduced = comm.reduce_scatter_block_in_place(vec(all), op, stream);
    let reduced = reduced.unwrap().wait().unwrap();
    let own = reduced.slice(rank * LEN..(rank + 1) * LEN).unwrap();
    same(numbers(on, &own), rank * LEN);
}

#[test]
fn reductions_of_every_type() {
    isolated("operations::reductions_of_every_type", &[], || {
        fn of_type<T: Sample>(on: &Place<'_>) {
            let (rank, size) = (on.comm.rank(), on.comm.size());
            let mine = |index| value(rank, index);
            let exact = |fold: fn(u8, u8) -> u8| move |index| f64::from(folded(size, index, fold));
            reduces::<T>(on, Sum, mine, 0.0, exact(|a, b| a + b));
            reduces::<T>(on, Min, mine, 0.0, exact(u8::min));
            reduces::<T>(on, Max, mine, 0.0, exact(u8::max));
            let factor = |rank: usize, index: usize| value(rank, index) % 2 + 1;
            reduces::<T>(
                on,
                Prod,
                |index| factor(rank, index),
                0.0,
                |index| {
                    let all = (0..size).map(|rank| f64::from(factor(rank, index)));
                    all.product()
                },
            );
            let ranks = f64::from(u8::try_from(size).unwrap());
            let whole = T::NEAR == 0.0;
            reduces::<T>(on, Avg, mine, T::NEAR, |index| {
                let average = f64::from(sum(size, index)) / ranks;
                if whole { average.trunc() } else { average }
            });
        }
        on_ranks(|on| of_every_type!(of_type, on));
    });
}

#[test]
fn sums_of_what_was_multiplied_before_with_factors_on_the_host_and_on_the_device() {
    isolated(
        "operations::sums_of_what_was_multiplied_before_with_factors_on_the_host_and_on_the_device",
        &[],
        || {
            fn of_type<T: Sample>(on: &Place<'_>) {
                let (comm, size) = (on.comm, on.comm.size());
                let factor = |rank: usize| u8::try_from(rank % 2 + 1).unwrap();
                let mine = |index| value(comm.rank(), index);
                let expected = |index: usize| {
                    let all = (0..size).map(|rank| f64::from(factor(rank) * value(rank, index)));
                    all.sum()
                };
                let here = T::of(factor(comm.rank()));
                let op: PreMulSum<'_, T> = comm.pre_mul_sum(here).unwrap();
                reduces::<T>(on, &op, mine, T::NEAR, expected);
                let there = on.vec::<T>(1, |_| factor(comm.rank()));
                let op = comm.pre_mul_sum_on_device(&there).unwrap();
                reduces::<T>(on, &op, mine, T::NEAR, expected);
            }
            on_ranks(|on| of_every_type!(of_type, on));
        },
    );
}

#[test]
fn parts_of_vectors_are_reduced_and_moved() {
    isolated(
        "operations::parts_of_vectors_are_reduced_and_moved",
        &[],
        || {
            on_ranks(|on| {
                let (comm, size) = (on.comm, on.comm.size());
                let mut data = on.vec::<i32>(3 * LEN, |index| value(comm.rank(), index));
                let (mut first, rest) = data.split_at_mut(LEN).unwrap();
                let mut last = rest.slice_mut(LEN..).unwrap();
                comm.scope(&on.stream, |s| {
                    s.allreduce_in_place(&mut first, Sum)?;
                    s.bcast(&mut last, 0)
                })
                .unwrap();
                let expected = model(3 * LEN, |index| match index / LEN {
                    0 => sum(size, index),
                    1 => value(comm.rank(), index),
                    _ => value(0, index),
                });
                assert_eq!(numbers(on, &data), expected);
            });
        },
    );
}

#[test]
fn an_operation_on_no_elements_is_one() {
    isolated(
        "operations::an_operation_on_no_elements_is_one",
        &[],
        || {
            on_ranks(|on| {
                let (comm, stream) = (on.comm, &on.stream);
                let none = || on.zeros::<f32>(0);
                let reduced = comm.allreduce(none(), none(), Sum, stream).unwrap();
                reduced.wait().unwrap();
                let gathered = comm.allgather(none(), none(), stream).unwrap();
                gathered.wait().unwrap();
                let traded = comm.alltoall(none(), none(), stream).unwrap();
                traded.wait().unwrap();
                let scattered = comm.reduce_scatter_block(none(), none(), Sum, stream);
                scattered.unwrap().wait().unwrap();
                comm.bcast(none(), 0, stream).unwrap().wait().unwrap();
                // What follows is not mixed up with it.
                let data = on.vec::<f32>(LEN, |index| value(comm.rank(), index));
                let data = comm.allreduce_in_place(data, Sum, stream).unwrap();
                let data = data.wait().unwrap();
                assert_eq!(
                    numbers(on, &data),
                    model(LEN, |index| sum(comm.size(), index))
                );
            });
        },
    );
}

#[test]
fn what_is_enqueued_on_a_stream_comes_after_the_operation_that_it_waits_for() {
    isolated(
        "operations::what_is_enqueued_on_a_stream_comes_after_the_operation_that_it_waits_for",
        &[],
        || {
            on_ranks(|on| {
                let (comm, size) = (on.comm, on.comm.size());
                let other = comm.context().stream().unwrap();
                let data = on.vec::<f32>(LEN, |index| value(comm.rank(), index));
                let sums = comm.allreduce_in_place(data, Sum, &on.stream).unwrap();
                let sums = sums.enqueue_wait(&other).unwrap();
                let pinned = comm.context().pinned::<f32>(LEN).unwrap();
                let (_sums, pinned) = other.download(sums, pinned).unwrap().wait().unwrap();
                let found: Vec<f64> = pinned.iter().map(|number| f64::from(*number)).collect();
                assert_eq!(found, model(LEN, |index| sum(size, index)));
            });
        },
    );
}

#[test]
fn a_release_without_alltoall_gather_and_scatter_is_given_sends_and_receives() {
    let test =
        "operations::a_release_without_alltoall_gather_and_scatter_is_given_sends_and_receives";
    isolated(test, &[], || {
        fn moves<T: Sample>(comm: &NcclCommunicator) {
            let on = &Place::of(comm);
            let (rank, size, stream) = (comm.rank(), comm.size(), &on.stream);
            let all = LEN * size;
            let everybody = |index: usize| value(index / LEN, index % LEN);
            let send = on.vec::<T>(all, |index| value(rank, index / LEN));
            let traded = comm.alltoall(send, on.zeros(all), stream).unwrap();
            let theirs = model(all, |index| value(index / LEN, rank));
            assert_eq!(numbers(on, &traded.wait().unwrap().1), theirs);
            for root in 0..size {
                let mine = on.vec::<T>(LEN, |index| value(rank, index));
                let at_root = (rank == root).then(|| on.zeros::<T>(all));
                let gathered = comm.gather(mine, at_root, root, stream).unwrap();
                if let (_, Some(gathered)) = gathered.wait().unwrap() {
                    assert_eq!(numbers(on, &gathered), model(all, everybody));
                }
                let buffer = match rank == root {
                    true => on.vec::<T>(all, everybody),
                    false => on.zeros::<T>(LEN),
                };
                let dealt = comm.scatter_in_place(buffer, root, stream).unwrap();
                let dealt = dealt.wait().unwrap();
                let first = if rank == root { rank * LEN } else { 0 };
                let own = dealt.slice(first..first + LEN).unwrap();
                assert_eq!(numbers(on, &own), model(LEN, |index| value(rank, index)));
            }
        }
        for size in 1..=3 {
            let devices: Vec<usize> = (0..size).collect();
            let options = options().library(old_nccl());
            let comms = NcclCommunicator::on_devices(&devices, &options).unwrap();
            each(&comms, |comm| {
                moves::<i8>(comm);
                moves::<f64>(comm);
            });
        }
    });
}
