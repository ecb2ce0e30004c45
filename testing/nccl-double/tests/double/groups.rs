//! Groups, and messages from rank to rank.

use std::ptr::null_mut;

use ranks_cuda::Stream as _;
use ranks_nccl_sys::*;

use crate::support::{Rank, alone, at, counted, int, on_threads, threads, unique_id, until};

const F32: ncclDataType_t = ncclFloat32;

#[test]
fn all_can_send_before_they_receive_in_a_group() {
    const LEN: usize = 100_000;
    for size in 1..=4 {
        threads(size, |rank| {
            let (comm, stream) = (rank.comm, rank.raw());
            let mine = f32::from(u8::try_from(rank.rank).expect("small"));
            let send = rank.memory(&vec![mine; LEN]);
            let recv = rank.memory(&vec![-1_f32; LEN]);
            let next = int((rank.rank + 1) % size);
            let before = (rank.rank + size - 1) % size;
            assert_eq!(nccl!(ncclGroupStart()), 0);
            assert_eq!(nccl!(ncclSend(at(&send), LEN, F32, next, comm, stream)), 0);
            assert_eq!(
                nccl!(ncclRecv(at(&recv), LEN, F32, int(before), comm, stream)),
                0
            );
            rank.sync();
            assert_eq!(
                recv.to_vec().expect("memory")[0],
                -1.0,
                "nothing before the end"
            );
            assert_eq!(nccl!(ncclGroupEnd()), 0);
            rank.sync();
            let expected = f32::from(u8::try_from(before).expect("small"));
            assert_eq!(recv.to_vec().expect("memory"), vec![expected; LEN]);
            rank.destroy();
        });
    }
}

#[test]
fn messages_of_a_pair_keep_their_order() {
    threads(2, |rank| {
        let (comm, stream, other) = (rank.comm, rank.raw(), int(1 - rank.rank));
        let memory: Vec<_> = (0..6_u8)
            .map(|at| rank.memory(&[f32::from(at); 9]))
            .collect();
        let zeros: Vec<_> = (0..6).map(|_| rank.memory(&[0_f32; 9])).collect();
        for (send, recv) in memory.iter().zip(&zeros) {
            if rank.rank == 0 {
                assert_eq!(nccl!(ncclSend(at(send), 9, F32, other, comm, stream)), 0);
                assert_eq!(nccl!(ncclRecv(at(recv), 9, F32, other, comm, stream)), 0);
            } else {
                assert_eq!(nccl!(ncclRecv(at(recv), 9, F32, other, comm, stream)), 0);
                assert_eq!(nccl!(ncclSend(at(recv), 9, F32, other, comm, stream)), 0);
            }
        }
        rank.sync();
        for (at, recv) in (0..6_u8).zip(&zeros) {
            assert_eq!(recv.to_vec().expect("memory"), [f32::from(at); 9]);
        }
        rank.destroy();
    });
}

#[test]
fn collectives_and_messages_of_a_group_go_on_together() {
    threads(2, |rank| {
        let (comm, stream, other) = (rank.comm, rank.raw(), int(1 - rank.rank));
        let sum = rank.memory(&[1_f32; 3]);
        let message = rank.memory(&[5_f32; 3]);
        let reduce = || {
            let code = nccl!(ncclAllReduce(
                at(&sum),
                at(&sum),
                3,
                F32,
                ncclSum,
                comm,
                stream
            ));
            assert_eq!(code, 0);
        };
        assert_eq!(nccl!(ncclGroupStart()), 0);
        if rank.rank == 0 {
            reduce();
            assert_eq!(nccl!(ncclSend(at(&sum), 3, F32, other, comm, stream)), 0);
        } else {
            assert_eq!(
                nccl!(ncclRecv(at(&message), 3, F32, other, comm, stream)),
                0
            );
            reduce();
        }
        assert_eq!(nccl!(ncclGroupEnd()), 0);
        rank.sync();
        assert_eq!(sum.to_vec().expect("memory"), [2_f32; 3]);
        rank.destroy();
    });
}

