//! Memory of the library's, registered buffers, windows, puts and signals.

use ranks_collectives::ops::Sum;
use ranks_comm::ErrorKind;
use ranks_cuda::DeviceSlice;
use ranks_nccl::Window;

use crate::samples::{Place, model, numbers, value};
use crate::support::{each, isolated, on_devices};

/// Elements of a part.
const LEN: usize = 6;

#[test]
fn memory_of_the_library_is_like_any_other_and_stays_registered_until_it_is_released() {
    let test = "one_sided::memory_of_the_library_is_like_any_other_and_stays_registered_until_it_is_released";
    isolated(test, &[], || {
        each(&on_devices(2), |comm| {
            let on = &Place::of(comm);
            let memory = comm.alloc::<f32>(LEN).unwrap();
            assert_eq!(numbers(on, &memory), [0.0; LEN]);
            let mut data = comm.register(memory).unwrap();
            for round in 1..=3 {
                let ones = [1.0; LEN];
                comm.context().copy_to_device(&ones, &mut data).unwrap();
                comm.scope(&on.stream, |s| s.allreduce_in_place(&mut data, Sum))
                    .unwrap();
                assert_eq!(numbers(on, &data), [2.0; LEN], "round {round}");
            }
            let mut part = data.slice_mut(..2).unwrap();
            comm.scope(&on.stream, |s| s.allreduce_in_place(&mut part, Sum))
                .unwrap();
            // One that is dropped while it is in use is taken back by a later registration.
            let busy = comm.register(comm.alloc::<u8>(LEN).unwrap()).unwrap();
            drop(comm.allreduce_in_place(busy, Sum, &on.stream).unwrap());
            comm.synchronize(&on.stream).unwrap();
            let memory = data.release().unwrap();
            assert_eq!(numbers(on, &memory), [4.0, 4.0, 2.0, 2.0, 2.0, 2.0]);
            let empty = comm.register(on.zeros::<f32>(0)).unwrap_err();
            assert_eq!(empty.kind(), ErrorKind::Argument);
            let units = comm.context().alloc::<()>(LEN).unwrap();
            assert_eq!(
                comm.register(units).unwrap_err().kind(),
                ErrorKind::Argument
            );
        });
    });
}

/// Any thread may use a window.
const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Window<f32>>();
};

#[test]
fn what_is_put_is_there_when_its_signal_has_come() {
    let test = "one_sided::what_is_put_is_there_when_its_signal_has_come";
    puts(test, "2.32.3");
}

/// NCCL refuses structs that bear a later release than its own.
#[test]
fn a_library_is_not_given_structs_of_a_later_release() {
    let test = "one_sided::a_library_is_not_given_structs_of_a_later_release";
    for release in ["2.29.2", "2.29.7", "2.30.7", "2.31.2", "2.40.1"] {
        puts(test, release);
    }
}

fn puts(test: &str, release: &str) {
    isolated(test, &[("NCCL_DOUBLE_VERSION", release)], || {
        for size in 1..=3 {
            each(&on_devices(size), |comm| {
                let on = &Place::of(comm);
                let (rank, stream) = (comm.rank(), &on.stream);
                let window = comm.window(comm.alloc::<f64>(LEN * size).unwrap()).unwrap();
                assert_eq!(window.lengths(), vec![LEN * size; size]);
                let mine = on.vec::<f64>(LEN, |index| value(rank, index));
                let everybody: Vec<(usize, usize)> = (0..size).map(|rank| (rank, 1)).collect();
                comm.scope(stream, |s| {
                    for dest in 0..size {
                        s.put_signal(&mine, dest, &window, rank * LEN)?;
                    }
                    s.wait_signal(&everybody)
                })
                .unwrap();
                let expected = model(LEN * size, |index| value(index / LEN, index % LEN));
                assert_eq!(numbers(on, &*window), expected);

                // The forms that own their memory, to the next rank.
                let (next, former) = ((rank + 1) % size, (rank + size - 1) % size);
                // The former rank may put there again, now that this one has looked.
                comm.signal(former, stream).unwrap().wait().unwrap();
                let waited = comm.wait_signal(&[(next, 1)], stream).unwrap();
                waited.wait().unwrap();
                let put = comm.put_signal(mine, next, &window, 0, stream).unwrap();
                put.wait().unwrap();
                let waited = comm.wait_signal(&[(former, 1)], stream).unwrap();
                waited.wait().unwrap();
                let memory = window.free().unwrap();
                let first = memory.slice(..LEN).unwrap();
                assert_eq!(
                    numbers(on, &first),
                    model(LEN, |index| value(former, index))
                );
            });
        }
    });
}

