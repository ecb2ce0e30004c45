//! Puts and gets of bytes and of elements of a size, and their signals.
#![allow(clippy::too_many_arguments, reason = "they are those of C")]

use std::ffi::c_int;

use crate::double::abi::Stream;
use crate::double::rma::Operation;
use crate::double::signals::Signal;
use crate::double::transfer::Reuse::{After, AfterQuiet};
use crate::double::{pe, signals};

/// Exports a put and a get in all their forms, of elements of so many bytes.
macro_rules! transfers {
    ($put:expr, $get:expr, $size:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("nvshmem_", $put))]
            extern "C" fn put(dest: usize, source: usize, count: usize, target: c_int) {
                let name = concat!("nvshmem_", $put);
                let pe = pe::live(name);
                Operation::elements(name, dest, source, $size, count, target).put(&pe, After);
            }

            #[unsafe(export_name = concat!("nvshmem_", $put, "_nbi"))]
            extern "C" fn put_nbi(dest: usize, source: usize, count: usize, target: c_int) {
                let name = concat!("nvshmem_", $put, "_nbi");
                let pe = pe::live(name);
                Operation::elements(name, dest, source, $size, count, target).put(&pe, AfterQuiet);
            }

            #[unsafe(export_name = concat!("nvshmem_", $get))]
            extern "C" fn get(dest: usize, source: usize, count: usize, target: c_int) {
                let name = concat!("nvshmem_", $get);
                let pe = pe::live(name);
                Operation::elements(name, dest, source, $size, count, target).get(&pe, After);
            }

            #[unsafe(export_name = concat!("nvshmem_", $get, "_nbi"))]
            extern "C" fn get_nbi(dest: usize, source: usize, count: usize, target: c_int) {
                let name = concat!("nvshmem_", $get, "_nbi");
                let pe = pe::live(name);
                Operation::elements(name, dest, source, $size, count, target).get(&pe, AfterQuiet);
            }

            #[unsafe(export_name = concat!("nvshmemx_", $put, "_on_stream"))]
            extern "C" fn put_on_stream(
                dest: usize,
                source: usize,
                count: usize,
                target: c_int,
                stream: Stream,
            ) {
                let name = concat!("nvshmemx_", $put, "_on_stream");
                let pe = pe::live(name);
                Operation::elements(name, dest, source, $size, count, target)
                    .put_on_stream(&pe, After, stream, None);
            }

            #[unsafe(export_name = concat!("nvshmemx_", $put, "_nbi_on_stream"))]
            extern "C" fn put_nbi_on_stream(
                dest: usize,
                source: usize,
                count: usize,
                target: c_int,
                stream: Stream,
            ) {
                let name = concat!("nvshmemx_", $put, "_nbi_on_stream");
                let pe = pe::live(name);
                Operation::elements(name, dest, source, $size, count, target)
                    .put_on_stream(&pe, AfterQuiet, stream, None);
            }

            #[unsafe(export_name = concat!("nvshmemx_", $get, "_on_stream"))]
            extern "C" fn get_on_stream(
                dest: usize,
                source: usize,
                count: usize,
                target: c_int,
                stream: Stream,
            ) {
                let name = concat!("nvshmemx_", $get, "_on_stream");
                let pe = pe::live(name);
                Operation::elements(name, dest, source, $size, count, target)
                    .get_on_stream(&pe, After, stream);
            }

            #[unsafe(export_name = concat!("nvshmemx_", $get, "_nbi_on_stream"))]
            extern "C" fn get_nbi_on_stream(
                dest: usize,
                source: usize,
                count: usize,
                target: c_int,
                stream: Stream,
            ) {
                let name = concat!("nvshmemx_", $get, "_nbi_on_stream");
                let pe = pe::live(name);
                Operation::elements(name, dest, source, $size, count, target)
                    .get_on_stream(&pe, AfterQuiet, stream);
            }

            #[unsafe(export_name = concat!("nvshmemx_", $put, "_signal_on_stream"))]
            extern "C" fn put_signal(
                dest: usize,
                source: usize,
                count: usize,
                word: usize,
                value: u64,
                op: c_int,
                target: c_int,
                stream: Stream,
            ) {
                let name = concat!("nvshmemx_", $put, "_signal_on_stream");
                let pe = pe::live(name);
                let put = Operation::elements(name, dest, source, $size, count, target);
                let signal = Signal { word, value, op };
                signals::put(&pe, &put, signal, After, stream);
            }

            #[unsafe(export_name = concat!("nvshmemx_", $put, "_signal_nbi_on_stream"))]
            extern "C" fn put_signal_nbi(
                dest: usize,
                source: usize,
                count: usize,
                word: usize,
                value: u64,
                op: c_int,
                target: c_int,
                stream: Stream,
            ) {
                let name = concat!("nvshmemx_", $put, "_signal_nbi_on_stream");
                let pe = pe::live(name);
                let put = Operation::elements(name, dest, source, $size, count, target);
                let signal = Signal { word, value, op };
                signals::put(&pe, &put, signal, AfterQuiet, stream);
            }
        };
    };
}
pub(super) use transfers;

transfers!("putmem", "getmem", 1);
transfers!("put8", "get8", 1);
transfers!("put16", "get16", 2);
transfers!("put32", "get32", 4);
transfers!("put64", "get64", 8);
transfers!("put128", "get128", 16);

/// Exports strided puts and gets of elements of so many bytes.
macro_rules! strided {
    ($put:expr, $get:expr, $size:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("nvshmem_", $put))]
            extern "C" fn iput(
                dest: usize,
                source: usize,
                there: isize,
                here: isize,
                count: usize,
                target: c_int,
            ) {
                let name = concat!("nvshmem_", $put);
                let pe = pe::live(name);
                Operation::elements(name, dest, source, $size, count, target)
                    .strided($size, there, here)
                    .put(&pe, After);
            }

            #[unsafe(export_name = concat!("nvshmem_", $get))]
            extern "C" fn iget(
                dest: usize,
                source: usize,
                here: isize,
                there: isize,
                count: usize,
                target: c_int,
            ) {
                let name = concat!("nvshmem_", $get);
                let pe = pe::live(name);
                Operation::elements(name, dest, source, $size, count, target)
                    .strided($size, here, there)
                    .get(&pe, After);
            }

            #[unsafe(export_name = concat!("nvshmemx_", $put, "_on_stream"))]
            extern "C" fn iput_on_stream(
                dest: usize,
                source: usize,
                there: isize,
                here: isize,
                count: usize,
                target: c_int,
                stream: Stream,
            ) {
                let name = concat!("nvshmemx_", $put, "_on_stream");
                let pe = pe::live(name);
                Operation::elements(name, dest, source, $size, count, target)
                    .strided($size, there, here)
                    .put_on_stream(&pe, After, stream, None);
            }

            #[unsafe(export_name = concat!("nvshmemx_", $get, "_on_stream"))]
            extern "C" fn iget_on_stream(
                dest: usize,
                source: usize,
                here: isize,
                there: isize,
                count: usize,
                target: c_int,
                stream: Stream,
            ) {
                let name = concat!("nvshmemx_", $get, "_on_stream");
                let pe = pe::live(name);
                Operation::elements(name, dest, source, $size, count, target)
                    .strided($size, here, there)
                    .get_on_stream(&pe, After, stream);
            }
        };
    };
}
pub(super) use strided;

strided!("iput8", "iget8", 1);
strided!("iput16", "iget16", 2);
strided!("iput32", "iget32", 4);
strided!("iput64", "iget64", 8);
strided!("iput128", "iget128", 16);
