//! Puts and gets, and when they arrive.

use std::ffi::c_void;

use ranks_cuda::DeviceSlice as _;

use crate::processes::all_well;
use crate::support::{BOTH, NEW, Pe, int, own};

/// What is put stays under way until somebody waits for it.
const FOR_EVER: (&str, &str) = ("NVSHMEM_DOUBLE_DELAY_US", "1000000000");

/// Words of this PE.
fn words(pe: &Pe, at: *mut c_void, count: usize) -> Vec<u64> {
    let bytes = pe.read(at, 8 * count);
    let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("eight"));
    bytes.chunks(8).map(word).collect()
}

fn set(pe: &Pe, at: *mut c_void, words: &[u64]) {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    pe.write(at, &bytes);
}

#[test]
fn what_is_put_arrives_with_a_quiet() {
    const TEST: &str = "one_sided::what_is_put_arrives_with_a_quiet";
    let Some(pe) = own() else {
        for release in BOTH {
            all_well(TEST, release, 1, &[FOR_EVER]);
            all_well(TEST, release, 3, &[FOR_EVER]);
        }
        return;
    };
    let (dest, source) = (pe.alloc(64), pe.alloc(64));
    set(&pe, dest, &[0; 2]);
    let me = pe.my_pe as u64;
    let next = int((pe.my_pe + 1) % pe.n_pes);
    let before = ((pe.my_pe + pe.n_pes - 1) % pe.n_pes) as u64;
    call!(pe, nvshmem_barrier_all());
    set(&pe, source, &[me, 10 + me]);
    call!(pe, nvshmem_putmem(dest, source, 16, next));
    // The source may be used again at once.
    set(&pe, source, &[99; 2]);
    call!(pe, nvshmem_sync_all());
    assert_eq!(words(&pe, dest, 2), [0; 2], "a sync is no quiet");
    call!(pe, nvshmem_sync_all());
    call!(pe, nvshmem_quiet());
    call!(pe, nvshmem_sync_all());
    assert_eq!(words(&pe, dest, 2), [before, 10 + before]);
    call!(pe, nvshmem_sync_all());
    // What has not to be read at once is read late.
    set(&pe, source, &[me, me]);
    call!(pe, nvshmem_putmem_nbi(dest, source, 16, next));
    set(&pe, source, &[20 + me, 20 + me]);
    call!(pe, nvshmem_barrier_all());
    assert_eq!(words(&pe, dest, 2), [20 + before; 2]);
    call!(pe, nvshmem_sync_all());
    if pe.library.has("nvshmemx_flush") {
        set(&pe, source, &[30 + me; 2]);
        call!(pe, nvshmem_putmem_nbi(dest, source, 16, next));
        call!(pe, nvshmemx_flush());
        set(&pe, source, &[99; 2]);
        call!(pe, nvshmem_sync_all());
        assert_eq!(words(&pe, dest, 2), [20 + before; 2], "a flush is no quiet");
        call!(pe, nvshmem_sync_all());
        call!(pe, nvshmem_barrier_all());
        assert_eq!(words(&pe, dest, 2), [30 + before; 2]);
    }
    set(&pe, source, &[40 + me; 2]);
    call!(pe, nvshmem_barrier_all());
    call!(pe, nvshmem_getmem(dest, source, 16, next));
    assert_eq!(
        words(&pe, dest, 2),
        [40 + u64::from(next.unsigned_abs()); 2]
    );
    call!(
        pe,
        nvshmem_getmem_nbi(dest.wrapping_byte_add(8), dest, 8, int(pe.my_pe))
    );
    call!(pe, nvshmem_quiet());
    assert_eq!(pe.counted("uses_after_free"), 0);
    pe.end();
}

