//! Words that PEs set and wait for, and what is there when they see them.

use crate::processes::all_well;
use crate::support::{BOTH, NEW, int, own};

const SET: i32 = 9;
const ADD: i32 = 10;
/// What is put stays under way until somebody waits for it.
const FOR_EVER: (&str, &str) = ("NVSHMEM_DOUBLE_DELAY_US", "1000000000");

#[test]
fn the_data_are_there_before_the_signal() {
    const TEST: &str = "signals::the_data_are_there_before_the_signal";
    let Some(pe) = own() else {
        for release in BOTH {
            all_well(TEST, release, 2, &[FOR_EVER]);
        }
        return;
    };
    let (data, source) = (call!(pe, nvshmem_calloc(1, 64)), pe.alloc(64));
    let word = call!(pe, nvshmem_calloc(2, 8));
    let (other, stream) = (int(1 - pe.my_pe), pe.stream());
    pe.write(source, &[5; 64]);
    call!(pe, nvshmem_barrier_all());
    for (time, nbi) in [(1, false), (2, true)] {
        pe.write(source, &[time; 64]);
        let value = u64::from(time);
        if nbi {
            call!(
                pe,
                nvshmemx_putmem_signal_nbi_on_stream(
                    data,
                    source,
                    64,
                    word.cast(),
                    1,
                    ADD,
                    other,
                    stream
                )
            );
            call!(pe, nvshmemx_quiet_on_stream(stream));
        } else {
            call!(
                pe,
                nvshmemx_putmem_signal_on_stream(
                    data,
                    source,
                    64,
                    word.cast(),
                    1,
                    SET,
                    other,
                    stream
                )
            );
        }
        call!(
            pe,
            nvshmemx_signal_wait_until_on_stream(word.cast(), 5, value, stream)
        );
        pe.sync();
        assert_eq!(pe.read(data, 64), [time; 64]);
        assert_eq!(call!(pe, nvshmem_signal_fetch(word.cast())), value);
        call!(pe, nvshmem_sync_all());
    }
    pe.end();
}

#[test]
fn a_fence_is_between_data_and_a_signal() {
    const TEST: &str = "signals::a_fence_is_between_data_and_a_signal";
    let Some(pe) = own() else {
        return all_well(TEST, NEW, 2, &[FOR_EVER]);
    };
    let data = call!(pe, nvshmem_calloc(2, 8));
    let word = call!(pe, nvshmem_calloc(1, 8));
    let (other, stream) = (int(1 - pe.my_pe), pe.stream());
    let ones = [1_u8; 8];
    let second = data.wrapping_byte_add(8);
    call!(pe, nvshmem_putmem(data, ones.as_ptr().cast(), 8, other));
    call!(pe, nvshmem_fence());
    call!(pe, nvshmem_putmem(second, ones.as_ptr().cast(), 8, other));
    call!(
        pe,
        nvshmemx_signal_op_on_stream(word.cast(), 3, SET, other, stream)
    );
    call!(
        pe,
        nvshmemx_signal_wait_until_on_stream(word.cast(), 2, 2, stream)
    );
    pe.sync();
    assert_eq!(pe.read(data, 8), ones);
    assert_eq!(
        pe.read(second, 8),
        [0; 8],
        "no fence is between that and the signal"
    );
    call!(pe, nvshmem_sync_all());
    call!(pe, nvshmem_barrier_all());
    assert_eq!(pe.read(second, 8), ones);
    pe.end();
}

#[test]
fn all_comparisons_are_those_of_the_header() {
    const TEST: &str = "signals::all_comparisons_are_those_of_the_header";
    let Some(pe) = own() else {
        return all_well(TEST, NEW, 1, &[]);
    };
    let word = call!(pe, nvshmem_calloc(1, 8));
    let stream = pe.stream();
    for (cmp, value) in [(0, 6), (1, 5), (2, 5), (3, 6), (4, 7), (5, 6)] {
        call!(
            pe,
            nvshmemx_signal_op_on_stream(word.cast(), 2, SET, 0, stream)
        );
        call!(
            pe,
            nvshmemx_signal_op_on_stream(word.cast(), 4, ADD, 0, stream)
        );
        call!(
            pe,
            nvshmemx_signal_wait_until_on_stream(word.cast(), cmp, value, stream)
        );
        pe.sync();
        assert_eq!(call!(pe, nvshmem_signal_fetch(word.cast())), 6);
    }
    pe.end();
}
