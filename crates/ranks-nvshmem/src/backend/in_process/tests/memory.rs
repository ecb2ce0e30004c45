//! Blocks, and what is put and gotten.

use super::*;
use crate::backend::Strides;

#[test]
fn blocks_are_zero_and_of_one_length() {
    everywhere(|heap| {
        let block = heap.alloc(100, 3)?;
        assert_eq!((block.bytes, block.number), (100, 3));
        assert_eq!(read::<u8>(heap, &block, 100), [0; 100]);
        heap.fill(at(&block, 10), 20, 7, Order::Now)?;
        let bytes = read::<u8>(heap, &block, 100);
        let sevens = |range: std::ops::Range<usize>| bytes[range].iter().all(|&byte| byte == 7);
        assert!(sevens(10..30));
        assert_eq!(bytes.iter().filter(|&&byte| byte != 0).count(), 20);
        heap.free(block)
    });
}

#[test]
fn blocks_of_other_lengths_are_an_error_on_all() {
    let errors = on_pes(3, Some(LONG), Delivery::AtOnce, |heap| {
        heap.alloc(8 + heap.facts().my_pe / 2, 0)
            .unwrap_err()
            .to_string()
    });
    assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    assert!(
        errors[0].contains("of 8 bytes") && errors[0].contains("of 9 bytes"),
        "{}",
        errors[0]
    );
}

#[test]
fn what_no_memory_holds_is_an_error_on_all() {
    let errors = on_pes(2, Some(LONG), Delivery::AtOnce, |heap| {
        kind_of(heap.alloc(usize::MAX / 2, 0))
    });
    assert_eq!(errors, [ErrorKind::Memory; 2]);
}

#[test]
fn each_puts_to_the_next_and_gets_from_it() {
    everywhere(|heap| {
        let (me, n) = (heap.facts().my_pe, heap.facts().n_pes);
        let (next, previous) = ((me + 1) % n, (me + n - 1) % n);
        let (source, dest) = (heap.alloc(24, 0)?, heap.alloc(64, 1)?);
        let value = |pe: usize| [number::<u32>(pe + 1), 20, 30];
        write(heap, &source, &value(me));
        heap.access(
            put(at(&dest, 4), mine(&source, 0), next, 12),
            Order::Now,
            Reuse::After,
        )?;
        // The memory may be used again, whatever is seen of it when.
        write(heap, &source, &[0_u32; 3]);
        heap.point(Point::BarrierAll, Order::Now)?;
        assert_eq!(read::<u32>(heap, &dest, 4)[1..], value(previous));
        heap.access(
            get(mine(&source, 8), at(&dest, 4), next, 12),
            Order::Now,
            Reuse::After,
        )?;
        assert_eq!(read::<u32>(heap, &source, 5)[2..], value(me));

        heap.point(Point::SyncAll, Order::Now)?;
        let strides = Strides { dest: 2, source: 1 };
        heap.access_strided(
            put(at(&dest, 32), mine(&source, 8), next, 12),
            strides,
            4,
            Order::Now,
        )?;
        heap.point(Point::BarrierAll, Order::Now)?;
        let [a, b, c] = value(previous);
        assert_eq!(read::<u32>(heap, &dest, 13)[8..], [a, 0, b, 0, c]);
        let strides = Strides { dest: 1, source: 2 };
        heap.access_strided(
            get(mine(&source, 0), at(&dest, 32), next, 12),
            strides,
            4,
            Order::Now,
        )?;
        assert_eq!(read::<u32>(heap, &source, 3), value(me));
        assert!(heap.peer(at(&dest, 0), next).is_some());
        assert!(heap.peer(at(&dest, 0), n).is_none());
        heap.point(Point::BarrierAll, Order::Now)
    });
}

/// Late, `nbi` forms read and write at the next `quiet`, and other puts write then.
#[test]
fn what_nobody_asks_for_is_late() {
    let done = on_pes(1, Some(LONG), Delivery::Late, |heap| -> Result<()> {
        let (source, dest) = (heap.alloc(8, 0)?, heap.alloc(16, 1)?);
        write(heap, &source, &[1_u64]);
        heap.access(
            put(at(&dest, 0), mine(&source, 0), 0, 8),
            Order::Now,
            Reuse::After,
        )?;
        heap.access(
            put(at(&dest, 8), mine(&source, 0), 0, 8),
            Order::Now,
            Reuse::AfterQuiet,
        )?;
        assert_eq!(read::<u64>(heap, &dest, 2), [0, 0]);
        write(heap, &source, &[2_u64]);
        heap.point(Point::Quiet, Order::Now)?;
        assert_eq!(read::<u64>(heap, &dest, 2), [1, 2]);

        let stream = stream(heap);
        heap.access(
            put(at(&dest, 0), mine(&source, 0), 0, 8),
            on(&stream),
            Reuse::AfterQuiet,
        )?;
        heap.point(Point::Flush, on(&stream))?;
        stream.synchronize(Some(LONG))?;
        write(heap, &source, &[3_u64]);
        assert_eq!(read::<u64>(heap, &dest, 2), [1, 2]);
        heap.access(
            get(mine(&source, 0), at(&dest, 8), 0, 8),
            on(&stream),
            Reuse::AfterQuiet,
        )?;
        heap.point(Point::Quiet, on(&stream))?;
        stream.synchronize(Some(LONG))?;
        assert_eq!(read::<u64>(heap, &dest, 2), [2, 2]);
        assert_eq!(read::<u64>(heap, &source, 1), [2]);
        Ok(())
    });
    done.into_iter().collect::<Result<()>>().unwrap();
}

