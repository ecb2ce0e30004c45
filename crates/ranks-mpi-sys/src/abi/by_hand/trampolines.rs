//! Callbacks that carry no state of their own: which of the caller's functions is meant follows
//! from which of our functions the library calls.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::code;
use crate::abi::Abi;

/// The number of different functions of the caller that can be registered.
pub(super) const POOL: usize = 128;

/// The caller's functions, by trampoline. A function keeps its place for as long as the process
/// lives: the library may call it even after the object that it was registered with is freed.
pub(super) struct Pool([AtomicPtr<()>; POOL]);

impl Pool {
    pub(super) const fn new() -> Self {
        Pool([const { AtomicPtr::new(ptr::null_mut()) }; POOL])
    }

    /// The place of a function, the same each time that it is registered.
    ///
    /// # Errors
    /// The library's code of `MPI_ERR_NO_MEM` if [`POOL`] other functions are registered.
    pub(super) fn place<A: Abi>(&self, function: *mut ()) -> Result<usize, std::ffi::c_int> {
        for (place, entry) in self.0.iter().enumerate() {
            let taken = entry.compare_exchange(
                ptr::null_mut(),
                function,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            if taken.is_ok() || taken == Err(function) {
                return Ok(place);
            }
        }
        Err(code::<A>(crate::MPI_ERR_NO_MEM))
    }

    /// The function at a place that [`Pool::place`] has given.
    pub(super) fn function(&self, place: usize) -> *mut () {
        self.0[place].load(Ordering::Acquire)
    }
}

/// `[f::<A, 0>, f::<A, 1>, …]`: one trampoline for each place of a pool.
macro_rules! trampolines {
    ($trampoline:ident::<$family:ident>, $type:ty) => {
        $crate::abi::by_hand::trampolines::trampolines!(
            @each $trampoline::<$family>, $type:
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
            33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61
            62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90
            91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114
            115 116 117 118 119 120 121 122 123 124 125 126 127
        )
    };
    (@each $trampoline:ident::<$family:ident>, $type:ty: $($place:literal)*) => {{
        let all: &[$type; $crate::abi::by_hand::trampolines::POOL] =
            const { &[$($trampoline::<$family, $place> as $type),*] };
        all
    }};
}
pub(super) use trampolines;
