//! Puts and gets of elements of a type.
#![allow(clippy::too_many_arguments, reason = "they are those of C")]

use std::ffi::c_int;

use crate::double::abi::Stream;
use crate::double::rma::Operation;
use crate::double::signals::Signal;
use crate::double::transfer::Reuse::{After, AfterQuiet};
use crate::double::{pe, rma, signals};

use super::rma::{operation, strided, transfers};

/// Exports all of a type.
macro_rules! typed {
    ($($name:literal: $type:ty),* $(,)?) => {$(
        transfers!(concat!($name, "_put"), concat!($name, "_get"), size_of::<$type>());
        strided!(concat!($name, "_iput"), concat!($name, "_iget"), size_of::<$type>());

        const _: () = {
            #[unsafe(export_name = concat!("nvshmem_", $name, "_p"))]
            extern "C" fn p(dest: usize, value: $type, target: c_int) {
                let name = concat!("nvshmem_", $name, "_p");
                let pe = pe::live(name);
                let value = &raw const value;
                let source = value.expose_provenance();
                Operation::elements(name, dest, source, size_of::<$type>(), 1, target).put(&pe, After);
            }

            #[unsafe(export_name = concat!("nvshmem_", $name, "_g"))]
            extern "C" fn g(source: usize, target: c_int) -> $type {
                let name = concat!("nvshmem_", $name, "_g");
                rma::value(&pe::live(name), name, source, target)
            }

            #[unsafe(export_name = concat!("nvshmemx_", $name, "_p_on_stream"))]
            extern "C" fn p_on_stream(dest: usize, value: $type, target: c_int, stream: Stream) {
                let name = concat!("nvshmemx_", $name, "_p_on_stream");
                rma::value_on_stream(&pe::live(name), name, dest, value, target, stream);
            }

            #[unsafe(export_name = concat!("nvshmemx_", $name, "_g_on_stream"))]
            extern "C" fn g_on_stream(_source: usize, _target: c_int, _stream: Stream) -> $type {
                // The library returns what happens to be there before the stream has run.
                pe::live(concat!("nvshmemx_", $name, "_g_on_stream"));
                <$type>::default()
            }
        };
    )*};
}

typed! {
    "bfloat16": u16, "half": u16, "float": f32, "double": f64, "char": i8, "schar": i8, "short": i16, "int": i32, "long": i64, "longlong": i64,
    "uchar": u8, "ushort": u16, "uint": u32, "ulong": u64, "ulonglong": u64, "int8": i8, "int16": i16, "int32": i32, "int64": i64,
    "uint8": u8, "uint16": u16, "uint32": u32, "uint64": u64, "size": usize, "ptrdiff": isize,
}
