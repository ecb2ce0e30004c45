//! Finds the driver and opens it, once.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use ranks_load::{Candidate, Library, LoadError};

use self::aside::Aside;
use crate::error::{Error, ErrorKind, Result};
use crate::table::{Code, MEMORY_DEVICE, MEMORY_HOST, POINTER_ATTRIBUTES, SUCCESS, Table};

pub use context::{Context, Entered};
pub use device::Device;
pub use event::Event;
pub(crate) use event::Unrecorded;
pub(crate) use pause::Pause;

mod aside;
mod context;
mod counted_list;
mod device;
mod event;
mod pause;

/// The name under which every program opens the driver.
const SONAME: &str = "libcuda.so.1";
/// The variable that names a file instead.
const VARIABLE: &str = "RANKS_CUDA";
const WHAT: &str = "CUDA driver";

/// The driver that [`Cuda::load`] has opened.
static LOADED: OnceLock<Cuda> = OnceLock::new();
/// Number of libraries there had been when [`Cuda::loaded`] found no driver among them.
static MISSED_AT: AtomicU64 = AtomicU64::new(0);
/// All that were opened: the same library twice is one driver.
static OPENED: Mutex<Vec<Cuda>> = Mutex::new(Vec::new());

/// An opened CUDA driver, which stays open until the process ends.
#[derive(Clone, Copy)]
pub struct Cuda(&'static Driver);

pub(crate) struct Driver {
    pub(crate) table: Table,
    path: PathBuf,
    version: i32,
    /// The primary contexts that are held, by ordinal.
    pub(crate) contexts: Mutex<Vec<(usize, Weak<context::Inner>)>>,
    /// Deferred frees of what was dropped while a device worked on it.
    pub(crate) aside: Aside,
}

/// A lock whose holder panicked holds valid data all the same: nothing between lock and unlock
/// panics half-way.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cuda {
    /// The driver of this process: the file that `$RANKS_CUDA` names; or else a `libcuda.so.1` that
    /// is in the process already, the dynamic linker's `libcuda.so.1`, its `libcuda.so`.
    ///
    /// It is looked for once; a failure is tried again at the next call.
    ///
    /// # Errors
    /// [`NotAvailable`](ErrorKind::NotAvailable), with [every file that was tried](Error::attempts)
    /// and the reason why it does not serve: it is not there, it lacks a function, or its `cuInit`
    /// finds no device.
    #[doc(alias = "cuInit")]
    pub fn load() -> Result<Cuda> {
        if let Some(cuda) = LOADED.get() {
            return Ok(*cuda);
        }
        let named = Candidate::named_by(WHAT, VARIABLE).map_err(Error::load)?;
        let cuda = match named {
            // SAFETY: whoever sets the variable vouches for the file, as for any library that the
            // program is started with.
            Some(file) => unsafe { Self::open_first(&[file]) },
            None => match Self::adopt() {
                Some(adopted) => adopted,
                // SAFETY: under these names lies NVIDIA's driver, whose initialisers may run in any
                // process.
                None => unsafe {
                    Self::open_first(&[
                        Candidate::new(SONAME, "the dynamic linker's search"),
                        Candidate::new("libcuda.so", "the dynamic linker's search"),
                    ])
                },
            },
        }
        .map_err(Error::load)?;
        Ok(*LOADED.get_or_init(|| cuda))
    }

    /// The driver that is in this process, whoever opened it, if there is one: without a driver, no
    /// address is that of a device.
    ///
    /// Nothing is opened anew. Once a driver was found this is one load of an atomic; where there
    /// is none, the dynamic linker is asked again when any library was loaded meanwhile.
    #[must_use]
    pub fn loaded() -> Option<Cuda> {
        if let Some(cuda) = LOADED.get() {
            return Some(*cuda);
        }
        // A program under miri has no dynamic linker that could be asked.
        if cfg!(miri) {
            return None;
        }
        let loads = Library::loads();
        if loads == Some(MISSED_AT.load(Ordering::Relaxed)) {
            return None;
        }
        let Some(Ok(cuda)) = Self::adopt() else {
            if let Some(loads) = loads {
                MISSED_AT.store(loads, Ordering::Relaxed);
            }
            return None;
        };
        Some(*LOADED.get_or_init(|| cuda))
    }

    /// Opens the driver in one file, which [`load`](Self::load) does not look for. The same file
    /// twice is the same driver.
    ///
    /// # Errors
    /// [`NotAvailable`](ErrorKind::NotAvailable) as for [`load`](Self::load).
    ///
    /// # Safety
    /// The file is a CUDA driver, or behaves as one: its functions have the signatures of `cuda.h`,
    /// and its initialisers may run in this process.
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Cuda> {
        let candidate = Candidate::new(path.as_ref(), "asked for by the program");
        // SAFETY: the caller vouches for the file.
        unsafe { Self::open_first(&[candidate]) }.map_err(Error::load)
    }

    /// The driver that somebody else has opened, or what is wrong with it.
    fn adopt() -> Option<Result<Cuda, LoadError>> {
        let library = Library::opened_as(SONAME)?;
        let refused = |reason| LoadError::refused(WHAT, reason);
        Some(Self::keep(library).map_err(refused))
    }

    /// # Safety
    /// The initialisers of the candidates may run in this process, and they are CUDA drivers.
    unsafe fn open_first(candidates: &[Candidate]) -> Result<Cuda, LoadError> {
        let usable = |library: &Library| init(&Table::of(library)?).map(|_| ());
        // SAFETY: the caller vouches for the candidates.
        let library = unsafe { Library::open(WHAT, candidates, usable) }?;
        Self::keep(library).map_err(|reason| LoadError::refused(WHAT, reason))
    }

    /// The driver of an open library: the one that was made of it before, or a new one.
    fn keep(mut library: Library) -> Result<Cuda, String> {
        library.locate(c"cuInit");
        let table = Table::of(&library)?;
        let version = init(&table)?;
        let mut opened = lock(&OPENED);
        let same = |cuda: &&Cuda| ptr::fn_addr_eq(cuda.0.table.cuInit, table.cuInit);
        if let Some(cuda) = opened.iter().find(same) {
            return Ok(*cuda);
        }
        // The library is never closed.
        let cuda = Self::of(table, library.path(), version);
        opened.push(cuda);
        Ok(cuda)
    }

    pub(crate) fn of(table: Table, path: &Path, version: i32) -> Cuda {
        Cuda(Box::leak(Box::new(Driver {
            path: path.to_path_buf(),
            table,
            version,
            contexts: Mutex::new(Vec::new()),
            aside: Aside::default(),
        })))
    }

    /// The newest CUDA that the driver supports, as NVIDIA writes it: 13000 is 13.0.
    #[must_use]
    #[doc(alias = "cuDriverGetVersion")]
    pub fn version(self) -> i32 {
        self.0.version
    }

    /// The file that it came from.
    #[must_use]
    pub fn path(self) -> &'static Path {
        &self.0.path
    }

    /// Number of devices.
    ///
    /// # Errors
    /// Errors of the driver.
    #[doc(alias = "cuDeviceGetCount")]
    pub fn device_count(self) -> Result<usize> {
        let mut count: c_int = 0;
        // SAFETY: the driver writes one int to the address of one.
        let code = unsafe { (self.table().cuDeviceGetCount)(&raw mut count) };
        self.check("cuDeviceGetCount", code)?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// The device of this number, from 0.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) if there are not so many; what the driver reports.
    #[doc(alias = "cuDeviceGet")]
    pub fn device(self, ordinal: usize) -> Result<Device> {
        Device::new(self, ordinal)
    }

    /// Returns the kind of memory that an address belongs to. Any address may be asked for: nothing
    /// is read there.
    ///
    /// # Errors
    /// Errors of the driver.
    #[doc(alias = "cuPointerGetAttributes")]
    #[doc(alias = "cuPointerGetAttribute")]
    pub fn attributes_of(self, address: *const c_void) -> Result<Memory> {
        let (mut kind, mut managed, mut ordinal) = (0u32, 0u32, -1i32);
        let mut attributes = POINTER_ATTRIBUTES;
        let mut places: [*mut c_void; 3] = [
            (&raw mut kind).cast(),
            (&raw mut managed).cast(),
            (&raw mut ordinal).cast(),
        ];
        // SAFETY: three attributes are asked for, each of which has four bytes, and there are as
        // many places.
        let code = unsafe {
            (self.table().cuPointerGetAttributes)(
                3,
                attributes.as_mut_ptr(),
                places.as_mut_ptr(),
                address.addr() as u64,
            )
        };
        self.check("cuPointerGetAttributes", code)?;
        Ok(match (kind, managed) {
            (MEMORY_HOST | MEMORY_DEVICE, 1) => Memory::Managed,
            (MEMORY_HOST, _) => Memory::Pinned,
            (MEMORY_DEVICE, _) => Memory::Device {
                ordinal: usize::try_from(ordinal).unwrap_or(0),
            },
            _ => Memory::Unknown,
        })
    }

    /// Frees what was dropped while a device worked on it, as far as that work is complete. Returns
    /// how much is left.
    ///
    /// It may wait for all that any device does, because the driver does so when memory is freed;
    /// what happens by itself does not: there, deferred frees are made at the next drop, allocation
    /// or [`wait`](crate::Enqueued::wait) that finds nothing pending, and at an allocation that
    /// would fail else.
    pub fn collect(self) -> usize {
        self.0.aside.collect(None)
    }

    pub(crate) fn table(self) -> &'static Table {
        &self.0.table
    }

    pub(crate) fn driver(self) -> &'static Driver {
        self.0
    }

    /// An error of `call` unless the code is that of success.
    #[inline]
    pub(crate) fn check(self, call: &'static str, code: Code) -> Result<()> {
        if code == SUCCESS {
            return Ok(());
        }
        Err(self.failure(call, code))
    }

    #[cold]
    pub(crate) fn failure(self, call: &'static str, code: Code) -> Error {
        let words = words(self.table(), code);
        Error::driver(call, code, words, (self.version(), self.path()))
    }

    /// An error unless `other`, which is to be used together with things of this driver, is of it
    /// too.
    pub(crate) fn check_same(self, other: Cuda, call: &'static str) -> Result<()> {
        if self == other {
            return Ok(());
        }
        Err(Error::refused(
            ErrorKind::Argument,
            call,
            format_args!(
                "things of two drivers cannot be used together: {} and {}",
                self.path().display(),
                other.path().display()
            ),
        ))
    }
}

