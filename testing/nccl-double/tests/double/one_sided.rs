//! Memory of NCCL, windows, puts and signals.

use std::ffi::c_void;
use std::ptr::null_mut;

use ranks_cuda::DeviceVec;
use ranks_nccl_sys::*;

use crate::support::{Rank, at, int, threads};

const F32: ncclDataType_t = ncclFloat32;

/// Copies from an address of the device, by way of a message to oneself.
fn read(rank: &Rank, from: *const c_void, len: usize) -> Vec<f32> {
    let copy: DeviceVec<f32> = rank.memory(&vec![0_f32; len]);
    let (comm, stream, own) = (rank.comm, rank.raw(), int(rank.rank));
    assert_eq!(nccl!(ncclGroupStart()), 0);
    assert_eq!(nccl!(ncclSend(from, len, F32, own, comm, stream)), 0);
    assert_eq!(nccl!(ncclRecv(at(&copy), len, F32, own, comm, stream)), 0);
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    rank.sync();
    copy.to_vec().expect("memory")
}

fn allocated(rank: &Rank, bytes: usize) -> *mut c_void {
    let _entered = rank.context.enter().expect("its context");
    let mut memory = null_mut();
    assert_eq!(nccl!(ncclMemAlloc(&raw mut memory, bytes)), 0);
    assert_eq!(memory.addr() % 4096, 0);
    memory
}

#[test]
fn a_put_is_there_when_its_signal_is() {
    const LEN: usize = 50_000;
    for size in 1..=3 {
        threads(size, |rank| {
            let (comm, stream) = (rank.comm, rank.raw());
            let memory = allocated(&rank, 4 * LEN + 8);
            let mut window = null_mut();
            let out = &raw mut window;
            let bytes = 4 * LEN + 8;
            assert_eq!(
                nccl!(ncclCommWindowRegister(comm, memory, bytes, out, 0)),
                0
            );
            let mut back = null_mut();
            assert_eq!(nccl!(ncclWinGetUserPtr(comm, window, &raw mut back)), 0);
            assert_eq!(back, memory);

            let mine = f32::from(u8::try_from(rank.rank).expect("small"));
            let local = rank.memory(&vec![mine; LEN]);
            let next = int((rank.rank + 1) % size);
            let before = (rank.rank + size - 1) % size;
            let from = at(&local);
            let put = |offset, flags| {
                nccl!(ncclPutSignal(
                    from, LEN, F32, next, window, offset, 0, 0, flags, comm, stream
                ))
            };
            assert_eq!(put(12, 0), ncclInvalidArgument, "it does not fit");
            assert_eq!(put(8, 1), ncclInvalidArgument, "no flags");
            assert_eq!(put(8, 0), 0);
            assert_eq!(nccl!(ncclSignal(next, 0, 0, 0, comm, stream)), 0);
            let mut two = ncclWaitSignalDesc_t {
                opCnt: 2,
                peer: int(before),
                sigIdx: 0,
                ctx: 0,
            };
            assert_eq!(nccl!(ncclWaitSignal(1, &raw mut two, comm, stream)), 0);
            rank.sync();
            let found = read(&rank, memory.wrapping_byte_add(8), LEN);
            assert_eq!(
                found,
                vec![f32::from(u8::try_from(before).expect("small")); LEN]
            );
            two.sigIdx = 1;
            let wrong = nccl!(ncclWaitSignal(1, &raw mut two, comm, stream));
            assert_eq!(wrong, ncclInvalidArgument);

            assert_eq!(nccl!(ncclCommWindowDeregister(comm, window)), 0);
            let gone = nccl!(ncclCommWindowDeregister(comm, window));
            assert_eq!(gone, ncclInvalidArgument);
            rank.destroy();
            assert_eq!(nccl!(ncclMemFree(memory)), 0);
            assert_ne!(nccl!(ncclMemFree(memory)), 0);
        });
    }
}

#[test]
fn a_signal_that_does_not_come_is_waited_for_until_the_communicator_is_aborted() {
    threads(1, |rank| {
        let mut one = ncclWaitSignalDesc_t {
            opCnt: 1,
            peer: 0,
            sigIdx: 0,
            ctx: 0,
        };
        let code = nccl!(ncclWaitSignal(1, &raw mut one, rank.comm, rank.raw()));
        assert_eq!(code, 0);
        assert!(!rank.is_idle());
        rank.abort();
        rank.sync();
    });
}

#[test]
fn windows_are_in_memory_of_nccl_and_begin_with_a_page() {
    threads(1, |rank| {
        let memory = allocated(&rank, 8192);
        let other = rank.memory(&[0_f32; 4096]);
        let mut window = null_mut();
        let out = &raw mut window;
        let comm = rank.comm;
        let refused = [
            nccl!(ncclCommWindowRegister(
                comm,
                memory.wrapping_byte_add(64),
                64,
                out,
                0
            )),
            nccl!(ncclCommWindowRegister(comm, memory, 16384, out, 0)),
            nccl!(ncclCommWindowRegister(comm, at(&other), 4096, out, 0)),
        ];
        assert_eq!(refused, [ncclInvalidArgument; 3]);
        rank.destroy();
        assert_eq!(nccl!(ncclMemFree(memory)), 0);
    });
}

#[test]
fn buffers_are_registered_and_let_go() {
    threads(1, |rank| {
        let memory = rank.memory(&[0_f32; 16]);
        let mut handle = null_mut();
        let (comm, out) = (rank.comm, &raw mut handle);
        assert_eq!(nccl!(ncclCommRegister(comm, at(&memory), 64, out)), 0);
        assert_eq!(nccl!(ncclCommDeregister(comm, handle)), 0);
        assert_eq!(nccl!(ncclCommDeregister(comm, handle)), ncclInvalidArgument);
        let mut here = [0_u8; 64];
        let host = nccl!(ncclCommRegister(comm, here.as_mut_ptr().cast(), 64, out));
        assert_eq!(host, ncclUnhandledCudaError);
        rank.destroy();
    });
}
