//! Each collective operation, in place and not, on each number of ranks.

use ranks_cuda::{DeviceVec, Stream as _};
use ranks_nccl_sys::*;

use crate::support::{Rank, at, int, threads};

const F32: ncclDataType_t = ncclFloat32;

/// What a rank has: small whole numbers, whose sums are exact.
fn values(rank: usize, len: usize) -> Vec<f32> {
    (0..len).map(|at| value(rank, at)).collect()
}

fn value(rank: usize, at: usize) -> f32 {
    f32::from(u16::try_from(rank * 100 + at % 97).expect("small"))
}

fn summed(size: usize, at: usize) -> f32 {
    (0..size).map(|rank| value(rank, at)).sum()
}

/// Lets every number of ranks do something with memory that begins as `len(rank)` values and as
/// zeros.
fn each(
    sent: impl Fn(&Rank) -> usize + Sync,
    received: impl Fn(&Rank) -> usize + Sync,
    call: impl Fn(&Rank, &DeviceVec<f32>, &DeviceVec<f32>) -> ncclResult_t + Sync,
    expected: impl Fn(&Rank, usize) -> f32 + Sync,
) {
    for size in 1..=4 {
        threads(size, |rank| {
            let send = rank.memory(&values(rank.rank, sent(&rank)));
            let recv = rank.memory(&vec![-1_f32; received(&rank)]);
            assert_eq!(call(&rank, &send, &recv), 0);
            rank.sync();
            for (at, found) in recv.to_vec().expect("memory").into_iter().enumerate() {
                assert_eq!(found, expected(&rank, at), "element {at}");
            }
            assert_eq!(
                send.to_vec().expect("memory"),
                values(rank.rank, send.to_vec().expect("memory").len())
            );
            rank.destroy();
        });
    }
}

/// Elements of a block: more than a ring holds.
const LEN: usize = 20_000;

#[test]
fn allreduce_leaves_the_sum_everywhere() {
    each(
        |_| LEN,
        |_| LEN,
        |rank, send, recv| {
            let (comm, stream) = (rank.comm, rank.raw());
            nccl!(ncclAllReduce(
                at(send),
                at(recv),
                LEN,
                F32,
                ncclSum,
                comm,
                stream
            ))
        },
        |rank, at| summed(rank.size, at),
    );
}

#[test]
fn reduce_leaves_it_at_the_root_alone() {
    each(
        |_| LEN,
        |_| LEN,
        |rank, send, recv| {
            let (comm, stream, root) = (rank.comm, rank.raw(), int(rank.size - 1));
            nccl!(ncclReduce(
                at(send),
                at(recv),
                LEN,
                F32,
                ncclSum,
                root,
                comm,
                stream
            ))
        },
        |rank, at| {
            if rank.rank == rank.size - 1 {
                summed(rank.size, at)
            } else {
                -1.0
            }
        },
    );
}

#[test]
fn broadcast_gives_all_what_the_root_has() {
    each(
        |_| LEN,
        |_| LEN,
        |rank, send, recv| {
            let (comm, stream) = (rank.comm, rank.raw());
            nccl!(ncclBroadcast(at(send), at(recv), LEN, F32, 0, comm, stream))
        },
        |_, at| value(0, at),
    );
}

#[test]
fn allgather_puts_blocks_in_the_order_of_ranks() {
    each(
        |_| 3,
        |rank| 3 * rank.size,
        |rank, send, recv| {
            let (comm, stream) = (rank.comm, rank.raw());
            nccl!(ncclAllGather(at(send), at(recv), 3, F32, comm, stream))
        },
        |_, at| value(at / 3, at % 3),
    );
}

#[test]
fn reducescatter_leaves_each_rank_its_block_of_the_sum() {
    each(
        |rank| LEN * rank.size,
        |_| LEN,
        |rank, send, recv| {
            let (comm, stream) = (rank.comm, rank.raw());
            nccl!(ncclReduceScatter(
                at(send),
                at(recv),
                LEN,
                F32,
                ncclSum,
                comm,
                stream
            ))
        },
        |rank, at| summed(rank.size, rank.rank * LEN + at),
    );
}

#[test]
fn alltoall_gives_each_rank_its_block_of_each() {
    each(
        |rank| 5 * rank.size,
        |rank| 5 * rank.size,
        |rank, send, recv| {
            let (comm, stream) = (rank.comm, rank.raw());
            nccl!(ncclAlltoAll(at(send), at(recv), 5, F32, comm, stream))
        },
        |rank, at| value(at / 5, rank.rank * 5 + at % 5),
    );
}

