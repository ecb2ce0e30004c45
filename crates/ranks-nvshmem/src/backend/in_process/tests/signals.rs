//! Signals, the order that they make, and streams.

use super::*;
use crate::backend::Comparison;

const ROUNDS: u64 = 5;

fn now(stream: &HostStream) -> StreamRef<'_> {
    StreamRef::Host(stream)
}

/// A ring: what was put with a signal is there when the signal is.
#[test]
fn data_comes_before_its_signal() {
    everywhere(|heap| {
        let (me, n) = (heap.facts().my_pe, heap.facts().n_pes);
        let next = (me + 1) % n;
        let (data, own, signal) = (
            heap.alloc(8 * 16, 0)?,
            heap.alloc(8 * 16, 1)?,
            heap.alloc(16, 2)?,
        );
        let stream = stream(heap);
        for round in 1..=ROUNDS {
            write(heap, &own, &[round * 10 + number::<u64>(me); 16]);
            let reuse = if round % 2 == 0 {
                Reuse::After
            } else {
                Reuse::AfterQuiet
            };
            let dest = at(&data, 0);
            let word = at(&signal, 0);
            heap.put_signal(
                put(dest, mine(&own, 0), next, 128),
                signal_of(word, round, SignalOp::Set),
                now(&stream),
                reuse,
            )?;
            heap.signal_wait_until(word, Comparison::Equal, round, now(&stream))?;
            stream.synchronize(Some(LONG))?;
            let previous = (me + n - 1) % n;
            assert_eq!(
                read::<u64>(heap, &data, 16),
                [round * 10 + number::<u64>(previous); 16]
            );
            assert_eq!(heap.signal_fetch(word)?, round);
            // Its reader tells the writer that it may go on.
            heap.signal_op(
                signal_of(at(&signal, 8), 1, SignalOp::Add),
                previous,
                now(&stream),
            )?;
            heap.signal_wait_until(
                at(&signal, 8),
                Comparison::GreaterOrEqual,
                round,
                now(&stream),
            )?;
            stream.synchronize(Some(LONG))?;
        }
        Ok(())
    });
}

#[test]
fn all_add_to_one_word() {
    everywhere(|heap| {
        let n = heap.facts().n_pes;
        let (data, signal) = (heap.alloc(32, 0)?, heap.alloc(8, 1)?);
        let stream = stream(heap);
        let place = at(&data, 8 * heap.facts().my_pe);
        let own = heap.alloc(8, 2)?;
        write(heap, &own, &[7_u64]);
        heap.put_signal(
            put(place, mine(&own, 0), 0, 8),
            signal_of(at(&signal, 0), 3, SignalOp::Add),
            now(&stream),
            Reuse::After,
        )?;
        if heap.facts().my_pe == 0 {
            heap.signal_wait_until(
                at(&signal, 0),
                Comparison::Greater,
                number::<u64>(3 * n - 1),
                now(&stream),
            )?;
            stream.synchronize(Some(LONG))?;
            assert_eq!(read::<u64>(heap, &data, n), vec![7; n]);
        }
        stream.synchronize(Some(LONG))?;
        heap.point(Point::BarrierAll, Order::Now)
    });
}

/// Puts before a fence are delivered before signals after it, and no sooner than that.
#[test]
fn a_fence_orders_puts_and_signals() {
    let done = on_pes(1, Some(LONG), Delivery::Late, |heap| -> Result<()> {
        let (data, own, signal) = (heap.alloc(16, 0)?, heap.alloc(8, 1)?, heap.alloc(8, 2)?);
        write(heap, &own, &[5_u64]);
        let stream = stream(heap);
        heap.access(
            put(at(&data, 0), mine(&own, 0), 0, 8),
            Order::Now,
            Reuse::After,
        )?;
        heap.point(Point::Fence, Order::Now)?;
        heap.access(
            put(at(&data, 8), mine(&own, 0), 0, 8),
            Order::Now,
            Reuse::After,
        )?;
        assert_eq!(read::<u64>(heap, &data, 2), [0, 0]);
        heap.signal_op(signal_of(at(&signal, 0), 1, SignalOp::Set), 0, now(&stream))?;
        stream.synchronize(Some(LONG))?;
        assert_eq!(read::<u64>(heap, &data, 2), [5, 0]);
        heap.point(Point::Quiet, Order::Now)?;
        assert_eq!(read::<u64>(heap, &data, 2), [5, 5]);
        Ok(())
    });
    done.into_iter().collect::<Result<()>>().unwrap();
}

#[test]
fn streams_wait_for_events_of_others() {
    let done = on_pes(1, Some(LONG), Delivery::AtOnce, |heap| -> Result<()> {
        let (data, own, signal) = (heap.alloc(8, 0)?, heap.alloc(8, 1)?, heap.alloc(8, 2)?);
        let (first, second) = (stream(heap), stream(heap));
        assert!(first.record().query()?, "nothing is enqueued");
        heap.signal_wait_until(at(&signal, 0), Comparison::NotEqual, 0, now(&first))?;
        heap.fill(at(&own, 0), 8, 1, on(&first))?;
        let event = first.record();
        second.wait_event(&event);
        heap.access(
            put(at(&data, 0), mine(&own, 0), 0, 8),
            on(&second),
            Reuse::After,
        )?;
        let end = second.record();
        assert!(!event.query()? && !end.query()?);
        let early = end.wait("a test", Some(Duration::from_millis(5)));
        assert_eq!(kind_of(early), ErrorKind::TimedOut);
        assert_eq!(read::<u64>(heap, &data, 1), [0]);
        let third = stream(heap);
        heap.signal_op(signal_of(at(&signal, 0), 9, SignalOp::Set), 0, now(&third))?;
        end.wait("a test", Some(LONG))?;
        assert!(event.query()? && end.query()?);
        assert_eq!(read::<u8>(heap, &data, 8), [1; 8]);
        Ok(())
    });
    done.into_iter().collect::<Result<()>>().unwrap();
}

/// A stream that is dropped does what it was given, on memory that nobody else keeps.
#[test]
fn a_dropped_stream_goes_on() {
    let done = on_pes(2, Some(LONG), Delivery::AtOnce, |heap| -> Result<()> {
        let (data, signal) = (heap.alloc(8, 0)?, heap.alloc(16, 1)?);
        let other = 1 - heap.facts().my_pe;
        let first = stream(heap);
        heap.signal_wait_until(at(&signal, 0), Comparison::Equal, 1, now(&first))?;
        heap.fill(at(&data, 0), 8, 3, on(&first))?;
        heap.signal_op(
            signal_of(at(&signal, 8), 2, SignalOp::Set),
            other,
            now(&first),
        )?;
        let event = first.record();
        drop(first);
        heap.free(data)?;
        let second = stream(heap);
        heap.signal_op(
            signal_of(at(&signal, 0), 1, SignalOp::Set),
            other,
            now(&second),
        )?;
        heap.signal_wait_until(at(&signal, 8), Comparison::Equal, 2, now(&second))?;
        second.synchronize(Some(LONG))?;
        event.wait("a test", Some(LONG))?;
        heap.finalize()
    });
    done.into_iter().collect::<Result<()>>().unwrap();
}
