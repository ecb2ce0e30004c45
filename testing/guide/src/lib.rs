//! The programs of README and guide: each block of Rust is a test of the documentation.
#![forbid(unsafe_code)]

macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {$(
        #[doc = include_str!(concat!("../../../", $path))]
        pub mod $name {}
    )*};
}

pages! {
    readme: "README.md",
    observing: "docs/guide/observing.md",
    after_a_crash: "docs/guide/after-a-crash.md",
    symmetric_heap: "docs/guide/symmetric-heap.md",
    device_kernels: "docs/guide/device-kernels.md",
}
