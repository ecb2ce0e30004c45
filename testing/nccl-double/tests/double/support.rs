//! The two doubles, and ranks that are threads.

use std::ffi::{CString, c_int, c_void};
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ranks_cuda::{Context, Cuda, CudaStream, DeviceVec, Stream as _};
use ranks_load::{Candidate, Library};
use ranks_nccl_sys::*;

/// What memory holds.
pub(crate) use bytemuck::Pod;

/// Held by tests that switch, or count, what all of this process see.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long anything may take that is to happen.
const LONG: Duration = Duration::from_secs(20);

fn beside(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this program has a path");
    test.parent().expect("it lies in a folder").join(name)
}

pub(crate) fn cuda() -> Cuda {
    static CUDA: OnceLock<Cuda> = OnceLock::new();
    // SAFETY: the double is made for that.
    *CUDA.get_or_init(|| unsafe { Cuda::open(beside("libcuda_double.so")) }.expect("the double"))
}

fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let file = Candidate::new(beside("libnccl_double.so"), "the double");
        // SAFETY: nothing happens when a double is loaded.
        unsafe { Library::open("NCCL", &[file], |_| Ok(())) }.expect("the double")
    })
}

/// One of the functions for tests, whose type the caller knows.
pub(crate) fn hook<F: Copy>(name: &str) -> F {
    let name = CString::new(name).expect("a name");
    let address = library().own_symbol(&name).expect("it is there").as_ptr();
    assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
    // SAFETY: a function pointer is as large as an address, and the caller knows the function's
    // type.
    unsafe { std::mem::transmute_copy(&address) }
}

/// One of the driver's counters.
pub(crate) fn counted_by_cuda(name: &str) -> usize {
    cuda();
    let name = CString::new(format!("cudaDouble_{name}")).expect("a name");
    let file = Candidate::new(beside("libcuda_double.so"), "the double");
    // SAFETY: nothing happens when a double is loaded.
    let library = unsafe { Library::open("CUDA", &[file], |_| Ok(())) }.expect("the double");
    let address = library.own_symbol(&name).expect("it is there").as_ptr();
    // SAFETY: all of the driver's counters have this type.
    let count: extern "C" fn() -> usize = unsafe { std::mem::transmute(address) };
    count()
}

/// One of the counters.
pub(crate) fn counted(name: &str) -> usize {
    hook::<extern "C" fn() -> usize>(&format!("ncclDouble_{name}"))()
}

/// Switches something.
pub(crate) fn set(name: &str, value: c_int) {
    hook::<extern "C" fn(c_int)>(&format!("ncclDouble_{name}"))(value);
}

/// Sets how long what goes on in the background waits before it begins.
pub(crate) fn set_delay(microseconds: u64) {
    hook::<extern "C" fn(u64)>("ncclDouble_set_delay")(microseconds);
}

/// The old double, told of the driver as well.
pub(crate) fn old() -> &'static Nccl {
    let path = beside("libnccl_double_old.so");
    // SAFETY: nothing happens when a double is loaded, and its functions do what NCCL's do.
    let old = unsafe { Nccl::open(&path) }.expect("the double");
    let file = Candidate::new(path, "the double");
    // SAFETY: as above.
    let library = unsafe { Library::open("NCCL", &[file], |_| Ok(())) }.expect("the double");
    tell_cuda(&library);
    old
}

fn tell_cuda(library: &Library) {
    cuda();
    let path = beside("libcuda_double.so");
    let path = CString::new(path.to_str().expect("a text")).expect("no zero");
    let address = library.own_symbol(c"ncclDouble_use_cuda");
    let address = address.expect("it is there").as_ptr();
    type UseCuda = extern "C" fn(*const std::ffi::c_char) -> c_int;
    // SAFETY: the double's function has this type.
    let use_cuda: UseCuda = unsafe { std::mem::transmute(address) };
    assert_eq!(use_cuda(path.as_ptr()), 0);
}

pub(crate) fn nccl() -> &'static Table {
    static TABLE: OnceLock<&'static Nccl> = OnceLock::new();
    static TOLD: Once = Once::new();
    TOLD.call_once(|| tell_cuda(library()));
    // SAFETY: as in `old`.
    let open = || unsafe { Nccl::open(beside("libnccl_double.so")) }.expect("the double");
    TABLE.get_or_init(open).table()
}

/// Calls a function of NCCL.
macro_rules! nccl {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let function = $crate::support::nccl().$name.expect("it is there");
        // SAFETY: the test that calls it keeps the contract of the C function.
        unsafe { function($($argument),*) }
    }};
}

