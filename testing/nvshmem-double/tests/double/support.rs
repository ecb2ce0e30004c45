//! PEs: this program, started again.

use std::env;
use std::ffi::{c_int, c_void};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use ranks_cuda::{Context, Cuda, CudaStream, Stream as _};
use ranks_load::{Candidate, Library};
use ranks_nvshmem_sys::*;

/// Which PE a process is, of how many, of which release, and under which id.
pub(crate) const PE: &str = "NVSHMEM_DOUBLE_TEST_PE";
pub(crate) const PES: &str = "NVSHMEM_DOUBLE_TEST_PES";
pub(crate) const RELEASE: &str = "NVSHMEM_DOUBLE_TEST_RELEASE";
pub(crate) const ID: &str = "NVSHMEM_DOUBLE_TEST_ID";

/// The file names of the two releases.
pub(crate) const NEW: &str = "libnvshmem_double.so";
pub(crate) const OLD: &str = "libnvshmem_double_old.so";
pub(crate) const BOTH: [&str; 2] = [NEW, OLD];

pub(crate) fn beside(name: &str) -> PathBuf {
    let test = env::current_exe().expect("this program has a path");
    test.parent().expect("it lies in a folder").join(name)
}

pub(crate) fn open(release: &str) -> &'static NvshmemLibrary {
    // SAFETY: nothing happens when a double is loaded, and its functions do what NVSHMEM's do.
    unsafe { NvshmemLibrary::open(beside(release)) }.expect("the double")
}

/// Calls a function of the library of a PE.
macro_rules! call {
    ($pe:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        let function = $pe.library.table().$name.expect("it is there");
        // SAFETY: the test that calls it keeps the contract of the C function, or means not to.
        unsafe { function($($argument),*) }
    }};
}

/// The PE that this process is.
pub(crate) struct Pe {
    pub(crate) library: &'static NvshmemLibrary,
    pub(crate) my_pe: usize,
    pub(crate) n_pes: usize,
    pub(crate) context: Context,
    stream: CudaStream,
    driver: Library,
}

/// The PE that this process is, if it is one: it has come to the others.
pub(crate) fn own() -> Option<Pe> {
    let pe = own_before()?;
    assert_eq!(pe.init(), 0);
    assert!(call!(pe, nvshmemx_init_status()) >= 2);
    Some(pe)
}

/// The PE that this process is, if it is one, before its init.
pub(crate) fn own_before() -> Option<Pe> {
    let number = |name| env::var(name).ok()?.parse().ok();
    let (my_pe, n_pes) = (number(PE)?, number(PES)?);
    let library = open(&env::var(RELEASE).expect("a release"));
    let file = beside("libcuda_double.so");
    // SAFETY: the double is made for that.
    let cuda = unsafe { Cuda::open(&file) }.expect("the double");
    let device = cuda.device(my_pe).expect("a device");
    let context = device.context().expect("a context");
    let stream = context.stream().expect("a stream");
    let candidate = Candidate::new(file, "the double");
    // SAFETY: nothing happens when a double is loaded.
    let driver = unsafe { Library::open("CUDA", &[candidate], |_| Ok(())) }.expect("the double");
    Some(Pe {
        library,
        my_pe,
        n_pes,
        context,
        stream,
        driver,
    })
}

pub(crate) fn int(number: usize) -> c_int {
    c_int::try_from(number).expect("a small number")
}

impl Pe {
    /// Comes to the others on this PE's device; what the call returned.
    pub(crate) fn init(&self) -> c_int {
        let _entered = self.context.enter().expect("its context");
        self.init_with(|_| ())
    }

    /// Comes to the others with other attributes, on whichever device the thread has.
    pub(crate) fn init_with(&self, change: impl FnOnce(&mut nvshmemx_init_attr_t)) -> c_int {
        let id = env::var(ID).expect("an id");
        let mut bytes = [0; UNIQUEID_BYTES];
        for (place, byte) in bytes.iter_mut().zip(id.split(' ')) {
            *place = byte.parse().expect("a byte");
        }
        self.init_of(&nvshmemx_uniqueid_t::from_bytes(bytes), change)
    }

    /// Comes to the others of an id.
    pub(crate) fn init_of(
        &self,
        id: &nvshmemx_uniqueid_t,
        change: impl FnOnce(&mut nvshmemx_init_attr_t),
    ) -> c_int {
        let mut attr = self.library.attr();
        let code = call!(
            self,
            nvshmemx_set_attr_uniqueid_args(int(self.my_pe), int(self.n_pes), id, &raw mut attr)
        );
        assert_eq!(code, 0);
        change(&mut attr);
        // 8 is NVSHMEMX_INIT_WITH_UNIQUEID.
        call!(self, nvshmemx_hostlib_init_attr(8, &raw mut attr))
    }

