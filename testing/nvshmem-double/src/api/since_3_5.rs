//! What releases after 3.4 have brought.

use std::ffi::{c_int, c_void};

use crate::double::abi::{self, Code, Stream};
use crate::double::{order, pe, signals};

use super::amo::stubs;

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_flush() {
    order::flush(&pe::live("nvshmemx_flush"));
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_flush_on_stream(stream: Stream) {
    order::flush_on_stream(&pe::live("nvshmemx_flush_on_stream"), stream);
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_buffer_register_symmetric_at_preferred_address(
    _address: usize,
    _bytes: usize,
    _preferred: usize,
    _flags: c_int,
) -> *mut c_void {
    pe::live("nvshmemx_buffer_register_symmetric_at_preferred_address");
    std::ptr::null_mut()
}

stubs! { u16: "nvshmemx_half_atomic_add", "nvshmemx_half_atomic_fetch_add" }
stubs! { f32: "nvshmemx_float_atomic_add", "nvshmemx_float_atomic_fetch_add" }
stubs! { f64: "nvshmemx_double_atomic_add", "nvshmemx_double_atomic_fetch_add" }

/// Exports functions of the device's business, which is none here.
macro_rules! refused {
    ($($name:literal),* $(,)?) => {$(
        const _: () = {
            #[unsafe(export_name = $name)]
            extern "C" fn refused() -> Code {
                pe::live($name);
                eprintln!("nvshmem double: {} is not there", $name);
                abi::NOT_SUPPORTED
            }
        };
    )*};
}

refused! {
    "nvshmemx_collective_launch", "nvshmemx_collective_launch_attr", "nvshmemx_collective_launch_query_gridsize", "nvshmemx_qp_create",
    "nvshmemx_region_start", "nvshmemx_region_stop", "nvshmemx_region_is_active",
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_signal_counted_reset(word: usize) {
    signals::reset(&pe::live("nvshmemx_signal_counted_reset"), word);
}
