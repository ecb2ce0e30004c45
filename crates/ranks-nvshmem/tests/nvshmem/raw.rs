//! The trait over addresses on a heap: the cases that every implementation passes, but for those
//! with messages, which NVSHMEM does not have.
#![allow(unsafe_code)]

use std::thread;

use ranks_bootstrap::{Bootstrap, ThreadBootstrap};
use ranks_comm::ErrorKind;
use ranks_nvshmem::{Nvshmem, RawNvshmem};
use ranks_raw::{Dtype, RawCollectives};
use raw_conformance::{CASES, DeviceMemory, HostMemory, Memory};

use crate::launched::{Folder, LONG};
use crate::support::{Release, bare, in_process, options};

/// Cases in which a rank sends or receives.
const MESSAGES: [&str; 3] = [
    "an exchange in a group",
    "an abort while another thread waits",
    "a peer that does not come",
];

/// Small, so that operations are done in parts.
const STAGING: usize = 2048;

fn passes(heap: &'static Nvshmem<'static>, memory: &dyn Memory) {
    let raw = RawNvshmem::new(heap, STAGING).unwrap();
    for case in CASES.iter().filter(|case| !MESSAGES.contains(&case.name)) {
        (case.run)(&raw, memory).unwrap_or_else(|why| panic!("{}: {why}", case.name));
    }
    let mut byte = 0_u8;
    // SAFETY: nothing is sent where there are no messages.
    let none = unsafe { raw.send((&raw mut byte).cast(), 1, Dtype::U8, 0, 0) };
    assert_eq!(none.unwrap_err().kind(), ErrorKind::NotInLibrary);
    let elsewhere = thread::scope(|scope| scope.spawn(|| raw.barrier()).join().unwrap());
    assert_eq!(elsewhere.unwrap_err().kind(), ErrorKind::WrongThread);
    raw.barrier().unwrap();
}

#[test]
fn on_threads() {
    for size in 1..=4 {
        thread::scope(|scope| {
            for rank in ThreadBootstrap::of(size, LONG).unwrap() {
                scope.spawn(|| {
                    let rank: &'static ThreadBootstrap = Box::leak(Box::new(rank));
                    let heap = Nvshmem::init(rank, &in_process()).unwrap();
                    passes(Box::leak(Box::new(heap)), &HostMemory);
                    rank.exchange(b"done").unwrap();
                });
            }
        });
    }
}

fn on_processes(test: &str, size: usize) {
    bare(test, &vec![Release::New.plain(); size], |folder| {
        // SAFETY: the heap is not used after this, though it is never finalized.
        let folder: &'static Folder = unsafe { std::mem::transmute(folder) };
        let heap = Nvshmem::init(folder, &options()).unwrap();
        let heap: &'static Nvshmem<'static> = Box::leak(Box::new(heap));
        let context = heap.context().unwrap().clone();
        passes(heap, &DeviceMemory(context));
        if size == 1 {
            passes(heap, &HostMemory);
        }
        folder.exchange(b"done").unwrap();
    });
}

#[test]
fn on_a_process() {
    on_processes("raw::on_a_process", 1);
}

#[test]
fn on_three_processes() {
    on_processes("raw::on_three_processes", 3);
}
