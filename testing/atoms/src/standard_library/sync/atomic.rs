//! Atomics of loom that can be made by a constant expression, as those of the standard library.
//!
//! Loom has an atomic from its first use in an execution on. It takes that for a write that is no
//! atomic one, which all others have to come after: a model looks at what it shares before it
//! begins threads. To show it (`{:?}`) is such a look.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

pub use loom::sync::atomic::fence;
pub use std::sync::atomic::Ordering;

use super::execution;

/// An atomic of loom, and the execution in which it was made.
struct Made<A>(Mutex<Option<(u64, Arc<A>)>>);

impl<A> Made<A> {
    const fn not_yet() -> Self {
        Self(Mutex::new(None))
    }

    fn or_made(&self, make: impl FnOnce() -> A) -> Arc<A> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = execution::number();
        match &*made {
            Some((number, atomic)) if *number == now => Arc::clone(atomic),
            _ => {
                let atomic = Arc::new(make());
                *made = Some((now, Arc::clone(&atomic)));
                atomic
            }
        }
    }
}

macro_rules! atomics {
    ($($atomic:ident: $value:ty,)*) => {$(
        #[doc = concat!("`std::sync::atomic::", stringify!($atomic), "`, in a model.")]
        pub struct $atomic {
            first: $value,
            made: Made<loom::sync::atomic::$atomic>,
        }

        impl $atomic {
            /// An atomic of that value.
            #[must_use]
            pub const fn new(first: $value) -> Self {
                Self { first, made: Made::not_yet() }
            }

            fn get(&self) -> Arc<loom::sync::atomic::$atomic> {
                self.made.or_made(|| loom::sync::atomic::$atomic::new(self.first))
            }

            /// As that of the standard library.
            #[must_use]
            pub fn load(&self, order: Ordering) -> $value {
                self.get().load(order)
            }

            /// As that of the standard library.
            pub fn store(&self, value: $value, order: Ordering) {
                self.get().store(value, order);
            }

            /// As that of the standard library.
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                self.get().swap(value, order)
            }

            /// As that of the standard library.
            ///
            /// # Errors
            /// The value, if it is another one.
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.get().compare_exchange(current, new, success, failure)
            }

            /// As that of the standard library.
            ///
            /// # Errors
            /// The value, if `change` gives none.
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                self.get().fetch_update(set, fetch, change)
            }
        }

        impl fmt::Debug for $atomic {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.load(Ordering::Relaxed).fmt(f)
            }
        }
    )*};
}

macro_rules! integers {
    ($($atomic:ident: $value:ty,)*) => {
        atomics! { $($atomic: $value,)* }

        $(
            impl $atomic {
                /// As that of the standard library.
                pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                    self.get().fetch_add(value, order)
                }

                /// As that of the standard library.
                pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                    self.get().fetch_sub(value, order)
                }

                /// As that of the standard library.
                pub fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                    self.get().fetch_or(value, order)
                }

                /// As that of the standard library.
                pub fn fetch_max(&self, value: $value, order: Ordering) -> $value {
                    self.get().fetch_max(value, order)
                }
            }

            impl Default for $atomic {
                fn default() -> Self {
                    Self::new(0)
                }
            }
        )*
    };
}

atomics! {
    AtomicBool: bool,
}

integers! {
    AtomicU8: u8,
    AtomicU32: u32,
    AtomicU64: u64,
    AtomicUsize: usize,
}

impl Default for AtomicBool {
    fn default() -> Self {
        Self::new(false)
    }
}
