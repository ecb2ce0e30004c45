//! The doubles, ranks as threads, and tests that have a process to themselves.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs;
use std::mem::transmute;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use ranks_collectives::nccl::{NcclCommunicator, NcclOptions};
use ranks_collectives::{Bootstrap, ThreadBootstrap};
use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::Cuda;
use ranks_load::{Candidate, Library};
use ranks_nccl_sys::Nccl;

/// How long anything may take that is to end well: no test waits for it.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// A limit that is meant to pass.
pub(crate) const SHORT: Duration = Duration::from_millis(150);

/// NCCL's code for a rank that cannot be reached any more.
pub(crate) const REMOTE_ERROR: c_int = 6;

/// Says to a process which test it is to do, and as which rank.
const INSIDE: &str = "RANKS_NCCL_TEST_INSIDE";

/// Where processes leave what they have to tell each other.
const FOLDER: &str = "RANKS_NCCL_TEST_FOLDER";

/// What a process says when its test is done.
const DONE: &str = "the test came to its end";

/// The doubles, as far as tests ask them.
pub(crate) struct Doubles {
    pub(crate) nccl: &'static Nccl,
    hooks: Library,
}

/// The file of a double, which cargo builds beside this program.
pub(crate) fn file_of(double: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    here.parent().unwrap().join(format!("lib{double}.so"))
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
    let candidate = Candidate::new(file_of("cuda_double"), "the double");
    // SAFETY: nothing happens when a double is loaded.
    let driver = unsafe { Library::open("double", &[candidate], |_| Ok(())) }.unwrap();
    count(&driver, c"cudaDouble_uses_after_free")
}

/// How many communicators there are.
pub(crate) fn live() -> usize {
    doubles().count(c"ncclDouble_live_communicators")
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
    each(&ThreadBootstrap::of(size, LONG), body)
}

/// Whether this process does one test alone.
pub(crate) fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Does a test in a process of its own, with these variables: what it counts and breaks is its own.
pub(crate) fn isolated(test: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    if !is_inside() {
        return finish(vec![again(test, 0, variables)]);
    }
    body();
    assert_eq!((uses_after_free(), freed_too_early()), (0, 0));
    done();
}

/// Does a test on ranks that are processes, with `variables` for each of them.
pub(crate) fn processes(test: &str, variables: &[&[(&str, &str)]], body: impl FnOnce(&Folder)) {
    let size = variables.len();
    if is_inside() {
        body(&Folder::of_this_process(size));
        assert_eq!((uses_after_free(), freed_too_early()), (0, 0));
        return done();
    }
    let name = test.replace(':', "-");
    let folder = std::env::temp_dir().join(format!("ranks-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.to_str().unwrap();
    let begin = |(rank, variables): (usize, &&[(&str, &str)])| {
        let variables = [*variables, &[(FOLDER, path)]].concat();
        again(test, rank, &variables)
    };
    let ranks = variables.iter().enumerate().map(begin).collect();
    let outcome = catch_unwind(AssertUnwindSafe(|| finish(ranks)));
    fs::remove_dir_all(&folder).unwrap();
    outcome.unwrap_or_else(|panic| resume_unwind(panic));
}

/// Says that the test was done, by this process at least.
#[allow(
    clippy::print_stdout,
    reason = "this is what the parent process looks for"
)]
pub(crate) fn done() {
    println!("{DONE}");
}

/// Starts a test anew, in a process of its own.
fn again(test: &str, rank: usize, variables: &[(&str, &str)]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--include-ignored", "--nocapture"])
        .env(INSIDE, rank.to_string())
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for processes to end well, and kills all of them when they do not in time.
fn finish(mut children: Vec<Child>) {
    let end = Instant::now() + 2 * LONG;
    let mut running = true;
    while running && Instant::now() < end {
        thread::sleep(Duration::from_millis(2));
        running = children
            .iter_mut()
            .any(|child| child.try_wait().unwrap().is_none());
    }
    let mut complaints = String::new();
    for (rank, mut child) in children.into_iter().enumerate() {
        if running {
            // One that has ended meanwhile is as good as killed.
            let _ = child.kill();
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        if !said.contains(DONE) {
            let errors = String::from_utf8_lossy(&output.stderr);
            complaints += &format!("process {rank}: {}\n{said}{errors}\n", output.status);
        }
    }
    assert!(!running, "it took too long\n{complaints}");
    assert!(complaints.is_empty(), "{complaints}");
}

/// Processes that tell each other something by files in a folder: to be seen whole, each is renamed when it is written.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    rank: usize,
    size: usize,
    exchanges: Cell<usize>,
}

impl Folder {
    fn of_this_process(size: usize) -> Self {
        let rank = std::env::var(INSIDE).unwrap().parse().unwrap();
        let path = std::env::var_os(FOLDER).unwrap().into();
        let exchanges = Cell::new(0);
        Self {
            path,
            rank,
            size,
            exchanges,
        }
    }
}

impl Bootstrap for Folder {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let number = self.exchanges.replace(self.exchanges.get() + 1);
        let of = |rank: usize| self.path.join(format!("{number}-{rank}"));
        let hidden = of(self.rank).with_extension("new");
        fs::write(&hidden, mine).unwrap();
        fs::rename(&hidden, of(self.rank)).unwrap();
        let end = Instant::now() + LONG;
        let read = |rank| loop {
            match fs::read(of(rank)) {
                Ok(words) => return Ok(words),
                Err(_) if Instant::now() < end => thread::sleep(Duration::from_millis(1)),
                Err(_) => {
                    let text = format_args!("rank {rank} does not come");
                    return Err(Error::new(ErrorKind::TimedOut, "exchange", text));
                }
            }
        };
        (0..self.size).map(read).collect()
    }
}

/// A release that has nothing of what came after it.
pub(crate) fn old_nccl() -> &'static Nccl {
    static OLD: OnceLock<Doubles> = OnceLock::new();
    OLD.get_or_init(|| Doubles::open(&file_of("nccl_double_old")))
        .nccl
}