#[test]
fn a_rank_without_messages_takes_part_in_what_comes_after_those_of_others() {
    threads(3, |rank| {
        let (comm, stream) = (rank.comm, rank.raw());
        let memory = rank.memory(&[1_f32; 3]);
        match rank.rank {
            0 => assert_eq!(nccl!(ncclSend(at(&memory), 3, F32, 1, comm, stream)), 0),
            1 => assert_eq!(nccl!(ncclRecv(at(&memory), 3, F32, 0, comm, stream)), 0),
            _ => {}
        }
        let code = nccl!(ncclAllReduce(
            at(&memory),
            at(&memory),
            3,
            F32,
            ncclSum,
            comm,
            stream
        ));
        assert_eq!(code, 0);
        rank.sync();
        assert_eq!(memory.to_vec().expect("memory"), [3_f32; 3]);
        rank.destroy();
    });
}

#[test]
fn groups_nest_and_are_counted() {
    threads(1, |rank| {
        let (comm, stream) = (rank.comm, rank.raw());
        let memory = rank.memory(&[3_f32; 2]);
        assert_eq!(nccl!(ncclGroupEnd()), ncclInvalidUsage);
        assert_eq!(nccl!(ncclGroupStart()), 0);
        assert_eq!(nccl!(ncclGroupStart()), 0);
        let code = nccl!(ncclAllReduce(
            at(&memory),
            at(&memory),
            2,
            F32,
            ncclProd,
            comm,
            stream
        ));
        assert_eq!(code, 0);
        assert_eq!(nccl!(ncclGroupEnd()), 0);
        assert_eq!(nccl!(ncclGroupEnd()), 0);
        assert_eq!(nccl!(ncclGroupEnd()), ncclInvalidUsage);
        rank.sync();
        rank.destroy();
    });
}

#[test]
fn a_group_with_a_failure_does_nothing() {
    threads(1, |rank| {
        let (comm, stream) = (rank.comm, rank.raw());
        let send = rank.memory(&[3_f32; 2]);
        let recv = rank.memory(&[0_f32; 2]);
        assert_eq!(nccl!(ncclGroupStart()), 0);
        let good = nccl!(ncclAllReduce(
            at(&send),
            at(&recv),
            2,
            F32,
            ncclSum,
            comm,
            stream
        ));
        assert_eq!(good, 0);
        let bad = nccl!(ncclBroadcast(at(&send), at(&recv), 2, F32, 7, comm, stream));
        assert_eq!(bad, ncclInvalidArgument);
        assert_eq!(nccl!(ncclGroupEnd()), ncclInvalidArgument);
        rank.sync();
        assert_eq!(recv.to_vec().expect("memory"), [0_f32; 2]);
        rank.destroy();
    });
}

#[test]
fn a_simulated_end_does_nothing_and_tells_a_time() {
    threads(1, |rank| {
        let (comm, stream) = (rank.comm, rank.raw());
        let send = rank.memory(&[3_f32; 2]);
        let recv = rank.memory(&[0_f32; 2]);
        assert_eq!(nccl!(ncclGroupStart()), 0);
        let code = nccl!(ncclAllReduce(
            at(&send),
            at(&recv),
            2,
            F32,
            ncclSum,
            comm,
            stream
        ));
        assert_eq!(code, 0);
        let mut info = ncclSimInfo_t::new();
        assert_eq!(nccl!(ncclGroupSimulateEnd(&raw mut info)), 0);
        assert!(info.estimatedTime > 0.0);
        rank.sync();
        assert_eq!(recv.to_vec().expect("memory"), [0_f32; 2]);
        info.magic = 1;
        assert_eq!(
            nccl!(ncclGroupSimulateEnd(&raw mut info)),
            ncclInvalidArgument
        );
        rank.destroy();
    });
}

#[test]
fn one_thread_has_several_communicators_by_a_group() {
    let id = unique_id();
    let mut ranks: Vec<Rank> = (0..3).map(|rank| Rank::without(3, rank)).collect();
    assert_eq!(nccl!(ncclGroupStart()), 0);
    for rank in &mut ranks {
        assert_eq!(rank.init(id, None), 0);
    }
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    let memory: Vec<_> = ranks.iter().map(|rank| rank.memory(&[1_f32; 4])).collect();
    assert_eq!(nccl!(ncclGroupStart()), 0);
    for (rank, memory) in ranks.iter().zip(&memory) {
        let (at, comm, stream) = (at(memory), rank.comm, rank.raw());
        assert_eq!(
            nccl!(ncclAllReduce(at, at, 4, F32, ncclSum, comm, stream)),
            0
        );
    }
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    for (rank, memory) in ranks.iter().zip(&memory) {
        rank.sync();
        assert_eq!(memory.to_vec().expect("memory"), [3_f32; 4]);
        rank.destroy();
    }
}

