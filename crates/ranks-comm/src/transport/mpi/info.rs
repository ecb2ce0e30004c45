//! Info objects of the library.

use std::ffi::{CStr, CString, c_char, c_int};

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Comm, MPI_Info};

use super::communicator::Comm;
use super::error::{check, check_with};
use crate::call::checks::cut;
use crate::result::Result;
use crate::transport::info::Info;

/// More than `MPI_MAX_INFO_KEY` of any library.
const KEY: usize = 1024;

/// An info of the library, freed when dropped; freeing it is local.
#[derive(Debug)]
pub struct InfoHandle(MPI_Info);

impl InfoHandle {
    /// The library's copy of `info`. Only where the library is initialised: inside of an operation.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if a key or a value is longer than the
    /// library takes.
    pub fn new(info: &Info) -> Result<Self> {
        let mut handle = Self(sys::MPI_INFO_NULL);
        // SAFETY: the library is initialised, and the handle is ours.
        let code = unsafe { sys::MPI_Info_create(&raw mut handle.0) };
        check(code, "MPI_Info_create")?;
        for (name, text) in info.iter() {
            // Neither holds a zero byte, as `Info::set` has checked.
            let [key, value] = [name, text].map(|text| CString::new(text).unwrap_or_default());
            // SAFETY: the info is alive, and both texts end with a zero.
            let code = unsafe { sys::MPI_Info_set(handle.0, key.as_ptr(), value.as_ptr()) };
            check_with(code, "MPI_Info_set", || {
                let (beginning, bytes) = (cut(name, 40), name.len());
                format!(
                    "a key of {bytes} bytes ({beginning}) with a value of {}",
                    text.len()
                )
            })?;
        }
        Ok(handle)
    }

    /// The handle in the standard ABI.
    #[must_use]
    pub fn canonical(&self) -> MPI_Info {
        self.0
    }

    /// The info that a call has made.
    pub(crate) fn made(
        operation: &'static str,
        make: impl FnOnce(*mut MPI_Info) -> c_int,
    ) -> Result<Self> {
        let mut handle = Self(sys::MPI_INFO_NULL);
        check(make(&raw mut handle.0), operation)?;
        Ok(handle)
    }

    pub(crate) fn read(&self) -> Result<Info> {
        if self.0 == sys::MPI_INFO_NULL {
            return Ok(Info::new());
        }
        read(self.0)
    }
}

impl Drop for InfoHandle {
    fn drop(&mut self) {
        if self.0 != sys::MPI_INFO_NULL {
            // SAFETY: it was made by a call of the library and is freed once; a failure leaves
            // nothing to be done.
            unsafe { sys::MPI_Info_free(&raw mut self.0) };
        }
    }
}

impl Comm {
    /// The environment in which the process was started, as the library reports it.
    pub(crate) fn info_env(&self) -> Result<Info> {
        read(sys::MPI_INFO_ENV)
    }

    pub(crate) fn hw_resources(&self) -> Result<Info> {
        let handle = InfoHandle::made("MPI_Get_hw_resource_info", |info| {
            // SAFETY: the library is initialised, and the handle is ours.
            unsafe { sys::MPI_Get_hw_resource_info(info) }
        })?;
        handle.read()
    }

    pub(crate) fn set_info(&self, info: &Info) -> Result<()> {
        let info = InfoHandle::new(info)?;
        // SAFETY: communicator and info are alive.
        let code = unsafe { sys::MPI_Comm_set_info(self.canonical, info.0) };
        self.claims.hints_have_changed();
        check(code, "MPI_Comm_set_info")
    }

    pub(crate) fn info(&self) -> Result<Info> {
        // SAFETY: the communicator is alive.
        unsafe { hints_of(self.canonical) }
    }
}