impl PartialEq for Cuda {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl Eq for Cuda {}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cuda")
            .field("version", &self.version())
            .field("path", &self.path())
            .finish_non_exhaustive()
    }
}

/// The memory behind an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Memory {
    /// Memory that the driver knows nothing of: that of the host.
    Unknown,
    /// Memory of the host that stays where it is, so that devices can work on it.
    Pinned,
    /// Memory of a device.
    Device {
        /// The number of the device.
        ordinal: usize,
    },
    /// Memory that moves between host and devices by itself; both may work on it.
    Managed,
}

/// Starts a driver and asks for its version.
fn init(table: &Table) -> Result<i32, String> {
    let said = |call: &str, code: Code| {
        let (name, text) = words(table, code);
        format!("{call}: {text} ({name}, code {code})")
    };
    // SAFETY: any thread may call it, any number of times; no flag is defined but 0.
    let code = unsafe { (table.cuInit)(0) };
    if code != SUCCESS {
        return Err(said("cuInit", code));
    }
    let mut version = 0;
    // SAFETY: the driver writes one int to the address of one.
    let code = unsafe { (table.cuDriverGetVersion)(&raw mut version) };
    if code != SUCCESS {
        return Err(said("cuDriverGetVersion", code));
    }
    Ok(version)
}

/// The driver's name of a code, and what it says of it. An unknown code has neither.
fn words(table: &Table, code: Code) -> (String, String) {
    let ask = |function: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
        let mut text: *const c_char = ptr::null();
        // SAFETY: the driver writes one address to the address of one, or null for a code that it
        // does not know.
        let answer = unsafe { function(code, &raw mut text) };
        if answer != SUCCESS || text.is_null() {
            return None;
        }
        // SAFETY: the driver's texts are C strings that last as long as the driver.
        let text = unsafe { CStr::from_ptr(text) };
        Some(text.to_string_lossy().into_owned())
    };
    (
        ask(table.cuGetErrorName).unwrap_or_else(|| "unknown to the driver".into()),
        ask(table.cuGetErrorString).unwrap_or_else(|| "a failure".into()),
    )
}
