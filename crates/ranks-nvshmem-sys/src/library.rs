//! An open NVSHMEM.

use std::ffi::{CStr, c_int};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use ranks_load::{Candidate, Library, Places, function};

use crate::generated::reductions::Element;
use crate::generated::table::Table;
use crate::generated::types::{nvshmem_team_config_t, nvshmemx_init_attr_t};
use crate::reduction::{self, Form, Operation, Reduction, ReductionOnStream, Reductions};
use crate::{Error, Version, initial, version};

/// The name, in errors, of the library that is looked for.
const WHAT: &str = "NVSHMEM library";

/// The places where it is looked for, by the name that every release of NVSHMEM 3 has.
const PLACES: Places = Places {
    soname: "libnvshmem_host.so.3",
    variable: "RANKS_NVSHMEM",
    home: "$NVSHMEM_HOME",
    package: "nvidia/nvshmem/lib",
};

/// The oldest release that serves: 3.1 ends the process when it is initialised by an id.
const NEEDED: &str = "3.2";

/// The release whose functions all must be there.
const REQUIRED: Version = Version::new(3, 1);

/// The function that shows that a library is an NVSHMEM.
const MARK: &CStr = c"nvshmemx_vendor_get_version_info";

/// An NVSHMEM library of this process. It is never closed.
#[derive(Debug)]
pub struct NvshmemLibrary {
    examined: Examined,
    reductions: Box<Reductions>,
    // Kept open by being kept.
    library: Library,
}

/// Those that are open, each file once.
static OPEN: Mutex<Vec<&'static NvshmemLibrary>> = Mutex::new(Vec::new());

/// The one of [`NvshmemLibrary::load`].
static LOADED: OnceLock<&'static NvshmemLibrary> = OnceLock::new();

impl NvshmemLibrary {
    /// The NVSHMEM of this process, found and opened by the first call.
    ///
    /// If `RANKS_NVSHMEM` names a file, or a folder with a library, it is that and nothing else.
    /// Otherwise it is the one that is in the process already, or the first that serves of:
    /// `libnvshmem_host.so.3` by the dynamic linker's search, the one in `$NVSHMEM_HOME`, those of
    /// Python packages in `$VIRTUAL_ENV` and `$CONDA_PREFIX`.
    ///
    /// # Errors
    /// [`Error::NotFound`] with everything that was tried, and why it did not serve;
    /// [`Error::NotNvshmem`], [`Error::TooOld`] or [`Error::Incomplete`] for a file that was named
    /// or a library that is in the process. A later call tries again.
    pub fn load() -> Result<&'static NvshmemLibrary, Error> {
        if let Some(library) = LOADED.get() {
            return Ok(library);
        }
        let library = find()?;
        Ok(LOADED.get_or_init(|| library))
    }

    /// The library in a file of which the caller knows that it is one.
    ///
    /// A file that is open already is the same [`NvshmemLibrary`].
    ///
    /// # Errors
    /// [`Error::NotFound`] if it cannot be opened, [`Error::NotNvshmem`], [`Error::TooOld`],
    /// [`Error::Incomplete`].
    ///
    /// # Safety
    /// The initialisers of the file may run in this process, and functions in it that have the
    /// names of NVSHMEM's do what NVSHMEM's do.
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<&'static NvshmemLibrary, Error> {
        let candidate = Candidate::new(path.as_ref(), "it was asked for");
        // SAFETY: the caller vouches for the file.
        let library = unsafe { Library::open(WHAT, &[candidate], |_| Ok(())) }?;
        Ok(keep(take(library)?))
    }

    /// The release that it is.
    #[doc(alias = "nvshmemx_vendor_get_version_info")]
    pub fn version(&self) -> Version {
        self.examined.version
    }

    /// The release that it is, in words: `3.8.0`.
    pub fn version_text(&self) -> String {
        self.version().to_string()
    }

    /// The major and the minor number of the OpenSHMEM specification that it follows, which say
    /// nothing of the release.
    #[doc(alias = "nvshmem_info_get_version")]
    pub fn spec_version(&self) -> (i32, i32) {
        let (mut major, mut minor): (c_int, c_int) = (0, 0);
        if let Some(get_version) = self.table().nvshmem_info_get_version {
            // SAFETY: it may be called at any time and writes two ints.
            unsafe { get_version(&raw mut major, &raw mut minor) };
        }
        (major, minor)
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

    /// The reduction of that form, operation and type; `None` if the library has none. The first
    /// call for each looks it up by name.
    #[inline]
    pub fn reduction(
        &self,
        form: Form,
        operation: Operation,
        element: Element,
    ) -> Option<Reduction> {
        self.reductions.now(&self.library, form, operation, element)
    }

    /// As [`reduction`](NvshmemLibrary::reduction): the one that is enqueued on a stream.
    #[inline]
    pub fn reduction_on_stream(
        &self,
        form: Form,
        operation: Operation,
        element: Element,
    ) -> Option<ReductionOnStream> {
        self.reductions
            .on_stream(&self.library, form, operation, element)
    }

    /// The attributes of an initialisation as this release wants them, without an id and without a
    /// device (`NVSHMEMX_INIT_ATTR_INITIALIZER`).
    #[doc(alias = "NVSHMEMX_INIT_ATTR_INITIALIZER")]
    pub fn attr(&self) -> nvshmemx_init_attr_t {
        initial::attr(self.attr_has_device())
    }

    /// Returns whether `cuda_device_id` of the attributes is looked at: from 3.5 on. Before, the
    /// device is the one that is bound to the thread.
    pub fn attr_has_device(&self) -> bool {
        initial::attr_has_device(self.version())
    }

    /// The settings of a team as this release wants them, all left to it
    /// (`NVSHMEM_TEAM_CONFIG_INITIALIZER`).
    #[doc(alias = "NVSHMEM_TEAM_CONFIG_INITIALIZER")]
    pub fn team_config(&self) -> nvshmem_team_config_t {
        initial::team_config(self.version())
    }

    /// Returns whether it has the function of that name.
    pub fn has(&self, function: &str) -> bool {
        version::since(function).is_some() && !self.examined.missing.contains(&function)
    }

    /// Says that a function is not in this library, and which release it takes: for errors.
    pub fn lacks(&self, function: &str) -> String {
        let (version, path) = (self.version(), self.path().display());
        let needs = version::since(function).unwrap_or("a release that is not known here");
        format!(
            "{function} is not in this NVSHMEM library ({version}, {path}); it needs NVSHMEM {needs}"
        )
    }

    /// As [`lacks`](NvshmemLibrary::lacks), of a reduction.
    pub fn lacks_reduction(
        &self,
        form: Form,
        operation: Operation,
        element: Element,
        on_stream: bool,
    ) -> String {
        let name = reduction::name(form, operation, element, on_stream);
        let (version, path) = (self.version(), self.path().display());
        format!("{name} is not in this NVSHMEM library ({version}, {path})")
    }
}

