//! What is under way arrives; PEs wait for each other.

use std::sync::Arc;

use super::abi::Stream;
use super::cuda::must;
use super::meeting::Call;
use super::pe::Pe;
use super::stream::enqueue;

/// `nvshmem_quiet`: all that the host, and internal streams, have put has arrived. What streams of
/// the program put has if they are there already.
pub(crate) fn quiet(pe: &Pe) {
    finish_internal(pe);
    pe.outbox.quiet(pe);
}

/// `nvshmemx_flush`: all that the host, and internal streams, put from has been read.
pub(crate) fn flush(pe: &Pe) {
    finish_internal(pe);
    pe.outbox.flush(pe);
}

fn finish_internal(pe: &Pe) {
    let machine = pe.machine();
    let _entered = machine.place.enter();
    // SAFETY: a stream of this PE's.
    must(unsafe { machine.place.driver.cuStreamSynchronize(machine.internal) });
}

/// `nvshmemx_flush_on_stream`: the stream goes on when what was put from has been read.
pub(crate) fn flush_on_stream(pe: &Arc<Pe>, stream: Stream) {
    follow_internal(pe, stream);
    enqueue(pe, stream, |pe| pe.outbox.flush(pe));
}

fn follow_internal(pe: &Pe, stream: Stream) {
    let machine = pe.machine();
    let _entered = machine.place.enter();
    // SAFETY: the caller's stream, and this PE's.
    unsafe { machine.place.order(machine.internal, stream) };
}

/// `nvshmemx_quiet_on_stream`
pub(crate) fn quiet_on_stream(pe: &Arc<Pe>, stream: Stream) {
    follow_internal(pe, stream);
    enqueue(pe, stream, |pe| pe.outbox.quiet(pe));
}

/// `nvshmem_barrier_all`, under whichever name.
pub(crate) fn barrier_all(pe: &Pe, call: Call) {
    quiet(pe);
    pe.meet(&pe.everyone, 0, call);
}

/// `nvshmemx_barrier_all_on_stream`
pub(crate) fn barrier_all_on_stream(pe: &Arc<Pe>, stream: Stream) {
    quiet_on_stream(pe, stream);
    sync_all_on_stream(pe, stream, Call::new("nvshmem_barrier_all"));
}

/// `nvshmemx_sync_all_on_stream`
pub(crate) fn sync_all_on_stream(pe: &Arc<Pe>, stream: Stream, call: Call) {
    enqueue(pe, stream, move |pe| pe.meet(&pe.everyone, 0, call));
}
