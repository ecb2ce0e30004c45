//! PEs that do not come, or have gone, are errors on the others.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::thread;

use super::*;
use crate::backend::Comparison;

const SHORT: Limit = Some(Duration::from_millis(30));

#[test]
fn who_does_not_come_is_named() {
    let given_up = Barrier::new(2);
    let errors = on_pes(2, SHORT, Delivery::AtOnce, |heap| {
        if heap.facts().my_pe == 1 {
            given_up.wait();
        }
        let error = heap.point(Point::BarrierAll, Order::Now).unwrap_err();
        if heap.facts().my_pe == 0 {
            given_up.wait();
        }
        error
    });
    for error in &errors {
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(
            error.to_string().contains("PE 1 did not call it"),
            "{error}"
        );
    }
}

/// A thread that ends in whichever way, and with whatever of its streams under way, is told of to
/// those who wait.
#[test]
fn who_has_gone_is_told_of() {
    for panics in [false, true] {
        let kinds = on_pes(3, None, Delivery::AtOnce, |heap| {
            let signal = heap.alloc(8, 0).unwrap();
            heap.point(Point::BarrierAll, Order::Now).unwrap();
            if heap.facts().my_pe == 2 {
                return Vec::new();
            }
            let stream = stream(heap);
            let place = at(&signal, 0);
            let ordered = StreamRef::Host(&stream);
            heap.signal_wait_until(place, Comparison::Equal, 1, ordered)
                .unwrap();
            let collective = heap.alloc(8, 1).unwrap_err();
            assert!(collective.to_string().contains("PE 2"), "{collective}");
            let waited = stream.synchronize(None).unwrap_err();
            vec![collective.kind(), waited.kind()]
        });
        assert_eq!(kinds[0], [ErrorKind::PeerFailed; 2]);
        assert_eq!(kinds[1], kinds[0]);
        if panics {
            a_panic_is_told_of();
        }
    }
}

fn a_panic_is_told_of() {
    let texts = thread::scope(|scope| {
        let run = |bootstrap: ThreadBootstrap| {
            scope.spawn(move || {
                let run = || {
                    let heap = Heap::join(&bootstrap, &NvshmemOptions::new()).unwrap();
                    assert_eq!(heap.facts().my_pe, 0, "the panic of this test");
                    heap.point(Point::BarrierAll, Order::Now)
                        .unwrap_err()
                        .to_string()
                };
                catch_unwind(AssertUnwindSafe(run)).unwrap_or_default()
            })
        };
        let pes: Vec<_> = ThreadBootstrap::of(2, LONG)
            .unwrap()
            .into_iter()
            .map(run)
            .collect();
        pes.into_iter()
            .map(|pe| pe.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert!(texts[0].contains("PE 1 panicked"), "{texts:?}");
}

/// Even if its handle is never dropped.
#[test]
fn a_thread_that_has_ended_is_told_of() {
    let bootstraps = ThreadBootstrap::of(2, LONG).unwrap();
    let run = |bootstrap: ThreadBootstrap| {
        thread::spawn(move || {
            let heap = Heap::join(&bootstrap, &NvshmemOptions::new()).unwrap();
            if heap.facts().my_pe == 1 {
                std::mem::forget(heap);
                return None;
            }
            Some(
                heap.point(Point::BarrierAll, Order::Now)
                    .unwrap_err()
                    .to_string(),
            )
        })
    };
    let pes: Vec<_> = bootstraps.into_iter().map(run).collect();
    let texts: Vec<_> = pes.into_iter().map(|pe| pe.join().unwrap()).collect();
    let text = texts[0].as_ref().unwrap();
    assert!(text.contains("PE 1 has ended its thread"), "{text}");
}

/// Operations that the streams of a PE that has gone still have to do are waited for: a pending
/// signal arrives.
#[test]
fn streams_of_who_has_gone_go_on() {
    let done = on_pes(2, Some(LONG), Delivery::AtOnce, |heap| -> Result<()> {
        let signal = heap.alloc(16, 0)?;
        let stream = stream(heap);
        let ordered = StreamRef::Host(&stream);
        if heap.facts().my_pe == 0 {
            // It goes at once, and its stream with the barrier.
            heap.point(Point::BarrierAll, on(&stream))?;
            return heap.signal_op(signal_of(at(&signal, 0), 1, SignalOp::Set), 1, ordered);
        }
        heap.point(Point::BarrierAll, Order::Now)?;
        heap.signal_wait_until(at(&signal, 0), Comparison::Equal, 1, ordered)?;
        stream.synchronize(Some(LONG))
    });
    done.into_iter().collect::<Result<()>>().unwrap();
}

/// A stream that waits for what never comes ends with its heap, and nothing waits for it before.
#[test]
fn streams_end_with_the_heap() {
    let events = on_pes(2, Some(LONG), Delivery::AtOnce, |heap| {
        let signal = heap.alloc(8, 0).unwrap();
        let stream = stream(heap);
        let ordered = StreamRef::Host(&stream);
        heap.signal_wait_until(at(&signal, 0), Comparison::Equal, 1, ordered)
            .unwrap();
        let event = stream.record();
        heap.finalize().unwrap();
        event
    });
    for event in events {
        assert!(event.wait("a test", Some(LONG)).is_err());
    }
}
