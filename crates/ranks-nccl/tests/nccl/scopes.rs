//! Operations on borrowed memory: in scopes, in groups, and for many communicators at once.

use ranks_collectives::ops::Sum;
use ranks_comm::Result;
use ranks_cuda::DeviceVec;
use ranks_nccl::{self as nccl, Queue};

use crate::samples::{LEN, Place, model, numbers, on_ranks, sum, value};
use crate::support::{isolated, on_devices};

/// Some operations on borrowed memory, one after the other.
fn borrowed<'env>(
    s: &Queue<'env>,
    (sums, all, traded): (
        &'env mut DeviceVec<f32>,
        &'env mut DeviceVec<i64>,
        &'env mut DeviceVec<u8>,
    ),
    (mine, block, blocks): (
        &'env DeviceVec<f32>,
        &'env DeviceVec<i64>,
        &'env DeviceVec<u8>,
    ),
) -> Result<()> {
    s.allreduce(mine, sums, Sum)?;
    s.allgather(block, all)?;
    s.alltoall(blocks, traded)
}

#[test]
fn operations_of_a_scope_are_over_when_it_ends() {
    isolated(
        "scopes::operations_of_a_scope_are_over_when_it_ends",
        &[],
        || {
            on_ranks(|on| {
                let (comm, stream) = (on.comm, &on.stream);
                let (rank, size) = (comm.rank(), comm.size());
                let mine = on.vec::<f32>(LEN, |index| value(rank, index));
                let block = on.vec::<i64>(LEN, |index| value(rank, index));
                let blocks = on.vec::<u8>(LEN * size, |index| value(rank, index / LEN));
                let mut sums = on.zeros(LEN);
                let mut all = on.zeros(LEN * size);
                let mut traded = on.zeros(LEN * size);
                let mut dealt = on.zeros::<u32>(2);
                let whole = (rank == 0).then(|| on.vec::<u32>(2 * size, |index| value(1, index)));
                comm.scope(stream, |s| {
                    let memory = (&mut sums, &mut all, &mut traded);
                    borrowed(s, memory, (&mine, &block, &blocks))?;
                    s.scatter(whole.as_ref(), &mut dealt, 0)
                })
                .unwrap();
                assert_eq!(numbers(on, &sums), model(LEN, |index| sum(size, index)));
                assert_eq!(
                    numbers(on, &all),
                    model(LEN * size, |index| value(index / LEN, index % LEN))
                );
                assert_eq!(
                    numbers(on, &traded),
                    model(LEN * size, |index| value(index / LEN, rank))
                );
                assert_eq!(
                    numbers(on, &dealt),
                    model(2, |index| value(1, 2 * rank + index))
                );
            });
        },
    );
}

#[test]
fn sends_and_receives_of_a_group_stand_in_any_order() {
    isolated(
        "scopes::sends_and_receives_of_a_group_stand_in_any_order",
        &[],
        || {
            on_ranks(|on| {
                let (comm, size) = (on.comm, on.comm.size());
                let rank = comm.rank();
                let sends: Vec<DeviceVec<f64>> = (0..size)
                    .map(|to| on.vec(LEN, |index| value(rank + to, index)))
                    .collect();
                let mut receives: Vec<DeviceVec<f64>> = (0..size).map(|_| on.zeros(LEN)).collect();
                comm.scope(&on.stream, |s| {
                    s.group(|s| {
                        for (to, send) in sends.iter().enumerate() {
                            s.send(send, to)?;
                        }
                        for (from, receive) in receives.iter_mut().enumerate() {
                            s.recv(receive, from)?;
                        }
                        Ok(())
                    })
                })
                .unwrap();
                for (from, receive) in receives.iter().enumerate() {
                    let expected = model(LEN, |index| value(from + rank, index));
                    assert_eq!(numbers(on, receive), expected);
                }
            });
        },
    );
}

#[test]
fn one_thread_calls_a_collective_for_many_communicators() {
    isolated(
        "scopes::one_thread_calls_a_collective_for_many_communicators",
        &[],
        || {
            for size in [2, 4] {
                let comms = on_devices(size);
                let places: Vec<Place<'_>> = comms.iter().map(Place::of).collect();
                let mut data: Vec<DeviceVec<f32>> = places
                    .iter()
                    .map(|on| on.vec(LEN, |index| value(on.comm.rank(), index)))
                    .collect();
                nccl::group(|g| {
                    for (on, data) in places.iter().zip(&mut data) {
                        g.on(on.comm, &on.stream, |s| s.allreduce_in_place(data, Sum))?;
                    }
                    Ok(())
                })
                .unwrap();
                for (on, data) in places.iter().zip(&data) {
                    on.comm.synchronize(&on.stream).unwrap();
                    assert_eq!(numbers(on, data), model(LEN, |index| sum(size, index)));
                }
            }
        },
    );
}
