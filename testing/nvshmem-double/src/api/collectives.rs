//! Collective operations. Each has a form for the host, one for streams, and both for all types.

use std::ffi::c_int;

use crate::double::abi::{Code, Stream, Team};
use crate::double::collectives::{self, Collective, Kind};
use crate::double::elements::{Element, Operator};

#[unsafe(no_mangle)]
extern "C" fn nvshmem_barrier(team: Team) -> Code {
    collectives::meet("nvshmem_barrier", team, true, None)
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_barrier_on_stream(team: Team, stream: Stream) -> Code {
    collectives::meet("nvshmem_barrier", team, true, Some(stream))
}

#[unsafe(no_mangle)]
extern "C" fn nvshmem_team_sync(team: Team) -> Code {
    collectives::meet("nvshmem_team_sync", team, false, None)
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_team_sync_on_stream(team: Team, stream: Stream) -> Code {
    collectives::meet("nvshmem_team_sync", team, false, Some(stream))
}

/// Exports both forms of an operation, on elements of so many bytes; in brackets is the argument
/// that a broadcast has more.
macro_rules! collective {
    ($name:expr, $size:expr, [$($root:ident)?], $kind:expr) => {
        collective!(@ concat!("nvshmem_", $name), [], None, $name, $size, [$($root)?], $kind);
        collective!(
            @ concat!("nvshmemx_", $name, "_on_stream"), [stream], Some(stream),
            $name, $size, [$($root)?], $kind
        );
    };
    (
        @ $export:expr, [$($stream:ident)?], $order:expr,
        $name:expr, $size:expr, [$($root:ident)?], $kind:expr
    ) => {
        const _: () = {
            #[unsafe(export_name = $export)]
            extern "C" fn collective(
                team: Team,
                dest: usize,
                source: usize,
                count: usize,
                $($root: c_int,)?
                $($stream: Stream,)?
            ) -> Code {
                let (name, kind, size) = (concat!("nvshmem_", $name), $kind, $size);
                Collective { name, kind, team, dest, source, count, size }.call($order)
            }
        };
    };
}

/// Exports what only moves elements of so many bytes, by names that begin and end so.
macro_rules! movements {
    ($begin:expr, $end:literal, $size:expr) => {
        collective!(
            concat!($begin, "broadcast", $end),
            $size,
            [root],
            Kind::Broadcast { root }
        );
        collective!(concat!($begin, "fcollect", $end), $size, [], Kind::Fcollect);
        collective!(concat!($begin, "alltoall", $end), $size, [], Kind::Alltoall);
    };
}

movements!("", "mem", 1);

/// Exports a reduction of a type, and the one that leaves each PE a part.
macro_rules! reduction {
    ($type:literal, $element:ident, $verb:literal, $operator:ident) => {
        collective!(
            concat!($type, "_", $verb, "_reduce"),
            Element::$element.size(),
            [],
            Kind::Reduce(Element::$element, Operator::$operator)
        );
        collective!(
            concat!($type, "_", $verb, "_reducescatter"),
            Element::$element.size(),
            [],
            Kind::ReduceScatter(Element::$element, Operator::$operator)
        );
    };
}

/// Exports what there is for a type: `moved` what all have, `computed` with arithmetic, `bits` with
/// those of bits.
macro_rules! types {
    ($($type:literal $element:ident $what:ident;)*) => {
        $(types!(@$what $type $element);)*
    };
    (@moved $type:literal $element:ident) => {
        movements!(concat!($type, "_"), "", Element::$element.size());
    };
    (@computed $type:literal $element:ident) => {
        types!(@moved $type $element);
        reduction!($type, $element, "sum", Sum);
        reduction!($type, $element, "prod", Prod);
        reduction!($type, $element, "min", Min);
        reduction!($type, $element, "max", Max);
    };
    (@bits $type:literal $element:ident) => {
        types!(@computed $type $element);
        reduction!($type, $element, "and", And);
        reduction!($type, $element, "or", Or);
        reduction!($type, $element, "xor", Xor);
    };
}

types! {
    "bfloat16" Bf16 computed;
    "half" F16 computed;
    "float" F32 computed;
    "double" F64 computed;
    "char" I8 computed;
    "schar" I8 computed;
    "short" I16 computed;
    "int" I32 computed;
    "long" I64 computed;
    "longlong" I64 computed;
    "uchar" U8 bits;
    "ushort" U16 bits;
    "uint" U32 bits;
    "ulong" U64 bits;
    "ulonglong" U64 bits;
    "int8" I8 bits;
    "int16" I16 bits;
    "int32" I32 bits;
    "int64" I64 bits;
    "uint8" U8 bits;
    "uint16" U16 bits;
    "uint32" U32 bits;
    "uint64" U64 bits;
    "size" U64 bits;
    "ptrdiff" I64 moved;
}
