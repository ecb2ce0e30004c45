//! Heaps for tests: of threads, and of processes over the doubles.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::transmute;
use std::sync::OnceLock;
use std::thread;

use ranks_bootstrap::ThreadBootstrap;
use ranks_cuda::Cuda;
use ranks_load::{Candidate, Library};
use ranks_nvshmem::{HeapBackend, Nvshmem, NvshmemOptions};
use ranks_nvshmem_sys::NvshmemLibrary;

use crate::launched::{Folder, LONG, file_of, together};

/// Says to a process which double is its NVSHMEM.
const RELEASE: &str = "RANKS_TEST_NVSHMEM";

/// Which double.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Release {
    /// 3.8.0
    New,
    /// 3.4.5
    Old,
}

impl Release {
    /// Without variables.
    pub(crate) fn plain(self) -> Start<'static> {
        (self, &[])
    }

    fn file(self) -> &'static str {
        match self {
            Self::New => "nvshmem_double",
            Self::Old => "nvshmem_double_old",
        }
    }
}

/// The doubles of this process.
pub(crate) struct Doubles {
    pub(crate) library: &'static NvshmemLibrary,
    hooks: Library,
    cuda: Library,
}

/// The doubles of this process.
pub(crate) fn doubles() -> &'static Doubles {
    static DOUBLES: OnceLock<Doubles> = OnceLock::new();
    DOUBLES.get_or_init(|| {
        let named = std::env::var(RELEASE).unwrap_or_else(|_| Release::New.file().to_owned());
        let file = file_of(&named);
        let hooks = |file| {
            let candidate = Candidate::new(file, "the double");
            // SAFETY: nothing happens when a double is loaded.
            unsafe { Library::open("double", &[candidate], |_| Ok(())) }.unwrap()
        };
        let doubles = Doubles {
            // SAFETY: nothing happens when the double is loaded, and its functions do what
            // NVSHMEM's do.
            library: unsafe { NvshmemLibrary::open(&file) }.unwrap(),
            hooks: hooks(file),
            cuda: hooks(file_of("cuda_double")),
        };
        let driver = CString::new(file_of("cuda_double").to_str().unwrap()).unwrap();
        let hook = doubles.hook(c"nvshmemDouble_use_cuda");
        // SAFETY: the double's function has this type.
        let hook: unsafe extern "C" fn(*const c_char) -> c_int = unsafe { transmute(hook) };
        // SAFETY: the path is a C string, of a double.
        assert_eq!(unsafe { hook(driver.as_ptr()) }, 0);
        doubles
    })
}

/// The driver of this process.
pub(crate) fn driver() -> Cuda {
    // SAFETY: nothing happens when the double is loaded, and its functions do what the driver's do.
    unsafe { Cuda::open(file_of("cuda_double")) }.unwrap()
}

impl Doubles {
    fn hook(&self, name: &CStr) -> *mut c_void {
        self.hooks.own_symbol(name).unwrap().as_ptr()
    }

    /// What the double has counted.
    pub(crate) fn count(&self, name: &CStr) -> usize {
        count(&self.hooks, name)
    }

    /// The number of modules that are loaded.
    pub(crate) fn loaded_modules(&self) -> usize {
        count(&self.cuda, c"cudaDouble_live_modules")
    }

    /// The number of allocations of the driver's that are not freed.
    pub(crate) fn allocations(&self) -> usize {
        count(&self.cuda, c"cudaDouble_live_allocations")
    }

    /// From now on each device has so much memory.
    pub(crate) fn set_device_memory(&self, bytes: usize) {
        self.set(c"cudaDouble_set_device_memory", bytes);
    }

    /// From now on all streams are said to be captured, or none.
    pub(crate) fn set_capturing(&self, all: bool) {
        self.set(c"cudaDouble_set_capturing", all.into());
    }

    fn set(&self, name: &CStr, value: usize) {
        let hook = self.cuda.own_symbol(name).unwrap().as_ptr();
        // SAFETY: the double's functions that set something have this type.
        let hook: unsafe extern "C" fn(usize) = unsafe { transmute(hook) };
        // SAFETY: it may be called at any time.
        unsafe { hook(value) }
    }

    /// What must never happen.
    fn accuse(&self) {
        assert_eq!(self.count(c"nvshmemDouble_uses_after_free"), 0);
        assert_eq!(self.count(c"nvshmemDouble_mismatches"), 0);
        assert_eq!(self.count(c"nvshmemDouble_calls_after_finalize"), 0);
        assert_eq!(count(&self.cuda, c"cudaDouble_uses_after_free"), 0);
    }
}

fn count(double: &Library, name: &CStr) -> usize {
    let hook = double.own_symbol(name).unwrap().as_ptr();
    // SAFETY: the doubles' functions that count have this type.
    let hook: unsafe extern "C" fn() -> usize = unsafe { transmute(hook) };
    // SAFETY: it may be called at any time.
    unsafe { hook() }
}

/// The doubles, and a time limit that no test comes to.
pub(crate) fn options() -> NvshmemOptions {
    NvshmemOptions::new()
        .backend(HeapBackend::Library)
        .library(doubles().library)
        .cuda(driver())
        .time_limit(LONG)
}

/// A heap of threads, with a time limit that no test comes to.
pub(crate) fn in_process() -> NvshmemOptions {
    NvshmemOptions::new()
        .backend(HeapBackend::InProcess)
        .time_limit(LONG)
}

/// Does the same on so many ranks, which are threads; what came of it, in the order of ranks.
pub(crate) fn ranks<R: Send>(size: usize, body: impl Fn(&ThreadBootstrap) -> R + Sync) -> Vec<R> {
    let ranks = ThreadBootstrap::of(size, LONG).unwrap();
    let body = &body;
    thread::scope(|scope| {
        let begun: Vec<_> = ranks
            .into_iter()
            .map(|rank| scope.spawn(move || body(&rank)))
            .collect();
        begun.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

/// Does the same on so many PEs of a heap in process.
pub(crate) fn threads<R: Send>(size: usize, body: impl Fn(Nvshmem<'_>) -> R + Sync) -> Vec<R> {
    ranks(size, |rank| {
        body(Nvshmem::init(rank, &in_process()).unwrap())
    })
}

/// What a rank is started with.
pub(crate) type Start<'a> = (Release, &'a [(&'a str, &'a str)]);

/// Does the same on ranks that are processes, over doubles that nobody has begun.
pub(crate) fn bare(test: &str, ranks: &[Start<'_>], body: impl FnOnce(&Folder)) {
    let variables: Vec<Vec<(&str, &str)>> = ranks
        .iter()
        .map(|(release, variables)| [*variables, &[(RELEASE, release.file())]].concat())
        .collect();
    let each: Vec<&[(&str, &str)]> = variables.iter().map(Vec::as_slice).collect();
    together(test, &each, |folder| {
        body(folder);
        doubles().accuse();
    });
}

/// Does the same on PEs of a heap that are processes, over a double.
pub(crate) fn processes(
    test: &str,
    size: usize,
    release: Release,
    variables: &[(&str, &str)],
    body: impl FnOnce(Nvshmem<'_>),
) {
    bare(test, &vec![(release, variables); size], |folder| {
        body(Nvshmem::init(folder, &options()).unwrap());
    });
}