#[test]
fn gather_and_scatter_are_what_the_root_has() {
    each(
        |_| 7,
        |rank| 7 * rank.size,
        |rank, send, recv| {
            let (comm, stream) = (rank.comm, rank.raw());
            nccl!(ncclGather(at(send), at(recv), 7, F32, 0, comm, stream))
        },
        |rank, at| {
            if rank.rank == 0 {
                value(at / 7, at % 7)
            } else {
                -1.0
            }
        },
    );
    each(
        |rank| 7 * rank.size,
        |_| 7,
        |rank, send, recv| {
            let (comm, stream) = (rank.comm, rank.raw());
            nccl!(ncclScatter(at(send), at(recv), 7, F32, 0, comm, stream))
        },
        |rank, at| value(0, rank.rank * 7 + at),
    );
}

#[test]
fn operations_are_done_in_place_where_addresses_say_so() {
    threads(3, |rank| {
        let (comm, stream, size) = (rank.comm, rank.raw(), rank.size);
        let all = rank.memory(&values(rank.rank, 4 * size));
        let own = at(&all).wrapping_byte_add(4 * 4 * rank.rank);
        let whole = at(&all);
        assert_eq!(
            nccl!(ncclAllReduce(
                whole,
                whole,
                4 * size,
                F32,
                ncclMax,
                comm,
                stream
            )),
            0
        );
        assert_eq!(
            nccl!(ncclReduceScatter(whole, own, 4, F32, ncclSum, comm, stream)),
            0
        );
        assert_eq!(nccl!(ncclAllGather(own, whole, 4, F32, comm, stream)), 0);
        assert_eq!(nccl!(ncclBcast(whole, 4 * size, F32, 1, comm, stream)), 0);
        rank.sync();
        for (at, found) in all.to_vec().expect("memory").into_iter().enumerate() {
            assert_eq!(found, 3.0 * value(2, at));
        }
        rank.destroy();
    });
}

#[test]
fn a_call_can_have_a_config_of_its_own() {
    threads(2, |rank| {
        let (comm, stream) = (rank.comm, rank.raw());
        let memory = rank.memory(&[1_f32; 4]);
        let at = at(&memory);
        let mut config = ncclCollConfig_t::new();
        let set = &raw const config;
        let code = nccl!(ncclAllReduceConfig(
            at, at, 4, F32, ncclSum, comm, stream, set
        ));
        assert_eq!(code, 0);
        rank.sync();
        assert_eq!(memory.to_vec().expect("memory"), [2_f32; 4]);
        config.magic = 0;
        let set = &raw const config;
        let code = nccl!(ncclAllReduceConfig(
            at, at, 4, F32, ncclSum, comm, stream, set
        ));
        assert_eq!(code, ncclInvalidArgument);
        rank.destroy();
    });
}

#[test]
fn nothing_is_done_for_no_elements() {
    threads(2, |rank| {
        let (comm, stream, none) = (rank.comm, rank.raw(), std::ptr::null_mut());
        assert_eq!(
            nccl!(ncclAllReduce(none, none, 0, F32, ncclSum, comm, stream)),
            0
        );
        assert_eq!(nccl!(ncclSend(none, 0, F32, 0, comm, stream)), 0);
        rank.sync();
        rank.destroy();
    });
}

#[test]
fn memory_is_read_and_written_when_the_stream_comes_to_it() {
    threads(2, |rank| {
        let (comm, stream) = (rank.comm, rank.raw());
        let mut send = rank.memory(&[1_f32; 8]);
        let recv = rank.memory(&[0_f32; 8]);
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let wait = Box::new(move || {
            let _ = gate.recv();
        });
        rank.stream.launch_host(wait).expect("enqueued");
        let call = nccl!(ncclAllReduce(
            at(&send),
            at(&recv),
            8,
            F32,
            ncclSum,
            comm,
            stream
        ));
        assert_eq!(call, 0);
        rank.context
            .copy_to_device(&[2_f32; 8], &mut send)
            .expect("a copy");
        open.send(()).expect("it waits");
        rank.sync();
        assert_eq!(recv.to_vec().expect("memory"), [4_f32; 8]);
        rank.destroy();
    });
}

