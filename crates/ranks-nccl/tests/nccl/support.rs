//! The doubles, ranks as threads, and tests that have a process to themselves.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::transmute;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use ranks_bootstrap::ThreadBootstrap;
use ranks_cuda::Cuda;
use ranks_load::{Candidate, Library};
use ranks_nccl::{NcclCommunicator, NcclOptions};
use ranks_nccl_sys::Nccl;

use crate::launched::together;
pub(crate) use crate::launched::{Folder, LONG, done, file_of, is_inside};

/// A limit that is meant to pass.
pub(crate) const SHORT: Duration = Duration::from_millis(150);

/// NCCL's code for a rank that cannot be reached any more.
pub(crate) const REMOTE_ERROR: c_int = 6;

/// The doubles, as far as tests ask them.
pub(crate) struct Doubles {
    pub(crate) nccl: &'static Nccl,
    hooks: Library,
}

/// The doubles of this process.
pub(crate) fn doubles() -> &'static Doubles {
    static DOUBLES: OnceLock<Doubles> = OnceLock::new();
    DOUBLES.get_or_init(|| Doubles::open(&file_of("nccl_double")))
}

/// The driver of this process.
pub(crate) fn driver() -> Cuda {
    // SAFETY: nothing happens when the double is loaded, and its functions do what the driver's do.
    unsafe { Cuda::open(file_of("cuda_double")) }.unwrap()
}

impl Doubles {
    fn open(nccl: &Path) -> Self {
        let driver = file_of("cuda_double");
        let candidate = Candidate::new(nccl, "the double");
        // SAFETY: nothing happens when a double is loaded.
        let hooks = unsafe { Library::open("double", &[candidate], |_| Ok(())) }.unwrap();
        let doubles = Self {
            // SAFETY: as above, and its functions do what NCCL's do.
            nccl: unsafe { Nccl::open(nccl) }.unwrap(),
            hooks,
        };
        doubles.use_cuda(&driver);
        doubles
    }

    /// A function of the double that is for tests.
    fn hook(&self, name: &CStr) -> *mut c_void {
        self.hooks.own_symbol(name).unwrap().as_ptr()
    }

    fn use_cuda(&self, driver: &Path) {
        let path = CString::new(driver.to_str().unwrap()).unwrap();
        let hook = self.hook(c"ncclDouble_use_cuda");
        // SAFETY: the double's function has this type.
        let hook: unsafe extern "C" fn(*const c_char) -> c_int = unsafe { transmute(hook) };
        // What it reports comes up again when a communicator is made.
        // SAFETY: the path is a C string, of a double.
        unsafe { hook(path.as_ptr()) };
    }

    fn count(&self, name: &CStr) -> usize {
        count(&self.hooks, name)
    }
}

fn count(double: &Library, name: &CStr) -> usize {
    let hook = double.own_symbol(name).unwrap().as_ptr();
    // SAFETY: the doubles' functions that count have this type.
    let hook: unsafe extern "C" fn() -> usize = unsafe { transmute(hook) };
    // SAFETY: it may be called at any time.
    unsafe { hook() }
}

/// How often memory of a device was freed that something was to work on.
fn freed_too_early() -> usize {
    count(&driver_hooks(), c"cudaDouble_uses_after_free")
}

/// From now on all streams are said to be captured, or none.
pub(crate) fn set_capturing(all: bool) {
    let hook = driver_hooks().own_symbol(c"cudaDouble_set_capturing");
    // SAFETY: the double's function has this type.
    let hook: unsafe extern "C" fn(usize) = unsafe { transmute(hook.unwrap().as_ptr()) };
    // SAFETY: it may be called at any time.
    unsafe { hook(all.into()) }
}

fn driver_hooks() -> Library {
    let candidate = Candidate::new(file_of("cuda_double"), "the double");
    // SAFETY: nothing happens when a double is loaded.
    unsafe { Library::open("double", &[candidate], |_| Ok(())) }.unwrap()
}

/// The number of communicators.
pub(crate) fn live() -> usize {
    doubles().count(c"ncclDouble_live_communicators")
}

