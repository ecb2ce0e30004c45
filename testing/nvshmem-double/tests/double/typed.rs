//! Functions of types, which no table has.

use std::ffi::c_int;

use ranks_nvshmem_sys::cudaStream_t;

use crate::processes::all_well;
use crate::support::{BOTH, int, own};

#[test]
fn values_of_a_type_go_and_come() {
    const TEST: &str = "typed::values_of_a_type_go_and_come";
    let Some(pe) = own() else {
        for release in BOTH {
            all_well(TEST, release, 2, &[]);
        }
        return;
    };
    type Put<T> = extern "C" fn(*mut T, T, c_int);
    type PutOnStream<T> = extern "C" fn(*mut T, T, c_int, cudaStream_t);
    type Get<T> = extern "C" fn(*const T, c_int) -> T;
    type Many<T> = extern "C" fn(*mut T, *const T, usize, c_int);
    type Waits<T> = extern "C" fn(*mut T, usize, *const c_int, c_int, *const T, cudaStream_t);
    type Amo = extern "C" fn(*mut i32, i32, c_int) -> i32;
    let (other, stream) = (int(1 - pe.my_pe), pe.stream());
    let floats = call!(pe, nvshmem_calloc(4, 8)).cast::<f64>();
    let shorts = call!(pe, nvshmem_calloc(4, 2)).cast::<i16>();
    let put: Put<f64> = pe.function("nvshmem_double_p");
    put(floats, 1.5 + f64::from(other), other);
    call!(pe, nvshmem_barrier_all());
    let get: Get<f64> = pe.function("nvshmem_double_g");
    assert_eq!(get(floats, int(pe.my_pe)), 1.5 + f64::from(int(pe.my_pe)));
    assert_eq!(get(floats, other), 1.5 + f64::from(other));
    let put: PutOnStream<i16> = pe.function("nvshmemx_short_p_on_stream");
    put(shorts, -3, other, stream);
    let many: Many<i16> = pe.function("nvshmem_int16_put_nbi");
    let pair = [5, 7];
    many(shorts.wrapping_add(2), pair.as_ptr(), 2, other);
    call!(pe, nvshmem_quiet());
    let waits: Waits<i16> = pe.function("nvshmemx_short_wait_until_all_vector_on_stream");
    // The second is left out.
    let (ignored, values) = ([0, 1, 0, 0], [-3, 99, 5, 7]);
    waits(shorts, 4, ignored.as_ptr(), 0, values.as_ptr(), stream);
    pe.sync();
    let add: Amo = pe.function("nvshmem_int_atomic_fetch_add");
    assert_eq!(add(floats.cast(), 1, other), 0);
    call!(pe, nvshmem_barrier_all());
    pe.end();
}