#[test]
fn addresses_of_the_host_are_refused_by_the_driver() {
    threads(1, |rank| {
        let (comm, stream) = (rank.comm, rank.raw());
        let mut here = [0_f32; 4];
        let address = here.as_mut_ptr().cast();
        let recv = rank.memory(&[0_f32; 4]);
        let code = nccl!(ncclAllReduce(
            address,
            at(&recv),
            4,
            F32,
            ncclSum,
            comm,
            stream
        ));
        assert_eq!(code, ncclUnhandledCudaError);
        rank.abort();
    });
}

#[test]
fn every_type_has_its_arithmetic() {
    threads(2, |rank| {
        let (comm, stream) = (rank.comm, rank.raw());
        // One and two, or the bits of one and two, in the type of each number.
        let ones: [(ncclDataType_t, [u8; 8], [u8; 8], usize); 12] = [
            (ncclInt8, whole(1_i8), whole(2_i8), 1),
            (ncclUint8, whole(1_i8), whole(2_i8), 1),
            (ncclInt32, whole(1_i32), whole(2_i32), 4),
            (ncclUint32, whole(1_i32), whole(2_i32), 4),
            (ncclInt64, whole(1_i64), whole(2_i64), 8),
            (ncclUint64, whole(1_i64), whole(2_i64), 8),
            (ncclFloat16, whole(0x3c00_i32), whole(0x4000_i32), 2),
            (
                ncclFloat32,
                whole(1_f32.to_bits()),
                whole(2_f32.to_bits()),
                4,
            ),
            (
                ncclFloat64,
                whole(1_f64.to_bits()),
                whole(2_f64.to_bits()),
                8,
            ),
            (ncclBfloat16, whole(0x3f80_i32), whole(0x4000_i32), 2),
            (ncclFloat8e4m3, whole(0x38_i32), whole(0x40_i32), 1),
            (ncclFloat8e5m2, whole(0x3c_i32), whole(0x40_i32), 1),
        ];
        for (dtype, one, two, size) in ones {
            let send = rank.memory(&one[..size]);
            let recv = rank.memory(&[0_u8; 8]);
            let code = nccl!(ncclAllReduce(
                at(&send),
                at(&recv),
                1,
                dtype,
                ncclSum,
                comm,
                stream
            ));
            assert_eq!(code, 0);
            rank.sync();
            assert_eq!(
                recv.to_vec().expect("memory")[..size],
                two[..size],
                "type {dtype}"
            );
            let code = nccl!(ncclAllReduce(
                at(&send),
                at(&recv),
                1,
                dtype,
                ncclAvg,
                comm,
                stream
            ));
            assert_eq!(code, 0);
            rank.sync();
            assert_eq!(
                recv.to_vec().expect("memory")[..size],
                one[..size],
                "type {dtype}"
            );
        }
        rank.destroy();
    });
}

/// The bytes of a number, the least significant first.
fn whole<T: bytemuck::Pod>(value: T) -> [u8; 8] {
    let mut bytes = [0; 8];
    let from = bytemuck::bytes_of(&value);
    bytes[..from.len()].copy_from_slice(from);
    bytes
}

#[test]
fn what_is_wrong_with_arguments_is_told() {
    threads(2, |rank| {
        let (comm, stream) = (rank.comm, rank.raw());
        let memory = rank.memory(&[0_f32; 2]);
        let (send, recv) = (at(&memory), at(&memory));
        let none = std::ptr::null_mut();
        let refused = [
            nccl!(ncclAllReduce(send, recv, 2, 12, ncclSum, comm, stream)),
            nccl!(ncclAllReduce(send, recv, 2, -1, ncclSum, comm, stream)),
            nccl!(ncclAllReduce(send, recv, 2, F32, -1, comm, stream)),
            nccl!(ncclAllReduce(send, recv, 2, F32, 99_999, comm, stream)),
            nccl!(ncclAllReduce(
                send,
                recv,
                usize::MAX,
                F32,
                ncclSum,
                comm,
                stream
            )),
            nccl!(ncclBroadcast(send, recv, 2, F32, 2, comm, stream)),
            nccl!(ncclReduce(send, recv, 2, F32, ncclSum, -1, comm, stream)),
            nccl!(ncclSend(send, 2, F32, 2, comm, stream)),
            nccl!(ncclRecv(recv, 2, F32, -1, comm, stream)),
            nccl!(ncclAllReduce(send, recv, 2, F32, ncclSum, none, stream)),
            nccl!(ncclAllReduce(
                send,
                recv,
                2,
                F32,
                ncclSum,
                send.cast(),
                stream
            )),
        ];
        assert_eq!(refused, [ncclInvalidArgument; 11]);
        rank.destroy();
    });
}