/// Late, elements that are apart are as late as others, and of puts that no fence parts the last is
/// delivered first.
#[test]
fn what_no_fence_parts_comes_in_another_order() {
    let done = on_pes(1, Some(LONG), Delivery::Late, |heap| -> Result<()> {
        let (source, dest) = (heap.alloc(16, 0)?, heap.alloc(24, 1)?);
        write(heap, &source, &[1_u64, 2]);
        let put_from = |from| {
            let (to, from) = (at(&dest, 0), mine(&source, from));
            heap.access(put(to, from, 0, 8), Order::Now, Reuse::After)
        };
        let strides = Strides { dest: 2, source: 1 };
        let (to, from) = (at(&dest, 0), mine(&source, 0));
        heap.access_strided(put(to, from, 0, 16), strides, 8, Order::Now)?;
        assert_eq!(read::<u64>(heap, &dest, 3), [0; 3]);
        heap.point(Point::Quiet, Order::Now)?;
        assert_eq!(read::<u64>(heap, &dest, 3), [1, 0, 2]);

        put_from(8)?;
        put_from(0)?;
        heap.point(Point::Quiet, Order::Now)?;
        assert_eq!(read::<u64>(heap, &dest, 1), [2]);
        put_from(8)?;
        heap.point(Point::Fence, Order::Now)?;
        put_from(0)?;
        heap.point(Point::Quiet, Order::Now)?;
        assert_eq!(read::<u64>(heap, &dest, 1), [1]);
        Ok(())
    });
    done.into_iter().collect::<Result<()>>().unwrap();
}

/// Concurrent accesses of the same words by all PEs and a stream are no data race, and whole words
/// are never torn.
#[test]
fn everybody_may_work_on_everything() {
    let done = on_pes(3, Some(LONG), Delivery::AtOnce, |heap| -> Result<()> {
        let block = heap.alloc(64, 0)?;
        let own = heap.alloc(64, 1)?;
        write(
            heap,
            &own,
            &[number::<u64>(heap.facts().my_pe + 1) * 0x0101_0101_0101_0101; 8],
        );
        let stream = stream(heap);
        for round in 0..5 {
            heap.access(
                put(at(&block, 0), mine(&own, 0), round % 3, 64),
                on(&stream),
                Reuse::After,
            )?;
            heap.access(
                put(at(&block, 0), mine(&own, 0), round % 3, 64),
                Order::Now,
                Reuse::After,
            )?;
            let words: Vec<u64> = read(heap, &block, 8);
            let whole = |word: &u64| {
                word.to_ne_bytes()
                    .iter()
                    .all(|&byte| byte == word.to_ne_bytes()[0])
            };
            assert!(words.iter().all(whole), "{words:x?}");
        }
        stream.synchronize(Some(LONG))?;
        heap.finalize()
    });
    done.into_iter().collect::<Result<()>>().unwrap();
}

#[test]
fn what_is_of_a_device_or_of_another_pe_is_refused() {
    let streams = std::sync::Mutex::new(Vec::new());
    on_pes(2, Some(LONG), Delivery::AtOnce, |heap| {
        let block = heap.alloc(8, 0).unwrap();
        let device = Local::Device(4096);
        let put = heap.access(put(at(&block, 0), device, 0, 8), Order::Now, Reuse::After);
        assert_eq!(kind_of(put), ErrorKind::Argument);
        assert_eq!(
            kind_of(heap.fill(at(&block, 0), 9, 1, Order::Now)),
            ErrorKind::Length
        );
        streams
            .lock()
            .unwrap()
            .push((heap.facts().my_pe, stream(heap)));
        heap.point(Point::SyncAll, Order::Now).unwrap();
        for (pe, stream) in &*streams.lock().unwrap() {
            let filled = heap.fill(at(&block, 0), 8, 1, on(stream));
            assert_eq!(filled.is_ok(), *pe == heap.facts().my_pe);
            if *pe == 0 {
                // The others do not meet one that is refused.
                let met = heap.point(Point::BarrierAll, on(stream));
                assert_eq!(met.is_ok(), heap.facts().my_pe == 0);
            }
        }
        if heap.facts().my_pe == 1 {
            heap.point(Point::BarrierAll, Order::Now).unwrap();
        }
        heap.finalize().unwrap();
    });
}