/// Waits until no communicator is left: one that was dropped and is slow to end is put aside, and
/// looked at when another is asked for.
pub(crate) fn none_left() {
    let end = Instant::now() + LONG;
    while live() > 0 {
        assert!(Instant::now() < end, "{} communicators are left", live());
        // Looks for a GPU that is not there, and at what was put aside.
        NcclCommunicator::on_devices(&[99], &options()).unwrap_err();
        thread::sleep(Duration::from_millis(1));
    }
}

/// How often a communicator was used that was not there any more.
pub(crate) fn uses_after_free() -> usize {
    doubles().count(c"ncclDouble_uses_after_free")
}

/// The next call of this function fails.
pub(crate) fn fail_next(call: &str, code: c_int) {
    let call = CString::new(call).unwrap();
    let hook = doubles().hook(c"ncclDouble_fail_next");
    // SAFETY: the double's function has this type.
    let hook: unsafe extern "C" fn(*const c_char, c_int) = unsafe { transmute(hook) };
    // SAFETY: the name is a C string.
    unsafe { hook(call.as_ptr(), code) };
}

/// From now on calls go on for so long after they have returned.
pub(crate) fn set_delay(delay: Duration) {
    let hook = doubles().hook(c"ncclDouble_set_delay");
    // SAFETY: the double's function has this type.
    let hook: unsafe extern "C" fn(u64) = unsafe { transmute(hook) };
    // SAFETY: it may be called at any time.
    unsafe { hook(u64::try_from(delay.as_micros()).unwrap()) };
}

/// Something goes wrong that no call reports.
pub(crate) fn inject(comm: &NcclCommunicator, code: c_int) {
    let hook = doubles().hook(c"ncclDouble_inject_async_error");
    // SAFETY: the double's function has this type.
    let hook: unsafe extern "C" fn(*mut c_void, c_int) -> c_int = unsafe { transmute(hook) };
    // SAFETY: the double knows which handles are alive.
    assert_eq!(unsafe { hook(comm.raw(), code) }, 0);
}

/// The doubles, and a time limit that no test comes to.
pub(crate) fn options() -> NcclOptions {
    NcclOptions::new()
        .library(doubles().nccl)
        .cuda(driver())
        .time_limit(LONG)
}

/// A communicator of so many devices, all ranks of it.
pub(crate) fn on_devices(count: usize) -> Vec<NcclCommunicator> {
    let devices: Vec<usize> = (0..count).collect();
    NcclCommunicator::on_devices(&devices, &options()).unwrap()
}

/// Does the same for each, at the same time; what came of it, in their order.
pub(crate) fn each<T: Sync, R: Send>(all: &[T], body: impl Fn(&T) -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let begun: Vec<_> = all.iter().map(|one| scope.spawn(|| body(one))).collect();
        begun.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

/// Does the same on so many ranks, which are threads; what came of it, in the order of ranks.
pub(crate) fn threads<R: Send>(size: usize, body: impl Fn(&ThreadBootstrap) -> R + Sync) -> Vec<R> {
    each(&ThreadBootstrap::of(size, LONG).unwrap(), body)
}

/// Does a test in a process of its own, with these variables: what it counts and breaks is its own.
pub(crate) fn isolated(test: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    together(test, &[variables], |_| {
        body();
        assert_eq!((uses_after_free(), freed_too_early()), (0, 0));
    });
}

/// Does a test on ranks that are processes, with `variables` for each of them.
pub(crate) fn processes(test: &str, variables: &[&[(&str, &str)]], body: impl FnOnce(&Folder)) {
    together(test, variables, |folder| {
        body(folder);
        assert_eq!((uses_after_free(), freed_too_early()), (0, 0));
    });
}

/// A release that has nothing of what came after it.
pub(crate) fn old_nccl() -> &'static Nccl {
    static OLD: OnceLock<Doubles> = OnceLock::new();
    OLD.get_or_init(|| Doubles::open(&file_of("nccl_double_old")))
        .nccl
}
