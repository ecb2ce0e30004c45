//! How heaps begin and end, and what becomes of those that cannot begin.

use std::cell::Cell;

use ranks_bootstrap::Bootstrap;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_nvshmem::{HeapBackend, Nvshmem, NvshmemOptions};

use crate::launched::{LONG, file_of};
use crate::support::{
    Release, Start, bare, doubles, driver, in_process, options, processes, ranks,
};

const NEW: (Release, &[(&str, &str)]) = (Release::New, &[]);

/// Says what went wrong where nothing may begin.
fn fails(bootstrap: &dyn Bootstrap, options: &NvshmemOptions, kind: ErrorKind, says: &str) {
    let error = Nvshmem::init(bootstrap, options).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(says), "{error}");
}

#[test]
fn it_begins_once_and_ends_once() {
    for release in [Release::New, Release::Old] {
        bare(
            "life::it_begins_once_and_ends_once",
            &[release.plain(); 2],
            |bootstrap| {
                let pe = Nvshmem::init(bootstrap, &options()).unwrap();
                assert_eq!((pe.my_pe(), pe.n_pes()), (bootstrap.rank(), 2));
                assert!(!pe.limited());
                let name = format!("NVSHMEM {}", doubles().library.version());
                assert_eq!(pe.backend_name(), name);
                assert_eq!(pe.context().unwrap().device().ordinal(), bootstrap.rank());
                fails(
                    bootstrap,
                    &options(),
                    ErrorKind::Argument,
                    "has a PE already",
                );
                pe.finalize().unwrap();
                fails(bootstrap, &options(), ErrorKind::Finalized, "was finalized");
            },
        );
    }
}

#[test]
fn in_process_it_begins_again() {
    ranks(2, |rank| {
        for _ in 0..2 {
            let pe = Nvshmem::init(rank, &in_process()).unwrap();
            assert_eq!((pe.my_pe(), pe.n_pes()), (rank.rank(), 2));
            assert_eq!(pe.backend_name(), "in process");
            fails(rank, &in_process(), ErrorKind::Argument, "has a PE already");
            pe.finalize().unwrap();
        }
    });
}

#[test]
fn without_a_gpu_on_one_pe_there_is_the_same_error_on_all() {
    let test = "life::without_a_gpu_on_one_pe_there_is_the_same_error_on_all";
    let driver = file_of("cuda_double");
    let driver = driver.to_str().unwrap();
    let (some, none) = (
        [("RANKS_CUDA", driver)],
        [("RANKS_CUDA", driver), ("CUDA_DOUBLE_DEVICES", "0")],
    );
    let ranks: [Start<'_>; 3] = [
        (Release::New, &some),
        (Release::New, &none),
        (Release::New, &some),
    ];
    bare(test, &ranks, |bootstrap| {
        let options = NvshmemOptions::new()
            .backend(HeapBackend::Library)
            .library(doubles().library);
        let says = "1 of 3 ranks cannot take part: rank 1: ";
        fails(bootstrap, &options, ErrorKind::NotAvailable, says);
        // Nothing of NVSHMEM was called: this is no failure of its own.
        fails(bootstrap, &options, ErrorKind::NotAvailable, says);
    });
}

#[test]
fn a_gpu_that_is_not_there_is_an_error_for_all() {
    let test = "life::a_gpu_that_is_not_there_is_an_error_for_all";
    bare(test, &[NEW; 2], |bootstrap| {
        let device = 7 * bootstrap.rank();
        let asked = options().device(device);
        fails(bootstrap, &asked, ErrorKind::Argument, "rank 1: ");
        // The next try may be better.
        let pe = Nvshmem::init(bootstrap, &options()).unwrap();
        pe.finalize().unwrap();
    });
}

#[test]
fn without_the_library_there_is_no_heap() {
    let nowhere: &[(&str, &str)] = &[("RANKS_NVSHMEM", "/nowhere/libnvshmem_host.so.3")];
    let ranks = [(Release::New, nowhere), (Release::New, nowhere)];
    bare(
        "life::without_the_library_there_is_no_heap",
        &ranks,
        |bootstrap| {
            let options = NvshmemOptions::new().cuda(driver());
            fails(
                bootstrap,
                &options,
                ErrorKind::NotAvailable,
                "/nowhere/libnvshmem_host.so.3",
            );
            let asked = options.clone().backend(HeapBackend::Library);
            fails(bootstrap, &asked, ErrorKind::NotAvailable, "RANKS_NVSHMEM");
        },
    );
}

#[test]
fn the_environment_says_what_it_is_made_of() {
    let test = "life::the_environment_says_what_it_is_made_of";
    let inside: &[(&str, &str)] = &[("RANKS_BACKEND", "inprocess")];
    bare(test, &[(Release::New, inside)], |bootstrap| {
        let pe = Nvshmem::init(bootstrap, &NvshmemOptions::new()).unwrap();
        assert_eq!(pe.backend_name(), "in process");
        pe.finalize().unwrap();
    });
    for (name, value) in [("RANKS_BACKEND", "gpu"), ("RANKS_CHECK", "all")] {
        bare(test, &[(Release::New, &[(name, value)])], |bootstrap| {
            let says = format!("{name} is `{value}`");
            let options = NvshmemOptions::new();
            fails(bootstrap, &options, ErrorKind::Argument, &says);
        });
    }
}

