//! Collective operations. Each has a form for the host, one for streams, and both for all types.

use std::ffi::{c_int, c_void};

use crate::double::abi::{Code, Stream, Team};
use crate::double::collectives::{self, Collective, Kind};
use crate::double::elements::{Element, Operator};

/// Where memory of the heap is; it is looked at later.
fn at(memory: *const c_void) -> usize {
    memory.addr()
}

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

/// Exports both forms of a broadcast, of elements of so many bytes: `NAME`, and `NAME_ON_STREAM`.
macro_rules! broadcast {
    ($name:expr, $on_stream:expr, $size:expr) => {
        const _: () = {
            const NAME: &str = $name;

            fn call(
                team: Team,
                dest: *mut c_void,
                source: *const c_void,
                count: usize,
                root: c_int,
            ) -> Collective {
                Collective {
                    name: NAME,
                    kind: Kind::Broadcast { root },
                    team,
                    dest: at(dest),
                    source: at(source),
                    count,
                    size: $size,
                }
            }

            #[unsafe(export_name = $name)]
            extern "C" fn now(
                team: Team,
                dest: *mut c_void,
                source: *const c_void,
                count: usize,
                root: c_int,
            ) -> Code {
                call(team, dest, source, count, root).call(None)
            }

            #[unsafe(export_name = $on_stream)]
            extern "C" fn on_stream(
                team: Team,
                dest: *mut c_void,
                source: *const c_void,
                count: usize,
                root: c_int,
                stream: Stream,
            ) -> Code {
                call(team, dest, source, count, root).call(Some(stream))
            }
        };
    };
}

/// Exports both forms of another operation.
macro_rules! collective {
    ($name:expr, $on_stream:expr, $kind:expr, $size:expr) => {
        const _: () = {
            const NAME: &str = $name;

            fn call(
                team: Team,
                dest: *mut c_void,
                source: *const c_void,
                count: usize,
            ) -> Collective {
                Collective {
                    name: NAME,
                    kind: $kind,
                    team,
                    dest: at(dest),
                    source: at(source),
                    count,
                    size: $size,
                }
            }

            #[unsafe(export_name = $name)]
            extern "C" fn now(
                team: Team,
                dest: *mut c_void,
                source: *const c_void,
                count: usize,
            ) -> Code {
                call(team, dest, source, count).call(None)
            }

            #[unsafe(export_name = $on_stream)]
            extern "C" fn on_stream(
                team: Team,
                dest: *mut c_void,
                source: *const c_void,
                count: usize,
                stream: Stream,
            ) -> Code {
                call(team, dest, source, count).call(Some(stream))
            }
        };
    };
}

broadcast!("nvshmem_broadcastmem", "nvshmemx_broadcastmem_on_stream", 1);
collective!(
    "nvshmem_fcollectmem",
    "nvshmemx_fcollectmem_on_stream",
    Kind::Fcollect,
    1
);
collective!(
    "nvshmem_alltoallmem",
    "nvshmemx_alltoallmem_on_stream",
    Kind::Alltoall,
    1
);

/// Exports a reduction of a type, and the one that leaves each PE a part.
macro_rules! reduction {
    ($type:literal, $element:ident, $verb:literal, $operator:ident) => {
        collective!(
            concat!("nvshmem_", $type, "_", $verb, "_reduce"),
            concat!("nvshmemx_", $type, "_", $verb, "_reduce_on_stream"),
            Kind::Reduce(Element::$element, Operator::$operator),
            Element::$element.size()
        );
        collective!(
            concat!("nvshmem_", $type, "_", $verb, "_reducescatter"),
            concat!("nvshmemx_", $type, "_", $verb, "_reducescatter_on_stream"),
            Kind::ReduceScatter(Element::$element, Operator::$operator),
            Element::$element.size()
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
        broadcast!(
            concat!("nvshmem_", $type, "_broadcast"),
            concat!("nvshmemx_", $type, "_broadcast_on_stream"),
            Element::$element.size()
        );
        collective!(
            concat!("nvshmem_", $type, "_fcollect"),
            concat!("nvshmemx_", $type, "_fcollect_on_stream"),
            Kind::Fcollect,
            Element::$element.size()
        );
        collective!(
            concat!("nvshmem_", $type, "_alltoall"),
            concat!("nvshmemx_", $type, "_alltoall_on_stream"),
            Kind::Alltoall,
            Element::$element.size()
        );
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
