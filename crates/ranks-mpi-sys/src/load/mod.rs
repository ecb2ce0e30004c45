//! Opens an MPI library, tells its ABI, and fills the table.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use ranks_load::{Candidate, Library, LoadError};

use crate::abi::{mpich, openmpi, predefined};
use crate::fault_tolerance;
use crate::fill::fill;
use crate::function::functions;

#[doc(hidden)]
pub use open_mpi::open_mpi_version;
pub use relocate::Relocation;

mod open_mpi;
mod protocols;
mod relocate;

/// The ABI of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// The ABI of the MPI 5.0 standard (`libmpi_abi`).
    Standard,
    /// MPICH and the libraries with its ABI: Intel MPI, MVAPICH, Cray MPICH.
    Mpich,
    /// Open MPI and what is built from it.
    OpenMpi,
}

impl Family {
    /// The name as a person writes it.
    pub fn name(self) -> &'static str {
        match self {
            Family::Standard => "MPI standard ABI",
            Family::Mpich => "MPICH ABI",
            Family::OpenMpi => "Open MPI ABI",
        }
    }
}

/// The MPI library of this process.
#[derive(Debug)]
pub struct Loaded {
    // Kept open by being kept: it is in a static.
    library: Library,
    path: PathBuf,
    family: Family,
    version_text: String,
    name: String,
    standard: (c_int, c_int),
    intel: bool,
    adopted: bool,
    relocation: relocate::Relocation,
}

impl Loaded {
    /// Its ABI.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The file that it came from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first line of `MPI_Get_library_version`.
    pub fn version_text(&self) -> &str {
        self.version_text.lines().next().unwrap_or_default().trim()
    }

    /// All that the library says of itself: MPICH names its device and how it was built, in further
    /// lines.
    pub fn description(&self) -> &str {
        &self.version_text
    }

    /// Product and version in short, for messages: "Open MPI 5.0.11".
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version of the standard that it reports. What it can do is told by
    /// [`Function::is_in_library`](crate::Function::is_in_library), not by this.
    pub fn standard(&self) -> (i32, i32) {
        self.standard
    }

    /// Returns `true` if it is Intel's.
    pub fn is_intel(&self) -> bool {
        self.intel
    }

    /// Returns `true` if it is Open MPI, whichever ABI it is used through.
    pub fn is_openmpi(&self) -> bool {
        self.family == Family::OpenMpi || self.version_text.contains("Open MPI")
    }

    /// Returns `true` if it moves messages by ch3, the device of MPICH up to 3.4 and of what was
    /// made of it.
    pub fn has_ch3(&self) -> bool {
        self.version_text.contains("ch3:")
    }

    /// Returns whether it says that it takes addresses of the memory of GPUs of CUDA
    /// (`MPIX_Query_cuda_support`, or MPICH's `MPIX_GPU_query_support`, which are in no standard);
    /// `None` if it cannot be asked. Ask while it is initialised: MPICH ends the process that asks
    /// before.
    pub fn takes_gpu_memory(&self) -> Option<bool> {
        type Query = unsafe extern "C" fn() -> c_int;
        type QueryKind = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
        // MPICH 3.4's `MPIX_Query_cuda_support` ends the process if there was no error: it asserts
        // the opposite.
        if let Some(query) = self.library.own_symbol(c"MPIX_GPU_query_support") {
            // SAFETY: in every library that has a function of this name it has this signature.
            let query = unsafe { std::mem::transmute::<NonNull<c_void>, QueryKind>(query) };
            let mut is_supported: c_int = 0;
            // SAFETY: it writes one int to the address of one; 0 is `MPIX_GPU_SUPPORT_CUDA`.
            let code = unsafe { query(0, &raw mut is_supported) };
            return (code == 0).then_some(is_supported != 0);
        }
        let query = self.library.own_symbol(c"MPIX_Query_cuda_support")?;
        // SAFETY: in every library that has a function of this name it has this signature.
        let query = unsafe { std::mem::transmute::<NonNull<c_void>, Query>(query) };
        // SAFETY: it only reads what the library knows of itself.
        Some(unsafe { query() == 1 })
    }

    /// Returns whether it may find its ranks by PMIx: `false` only where it surely does not. MPICH
    /// does if it was built with a library for it.
    pub fn may_use_pmix(&self) -> bool {
        self.is_intel()
            || !self.version_text.contains("MPICH Version:")
            || protocols::mpich_has_pmix(&self.library)
    }

    /// Returns whether it may find its ranks by PMI-1 or PMI-2: `false` only where it surely does
    /// not. Open MPI gave them up with release 5.
    pub fn may_use_pmi(&self) -> bool {
        !self.is_openmpi()
            || protocols::open_mpi_may_have_pmi(&self.library, &self.name, &self.path)
    }

