//! An open NCCL.

use std::ffi::{CStr, c_int, c_uint};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use ranks_load::{Candidate, Library, Places, function};

use crate::Error;
use crate::generated::table::Table;
use crate::generated::types::{
    NCCL_VERSION_CODE, ncclCommProperties_t, ncclConfig_t, ncclResult_t, ncclSuccess,
};
use crate::version::{self, version_text};

/// The name of the library in errors.
const WHAT: &str = "NCCL library";

/// The places where it is looked for, by the name that every release of NCCL 2 has.
const PLACES: Places = Places {
    soname: "libnccl.so.2",
    variable: "RANKS_NCCL",
    home: "$NCCL_HOME",
    package: "nvidia/nccl/lib",
};

/// The oldest release that serves.
const NEEDED: &str = "2.14";

/// An NCCL library of this process. It is never closed.
#[derive(Debug)]
pub struct Nccl {
    examined: Examined,
    // Kept open by being kept.
    library: Library,
}

/// Those that are open, each file once.
static OPEN: Mutex<Vec<&'static Nccl>> = Mutex::new(Vec::new());

/// The one of [`Nccl::load`].
static LOADED: OnceLock<&'static Nccl> = OnceLock::new();

impl Nccl {
    /// The NCCL of this process, found and opened by the first call.
    ///
    /// If `RANKS_NCCL` names a file, or a folder with a library, it is that and nothing else.
    /// Otherwise it is the one that is in the process already, or the first that serves of:
    /// `libnccl.so.2` by the dynamic linker's search, the one in `$NCCL_HOME`, those of Python
    /// packages in `$VIRTUAL_ENV` and `$CONDA_PREFIX`.
    ///
    /// # Errors
    /// [`Error::NotFound`] with everything that was tried, and why it did not serve;
    /// [`Error::NotNccl`] or [`Error::TooOld`] for a file that was named or a library that is in
    /// the process. A later call tries again.
    pub fn load() -> Result<&'static Nccl, Error> {
        if let Some(nccl) = LOADED.get() {
            return Ok(nccl);
        }
        let nccl = find()?;
        Ok(LOADED.get_or_init(|| nccl))
    }

    /// The library in a file of which the caller knows that it is one.
    ///
    /// A file that is open already is the same [`Nccl`].
    ///
    /// # Errors
    /// [`Error::NotFound`] if it cannot be opened, [`Error::NotNccl`], [`Error::TooOld`].
    ///
    /// # Safety
    /// The initialisers of the file may run in this process, and functions in it that have the
    /// names of NCCL's do what NCCL's do.
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<&'static Nccl, Error> {
        let candidate = Candidate::new(path.as_ref(), "it was asked for");
        // SAFETY: the caller vouches for the file.
        let library = unsafe { Library::open(WHAT, &[candidate], |_| Ok(())) }?;
        let library = take(library)?;
        Ok(keep(library))
    }

    /// Its version as a number: 23203 is 2.32.3.
    #[doc(alias = "ncclGetVersion")]
    pub fn version(&self) -> i32 {
        self.examined.version
    }

    /// Its version in words.
    pub fn version_text(&self) -> String {
        version_text(self.version())
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.library.path()
    }

    /// Its functions.
    #[inline]
    pub fn table(&self) -> &Table {
        &self.examined.table
    }

    /// The version for structs that are passed to it: its own, or that of the header that these
    /// structs are of, if that is older. A library refuses [`ncclCommProperties_t`] of a release
    /// that is later than itself.
    pub fn struct_version(&self) -> c_uint {
        self.version().min(NCCL_VERSION_CODE).unsigned_abs()
    }

    /// Settings of a communicator for this library, all left to it.
    #[doc(alias = "NCCL_CONFIG_INITIALIZER")]
    pub fn config(&self) -> ncclConfig_t {
        ncclConfig_t {
            version: self.struct_version(),
            ..ncclConfig_t::new()
        }
    }

    /// A place for the properties of a communicator of this library.
    #[doc(alias = "NCCL_COMM_PROPERTIES_INITIALIZER")]
    pub fn comm_properties(&self) -> ncclCommProperties_t {
        ncclCommProperties_t {
            version: self.struct_version(),
            ..ncclCommProperties_t::new()
        }
    }

    /// Returns `true` if it has the function of that name.
    pub fn has(&self, function: &str) -> bool {
        version::since(function).is_some() && !self.examined.missing.contains(&function)
    }

    /// Says that a function is not in this library, and which release it takes: for errors.
    pub fn lacks(&self, function: &str) -> String {
        let (version, path) = (self.version_text(), self.path().display());
        let needs = version::since(function).unwrap_or("a release that is not known here");
        format!("{function} is not in this NCCL library ({version}, {path}); it needs NCCL {needs}")
    }
}

