//! Signals, and waiting for words.

use std::ffi::c_int;

use crate::double::abi::Stream;
use crate::double::pe;
use crate::double::signals::{self, Signal, Wait};

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_signal_op_on_stream(
    word: usize,
    value: u64,
    op: c_int,
    target: c_int,
    stream: Stream,
) {
    let pe = pe::live("nvshmemx_signal_op_on_stream");
    signals::on_stream(&pe, Signal { word, value, op }, target, stream);
}

#[unsafe(no_mangle)]
extern "C" fn nvshmem_signal_fetch(word: usize) -> u64 {
    signals::fetch(&pe::live("nvshmem_signal_fetch"), word)
}

/// Exports a wait for one word.
macro_rules! wait {
    ($export:expr, $type:ty) => {
        const _: () = {
            #[unsafe(export_name = $export)]
            extern "C" fn wait(word: usize, cmp: c_int, value: $type, stream: Stream) {
                let name = $export;
                let pe = pe::unlimited(name);
                let wait = Wait {
                    name,
                    words: word,
                    count: 1,
                    status: std::ptr::null(),
                    cmp,
                    values: vec![value],
                };
                signals::wait_on_stream(&pe, wait, stream);
            }
        };
    };
}

wait!("nvshmemx_signal_wait_until_on_stream", u64);

/// Exports all waits for words of a type.
macro_rules! waits {
    ($($name:literal: $type:ty),* $(,)?) => {$(
        wait!(concat!("nvshmemx_", $name, "_wait_until_on_stream"), $type);

        const _: () = {
            #[unsafe(export_name = concat!("nvshmemx_", $name, "_wait_until_all_on_stream"))]
            extern "C" fn all(
                words: usize,
                count: usize,
                status: *const c_int,
                cmp: c_int,
                value: $type,
                stream: Stream,
            ) {
                let name = concat!("nvshmemx_", $name, "_wait_until_all_on_stream");
                let pe = pe::unlimited(name);
                let values = vec![value];
                let wait = Wait { name, words, count, status, cmp, values };
                signals::wait_on_stream(&pe, wait, stream);
            }

            #[unsafe(export_name = concat!("nvshmemx_", $name, "_wait_until_all_vector_on_stream"))]
            unsafe extern "C" fn all_vector(
                words: usize,
                count: usize,
                status: *const c_int,
                cmp: c_int,
                values: *const $type,
                stream: Stream,
            ) {
                let name = concat!("nvshmemx_", $name, "_wait_until_all_vector_on_stream");
                let pe = pe::unlimited(name);
                // SAFETY: the caller has as many values.
                let values = unsafe { std::slice::from_raw_parts(values, count) }.to_vec();
                let wait = Wait { name, words, count, status, cmp, values };
                signals::wait_on_stream(&pe, wait, stream);
            }
        };
    )*};
}

waits! {
    "short": i16, "int": i32, "long": i64, "longlong": i64, "ushort": u16, "uint": u32, "ulong": u64, "ulonglong": u64,
    "int32": i32, "int64": i64, "uint32": u32, "uint64": u64, "size": usize, "ptrdiff": isize,
}
