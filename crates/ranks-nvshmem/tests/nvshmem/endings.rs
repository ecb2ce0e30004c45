//! PEs in process that end, and those that wait for them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::time::Duration;

use ranks_comm::ErrorKind;
use ranks_nvshmem::{Comparison, HeapBackend, Nvshmem, NvshmemOptions};

use crate::support::ranks;

/// Nothing here has a time limit.
fn unlimited() -> NvshmemOptions {
    NvshmemOptions::new().backend(HeapBackend::InProcess)
}

/// PE 1 goes so; the others wait for it at a barrier, and for a signal of anybody's.
fn goes(how: impl Fn(Nvshmem<'_>) + Sync) -> Vec<String> {
    let told = ranks(3, |rank| {
        let pe = Nvshmem::init(rank, &unlimited()).unwrap();
        let signals = pe.signals(1).unwrap();
        if pe.my_pe() == 1 {
            drop(signals);
            how(pe);
            return None;
        }
        let signal = signals.at(0).unwrap();
        let signal = pe
            .signal_wait_until(signal, Comparison::Equal, 1)
            .unwrap_err();
        assert_eq!(signal.kind(), ErrorKind::PeerFailed, "{signal}");
        let barrier = pe.barrier_all().unwrap_err();
        assert_eq!(barrier.kind(), ErrorKind::PeerFailed, "{barrier}");
        Some(barrier.to_string())
    });
    told.into_iter().flatten().collect()
}

#[test]
fn who_has_dropped_the_handle_is_named() {
    for told in goes(|pe| drop(pe)) {
        assert!(told.contains("PE 1 "), "{told}");
    }
}

/// Though its thread goes on.
#[test]
fn who_panics_is_named() {
    let panics = |pe: Nvshmem<'_>| {
        let result = catch_unwind(AssertUnwindSafe(move || {
            assert_eq!(pe.my_pe(), 0, "the panic of this test");
        }));
        assert!(result.is_err());
    };
    for told in goes(panics) {
        assert!(told.contains("PE 1 panicked"), "{told}");
    }
}

#[test]
fn who_does_not_come_in_time_is_named() {
    let given_up = Barrier::new(2);
    let told = ranks(2, |rank| {
        let limited = unlimited().time_limit(Duration::from_millis(20));
        let pe = Nvshmem::init(rank, &limited).unwrap();
        if pe.my_pe() == 1 {
            given_up.wait();
        }
        let error = pe.barrier_all().unwrap_err();
        if pe.my_pe() == 0 {
            given_up.wait();
        }
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        error.to_string()
    });
    for told in told {
        assert!(told.contains("PE 1 did not call it"), "{told}");
    }
}
