//! Construction of communicators from others.

use std::ffi::c_int;
use std::sync::Arc;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{Function, MPI_Comm};

use crate::communicator::Communicator;
use crate::communicator::split::SplitType;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::info::Info;
use crate::transport::join::Join;
use crate::transport::mpi::children::Children;
use crate::transport::mpi::communicator::{Comm, Group, Origin, return_errors};
use crate::transport::mpi::error::{check_with, library};
use crate::transport::mpi::info::InfoHandle;
use crate::transport::mpi::peer;

impl Comm {
    pub(crate) fn dup(&self, parent: &Communicator) -> Result<Communicator> {
        let made = self.make_as(parent, "MPI_Comm_dup", self.between, &mut |new| {
            // SAFETY: the communicator is alive, and the new handle is ours.
            unsafe { sys::MPI_Comm_dup(self.canonical, new) }
        })?;
        made.ok_or_else(|| nothing_made("MPI_Comm_dup"))
    }

    pub(crate) fn dup_with_info(&self, parent: &Communicator, info: &Info) -> Result<Communicator> {
        const OPERATION: &str = "MPI_Comm_dup_with_info";
        let info = InfoHandle::new(info)?;
        let made = self.make(parent, OPERATION, &mut |new| {
            // SAFETY: communicator and info are alive, and the new handle is ours.
            unsafe { sys::MPI_Comm_dup_with_info(self.canonical, info.canonical(), new) }
        })?;
        made.ok_or_else(|| nothing_made(OPERATION))
    }

    pub(crate) fn split(
        &self,
        parent: &Communicator,
        color: Option<i32>,
        key: i32,
    ) -> Result<Option<Communicator>> {
        let color = color.unwrap_or(sys::MPI_UNDEFINED);
        self.make(parent, "MPI_Comm_split", &mut |new| {
            // SAFETY: the communicator is alive, and the new handle is ours.
            unsafe { sys::MPI_Comm_split(self.canonical, color, key, new) }
        })
    }

    /// Splits by type. Collective in any case: a rank that passes no type takes part.
    pub(crate) fn split_type(
        &self,
        parent: &Communicator,
        kind: Option<SplitType>,
        key: i32,
        info: Option<&Info>,
    ) -> Result<Option<Communicator>> {
        const OPERATION: &str = "MPI_Comm_split_type";
        let kind = to_mpi(OPERATION, kind)?;
        let info = info.map(InfoHandle::new).transpose()?;
        let info = info
            .as_ref()
            .map_or(sys::MPI_INFO_NULL, InfoHandle::canonical);
        self.make(parent, OPERATION, &mut |new| {
            // SAFETY: communicator and info are alive, and the new handle is ours.
            unsafe { sys::MPI_Comm_split_type(self.canonical, kind, key, info, new) }
        })
    }

    /// Makes a communicator of the processes with these world ranks.
    pub(crate) fn create(
        &self,
        parent: &Communicator,
        world_ranks: &[usize],
    ) -> Result<Option<Communicator>> {
        let ranks: Vec<c_int> = world_ranks.iter().map(|&rank| peer::rank(rank)).collect();
        let group = Group::of(sys::MPI_COMM_WORLD)?.include(&ranks)?;
        self.make(parent, "MPI_Comm_create", &mut |new| {
            // SAFETY: communicator and group are alive, and the new handle is ours.
            unsafe { sys::MPI_Comm_create(self.canonical, group.0, new) }
        })
    }

    /// Frees the objects that all ranks have dropped, and makes a new communicator by `call`.
    pub(crate) fn make(
        &self,
        parent: &Communicator,
        operation: &'static str,
        call: &mut dyn FnMut(*mut MPI_Comm) -> c_int,
    ) -> Result<Option<Communicator>> {
        self.make_as(parent, operation, false, call)
    }

    /// As [`make`](Self::make), for one that may be an intercommunicator.
    fn make_as(
        &self,
        parent: &Communicator,
        operation: &'static str,
        between: bool,
        call: &mut dyn FnMut(*mut MPI_Comm) -> c_int,
    ) -> Result<Option<Communicator>> {
        let done = self.children.done(self.session.are_at_rest());
        if !self.between {
            self.free_dropped(self, done)?;
        }
        let number = self.children.number();
        let mut new = sys::MPI_COMM_NULL;
        check_with(call(&raw mut new), operation, || {
            self.session.without_room()
        })?;
        if new == sys::MPI_COMM_NULL {
            return Ok(None);
        }
        self.keep_child(parent, new, between, number, done)
            .map(Some)
    }

    /// The communicator of a handle that the library has made: child `number` of this one.
    fn keep_child(
        &self,
        parent: &Communicator,
        new: MPI_Comm,
        between: bool,
        number: u64,
        done: Option<u64>,
    ) -> Result<Communicator> {
        self.children.is_alive(number);
        let siblings = Arc::clone(&self.children);
        let origin = Origin::Parent { siblings, number };
        let children = Arc::new(Children::of(self.children.of.child(number)));
        let session = Arc::clone(&self.session);
        let mut comm = Comm::new(new, session, children, Some((self.session.key(), origin)));
        comm.between = between;
        return_errors(new)?;
        if self.between {
            // Messages of the program may be in flight between the groups; the new one has none
            // yet, and the same ranks.
            self.free_dropped(&comm, done)?;
        }
        comm.into_communicator(parent.max_tag(), parent.recorder().origin())
    }

    /// Frees the children that every rank has dropped; on this one those of `done`. The ranks agree
    /// over `over`. Collective.
    pub(crate) fn free_dropped(&self, over: &Self, done: Option<u64>) -> Result<()> {
        let Some(done) = done else {
            return Ok(());
        };
        let [done_by_all] = over.join_all([done], Join::And)?;
        let mut outcome = Ok(());
        for key in self.children.agree(done_by_all) {
            let freed = self.session.free(key);
            outcome = outcome.and(freed);
        }
        outcome
    }
}

#[cold]
pub(crate) fn nothing_made(operation: &'static str) -> Error {
    Error::new(
        ErrorKind::Library,
        operation,
        "the library made no communicator",
    )
}

/// The library's number of a kind. The kinds of split came with versions of the standard, each of
/// which has a function that shows its presence: the number of one may have another meaning in an
/// older library.
fn to_mpi(operation: &'static str, kind: Option<SplitType>) -> Result<c_int> {
    let (kind, sign, version) = match kind {
        None => return Ok(sys::MPI_UNDEFINED),
        Some(SplitType::Shared) => return Ok(sys::MPI_COMM_TYPE_SHARED),
        Some(SplitType::HwGuided) => (sys::MPI_COMM_TYPE_HW_GUIDED, "MPI_Info_get_string", "4.0"),
        Some(SplitType::HwUnguided) => {
            (sys::MPI_COMM_TYPE_HW_UNGUIDED, "MPI_Info_get_string", "4.0")
        }
        Some(SplitType::ResourceGuided) => (
            sys::MPI_COMM_TYPE_RESOURCE_GUIDED,
            "MPI_Get_hw_resource_info",
            "4.1",
        ),
    };
    if sys::function(sign).is_some_and(Function::is_in_library) {
        return Ok(kind);
    }
    Err(Error::new(
        ErrorKind::NotInLibrary,
        operation,
        format_args!(
            "this kind of split is not in {}; it needs MPI {version}",
            library()
        ),
    ))
}