pub(crate) fn unique_id() -> ncclUniqueId {
    let mut id = MaybeUninit::uninit();
    assert_eq!(nccl!(ncclGetUniqueId(id.as_mut_ptr())), 0);
    // SAFETY: the call has written it, since it succeeded.
    unsafe { id.assume_init() }
}

/// What one rank has. It crosses to the thread that works with it.
pub(crate) struct Rank {
    pub(crate) comm: ncclComm_t,
    pub(crate) context: Context,
    pub(crate) stream: CudaStream,
    pub(crate) rank: usize,
    pub(crate) size: usize,
}

// SAFETY: the library lets any thread use a communicator, and the double takes care of two at once.
unsafe impl Send for Rank {}
// SAFETY: as above.
unsafe impl Sync for Rank {}

impl Rank {
    /// A rank without a communicator, on the device of its number.
    pub(crate) fn without(size: usize, rank: usize) -> Self {
        let context = cuda()
            .device(rank)
            .and_then(|device| device.context())
            .expect("a context");
        let stream = context.stream().expect("a stream");
        Self {
            comm: null_mut(),
            context,
            stream,
            rank,
            size,
        }
    }

    pub(crate) fn raw(&self) -> cudaStream_t {
        self.stream.raw().0.cast()
    }

    /// Comes to the communicator of an id; what the call returned.
    pub(crate) fn init(&mut self, id: ncclUniqueId, config: Option<&mut ncclConfig_t>) -> c_int {
        let _entered = self.context.enter().expect("its context");
        let config = config.map_or(null_mut(), std::ptr::from_mut);
        let (size, rank) = (int(self.size), int(self.rank));
        nccl!(ncclCommInitRankConfig(
            &raw mut self.comm,
            size,
            id,
            rank,
            config
        ))
    }

    pub(crate) fn memory<T: Pod>(&self, values: &[T]) -> DeviceVec<T> {
        self.context.device_vec_of(values).expect("memory")
    }

    pub(crate) fn sync(&self) {
        self.stream.synchronize().expect("the stream");
    }

    /// Returns `true` if the stream has done everything.
    pub(crate) fn is_idle(&self) -> bool {
        self.stream.query().expect("the stream")
    }

    /// What the communicator says of itself.
    pub(crate) fn state(&self) -> c_int {
        let mut state = -1;
        assert_eq!(nccl!(ncclCommGetAsyncError(self.comm, &raw mut state)), 0);
        state
    }

    /// Waits until nothing is in progress any more.
    pub(crate) fn settled(&self) -> c_int {
        let since = Instant::now();
        loop {
            let state = self.state();
            if state != ncclInProgress {
                return state;
            }
            assert!(since.elapsed() < LONG, "still in progress");
            thread::yield_now();
        }
    }

    pub(crate) fn destroy(&self) {
        assert_eq!(nccl!(ncclCommDestroy(self.comm)), 0);
    }

    pub(crate) fn abort(&self) {
        assert_eq!(nccl!(ncclCommAbort(self.comm)), 0);
    }
}

pub(crate) fn int(number: usize) -> c_int {
    c_int::try_from(number).expect("a small number")
}

/// Address of memory of a device, as C wants it.
pub(crate) fn at<T: Pod>(memory: &DeviceVec<T>) -> *mut c_void {
    use ranks_cuda::DeviceSlice as _;
    let address = usize::try_from(memory.address()).expect("an address");
    std::ptr::without_provenance_mut(address)
}

/// Runs `body` on as many threads, each of them a rank with a communicator that blocks.
pub(crate) fn threads(size: usize, body: impl Fn(Rank) + Sync) {
    let id = unique_id();
    on_threads(size, |mut rank| {
        assert_eq!(rank.init(id, None), 0);
        body(rank);
    });
}

/// Runs `body` on as many threads, each of them a rank without a communicator.
pub(crate) fn on_threads(size: usize, body: impl Fn(Rank) + Sync) {
    nccl();
    thread::scope(|scope| {
        for rank in 0..size {
            let body = &body;
            scope.spawn(move || body(Rank::without(size, rank)));
        }
    });
}

/// Waits until something is so.
pub(crate) fn until(what: &str, condition: impl Fn() -> bool) {
    let since = Instant::now();
    while !condition() {
        assert!(since.elapsed() < LONG, "not {what} in time");
        thread::sleep(Duration::from_millis(1));
    }
}
