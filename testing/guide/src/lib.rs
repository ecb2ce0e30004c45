//! The programs of the READMEs and the guide: each block of Rust is a test of the documentation.
#![forbid(unsafe_code)]

macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {$(
        #[doc = include_str!(concat!("../../../", $path))]
        pub mod $name {}
    )*};
}

pages! {
    readme: "README.md",
    readme_of_ranks: "crates/ranks/README.md",
    readme_of_ranks_comm: "crates/ranks-comm/README.md",
    readme_of_ranks_collectives: "crates/ranks-collectives/README.md",
    readme_of_ranks_rma_window: "crates/ranks-rma-window/README.md",
    readme_of_ranks_nccl: "crates/ranks-nccl/README.md",
    readme_of_ranks_nvshmem: "crates/ranks-nvshmem/README.md",
    readme_of_ranks_raw: "crates/ranks-raw/README.md",
    readme_of_ranks_test: "crates/ranks-test/README.md",
    install: "docs/guide/install.md",
    first_program: "docs/guide/first-program.md",
    own_crate: "docs/guide/own-crate.md",
    messages: "docs/guide/messages.md",
    collectives: "docs/guide/collectives.md",
    requests_and_scopes: "docs/guide/requests-and-scopes.md",
    structs: "docs/guide/structs.md",
    layouts_and_halos: "docs/guide/layouts-and-halos.md",
    windows: "docs/guide/windows.md",
    node_shared: "docs/guide/node-shared.md",
    reproducible: "docs/guide/reproducible.md",
    gpus: "docs/guide/gpus.md",
    testing: "docs/guide/testing.md",
    examples: "docs/guide/examples.md",
    platforms: "docs/guide/platforms.md",
    environment: "docs/guide/environment.md",
    crates: "docs/guide/crates.md",
    observing: "docs/guide/observing.md",
    after_a_crash: "docs/guide/after-a-crash.md",
    symmetric_heap: "docs/guide/symmetric-heap.md",
    device_kernels: "docs/guide/device-kernels.md",
    from_rsmpi: "docs/guide/from-rsmpi.md",
    from_c: "docs/guide/from-c.md",
    from_mpi4py: "docs/guide/from-mpi4py.md",
    from_ferrompi: "docs/guide/from-ferrompi.md",
    running: "docs/guide/running.md",
    containers: "docs/guide/containers.md",
    when_it_hangs: "docs/guide/when-it-hangs.md",
    administrators: "docs/guide/administrators.md",
    performance: "docs/guide/performance.md",
    safety: "docs/guide/safety.md",
    interop: "docs/guide/interop.md",
    known_issues: "docs/guide/known-issues.md",
    faq: "docs/guide/faq.md",
}