#[test]
fn different_releases_are_an_error_for_all() {
    let test = "life::different_releases_are_an_error_for_all";
    bare(test, &[NEW, Release::Old.plain()], |bootstrap| {
        let says = "rank 0 has 3.8.0, rank 1 has 3.4.5";
        fails(bootstrap, &options(), ErrorKind::Mismatch, says);
    });
}

/// The library finds no GPU: 3.8 says so, 3.4 reports success and is not initialised. Neither may
/// be finalized after that.
#[test]
fn what_could_not_begin_is_neither_used_nor_ended() {
    let test = "life::what_could_not_begin_is_neither_used_nor_ended";
    let none: &[(&str, &str)] = &[("NVSHMEM_DOUBLE_NO_GPU", "1")];
    for release in [Release::New, Release::Old] {
        bare(test, &[(release, none); 2], |bootstrap| {
            let says = if release == Release::New {
                "code 7"
            } else {
                "is not initialised (status 1)"
            };
            fails(bootstrap, &options(), ErrorKind::Library, says);
            fails(
                bootstrap,
                &options(),
                ErrorKind::Library,
                "could not be initialised before",
            );
        });
    }
}

#[test]
fn a_dropped_handle_is_parked_and_taken_up() {
    let body = |bootstrap: &dyn Bootstrap, options: &NvshmemOptions| {
        let error = Nvshmem::resume(bootstrap).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotAvailable);
        let pe = Nvshmem::init(bootstrap, options).unwrap();
        drop(pe.alloc::<u8>(100).unwrap());
        drop(pe);
        fails(bootstrap, options, ErrorKind::Argument, "Nvshmem::resume");
        let error = Nvshmem::resume(&Other).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        let pe = Nvshmem::resume(bootstrap).unwrap();
        let vec = pe.alloc::<u8>(100).unwrap();
        vec.free().unwrap();
        pe.finalize().unwrap();
    };
    ranks(2, |rank| body(rank, &in_process()));
    let test = "life::a_dropped_handle_is_parked_and_taken_up";
    bare(test, &[NEW; 2], |bootstrap| {
        body(bootstrap, &options());
        assert_eq!(doubles().count(c"nvshmemDouble_live_blocks"), 0);
    });
}

/// Ranks that are others.
struct Other;

impl Bootstrap for Other {
    fn rank(&self) -> usize {
        7
    }

    fn size(&self) -> usize {
        9
    }

    fn exchange(&self, _mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        Err(Error::new(ErrorKind::PeerFailed, "exchange", "nobody"))
    }
}

/// A bootstrap that breaks.
struct Breaking<'a> {
    bootstrap: &'a dyn Bootstrap,
    broken: Cell<bool>,
}

impl Bootstrap for Breaking<'_> {
    fn rank(&self) -> usize {
        self.bootstrap.rank()
    }

    fn size(&self) -> usize {
        self.bootstrap.size()
    }

    fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        if self.broken.get() {
            return Err(Error::new(ErrorKind::TimedOut, "exchange", "it is broken"));
        }
        self.bootstrap.exchange(mine)
    }
}

/// Nobody knows whether the others go on.
#[test]
fn after_a_bootstrap_has_failed_nothing_collective_is_called() {
    let test = "life::after_a_bootstrap_has_failed_nothing_collective_is_called";
    bare(test, &[NEW; 2], |bootstrap| {
        let broken = Cell::new(false);
        let breaking = Breaking { bootstrap, broken };
        let pe = Nvshmem::init(&breaking, &options().time_limit(LONG)).unwrap();
        let vec = pe.alloc::<u8>(8).unwrap();
        breaking.broken.set(true);
        let error = pe.alloc::<u8>(8).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        breaking.broken.set(false);
        let error = pe.alloc::<u8>(8).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Aborted);
        assert!(error.to_string().contains("it is broken"), "{error}");
        assert_eq!(vec.to_vec().unwrap_err().kind(), ErrorKind::Aborted);
        assert_eq!(vec.free().unwrap_err().kind(), ErrorKind::Aborted);
        assert_eq!(pe.finalize().unwrap_err().kind(), ErrorKind::Aborted);
    });
}

/// NVSHMEM does not share a GPU among several PEs without MPS.
#[test]
fn a_limited_heap_says_so() {
    let test = "life::a_limited_heap_says_so";
    let limited: &[(&str, &str)] = &[("NVSHMEM_DOUBLE_LIMITED", "1")];
    processes(test, 2, Release::Old, limited, |pe| {
        assert!(pe.limited());
        pe.finalize().unwrap();
    });
}
