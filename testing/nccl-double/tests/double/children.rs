//! Communicators made of others.

use std::ffi::c_int;
use std::ptr::{null, null_mut};

use ranks_nccl_sys::*;

use crate::support::{Rank, at, int, on_threads, threads, unique_id};

const F32: ncclDataType_t = ncclFloat32;

/// The number of ranks of a communicator, and the number of this one.
fn place(comm: ncclComm_t) -> (c_int, c_int) {
    let (mut size, mut rank) = (-1, -1);
    assert_eq!(nccl!(ncclCommCount(comm, &raw mut size)), 0);
    assert_eq!(nccl!(ncclCommUserRank(comm, &raw mut rank)), 0);
    (size, rank)
}

/// Whether the sum of one of each rank is as many as there are.
fn adds_up(rank: &Rank, comm: ncclComm_t, size: u8) {
    let memory = rank.memory(&[1_f32; 4]);
    let (at, stream) = (at(&memory), rank.raw());
    assert_eq!(
        nccl!(ncclAllReduce(at, at, 4, F32, ncclSum, comm, stream)),
        0
    );
    rank.sync();
    assert_eq!(memory.to_vec().expect("memory"), [f32::from(size); 4]);
}

#[test]
fn split_puts_ranks_of_a_color_in_the_order_of_their_keys() {
    threads(4, |rank| {
        // The last rank goes nowhere; the others are turned around.
        let color = if rank.rank == 3 {
            NCCL_SPLIT_NOCOLOR
        } else {
            7
        };
        let mut child = std::ptr::without_provenance_mut(64);
        let key = -int(rank.rank);
        let out = &raw mut child;
        assert_eq!(
            nccl!(ncclCommSplit(rank.comm, color, key, out, null_mut())),
            0
        );
        if rank.rank == 3 {
            assert!(child.is_null());
        } else {
            assert_eq!(place(child), (3, 2 - int(rank.rank)));
            adds_up(&rank, child, 3);
            assert_eq!(nccl!(ncclCommDestroy(child)), 0);
        }
        adds_up(&rank, rank.comm, 4);
        let wrong = nccl!(ncclCommSplit(rank.comm, -2, 0, out, null_mut()));
        assert_eq!(wrong, ncclInvalidArgument);
        rank.destroy();
    });
}

#[test]
fn split_goes_on_in_the_background_where_the_parent_does_not_block() {
    let id = unique_id();
    on_threads(2, |mut rank| {
        let mut config = ncclConfig_t::new();
        config.blocking = 0;
        assert_eq!(rank.init(id, Some(&mut config)), ncclInProgress);
        assert_eq!(rank.settled(), 0);
        let mut child = null_mut();
        let code = nccl!(ncclCommSplit(rank.comm, 0, 0, &raw mut child, null_mut()));
        assert_eq!(code, ncclInProgress);
        assert!(!child.is_null());
        assert_eq!(rank.settled(), 0);
        let parent = std::mem::replace(&mut rank.comm, child);
        assert_eq!(rank.settled(), 0);
        assert_eq!(place(child), (2, int(rank.rank)));
        rank.destroy();
        rank.comm = parent;
        rank.destroy();
    });
}

#[test]
fn what_shares_resources_is_aborted_together() {
    for share in [0, 1] {
        let id = unique_id();
        on_threads(2, |mut rank| {
            let mut config = ncclConfig_t::new();
            config.splitShare = share;
            assert_eq!(rank.init(id, Some(&mut config)), 0);
            let mut child = null_mut();
            let out = &raw mut child;
            assert_eq!(nccl!(ncclCommSplit(rank.comm, 0, 0, out, null_mut())), 0);
            let memory = rank.memory(&[1_f32; 4]);
            let (at, stream) = (at(&memory), rank.raw());
            if rank.rank == 0 {
                // The other rank does not come to this one.
                let code = nccl!(ncclAllReduce(at, at, 4, F32, ncclSum, child, stream));
                assert_eq!(code, 0);
            }
            rank.abort();
            if share == 1 {
                rank.sync();
            } else {
                assert_eq!(rank.is_idle(), rank.rank == 1);
            }
            assert_eq!(nccl!(ncclCommAbort(child)), 0);
            rank.sync();
        });
    }
}