    /// One of the double's counters.
    pub(crate) fn counted(&self, name: &str) -> usize {
        let count: extern "C" fn() -> usize = self.function(&format!("nvshmemDouble_{name}"));
        count()
    }

    /// A function of the double's, whose type the caller knows.
    pub(crate) fn function<F: Copy>(&self, name: &str) -> F {
        let candidate = Candidate::new(self.library.path(), "the double");
        // SAFETY: it is loaded already.
        let library = unsafe { Library::open("NVSHMEM", &[candidate], |_| Ok(())) };
        function(&library.expect("the double"), name)
    }

    /// One of the driver's counters.
    pub(crate) fn counted_by_cuda(&self, name: &str) -> usize {
        let count: extern "C" fn() -> usize = function(&self.driver, &format!("cudaDouble_{name}"));
        count()
    }

    /// The stream of a test, as C wants it.
    pub(crate) fn stream(&self) -> cudaStream_t {
        self.stream.raw().0.cast()
    }

    pub(crate) fn sync(&self) {
        self.stream.synchronize().expect("the stream");
    }

    /// Memory of the heap.
    pub(crate) fn alloc(&self, bytes: usize) -> *mut c_void {
        let memory = call!(self, nvshmem_malloc(bytes));
        assert!(!memory.is_null());
        memory
    }

    /// Copies to this PE's heap.
    pub(crate) fn write(&self, to: *mut c_void, bytes: &[u8]) {
        type Copy = extern "C" fn(u64, *const u8, usize) -> c_int;
        let copy: Copy = function(&self.driver, "cuMemcpyHtoD_v2");
        let _entered = self.context.enter().expect("its context");
        assert_eq!(copy(to.addr() as u64, bytes.as_ptr(), bytes.len()), 0);
        // It is staged, and no more; the default stream alone knows of it.
        let wait: extern "C" fn(usize) -> c_int = function(&self.driver, "cuStreamSynchronize");
        assert_eq!(wait(0), 0);
    }

    /// Copies from this PE's heap.
    pub(crate) fn read(&self, from: *const c_void, bytes: usize) -> Vec<u8> {
        type Copy = extern "C" fn(*mut u8, u64, usize) -> c_int;
        let copy: Copy = function(&self.driver, "cuMemcpyDtoH_v2");
        let _entered = self.context.enter().expect("its context");
        let mut read = vec![0; bytes];
        assert_eq!(copy(read.as_mut_ptr(), from.addr() as u64, bytes), 0);
        read
    }

    /// Holds the stream until the flag is set.
    pub(crate) fn hold(&self, until: &'static AtomicBool) {
        type Function = extern "C" fn(*mut c_void);
        type Launch = extern "C" fn(cudaStream_t, Function, *mut c_void) -> c_int;
        extern "C" fn wait(until: *mut c_void) {
            // SAFETY: the flag that was given, which is never gone.
            let until = unsafe { &*until.cast::<AtomicBool>() };
            while !until.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        }
        let launch: Launch = function(&self.driver, "cuLaunchHostFunc");
        let until = std::ptr::from_ref(until).cast_mut().cast();
        let _entered = self.context.enter().expect("its context");
        assert_eq!(launch(self.stream(), wait, until), 0);
    }

    /// The number of bytes of a context's device that this process has allocated.
    pub(crate) fn memory_in_use(&self, context: &Context) -> usize {
        type Info = extern "C" fn(&mut usize, &mut usize) -> c_int;
        let info: Info = function(&self.driver, "cuMemGetInfo_v2");
        let _entered = context.enter().expect("its context");
        let (mut free, mut total) = (0, 0);
        assert_eq!(info(&mut free, &mut total), 0);
        total - free
    }

    /// The end of a PE that is well.
    pub(crate) fn end(&self) {
        call!(self, nvshmemx_hostlib_finalize());
        assert_eq!(call!(self, nvshmemx_init_status()), 0);
    }
}

fn function<F: Copy>(library: &Library, name: &str) -> F {
    let name = std::ffi::CString::new(name).expect("a name");
    let address = library.own_symbol(&name).expect("it is there").as_ptr();
    assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
    // SAFETY: a function pointer is as large as an address, and the caller knows the function's
    // type.
    unsafe { std::mem::transmute_copy(&address) }
}