#[test]
fn other_memory_of_the_device_takes_part() {
    const TEST: &str = "one_sided::other_memory_of_the_device_takes_part";
    let Some(pe) = own() else {
        return all_well(TEST, NEW, 2, &[]);
    };
    let dest = pe.alloc(64);
    let other = int(1 - pe.my_pe);
    let me = pe.my_pe as u64;
    let local = pe
        .context
        .device_vec_of(&[me, me + 1, me + 2, me + 3])
        .expect("memory");
    let at = std::ptr::without_provenance_mut::<c_void>(
        usize::try_from(local.address()).expect("an address"),
    );
    call!(pe, nvshmem_putmem(dest, at, 16, other));
    call!(
        pe,
        nvshmemx_putmem_on_stream(dest.wrapping_byte_add(16), at, 8, other, pe.stream())
    );
    call!(
        pe,
        nvshmemx_putmem_nbi_on_stream(dest.wrapping_byte_add(24), at, 8, other, pe.stream())
    );
    call!(
        pe,
        nvshmem_putmem_nbi(dest.wrapping_byte_add(32), at, 8, other)
    );
    // Every second word of the memory.
    call!(
        pe,
        nvshmem_iput64(dest.wrapping_byte_add(40), at, 1, 2, 2, other)
    );
    call!(pe, nvshmemx_barrier_all_on_stream(pe.stream()));
    pe.sync();
    let him = u64::from(other.unsigned_abs());
    assert_eq!(
        words(&pe, dest, 7),
        [him, him + 1, him, him, him, him, him + 2]
    );
    call!(
        pe,
        nvshmemx_getmem_on_stream(at, dest, 8, other, pe.stream())
    );
    call!(
        pe,
        nvshmemx_iget64_on_stream(at.wrapping_byte_add(8), dest, 2, 1, 2, other, pe.stream())
    );
    pe.sync();
    assert_eq!(local.to_vec().expect("memory"), [me, me, me + 2, me + 1]);
    call!(
        pe,
        nvshmem_getmem_nbi(at, dest.wrapping_byte_add(48), 8, other)
    );
    call!(
        pe,
        nvshmem_iget64(at.wrapping_byte_add(8), dest, 1, 1, 1, other)
    );
    call!(pe, nvshmem_quiet());
    assert_eq!(local.to_vec().expect("memory")[..2], [me + 2, me]);
    call!(pe, nvshmem_barrier_all());
    drop(local);
    assert_eq!(pe.counted("pageable_uses"), 0);
    let words = [0_u64; 2];
    let host = words.as_ptr().cast_mut().cast::<c_void>();
    call!(pe, nvshmem_putmem(dest, host, 8, other));
    assert_eq!(pe.counted("pageable_uses"), 1);
    assert_eq!(call!(pe, nvshmemx_buffer_register(host, 16)), 0);
    call!(
        pe,
        nvshmem_putmem(dest, host.wrapping_byte_add(8), 8, other)
    );
    assert_eq!(pe.counted("pageable_uses"), 1);
    assert_ne!(
        call!(pe, nvshmemx_buffer_register(host.wrapping_byte_add(8), 16)),
        0
    );
    assert_eq!(call!(pe, nvshmemx_buffer_unregister(host)), 0);
    assert_ne!(call!(pe, nvshmemx_buffer_unregister(host)), 0);
    pe.end();
    assert_eq!(pe.counted_by_cuda("live_allocations"), 0);
    assert_eq!(pe.counted_by_cuda("live_host_allocations"), 0);
}

#[test]
fn nothing_happens_before_the_stream_comes_to_it() {
    const TEST: &str = "one_sided::nothing_happens_before_the_stream_comes_to_it";
    let Some(pe) = own() else {
        for release in BOTH {
            all_well(TEST, release, 2, &[]);
        }
        return;
    };
    let all = call!(pe, nvshmem_calloc(4, 8));
    let (gate, dest) = (all, all.wrapping_byte_add(8));
    let source = pe.alloc(8);
    let (other, stream) = (int(1 - pe.my_pe), pe.stream());
    set(&pe, source, &[1]);
    call!(pe, nvshmem_barrier_all());
    call!(
        pe,
        nvshmemx_signal_wait_until_on_stream(gate.cast(), 0, 7, stream)
    );
    call!(
        pe,
        nvshmemx_putmem_on_stream(dest, source, 8, other, stream)
    );
    call!(pe, nvshmemx_quiet_on_stream(stream));
    // What it puts is what is there when the stream comes.
    set(&pe, source, &[2]);
    call!(pe, nvshmem_barrier_all());
    assert_eq!(words(&pe, dest, 1), [0]);
    call!(pe, nvshmem_barrier_all());
    let seven = 7_u64;
    call!(
        pe,
        nvshmem_putmem(gate, (&raw const seven).cast(), 8, other)
    );
    // Nobody waits for that one: it arrives by itself.
    pe.sync();
    call!(pe, nvshmem_barrier_all());
    assert_eq!(words(&pe, dest, 1), [2]);
    pe.end();
}

#[test]
fn a_use_after_free_is_counted() {
    const TEST: &str = "one_sided::a_use_after_free_is_counted";
    let Some(pe) = own() else {
        return all_well(TEST, NEW, 1, &[]);
    };
    let (gone, source, gate) = (pe.alloc(8), pe.alloc(8), call!(pe, nvshmem_calloc(1, 8)));
    let stream = pe.stream();
    call!(
        pe,
        nvshmemx_signal_wait_until_on_stream(gate.cast(), 0, 1, stream)
    );
    call!(pe, nvshmemx_putmem_on_stream(gone, source, 8, 0, stream));
    call!(pe, nvshmem_free(gone));
    assert_eq!(pe.counted("uses_after_free"), 0);
    let one = 1_u64;
    call!(pe, nvshmem_putmem(gate, (&raw const one).cast(), 8, 0));
    pe.sync();
    call!(pe, nvshmem_quiet());
    assert_eq!(pe.counted("uses_after_free"), 1);
    pe.end();
}
