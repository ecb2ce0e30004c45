//! Atomic operations of the host, which print and do nothing: the library has no others.

use crate::double::pe;

/// Exports operations, whatever their arguments are. Those that return nothing return 0 to nobody.
macro_rules! stubs {
    ($type:ty: $($name:expr),* $(,)?) => {$(
        const _: () = {
            #[unsafe(export_name = $name)]
            extern "C" fn stub() -> $type {
                pe::live($name);
                eprintln!("nvshmem double: {} not implemented", $name);
                <$type>::default()
            }
        };
    )*};
}
#[allow(unused_imports, reason = "newer releases have more")]
pub(super) use stubs;

/// Those of every type.
macro_rules! exchanges {
    ($($name:literal: $type:ty),* $(,)?) => {$(
        stubs! { $type:
            concat!("nvshmem_", $name, "_atomic_fetch"),
            concat!("nvshmem_", $name, "_atomic_set"),
            concat!("nvshmem_", $name, "_atomic_swap"),
        }
    )*};
}

exchanges! {
    "double": f64, "float": f32, "int32": i32, "int64": i64, "int": i32, "long": i64, "longlong": i64,
    "ptrdiff": isize, "size": usize, "uint32": u32, "uint64": u64, "uint": u32, "ulong": u64, "ulonglong": u64,
}

/// Those of integers.
macro_rules! sums {
    ($($name:literal: $type:ty),* $(,)?) => {$(
        stubs! { $type:
            concat!("nvshmem_", $name, "_atomic_add"),
            concat!("nvshmem_", $name, "_atomic_inc"),
            concat!("nvshmem_", $name, "_atomic_fetch_add"),
            concat!("nvshmem_", $name, "_atomic_fetch_inc"),
            concat!("nvshmem_", $name, "_atomic_compare_swap"),
        }
    )*};
}

sums! {
    "int32": i32, "int64": i64, "int": i32, "long": i64, "longlong": i64, "ptrdiff": isize, "size": usize,
    "uint32": u32, "uint64": u64, "uint": u32, "ulong": u64, "ulonglong": u64,
}

/// Those of bits.
macro_rules! bits {
    ($($name:literal: $type:ty),* $(,)?) => {$(
        stubs! { $type:
            concat!("nvshmem_", $name, "_atomic_and"),
            concat!("nvshmem_", $name, "_atomic_or"),
            concat!("nvshmem_", $name, "_atomic_xor"),
            concat!("nvshmem_", $name, "_atomic_fetch_and"),
            concat!("nvshmem_", $name, "_atomic_fetch_or"),
            concat!("nvshmem_", $name, "_atomic_fetch_xor"),
        }
    )*};
}

bits! {
    "int32": i32, "int64": i64, "uint32": u32, "uint64": u64, "uint": u32, "ulong": u64, "ulonglong": u64,
}
