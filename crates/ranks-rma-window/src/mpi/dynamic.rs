//! A window without memory of its own, to which memory is attached.

use std::any::Any;
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytemuck::Pod;
use ranks_comm::backend::{MpiComm, TypeOf, check, check_with};
use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Aint, native, open_mpi_version};

use super::window::{Elements, Memory, Window};
use crate::epoch::epochs::Epochs;
use crate::epoch::table::aint;

const ATTACH: &str = "MPI_Win_attach";
const DETACH: &str = "MPI_Win_detach";

/// The vectors that are attached to a window. Peers may access them until they are detached or the
/// window is freed; if it never is, they are leaked.
#[derive(Default)]
pub(super) struct Attachments(Mutex<HashMap<u64, ManuallyDrop<AttachedVec>>>);

/// A vector of plain data.
struct AttachedVec(Box<dyn Any>);

// SAFETY: it is a vector of elements that are plain bytes, for which it does not matter where they
// are freed.
unsafe impl Send for AttachedVec {}

impl Attachments {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, ManuallyDrop<AttachedVec>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees what is still attached to a window that is gone.
    pub(super) fn free(&self) {
        for (_, kept) in self.lock().drain() {
            drop(ManuallyDrop::into_inner(kept));
        }
    }
}

/// Returns true if the library keeps its lock of a window where an attach fails, so that whoever
/// attaches or detaches next waits for ever: Open MPI does.
pub(crate) fn keeps_its_lock_after_a_failure() -> bool {
    sys::loaded().is_some_and(sys::Loaded::is_openmpi)
}

impl Window<u8> {
    /// Makes a window without memory. Collective.
    pub(crate) fn create_dynamic(comm: &MpiComm, epochs: Arc<Epochs>) -> Result<Self> {
        let (first, len) = (NonNull::dangling(), 0);
        let child = Self::create(comm, Memory::Attached, epochs, |comm| {
            let mut win = sys::MPI_WIN_NULL;
            // SAFETY: the communicator is alive, the handle is ours.
            let code =
                unsafe { sys::MPI_Win_create_dynamic(sys::MPI_INFO_NULL, comm, &raw mut win) };
            check(code, "MPI_Win_create_dynamic")?;
            Ok((win, Elements { first, len }))
        })?;
        Ok(Self::of(child, 0))
    }

    /// Attaches `vec` under a number that is not in use. What is returned is the same window, seen
    /// as elements of `T`, and where they are for peers.
    pub(crate) fn attach<T: Pod>(
        &self,
        number: u64,
        mut vec: Vec<T>,
    ) -> Result<(Window<T>, usize)> {
        let attachments = self.attachments()?;
        let (len, bytes) = (vec.len(), size_of_val(vec.as_slice()));
        let first = NonNull::new(vec.as_mut_ptr()).unwrap_or(NonNull::dangling());
        let base = first.as_ptr().cast();
        if bytes > 0 {
            // SAFETY: the window is alive, and the memory is that of a vector which is kept until
            // it is detached.
            let code = unsafe { sys::MPI_Win_attach(self.canonical, base, aint(bytes)) };
            check_with(code, ATTACH, || {
                let library = sys::loaded().map_or("", |loaded| loaded.name());
                let most = match open_mpi_version(library) {
                    Some(_) => {
                        "; Open MPI attaches 64 vectors at a time: attach fewer that are longer"
                    }
                    None => "",
                };
                format!("{} on this rank{most}", Count(bytes, "byte"))
            })?;
        }
        let kept = ManuallyDrop::new(AttachedVec(Box::new(vec)));
        attachments.lock().insert(number, kept);
        let mut address: MPI_Aint = 0;
        if bytes > 0 {
            // SAFETY: the library is loaded, the number is ours.
            let code = unsafe { sys::MPI_Get_address(base.cast_const(), &raw mut address) };
            check(code, "MPI_Get_address")?;
        }
        let start = usize::try_from(address).map_err(|_| {
            let detail = format_args!("memory lies at {address}, which is below zero");
            Error::new(ErrorKind::Library, ATTACH, detail)
        })?;
        // SAFETY: the library is loaded, as it made the window.
        let datatype = unsafe { native::datatype(TypeOf::<T>::datatype()) };
        let elements = Elements { first, len };
        Ok((self.seen_as(datatype, elements, start), start))
    }

    /// Detaches what was attached under that number, which no peer accesses any more.
    pub(crate) fn detach<T: Pod>(&self, number: u64) -> Result<Vec<T>> {
        let mut attached = self.attachments()?.lock();
        let here = attached
            .get(&number)
            .and_then(|kept| kept.0.downcast_ref::<Vec<T>>());
        let Some(vec) = here else {
            let why = "nothing of that type is attached under that number";
            return Err(Error::new(ErrorKind::Argument, DETACH, why));
        };
        if size_of_val(vec.as_slice()) > 0 {
            // SAFETY: the window is alive, and the memory is attached to it.
            let code = unsafe { sys::MPI_Win_detach(self.canonical, vec.as_ptr().cast()) };
            check(code, DETACH)?;
        }
        let kept = attached.remove(&number).map(ManuallyDrop::into_inner);
        let vec = kept.and_then(|kept| kept.0.downcast().ok());
        Ok(vec.map(|vec| *vec).unwrap_or_default())
    }
}
