//! A driver of a test's own: a copy of the double's file is a library of its own, with its own
//! counters.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use ranks_cuda::{Context, Cuda, Stream};
use ranks_load::{Candidate, Library};

/// Longer than anything takes that does not hang.
const LONG: Duration = Duration::from_secs(20);

pub(crate) struct Double {
    pub(crate) cuda: Cuda,
    library: Library,
}

/// Path at which cargo has put the double: beside this test.
pub(crate) fn file() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let beside = test.parent().unwrap().join("libcuda_double.so");
    assert!(beside.is_file(), "{} is not built", beside.display());
    beside
}

/// A copy of it that this test alone has.
fn copy() -> PathBuf {
    static COPIES: AtomicUsize = AtomicUsize::new(0);
    let number = COPIES.fetch_add(1, Ordering::Relaxed);
    let name = format!("cuda-double-{}-{number}.so", std::process::id());
    let copy = std::env::temp_dir().join(name);
    std::fs::copy(file(), &copy).unwrap();
    copy
}

impl Double {
    pub(crate) fn new() -> Self {
        let file = copy();
        let double = Self::of(&file);
        // It is mapped, and needs no name any more.
        std::fs::remove_file(file).unwrap();
        double
    }

    pub(crate) fn of(file: &Path) -> Self {
        // SAFETY: the file is the double, which behaves as a driver.
        let cuda = unsafe { Cuda::open(file) }.unwrap();
        let candidate = [Candidate::new(file, "the double")];
        // SAFETY: it is open already.
        let library = unsafe { Library::open("double", &candidate, |_| Ok(())) }.unwrap();
        Double { cuda, library }
    }

    pub(crate) fn context(&self) -> Context {
        self.cuda.device(0).unwrap().context().unwrap()
    }

    fn number(&self, hook: &CStr) -> usize {
        let address = self.library.own_symbol(hook).unwrap();
        // SAFETY: the hooks that are named here have this signature.
        let function = unsafe {
            std::mem::transmute::<*mut std::ffi::c_void, extern "C" fn() -> usize>(address.as_ptr())
        };
        function()
    }

    fn set(&self, hook: &CStr, value: usize) {
        let address = self.library.own_symbol(hook).unwrap();
        // SAFETY: the hooks that are named here have this signature.
        let function = unsafe {
            std::mem::transmute::<*mut std::ffi::c_void, extern "C" fn(usize)>(address.as_ptr())
        };
        function(value);
    }

    pub(crate) fn allocations(&self) -> usize {
        self.number(c"cudaDouble_live_allocations")
    }

    pub(crate) fn pinned(&self) -> usize {
        self.number(c"cudaDouble_live_host_allocations")
    }

    pub(crate) fn modules(&self) -> usize {
        self.number(c"cudaDouble_live_modules")
    }

    pub(crate) fn launches(&self) -> usize {
        self.number(c"cudaDouble_launches")
    }

    pub(crate) fn uses_after_free(&self) -> usize {
        self.number(c"cudaDouble_uses_after_free")
    }

    /// Events, streams, contexts.
    pub(crate) fn others(&self) -> [usize; 3] {
        [
            self.number(c"cudaDouble_live_events"),
            self.number(c"cudaDouble_live_streams"),
            self.number(c"cudaDouble_live_contexts"),
        ]
    }

    pub(crate) fn set_devices(&self, count: usize) {
        self.set(c"cudaDouble_set_device_count", count);
    }

    pub(crate) fn set_memory(&self, bytes: usize) {
        self.set(c"cudaDouble_set_device_memory", bytes);
    }

    pub(crate) fn capturing(&self, all: bool) {
        self.set(c"cudaDouble_set_capturing", all.into());
    }

    pub(crate) fn set_delay(&self, microseconds: usize) {
        self.set(c"cudaDouble_set_delay", microseconds);
    }

    pub(crate) fn fail_next(&self, call: &str, code: c_int) {
        let address = self.library.own_symbol(c"cudaDouble_fail_next").unwrap();
        let name = CString::new(call).unwrap();
        // SAFETY: the hook has this signature.
        let function = unsafe {
            std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn(*const c_char, c_int)>(
                address.as_ptr(),
            )
        };
        // SAFETY: a C string.
        unsafe { function(name.as_ptr(), code) };
    }

    pub(crate) fn calls(&self, call: &str) -> usize {
        let address = self.library.own_symbol(c"cudaDouble_calls").unwrap();
        let name = CString::new(call).unwrap();
        // SAFETY: the hook has this signature.
        let function = unsafe {
            std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn(*const c_char) -> usize>(
                address.as_ptr(),
            )
        };
        // SAFETY: a C string.
        unsafe { function(name.as_ptr()) }
    }

    /// That nothing was freed too early, and all is freed when nobody has it any more.
    #[track_caller]
    pub(crate) fn is_empty(&self) {
        assert_eq!(self.cuda.collect(), 0, "put aside for ever");
        assert_eq!(self.uses_after_free(), 0, "freed while in use");
        assert_eq!((self.allocations(), self.pinned()), (0, 0), "not freed");
        assert_eq!(self.others(), [0; 3], "events, streams, contexts");
    }
}

/// Holds a stream until it is opened.
pub(crate) struct Gate(Sender<()>);

impl Gate {
    pub(crate) fn close(stream: &impl Stream) -> Gate {
        let (open, opened): (_, Receiver<()>) = channel();
        // If a test hangs because of the gate, it goes on at last and fails.
        let wait = move || {
            let _ = opened.recv_timeout(LONG);
        };
        stream.launch_host(Box::new(wait)).unwrap();
        Gate(open)
    }

    pub(crate) fn open(self) {
        self.0.send(()).unwrap();
    }
}
