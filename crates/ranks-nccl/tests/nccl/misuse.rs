//! What peers let through, each by its name here: an `Err` before any call, or kept from going
//! wrong.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ranks_collectives::ops::Sum;
use ranks_comm::{ErrorKind, Result};
use ranks_cuda::DeviceSlice;
use ranks_nccl::{self as nccl, NcclCommunicator};

use crate::samples::{Place, model, numbers, value};
use crate::support::{each, isolated, on_devices, set_capturing};

/// It is refused, and says so by this kind.
fn refused<T>(outcome: Result<T>, kind: ErrorKind) {
    match outcome {
        Ok(_) => panic!("it is Ok; {kind:?} was expected"),
        Err(error) => assert_eq!(error.kind(), kind, "{error}"),
    }
}

/// The communicator works as before.
fn works(on: &Place<'_>) {
    let size = on.comm.size();
    let data = on.vec::<f32>(3, |index| value(on.comm.rank(), index));
    let sums = on.comm.allreduce_in_place(data, Sum, &on.stream).unwrap();
    let expected = model(3, |index| (0..size).map(|rank| value(rank, index)).sum());
    assert_eq!(numbers(on, &sums.wait().unwrap()), expected);
}

#[test]
fn lengths_that_do_not_fit_are_refused_in_every_operation() {
    let test = "misuse::lengths_that_do_not_fit_are_refused_in_every_operation";
    isolated(test, &[], || {
        each(&on_devices(2), |comm| {
            let on = &Place::of(comm);
            let (stream, me) = (&on.stream, comm.rank());
            let of = |len| on.zeros::<f32>(len);
            let kind = ErrorKind::Length;
            refused(comm.allreduce(of(4), of(3), Sum, stream), kind);
            refused(comm.reduce(of(4), Some(of(3)), Sum, me, stream), kind);
            refused(comm.allgather(of(4), of(7), stream), kind);
            refused(comm.allgather_in_place(of(5), stream), kind);
            refused(comm.reduce_scatter_block(of(7), of(4), Sum, stream), kind);
            refused(comm.reduce_scatter_block_in_place(of(5), Sum, stream), kind);
            refused(comm.alltoall(of(4), of(6), stream), kind);
            refused(comm.alltoall(of(5), of(5), stream), kind);
            refused(comm.gather(of(4), Some(of(7)), me, stream), kind);
            refused(comm.gather_in_place(of(5), me, stream), kind);
            refused(comm.scatter(Some(of(7)), of(4), me, stream), kind);
            refused(comm.scatter_in_place(of(5), me, stream), kind);
            refused(comm.pre_mul_sum_on_device(of(2)), kind);
            let mut short = of(3);
            let scope = comm.scope(stream, |s| s.allreduce(of(4), &mut short, Sum));
            refused(scope, kind);
            works(on);
        });
    });
}

#[test]
fn ranks_and_roots_that_are_not_there_are_refused() {
    let test = "misuse::ranks_and_roots_that_are_not_there_are_refused";
    isolated(test, &[], || {
        each(&on_devices(2), |comm| {
            let on = &Place::of(comm);
            let stream = &on.stream;
            let of = || on.zeros::<u8>(4);
            refused(comm.bcast(of(), 2, stream), ErrorKind::Root);
            let no_root = comm.reduce(of(), Some(of()), Sum, usize::MAX, stream);
            refused(no_root, ErrorKind::Root);
            refused(comm.gather(of(), Some(of()), 2, stream), ErrorKind::Root);
            refused(comm.scatter(Some(of()), of(), 2, stream), ErrorKind::Root);
            refused(comm.send(of(), 2, stream), ErrorKind::Rank);
            refused(comm.recv(of(), usize::MAX, stream), ErrorKind::Rank);
            works(on);
        });
    });
}

#[test]
fn a_root_without_a_buffer_is_refused_and_others_need_none() {
    let test = "misuse::a_root_without_a_buffer_is_refused_and_others_need_none";
    isolated(test, &[], || {
        each(&on_devices(2), |comm| {
            let on = &Place::of(comm);
            let (stream, me) = (&on.stream, comm.rank());
            let of = || on.zeros::<f32>(4);
            let none = || None::<ranks_cuda::DeviceVec<f32>>;
            let kind = ErrorKind::Argument;
            refused(comm.reduce(of(), none(), Sum, me, stream), kind);
            refused(comm.gather(of(), none(), me, stream), kind);
            refused(comm.scatter(none(), of(), me, stream), kind);
            works(on);
        });
    });
}

/// An event that is captured never completes: memory would be in use for ever.
#[test]
fn typed_operations_on_a_stream_that_is_captured_are_refused() {
    let test = "misuse::typed_operations_on_a_stream_that_is_captured_are_refused";
    isolated(test, &[], || {
        each(&on_devices(1), |comm| {
            let on = &Place::of(comm);
            let mut data = on.zeros::<f32>(4);
            set_capturing(true);
            let owned = comm.allreduce_in_place(on.zeros::<f32>(4), Sum, &on.stream);
            let scope = comm.scope(&on.stream, |s| s.allreduce_in_place(&mut data, Sum));
            set_capturing(false);
            refused(owned, ErrorKind::Argument);
            refused(scope, ErrorKind::Argument);
            comm.scope(&on.stream, |s| s.allreduce_in_place(&mut data, Sum))
                .unwrap();
            works(on);
        });
    });
}