#[test]
fn one_call_makes_the_communicators_of_many_devices() {
    let _alone = alone();
    crate::support::nccl();
    let mut comms = [null_mut(); 3];
    let devices = [2, 0, 1];
    assert_eq!(
        nccl!(ncclCommInitAll(comms.as_mut_ptr(), 3, devices.as_ptr())),
        0
    );
    for (rank, (&comm, device)) in comms.iter().zip(devices).enumerate() {
        let mut found = [-1; 3];
        let [count, number, place] = found.each_mut().map(std::ptr::from_mut);
        assert_eq!(nccl!(ncclCommCount(comm, count)), 0);
        assert_eq!(nccl!(ncclCommUserRank(comm, number)), 0);
        assert_eq!(nccl!(ncclCommCuDevice(comm, place)), 0);
        assert_eq!(found, [3, int(rank), device]);
    }
    for comm in comms {
        assert_eq!(nccl!(ncclCommDestroy(comm)), 0);
    }
    let twice = [0, 0];
    let code = nccl!(ncclCommInitAll(comms.as_mut_ptr(), 2, twice.as_ptr()));
    assert_eq!(code, ncclInvalidUsage);
}

#[test]
fn streams_of_one_communicator_wait_for_each_other() {
    threads(2, |rank| {
        let (comm, first) = (rank.comm, rank.raw());
        let second = rank.context.stream().expect("a stream");
        let other = second.raw().0.cast();
        let memory = rank.memory(&[1_f32; 4]);
        let at = at(&memory);
        for stream in [first, other, first, other] {
            assert_eq!(
                nccl!(ncclAllReduce(at, at, 4, F32, ncclSum, comm, stream)),
                0
            );
            // Only the order of what is enqueued on the communicator is kept; the copies are the
            // caller's to order.
            rank.sync();
            second.synchronize().expect("the stream");
        }
        assert_eq!(nccl!(ncclGroupStart()), 0);
        assert_eq!(
            nccl!(ncclAllReduce(at, at, 4, F32, ncclSum, comm, first)),
            0
        );
        assert_eq!(
            nccl!(ncclAllReduce(at, at, 4, F32, ncclSum, comm, other)),
            0
        );
        assert_eq!(nccl!(ncclGroupEnd()), 0);
        second.synchronize().expect("the stream");
        rank.sync();
        assert_eq!(memory.to_vec().expect("memory")[0] % 32.0, 0.0);
        rank.destroy();
    });
}

#[test]
fn unequal_calls_hang_until_the_communicator_is_aborted() {
    let before = counted("mismatches");
    threads(2, |rank| {
        let (comm, stream) = (rank.comm, rank.raw());
        let memory = rank.memory(&[1_f32; 8]);
        let count = 4 + rank.rank;
        let at = at(&memory);
        assert_eq!(
            nccl!(ncclAllReduce(at, at, count, F32, ncclSum, comm, stream)),
            0
        );
        until("noticed", || counted("mismatches") > before);
        assert!(!rank.is_idle(), "it hangs");
        assert_eq!(rank.state(), 0);
        rank.abort();
        rank.sync();
    });
}

#[test]
fn blocking_and_other_communicators_are_not_in_one_group() {
    on_threads(1, |mut rank| {
        let mut config = ncclConfig_t::new();
        config.blocking = 0;
        let code = rank.init(unique_id(), Some(&mut config));
        assert_eq!(code, ncclInProgress);
        assert_eq!(rank.settled(), 0);
        threads(1, |other| {
            let memory = rank.memory(&[1_f32; 8]);
            let (at, first, second) = (at(&memory), rank.raw(), other.raw());
            assert_eq!(nccl!(ncclGroupStart()), 0);
            let one = nccl!(ncclAllReduce(at, at, 8, F32, ncclSum, rank.comm, first));
            assert_eq!(one, 0);
            let two = nccl!(ncclAllReduce(at, at, 8, F32, ncclSum, other.comm, second));
            assert_eq!(two, ncclInvalidArgument);
            assert_eq!(nccl!(ncclGroupEnd()), ncclInvalidArgument);
            other.destroy();
        });
        rank.destroy();
    });
}