/// The hints of a communicator that the library uses.
///
/// # Safety
/// The communicator is alive.
pub(crate) unsafe fn hints_of(comm: MPI_Comm) -> Result<Info> {
    let handle = InfoHandle::made("MPI_Comm_get_info", |info| {
        // SAFETY: the communicator is alive, and the handle is ours.
        unsafe { sys::MPI_Comm_get_info(comm, info) }
    })?;
    handle.read()
}

/// All keys with their values.
fn read(info: MPI_Info) -> Result<Info> {
    let mut count: c_int = 0;
    // SAFETY: the info is alive, and the number is ours.
    let code = unsafe { sys::MPI_Info_get_nkeys(info, &raw mut count) };
    check(code, "MPI_Info_get_nkeys")?;
    let mut all = Info::new();
    for n in 0..count {
        let mut key = [0u8; KEY];
        // SAFETY: there are more than `n` keys, and the text has more room than any library asks
        // for.
        let code = unsafe { sys::MPI_Info_get_nthkey(info, n, key.as_mut_ptr().cast()) };
        check(code, "MPI_Info_get_nthkey")?;
        let key = CStr::from_bytes_until_nul(&key).unwrap_or_default();
        if let Some(value) = value(info, key)? {
            all.put(&key.to_string_lossy(), &value);
        }
    }
    Ok(all)
}

/// The value of a key; `None` if it has none.
fn value(info: MPI_Info, key: &CStr) -> Result<Option<String>> {
    const OPERATION: &str = "MPI_Info_get_string";
    // MPICH 4.0.2 refuses a null pointer, although nothing is to be written.
    let (code, room, found) = get_string(info, key, &mut []);
    if sys::missing(code).is_some() {
        return value_before_4(info, key);
    }
    check(code, OPERATION)?;
    if !found {
        return Ok(None);
    }
    let mut text = zeros(room);
    let (code, _, found) = get_string(info, key, &mut text);
    check(code, OPERATION)?;
    Ok(found.then(|| to_text(&text)))
}

/// Writes as much of the value as there is room for; returns the library's code, the room that it
/// needs, and whether there is one.
fn get_string(info: MPI_Info, key: &CStr, text: &mut [u8]) -> (c_int, c_int, bool) {
    let (mut room, mut found): (c_int, c_int) = (c_int::try_from(text.len()).unwrap_or(0), 0);
    let place = text.as_mut_ptr().cast::<c_char>();
    // SAFETY: info and key are alive; `text` has the room; room and flag are ours.
    let code = unsafe {
        sys::MPI_Info_get_string(info, key.as_ptr(), &raw mut room, place, &raw mut found)
    };
    (code, room, found != 0)
}

/// The value of a key, before MPI 4.0.
fn value_before_4(info: MPI_Info, key: &CStr) -> Result<Option<String>> {
    let (mut length, mut found): (c_int, c_int) = (0, 0);
    // SAFETY: info and key are alive; length and flag are ours.
    let code =
        unsafe { sys::MPI_Info_get_valuelen(info, key.as_ptr(), &raw mut length, &raw mut found) };
    check(code, "MPI_Info_get_valuelen")?;
    if found == 0 {
        return Ok(None);
    }
    let mut text = zeros(length);
    // SAFETY: info and key are alive; `text` has room for the value and its zero.
    let code = unsafe {
        sys::MPI_Info_get(
            info,
            key.as_ptr(),
            length,
            text.as_mut_ptr().cast::<c_char>(),
            &raw mut found,
        )
    };
    check(code, "MPI_Info_get")?;
    Ok((found != 0).then(|| to_text(&text)))
}

/// Room for `length` bytes and a zero.
fn zeros(length: c_int) -> Vec<u8> {
    vec![0; usize::try_from(length).unwrap_or(0) + 1]
}

/// The text before the first zero.
pub(crate) fn to_text(bytes: &[u8]) -> String {
    let text = CStr::from_bytes_until_nul(bytes).unwrap_or_default();
    text.to_string_lossy().into_owned()
}