    /// Returns `true` if it was in the process before [`load()`]: linked, preloaded or opened by
    /// somebody else.
    pub fn adopted(&self) -> bool {
        self.adopted
    }

    /// The address of what the library has under a name that is not MPI's.
    pub(crate) fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        self.library.own_symbol(name)
    }

    /// The settings that were made so that a library outside of its usual place finds its files, if
    /// any.
    pub fn relocation(&self) -> &relocate::Relocation {
        &self.relocation
    }
}

static LOADED: OnceLock<Loaded> = OnceLock::new();
static FAMILY: AtomicU8 = AtomicU8::new(Family::Standard as u8);

/// The MPI library of this process, if [`load()`] has succeeded.
pub fn loaded() -> Option<&'static Loaded> {
    LOADED.get()
}

/// The family of the library; meaningless before [`load()`] has returned.
#[inline(always)]
pub(crate) fn family() -> Family {
    const MPICH: u8 = Family::Mpich as u8;
    const OPEN_MPI: u8 = Family::OpenMpi as u8;
    // Safe functions lead here while another thread is in `load`. Nothing else is read on the
    // strength of it.
    match FAMILY.load(Ordering::Relaxed) {
        MPICH => Family::Mpich,
        OPEN_MPI => Family::OpenMpi,
        _ => Family::Standard,
    }
}

/// Opens the first of `candidates` that is an MPI library of a known ABI, and fills the table.
///
/// A process has one MPI library: one that is in the process already is adopted and `candidates`
/// are not looked at, and later calls return what the first one loaded. After an error another list
/// may be tried.
///
/// # Errors
/// [`LoadError`] with every candidate and why it did not serve.
///
/// # Safety
/// To open a library runs code of it: each candidate is an MPI library, or another one whose
/// initialisers may run in this process.
pub unsafe fn load(candidates: &[Candidate]) -> Result<&'static Loaded, LoadError> {
    static LOADING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(loaded) = LOADED.get() {
        return Ok(loaded);
    }
    let (library, adopted) = match in_process() {
        Some(library) => (library, true),
        None => {
            // SAFETY: by this function's contract.
            let opened = unsafe {
                Library::open("MPI library", candidates, |library| {
                    family_of(library).map(drop)
                })
            };
            (opened?, false)
        }
    };
    let loaded =
        take(library, adopted).map_err(|reason| LoadError::refused("MPI library", reason))?;
    Ok(LOADED.get_or_init(|| loaded))
}

/// An MPI library that somebody brought into the process. A profiling tool has `MPI_` functions,
/// too, so what tells a library are its `PMPI_` functions and its data.
fn in_process() -> Option<Library> {
    const OF_A_LIBRARY: [&CStr; 3] = [c"PMPI_Init_thread", openmpi::MARK, mpich::MARK];
    const SONAMES: [&str; 5] = [
        "libmpi_abi.so.1",
        "libmpi_abi.so.0",
        "libmpi.so.40",
        "libmpi.so.12",
        "libmpich.so.12",
    ];
    let global = OF_A_LIBRARY
        .iter()
        .find_map(|symbol| Library::in_process(symbol));
    let library =
        global.or_else(|| SONAMES.iter().find_map(|soname| Library::opened_as(soname)))?;
    family_of(&library).is_ok().then_some(library)
}

/// Fills everything from an open library. Called once, under the lock of [`load()`].
fn take(mut library: Library, adopted: bool) -> Result<Loaded, String> {
    let family = family_of(&library)?;
    library.locate(c"MPI_Get_library_version");
    library.promote();
    let version_text = version_text(&library)?;
    let standard = standard(&library)?;
    let intel = version_text.contains("Intel(R) MPI") || library.own_symbol(INTEL).is_some();
    FAMILY.store(family as u8, Ordering::Relaxed);
    // SAFETY: one thread at a time is here, and nobody has seen `load` return.
    unsafe { predefined::fill(&library, family) };
    for function in functions().chain(fault_tolerance::FUNCTIONS) {
        // SAFETY: as above.
        unsafe { fill(function, &library, family) };
    }
    let path = library.path().to_path_buf();
    let relocation = if family == Family::OpenMpi && !adopted {
        relocate::openmpi(&path)
    } else {
        relocate::Relocation::NotNeeded
    };
    Ok(Loaded {
        name: product(&version_text),
        library,
        path,
        family,
        version_text,
        standard,
        intel,
        adopted,
        relocation,
    })
}

/// A function that Intel MPI has and nobody else.
const INTEL: &CStr = c"I_MPI_Check_image_status";