/// Looks for one.
fn find() -> Result<&'static Nccl, Error> {
    if let Some(candidate) = PLACES.named(WHAT)? {
        // SAFETY: whoever sets the variable says that the file is an NCCL, which is made to be
        // loaded into processes.
        let library = unsafe { Library::open(WHAT, &[candidate], |_| Ok(())) }?;
        return Ok(keep(take(library)?));
    }
    let in_process = Library::in_process(MARK).or_else(|| Library::opened_as(PLACES.soname));
    if let Some(library) = in_process {
        return Ok(keep(take(library)?));
    }
    let accept = |library: &Library| {
        let examined = Examined::of(library).map_err(|error| error.to_string());
        examined.map(drop)
    };
    // SAFETY: what has NCCL's name in the places where NCCL is installed is taken to be one.
    let library = unsafe { Library::open(WHAT, &PLACES.others(), accept) }?;
    Ok(keep(take(library)?))
}

/// The function that shows that a library is an NCCL.
const MARK: &CStr = c"ncclGetVersion";

/// The version and the functions of a library.
#[derive(Debug)]
struct Examined {
    version: c_int,
    table: Table,
    missing: Vec<&'static str>,
}

impl Examined {
    /// Looks whether a library is an NCCL, and new enough.
    fn of(library: &Library) -> Result<Examined, Error> {
        let path = || library.path().to_path_buf();
        let not_nccl = |reason: String| Error::NotNccl {
            path: path(),
            reason,
        };
        // SAFETY: NCCL's function of that name has this type in every release.
        let get_version: Option<unsafe extern "C" fn(*mut c_int) -> ncclResult_t> =
            unsafe { function(library.own_symbol(MARK)) };
        let get_version =
            get_version.ok_or_else(|| not_nccl("it has no ncclGetVersion".to_owned()))?;
        let mut version = 0;
        // SAFETY: it may be called at any time and writes an int.
        let code = unsafe { get_version(&raw mut version) };
        if code != ncclSuccess {
            return Err(not_nccl(format!("its ncclGetVersion returns {code}")));
        }
        let mut missing = Vec::new();
        let find = |name: &'static CStr| {
            let address = library.own_symbol(name);
            if address.is_none() {
                missing.push(name.to_str().unwrap_or_default());
            }
            address
        };
        // SAFETY: the addresses are those of the library's own functions.
        let table = unsafe { Table::fill(find) };
        let needed = |name: &&&str| {
            version::since(name).and_then(version::number) <= version::number(NEEDED)
        };
        if let Some(lacks) = missing.iter().find(needed) {
            return Err(Error::TooOld {
                path: path(),
                version: version_text(version),
                lacks,
                needs: NEEDED,
            });
        }
        Ok(Examined {
            version,
            table,
            missing,
        })
    }
}

/// Makes an [`Nccl`] of an open library, if it is one and new enough.
fn take(mut library: Library) -> Result<Nccl, Error> {
    library.locate(MARK);
    let examined = Examined::of(&library)?;
    Ok(Nccl { examined, library })
}

/// Keeps one for ever, unless its file is kept already.
fn keep(nccl: Nccl) -> &'static Nccl {
    let file = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let path = file(nccl.path());
    if let Some(known) = open.iter().find(|known| file(known.path()) == path) {
        return known;
    }
    let kept: &'static Nccl = Box::leak(Box::new(nccl));
    open.push(kept);
    kept
}
