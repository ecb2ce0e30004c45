//! Puts and gets of bytes and of elements of a size, and their signals.
#![allow(clippy::too_many_arguments, reason = "they are those of C")]

use std::ffi::c_int;

use crate::double::abi::Stream;
use crate::double::rma::Operation;
use crate::double::signals::Signal;
use crate::double::transfer::Reuse::{After, AfterQuiet};
use crate::double::{pe, signals};

/// Exports an operation on elements of so many bytes. In brackets are its arguments before the
/// number of elements, those behind it, and the stream, if it has one.
macro_rules! operation {
    (
        $name:expr, $size:expr, [$($stride:ident),*], [$($word:ident: $word_type:ty),*], [$($stream:ident)?],
        |$pe:ident, $operation:ident| $body:expr
    ) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            extern "C" fn operation(
                dest: usize,
                source: usize,
                $($stride: isize,)*
                count: usize,
                $($word: $word_type,)*
                target: c_int,
                $($stream: Stream,)?
            ) {
                let $pe = pe::live($name);
                let $operation = Operation::elements($name, dest, source, $size, count, target);
                $body;
            }
        };
    };
}
pub(super) use operation;

/// Exports a put and a get in all their forms, of elements of so many bytes.
macro_rules! transfers {
    ($put:expr, $get:expr, $size:expr) => {
        transfers!(@ $put, $get, $size, "", After);
        transfers!(@ $put, $get, $size, "_nbi", AfterQuiet);
    };
    (@ $put:expr, $get:expr, $size:expr, $nbi:literal, $reuse:expr) => {
        operation!(concat!("nvshmem_", $put, $nbi), $size, [], [], [], |pe, put| {
            put.put(&pe, $reuse)
        });
        operation!(concat!("nvshmem_", $get, $nbi), $size, [], [], [], |pe, get| {
            get.get(&pe, $reuse)
        });
        operation!(concat!("nvshmemx_", $put, $nbi, "_on_stream"), $size, [], [], [stream], |pe, put| {
            put.put_on_stream(&pe, $reuse, stream, None)
        });
        operation!(concat!("nvshmemx_", $get, $nbi, "_on_stream"), $size, [], [], [stream], |pe, get| {
            get.get_on_stream(&pe, $reuse, stream)
        });
        operation!(
            concat!("nvshmemx_", $put, "_signal", $nbi, "_on_stream"),
            $size, [], [word: usize, value: u64, op: c_int], [stream],
            |pe, put| signals::put(&pe, &put, Signal { word, value, op }, $reuse, stream)
        );
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
        operation!(
            concat!("nvshmem_", $put),
            $size,
            [to, from],
            [],
            [],
            |pe, put| { put.strided($size, to, from).put(&pe, After) }
        );
        operation!(
            concat!("nvshmem_", $get),
            $size,
            [to, from],
            [],
            [],
            |pe, get| { get.strided($size, to, from).get(&pe, After) }
        );
        operation!(
            concat!("nvshmemx_", $put, "_on_stream"),
            $size,
            [to, from],
            [],
            [stream],
            |pe, put| {
                put.strided($size, to, from)
                    .put_on_stream(&pe, After, stream, None)
            }
        );
        operation!(
            concat!("nvshmemx_", $get, "_on_stream"),
            $size,
            [to, from],
            [],
            [stream],
            |pe, get| {
                get.strided($size, to, from)
                    .get_on_stream(&pe, After, stream)
            }
        );
    };
}
pub(super) use strided;

strided!("iput8", "iget8", 1);
strided!("iput16", "iget16", 2);
strided!("iput32", "iget32", 4);
strided!("iput64", "iget64", 8);
strided!("iput128", "iget128", 16);