#[test]
fn shrink_leaves_ranks_out_that_do_not_answer() {
    threads(3, |rank| {
        let memory = rank.memory(&[1_f32; 4]);
        let (at, comm, stream) = (at(&memory), rank.comm, rank.raw());
        if rank.rank == 1 {
            // It has gone, as far as the others can see.
            rank.abort();
            return;
        }
        assert_eq!(
            nccl!(ncclAllReduce(at, at, 4, F32, ncclSum, comm, stream)),
            0
        );
        let mut excluded = [1];
        let list = excluded.as_mut_ptr();
        let mut child = null_mut();
        let out = &raw mut child;
        let flags = NCCL_SHRINK_ABORT;
        let code = nccl!(ncclCommShrink(comm, list, 1, out, null_mut(), flags));
        assert_eq!(code, 0);
        rank.sync();
        assert_eq!(place(child), (2, int(rank.rank / 2)));
        adds_up(&rank, child, 2);
        assert_eq!(nccl!(ncclCommDestroy(child)), 0);
        rank.abort();
    });
}

#[test]
fn shrink_refuses_lists_that_make_no_sense() {
    threads(2, |rank| {
        let mut child = null_mut();
        for mut list in [vec![], vec![2], vec![-1], vec![0, 0], vec![int(rank.rank)]] {
            let (first, count) = (list.as_mut_ptr(), int(list.len()));
            let out = &raw mut child;
            let code = nccl!(ncclCommShrink(rank.comm, first, count, out, null_mut(), 0));
            assert_eq!(code, ncclInvalidArgument, "{list:?}");
        }
        rank.destroy();
    });
}

#[test]
fn grow_adds_ranks_behind_those_that_are_there() {
    let first = unique_id();
    let (sender, receiver) = std::sync::mpsc::channel();
    let receiver = std::sync::Mutex::new(receiver);
    on_threads(3, |mut rank| {
        let mut child = null_mut();
        let out = &raw mut child;
        if rank.rank == 2 {
            let _entered = rank.context.enter().expect("its context");
            let id: ncclUniqueId = receiver.lock().expect("a lock").recv().expect("an id");
            let early = nccl!(ncclCommGrow(null_mut(), 3, null(), 2, out, null_mut()));
            assert_eq!(early, ncclInvalidArgument, "a new rank needs the id");
            let code = nccl!(ncclCommGrow(
                null_mut(),
                3,
                &raw const id,
                2,
                out,
                null_mut()
            ));
            assert_eq!(code, 0);
        } else {
            rank.size = 2;
            assert_eq!(rank.init(first, None), 0);
            let comm = rank.comm;
            let code = if rank.rank == 0 {
                let mut id = ncclUniqueId { internal: [0; 128] };
                assert_eq!(nccl!(ncclCommGetUniqueId(comm, &raw mut id)), 0);
                let again = nccl!(ncclCommGetUniqueId(comm, &raw mut id));
                assert_eq!(again, ncclInvalidUsage, "the first one was not used yet");
                sender.send(id).expect("it waits");
                nccl!(ncclCommGrow(comm, 3, &raw const id, -1, out, null_mut()))
            } else {
                nccl!(ncclCommGrow(comm, 3, null(), -1, out, null_mut()))
            };
            assert_eq!(code, 0);
        }
        assert_eq!(place(child), (3, int(rank.rank)));
        adds_up(&rank, child, 3);
        assert_eq!(nccl!(ncclCommDestroy(child)), 0);
        assert_eq!(nccl!(ncclCommDestroy(rank.comm)), 0);
    });
}