/// The ABI that the library has: by symbols and by one call, never by a version text.
fn family_of(library: &Library) -> Result<Family, String> {
    const NEEDED: [&CStr; 5] = [
        c"MPI_Init_thread",
        c"MPI_Finalize",
        c"MPI_Comm_rank",
        c"MPI_Get_library_version",
        c"MPI_Get_version",
    ];
    if let Some(absent) = NEEDED
        .iter()
        .find(|symbol| library.own_symbol(symbol).is_none())
    {
        return Err(format!(
            "it is no complete MPI library: it has no {}",
            absent.to_string_lossy()
        ));
    }
    if abi_version(library).is_some_and(|major| major >= 1) {
        // Intel MPI 2021.17 to 2021.19 claim version 1.0 and have a draft's numbers for eight
        // constants, ERRORS_RETURN and ERRORS_ABORT swapped among them: an error would end the
        // process.
        if library.own_symbol(INTEL).is_some() {
            return Err(
                "Intel's libmpi_abi has the constants of a draft of the standard ABI; \
                        its libmpi.so.12 serves"
                    .into(),
            );
        }
        return Ok(Family::Standard);
    }
    // Before MPI 5.0 was settled there were drafts of its ABI, with other constants.
    let name = library
        .path()
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    if name.starts_with("libmpi_abi") {
        return Err("it has a draft of the standard ABI, from before MPI 5.0".into());
    }
    if library.own_symbol(openmpi::MARK).is_some() {
        return Ok(Family::OpenMpi);
    }
    if library.own_symbol(mpich::MARK).is_some() {
        return Ok(Family::Mpich);
    }
    Err("its ABI is not known: neither the MPI standard's, nor MPICH's, nor Open MPI's".into())
}

/// The major version of the standard ABI that the library claims. Libraries of other ABIs have the
/// function, too, and answer −1.
fn abi_version(library: &Library) -> Option<c_int> {
    let address = library.own_symbol(c"MPI_Abi_get_version")?;
    // SAFETY: the standard gives the function of that name this type (MPI 5.0 §20.2).
    let call: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int =
        unsafe { std::mem::transmute(address.as_ptr()) };
    let (mut major, mut minor) = (-1, -1);
    // SAFETY: it may be called at any time and writes two ints.
    let code = unsafe { call(&raw mut major, &raw mut minor) };
    (code == crate::MPI_SUCCESS).then_some(major)
}

fn version_text(library: &Library) -> Result<String, String> {
    let address = library
        .own_symbol(c"MPI_Get_library_version")
        .ok_or("no MPI_Get_library_version")?;
    // SAFETY: the function of that name has this type in every ABI.
    let call: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int =
        unsafe { std::mem::transmute(address.as_ptr()) };
    // The longest of the families' MPI_MAX_LIBRARY_VERSION_STRING, and a zero.
    let mut text = [0u8; 8192 + 1];
    let mut length = 0;
    // SAFETY: it may be called at any time; the text is as long as any family's may be.
    unsafe { call(text.as_mut_ptr().cast(), &raw mut length) };
    let text = CStr::from_bytes_until_nul(&text).map_err(|_| "its version text has no end")?;
    Ok(text.to_string_lossy().into_owned())
}

fn standard(library: &Library) -> Result<(c_int, c_int), String> {
    let address = library
        .own_symbol(c"MPI_Get_version")
        .ok_or("no MPI_Get_version")?;
    // SAFETY: the function of that name has this type in every ABI.
    let call: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int =
        unsafe { std::mem::transmute(address.as_ptr()) };
    let (mut version, mut subversion) = (0, 0);
    // SAFETY: it may be called at any time and writes two ints.
    unsafe { call(&raw mut version, &raw mut subversion) };
    Ok((version, subversion))
}

/// Product and version in short, from a library's own text.
fn product(version_text: &str) -> String {
    let line = version_text.lines().next().unwrap_or_default().trim();
    let after = |mark: &str| line.split_once(mark).map(|(_, rest)| rest.trim_start());
    let word = |rest: &str| rest.split([' ', ',']).next().unwrap_or_default().to_owned();
    if let Some(rest) = after("Open MPI v") {
        format!("Open MPI {}", word(rest))
    } else if let Some(rest) = after("Intel(R) MPI Library") {
        format!("Intel MPI {}", word(rest))
    } else if let Some(rest) = after("MPICH Version:") {
        format!("MPICH {}", word(rest))
    } else {
        line.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::product;

    #[test]
    fn products_are_named_in_short() {
        assert_eq!(
            product("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"),
            "Open MPI 4.1.4"
        );
        assert_eq!(
            product("MPICH Version:      4.0.2\nMPICH Release date: x"),
            "MPICH 4.0.2"
        );
        assert_eq!(
            product("Intel(R) MPI Library 2021.19 for Linux* OS\n"),
            "Intel MPI 2021.19"
        );
        assert_eq!(product("Something Else 1"), "Something Else 1");
        assert_eq!(product(""), "");
    }
}