/// Looks for one.
fn find() -> Result<&'static NvshmemLibrary, Error> {
    if let Some(candidate) = PLACES.named(WHAT)? {
        // SAFETY: whoever sets the variable says that the file is an NVSHMEM, which is made to be
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
    // SAFETY: what has NVSHMEM's name in the places where NVSHMEM is installed is taken to be one.
    let library = unsafe { Library::open(WHAT, &PLACES.others(), accept) }?;
    Ok(keep(take(library)?))
}

/// The result of examining a library.
#[derive(Debug)]
struct Examined {
    version: Version,
    table: Table,
    missing: Vec<&'static str>,
}

impl Examined {
    /// Looks whether a library is an NVSHMEM, and new enough.
    fn of(library: &Library) -> Result<Examined, Error> {
        let path = || library.path().to_path_buf();
        let not_nvshmem = |reason: String| Error::NotNvshmem {
            path: path(),
            reason,
        };
        let version = version_of(library)
            .ok_or_else(|| not_nvshmem("it has no nvshmemx_vendor_get_version_info".to_owned()))?;
        if Version::of(NEEDED).is_some_and(|needed| version < needed) {
            return Err(Error::TooOld {
                path: path(),
                version,
                needs: NEEDED,
            });
        }
        if version.major != REQUIRED.major {
            return Err(not_nvshmem(format!("it is NVSHMEM {version}")));
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
        for &lacks in &missing {
            let since = version::since(lacks).unwrap_or_default();
            if Version::of(since) <= Some(REQUIRED) {
                return Err(Error::Incomplete {
                    path: path(),
                    version,
                    lacks,
                    since,
                });
            }
        }
        Ok(Examined {
            version,
            table,
            missing,
        })
    }
}

/// The release that a library says it is, if it does.
fn version_of(library: &Library) -> Option<Version> {
    // SAFETY: NVSHMEM's function of that name has this type in every release.
    let get_version: unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int) =
        unsafe { function(library.own_symbol(MARK)) }?;
    let mut version = Version::new(0, 0);
    let Version {
        major,
        minor,
        patch,
    } = &mut version;
    // SAFETY: it may be called at any time and writes three ints.
    unsafe { get_version(major, minor, patch) };
    Some(version)
}

/// Makes an [`NvshmemLibrary`] of an open library, if it is one and new enough.
fn take(mut library: Library) -> Result<NvshmemLibrary, Error> {
    library.locate(MARK);
    let examined = Examined::of(&library)?;
    Ok(NvshmemLibrary {
        examined,
        reductions: Reductions::new(),
        library,
    })
}

/// Keeps one for ever, unless its file is kept already.
fn keep(library: NvshmemLibrary) -> &'static NvshmemLibrary {
    let file = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let path = file(library.path());
    if let Some(known) = open.iter().find(|known| file(known.path()) == path) {
        return known;
    }
    let kept: &'static NvshmemLibrary = Box::leak(Box::new(library));
    open.push(kept);
    kept
}