#[test]
fn a_put_behind_the_end_of_a_window_is_refused() {
    let test = "one_sided::a_put_behind_the_end_of_a_window_is_refused";
    isolated(test, &[], || {
        each(&on_devices(2), |comm| {
            let on = &Place::of(comm);
            let window = comm.window(comm.alloc::<i32>(LEN).unwrap()).unwrap();
            let put = |len, dest, offset| {
                let mine = on.zeros::<i32>(len);
                let put = comm.put_signal(mine, dest, &window, offset, &on.stream);
                put.unwrap_err().kind()
            };
            assert_eq!(put(LEN + 1, 1, 0), ErrorKind::Length);
            assert_eq!(put(1, 0, LEN), ErrorKind::Length);
            assert_eq!(put(1, 0, usize::MAX), ErrorKind::Length);
            assert_eq!(put(1, 2, 0), ErrorKind::Rank);
            let other = comm.split(Some(0), 0).unwrap().unwrap();
            let mine = on.zeros::<i32>(1);
            let foreign = other.put_signal(mine, 0, &window, 0, &on.stream);
            assert_eq!(foreign.unwrap_err().kind(), ErrorKind::Argument);
            // Dropped, it goes with its communicator.
            drop(window);
        });
    });
}

#[test]
fn windows_of_different_lengths_or_of_other_memory_are_refused() {
    let test = "one_sided::windows_of_different_lengths_or_of_other_memory_are_refused";
    isolated(test, &[], || {
        each(&on_devices(2), |comm| {
            let on = &Place::of(comm);
            let memory = comm.alloc::<f32>(LEN + comm.rank()).unwrap();
            let error = comm.window(memory).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Length, "{error}");
            // A vector that begins anywhere is one of the program's own; by chance one begins where
            // a page does.
            let vecs: Vec<_> = (0..8).map(|_| on.zeros::<f32>(LEN)).collect();
            let mut anywhere = vecs
                .into_iter()
                .filter(|vec| !vec.address().is_multiple_of(4096));
            let vec = anywhere.next().unwrap();
            let error = comm.window(vec).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        });
    });
}

/// As many elements of another type are fewer bytes: a put went past the end of the memory there.
#[test]
fn a_window_of_other_elements_on_another_rank_was_put_past() {
    let test = "one_sided::a_window_of_other_elements_on_another_rank_was_put_past";
    isolated(test, &[], || {
        each(&on_devices(2), |comm| {
            let error = match comm.rank() {
                0 => comm.window(comm.alloc::<u64>(LEN).unwrap()).map(drop),
                _ => comm.window(comm.alloc::<u8>(LEN).unwrap()).map(drop),
            };
            let error = error.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
            // Of one width, but not the same.
            let error = match comm.rank() {
                0 => comm.window(comm.alloc::<u64>(LEN).unwrap()).map(drop),
                _ => comm.window(comm.alloc::<f64>(LEN).unwrap()).map(drop),
            };
            assert_eq!(error.unwrap_err().kind(), ErrorKind::Mismatch);
            let window = comm.window(comm.alloc::<u64>(LEN).unwrap()).unwrap();
            assert!(window.free().is_ok());
        });
    });
}

/// It left the others in the exchange that makes a window, and what it did next was taken for that.
#[test]
fn memory_that_is_no_window_on_one_rank_left_the_others_waiting() {
    let test = "one_sided::memory_that_is_no_window_on_one_rank_left_the_others_waiting";
    isolated(test, &[], || {
        each(&on_devices(2), |comm| {
            let on = &Place::of(comm);
            let error = match comm.rank() {
                0 => comm.window(comm.alloc::<f32>(LEN).unwrap()).map(drop),
                _ => comm.window(on.zeros::<f32>(0)).map(drop),
            };
            let kind = [ErrorKind::PeerFailed, ErrorKind::Argument][comm.rank()];
            let error = error.unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            let window = comm.window(comm.alloc::<f32>(LEN).unwrap()).unwrap();
            assert!(window.free().is_ok());
        });
    });
}

/// Each gave its memory back while others could put to it.
#[test]
fn ranks_that_free_different_windows_are_told() {
    let test = "one_sided::ranks_that_free_different_windows_are_told";
    isolated(test, &[], || {
        each(&on_devices(2), |comm| {
            let window = || comm.window(comm.alloc::<i32>(LEN).unwrap()).unwrap();
            let (first, second) = (window(), window());
            let (freed, kept) = match comm.rank() {
                0 => (first, second),
                _ => (second, first),
            };
            let error = freed.free().map(drop).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
            drop(kept);
            assert!(window().free().is_ok());
        });
    });
}
