//! Order.

use crate::double::abi::Stream;
use crate::double::meeting::Call;
use crate::double::{order, pe};

#[unsafe(no_mangle)]
extern "C" fn nvshmem_quiet() {
    order::quiet(&pe::live("nvshmem_quiet"));
}

#[unsafe(no_mangle)]
extern "C" fn nvshmem_fence() {
    pe::live("nvshmem_fence").outbox.fence();
}

#[unsafe(no_mangle)]
extern "C" fn nvshmem_barrier_all() {
    let pe = pe::live("nvshmem_barrier_all");
    order::barrier_all(&pe, Call::new("nvshmem_barrier_all"));
}

#[unsafe(no_mangle)]
extern "C" fn nvshmem_sync_all() {
    let pe = pe::live("nvshmem_sync_all");
    pe.meet(&pe.everyone, 0, Call::new("nvshmem_sync_all"));
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_quiet_on_stream(stream: Stream) {
    order::quiet_on_stream(&pe::live("nvshmemx_quiet_on_stream"), stream);
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_barrier_all_on_stream(stream: Stream) {
    order::barrier_all_on_stream(&pe::live("nvshmemx_barrier_all_on_stream"), stream);
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_sync_all_on_stream(stream: Stream) {
    let pe = pe::live("nvshmemx_sync_all_on_stream");
    order::sync_all_on_stream(&pe, stream, Call::new("nvshmem_sync_all"));
}
