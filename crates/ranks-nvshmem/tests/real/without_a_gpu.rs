//! What a PE sees, whatever it has met the others over.

use ranks_bootstrap::Bootstrap;
use ranks_comm::{Error, ErrorKind};
use ranks_nvshmem::{HeapBackend, Nvshmem, NvshmemOptions};
use ranks_nvshmem_sys::{NVSHMEM_STATUS_IS_BOOTSTRAPPED, NVSHMEM_STATUS_NOT_INITIALIZED};

use crate::support::{LONG, driver, library, n_pes, status};

fn options() -> NvshmemOptions {
    NvshmemOptions::new()
        .backend(HeapBackend::Library)
        .time_limit(LONG)
}

/// All PEs have the same error.
fn is_the_same(bootstrap: &dyn Bootstrap, error: &Error) {
    let all = bootstrap.exchange(error.to_string().as_bytes()).unwrap();
    for other in all {
        assert_eq!(String::from_utf8(other).unwrap(), error.to_string());
    }
}

/// A PE whose driver, which is the double, has a GPU: NVSHMEM asks the machine's, and finds none.
pub(crate) fn the_library_finds_none(bootstrap: &dyn Bootstrap) {
    let options = options().cuda(driver());
    let error = Nvshmem::init(bootstrap, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Library, "{error}");
    let text = error.to_string();
    let version = format!("NVSHMEM {}", library().version());
    assert!(text.contains(&version), "{text}");
    is_the_same(bootstrap, &error);
    // It has come as far as the other processes.
    assert_eq!(status(), NVSHMEM_STATUS_IS_BOOTSTRAPPED);
    assert_eq!(n_pes(), bootstrap.size());

    // From now on nothing of it is called: most of it would end the process, its finalization above
    // all.
    let again = Nvshmem::init(bootstrap, &options).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Library, "{again}");
    assert!(again.to_string().contains("before"), "{again}");
    is_the_same(bootstrap, &again);
    let resumed = Nvshmem::resume(bootstrap).unwrap_err();
    assert_eq!(resumed.kind(), ErrorKind::NotAvailable, "{resumed}");
    assert_eq!(status(), NVSHMEM_STATUS_IS_BOOTSTRAPPED);
}

/// A PE of which `with` says whether it has a driver; at least one has none.
pub(crate) fn a_driver_is_missing(bootstrap: &dyn Bootstrap, with: bool) {
    let options = if with {
        options().cuda(driver())
    } else {
        options()
    };
    // Nothing has failed for good: it may be tried again.
    for _ in 0..2 {
        let error = Nvshmem::init(bootstrap, &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotAvailable, "{error}");
        is_the_same(bootstrap, &error);
    }
    // The library was not called: it would have waited for the one that does not come.
    assert_eq!(status(), NVSHMEM_STATUS_NOT_INITIALIZED);
}
