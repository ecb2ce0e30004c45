//! The trait over addresses on NCCL: the cases that every implementation passes, and events between
//! streams.
#![allow(unsafe_code)]

use ranks_bootstrap::Bootstrap;
use ranks_comm::ErrorKind;
use ranks_cuda::{DeviceSlice, Stream};
use ranks_nccl::{NcclCommunicator, RawNccl};
use ranks_raw::{Dtype, RawCollectives, RawOp, StreamSync};
use raw_conformance::DeviceMemory;

use crate::samples::{Place, model, numbers, value};
use crate::support::{each, isolated, live, on_devices, options, processes, uses_after_free};

/// No variables.
const NOTHING: &[(&str, &str)] = &[];

/// Runs the cases on one rank.
fn passes(raw: &RawNccl) {
    let memory = DeviceMemory(raw.communicator().context().clone());
    raw_conformance::run(raw, &memory).unwrap();
}

fn raw_on_devices(size: usize) -> Vec<RawNccl> {
    let comms = on_devices(size).into_iter();
    comms.map(|comm| RawNccl::new(comm).unwrap()).collect()
}

#[test]
fn every_case_of_the_trait_on_threads() {
    isolated("raw::every_case_of_the_trait_on_threads", &[], || {
        for size in 1..=4 {
            each(&raw_on_devices(size), passes);
        }
        assert_eq!(uses_after_free(), 0);
    });
}

#[test]
fn every_case_of_the_trait_on_a_process() {
    every_case_on_processes::<1>("raw::every_case_of_the_trait_on_a_process");
}

#[test]
fn every_case_of_the_trait_on_two_processes() {
    every_case_on_processes::<2>("raw::every_case_of_the_trait_on_two_processes");
}

#[test]
fn every_case_of_the_trait_on_three_processes() {
    every_case_on_processes::<3>("raw::every_case_of_the_trait_on_three_processes");
}

#[test]
fn every_case_of_the_trait_on_four_processes() {
    every_case_on_processes::<4>("raw::every_case_of_the_trait_on_four_processes");
}

fn every_case_on_processes<const SIZE: usize>(test: &str) {
    processes(test, &[NOTHING; SIZE], |bootstrap| {
        let comm = NcclCommunicator::new(bootstrap, bootstrap.rank(), &options()).unwrap();
        let raw = RawNccl::new(comm).unwrap();
        passes(&raw);
        raw.barrier().unwrap();
        drop(raw);
        // All have come to their end before a process goes.
        bootstrap.exchange(b"done").unwrap();
        assert!(live() <= 1);
    });
}

#[test]
fn an_address_of_the_host_is_refused() {
    isolated("raw::an_address_of_the_host_is_refused", &[], || {
        let [raw] = &raw_on_devices(1)[..] else {
            unreachable!("one rank was asked for")
        };
        let mut host = [1.0_f32; 4];
        let at = host.as_mut_ptr().cast();
        // SAFETY: the memory is there, and an operation that is refused is not begun.
        let outcome = unsafe { raw.allreduce(at, at, 4, Dtype::F32, RawOp::Sum) };
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        assert!(error.to_string().contains("one of the host"), "{error}");
        // SAFETY: no memory is used.
        let nothing = unsafe { raw.allreduce(at, at, 0, Dtype::F32, RawOp::Sum) };
        nothing.unwrap();
        raw.sync().unwrap();
        assert_eq!(raw.failure(), None);
    });
}

#[test]
fn events_order_the_streams_of_the_program_and_of_the_communicator() {
    let test = "raw::events_order_the_streams_of_the_program_and_of_the_communicator";
    isolated(test, &[], || {
        const LEN: usize = 6;
        each(&raw_on_devices(2), |raw| {
            let on = &Place::of(raw.communicator());
            let streams: &dyn StreamSync = raw.stream_sync().unwrap();
            let (rank, stream) = (on.comm.rank(), on.stream.raw());
            let mut pinned = on.comm.context().pinned::<f32>(LEN).unwrap();
            for (index, number) in pinned.iter_mut().enumerate() {
                *number = value(rank, index).into();
            }
            let before = streams.create_event().unwrap();
            let after = streams.create_event().unwrap();
            // The copy, then the sum, then the copy back, each on its stream.
            let upload = on.stream.upload(pinned, on.zeros::<f32>(LEN)).unwrap();
            // SAFETY: the stream lives.
            unsafe { streams.record_on_stream(before, stream) }.unwrap();
            streams.comm_stream_wait_event(before).unwrap();
            // What is enqueued below comes after it, by the event.
            let (pinned, data) = upload.wait().unwrap();
            let at = data.address() as *mut _;
            // SAFETY: the memory is the device's, and is kept until the end.
            unsafe { raw.allreduce(at, at, LEN, Dtype::F32, RawOp::Sum) }.unwrap();
            streams.record_on_comm_stream(after).unwrap();
            // Destroyed while it may be pending, and once more.
            streams.destroy_event(before).unwrap();
            streams.destroy_event(before).unwrap();
            // SAFETY: the stream lives.
            unsafe { streams.stream_wait_event(stream, after) }.unwrap();
            let (data, pinned) = on.stream.download(data, pinned).unwrap().wait().unwrap();
            let found: Vec<f64> = pinned.iter().map(|number| f64::from(*number)).collect();
            let sums = model(LEN, |index| value(0, index) + value(1, index));
            assert_eq!(found, sums);
            assert_eq!(numbers(on, &data), sums);
            streams.destroy_event(after).unwrap();
            let gone = streams.comm_stream_wait_event(after).unwrap_err();
            assert_eq!(gone.kind(), ErrorKind::Argument);
            streams.sync_comm_stream().unwrap();
        });
    });
}

#[test]
fn what_another_stream_waits_for_is_there() {
    isolated("raw::what_another_stream_waits_for_is_there", &[], || {
        each(&raw_on_devices(3), |raw| {
            let on = &Place::of(raw.communicator());
            let data = on.vec::<i64>(4, |index| value(on.comm.rank(), index));
            let at = data.address() as *mut _;
            // SAFETY: the memory is the device's, and is kept until the end.
            unsafe { raw.bcast(at, 4, Dtype::I64, 2) }.unwrap();
            // SAFETY: the stream lives.
            unsafe { raw.enqueue_wait(on.stream.raw()) }.unwrap();
            on.comm.synchronize(&on.stream).unwrap();
            assert_eq!(numbers(on, &data), model(4, |index| value(2, index)));
            raw.sync().unwrap();
        });
    });
}