#[test]
fn memory_and_streams_of_another_device_are_refused() {
    let test = "misuse::memory_and_streams_of_another_device_are_refused";
    isolated(test, &[], || {
        let comms = on_devices(2);
        let places: Vec<Place<'_>> = comms.iter().map(Place::of).collect();
        let [here, there] = &places[..] else {
            unreachable!("two ranks were asked for")
        };
        let kind = ErrorKind::Argument;
        let (mine, theirs) = (here.zeros::<f32>(4), there.zeros::<f32>(4));
        let outcome = here.comm.allreduce(mine, theirs, Sum, &here.stream);
        refused(outcome, kind);
        let mine = here.zeros::<f32>(4);
        refused(here.comm.bcast(mine, 0, &there.stream), kind);
        refused(here.comm.scope(&there.stream, |_| Ok(())), kind);
        let theirs = there.zeros::<f32>(1);
        refused(here.comm.pre_mul_sum_on_device(theirs), kind);
        let theirs = there.zeros::<f32>(1);
        refused(here.comm.register(theirs), kind);
        each(&places, works);
    });
}

#[test]
fn an_operation_of_one_communicator_is_refused_on_another() {
    let test = "misuse::an_operation_of_one_communicator_is_refused_on_another";
    isolated(test, &[], || {
        let (ones, others) = (on_devices(1), on_devices(1));
        let (one, other) = (Place::of(&ones[0]), Place::of(&others[0]));
        let op = one.comm.pre_mul_sum(2.0_f32).unwrap();
        let data = other.zeros::<f32>(4);
        let outcome = other.comm.allreduce_in_place(data, &op, &other.stream);
        refused(outcome, ErrorKind::Argument);
        works(&other);
    });
}

#[test]
fn an_operation_that_owns_its_memory_is_no_part_of_a_group() {
    let test = "misuse::an_operation_that_owns_its_memory_is_no_part_of_a_group";
    isolated(test, &[], || {
        let comms = on_devices(1);
        let on = &Place::of(&comms[0]);
        nccl::group(|g| {
            let data = on.zeros::<f32>(4);
            let owned = on.comm.allreduce_in_place(data, Sum, &on.stream);
            refused(owned, ErrorKind::Argument);
            refused(on.comm.scope(&on.stream, |_| Ok(())), ErrorKind::Argument);
            refused(on.comm.synchronize(&on.stream), ErrorKind::Argument);
            let inner = nccl::group(|g| g.on(on.comm, &on.stream, |_| Ok(())));
            refused(inner, ErrorKind::Argument);
            g.on(on.comm, &on.stream, |_| Ok(()))
        })
        .unwrap();
        works(on);
    });
}

#[test]
fn memory_that_is_dropped_in_flight_is_freed_when_it_is_over() {
    let test = "misuse::memory_that_is_dropped_in_flight_is_freed_when_it_is_over";
    isolated(test, &[], || {
        each(&on_devices(2), |comm| {
            let on = &Place::of(comm);
            for _ in 0..20 {
                let data = on.vec::<f32>(1000, |index| value(comm.rank(), index));
                drop(comm.allreduce_in_place(data, Sum, &on.stream).unwrap());
            }
            // By a scope that is left by an error, and one that is left by a panic.
            let mut data = on.zeros::<f32>(1000);
            let left = comm.scope(&on.stream, |s| {
                s.allreduce_in_place(&mut data, Sum)?;
                let text = "on purpose";
                Err::<(), _>(ranks_comm::Error::new(ErrorKind::Argument, "test", text))
            });
            refused(left, ErrorKind::Argument);
            drop(data);
            let mut data = on.zeros::<f32>(1000);
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                comm.scope(&on.stream, |s| -> Result<()> {
                    s.allreduce_in_place(&mut data, Sum)?;
                    panic!("on purpose")
                })
            }));
            panicked.unwrap_err();
            drop(data);
            // By a group that is left by a panic.
            let mut data = on.zeros::<f32>(1000);
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                nccl::group(|g| -> Result<()> {
                    g.on(comm, &on.stream, |s| s.allreduce_in_place(&mut data, Sum))?;
                    panic!("on purpose")
                })
            }));
            panicked.unwrap_err();
            drop(data);
            works(on);
        });
    });
}

#[test]
fn an_operation_on_a_communicator_that_was_aborted_is_an_error() {
    let test = "misuse::an_operation_on_a_communicator_that_was_aborted_is_an_error";
    isolated(test, &[], || {
        let mut comms: Vec<NcclCommunicator> = on_devices(2);
        let gone = comms.pop().unwrap();
        let on = Place::of(&comms[0]);
        let op = on.comm.pre_mul_sum(3_i32).unwrap();
        let waiting = on.comm.recv(on.zeros::<f32>(4), 1, &on.stream).unwrap();
        on.comm.abort();
        gone.abort();
        refused(waiting.wait(), ErrorKind::Aborted);
        let data = on.zeros::<i32>(4);
        let outcome = on.comm.allreduce_in_place(data, &op, &on.stream);
        refused(outcome, ErrorKind::Aborted);
        // What belongs to it is dropped all the same.
        drop(op);
        let data = on.zeros::<i32>(4);
        assert_eq!(data.len(), 4);
        refused(on.comm.register(data), ErrorKind::Aborted);
    });
}
