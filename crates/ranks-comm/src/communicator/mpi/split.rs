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
use crate::transport::mpi::communicator::{Comm, Group, Origin, is_between, return_errors};
use crate::transport::mpi::error::{check_with, library};
use crate::transport::mpi::info::InfoHandle;

impl Comm {
    pub(crate) fn dup(&self, parent: &Communicator) -> Result<Communicator> {
        self.make_one(parent, "MPI_Comm_dup", &mut |new| {
            // SAFETY: the communicator is alive, and the new handle is ours.
            unsafe { sys::MPI_Comm_dup(self.canonical, new) }
        })
    }

    pub(crate) fn dup_with_info(&self, parent: &Communicator, info: &Info) -> Result<Communicator> {
        let info = InfoHandle::new(info)?;
        self.make_one(parent, "MPI_Comm_dup_with_info", &mut |new| {
            // SAFETY: communicator and info are alive, and the new handle is ours.
            unsafe { sys::MPI_Comm_dup_with_info(self.canonical, info.canonical(), new) }
        })
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
        info: &Info,
    ) -> Result<Option<Communicator>> {
        const OPERATION: &str = "MPI_Comm_split_type";
        let kind = to_mpi(OPERATION, kind)?;
        let info = InfoHandle::new(info)?;
        self.make(parent, OPERATION, &mut |new| {
            // SAFETY: communicator and info are alive, and the new handle is ours.
            unsafe { sys::MPI_Comm_split_type(self.canonical, kind, key, info.canonical(), new) }
        })
    }

    /// Makes a communicator of the processes with these world ranks.
    pub(crate) fn create(
        &self,
        parent: &Communicator,
        world_ranks: &[usize],
    ) -> Result<Option<Communicator>> {
        let group = Group::of(sys::MPI_COMM_WORLD)?.include(world_ranks)?;
        self.make(parent, "MPI_Comm_create", &mut |new| {
            // SAFETY: communicator and group are alive, and the new handle is ours.
            unsafe { sys::MPI_Comm_create(self.canonical, group.0, new) }
        })
    }

    /// As [`make`](Self::make), where every rank gets one.
    pub(super) fn make_one(
        &self,
        parent: &Communicator,
        operation: &'static str,
        call: &mut dyn FnMut(*mut MPI_Comm) -> c_int,
    ) -> Result<Communicator> {
        let made = self.make(parent, operation, call)?;
        let nothing = "the library made no communicator";
        made.ok_or_else(|| Error::new(ErrorKind::Library, operation, nothing))
    }

    /// Frees the objects that all ranks have dropped, and makes a new communicator by `call`.
    pub(crate) fn make(
        &self,
        parent: &Communicator,
        operation: &'static str,
        call: &mut dyn FnMut(*mut MPI_Comm) -> c_int,
    ) -> Result<Option<Communicator>> {
        let mut made = || {
            let mut new = sys::MPI_COMM_NULL;
            let code = call(&raw mut new);
            check_with(code, operation, || self.session.without_room()).map(|()| new)
        };
        if self.children.of.is_unknown() {
            // Other handles of it have other children, on this rank or another.
            let new = made()?;
            let made = (new != sys::MPI_COMM_NULL).then(|| self.adopt_alone(new, parent));
            return made.transpose();
        }
        let done = self.children.done(self.session.are_at_rest());
        if !self.between {
            self.free_dropped(self, done)?;
        }
        let number = self.children.number();
        let new = made()?;
        if new == sys::MPI_COMM_NULL {
            return Ok(None);
        }
        self.children.is_alive(number);
        let siblings = Arc::clone(&self.children);
        let origin = Origin::Parent { siblings, number };
        let children = Children::of(self.children.of.child(number));
        let mut comm = self.adopt(new, children, self.session.key(), origin)?;
        if self.between {
            comm.between = is_between(new)?;
            // Messages of the program may be in flight between the groups; the new one has none
            // yet, and the same ranks.
            self.free_dropped(&comm, done)?;
        }
        let new = comm.into_communicator(parent.max_tag(), parent.recorder().origin());
        new.map(Some)
    }

    /// Wraps a communicator that the library has made.
    pub(super) fn adopt(
        &self,
        new: MPI_Comm,
        children: Children,
        key: u64,
        origin: Origin,
    ) -> Result<Self> {
        let session = Arc::clone(&self.session);
        let comm = Self::new(new, session, Arc::new(children), Some((key, origin)));
        return_errors(new).map(|()| comm)
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

/// The library's number of a kind. The kinds of split came with versions of the standard, each of
/// which has a function that shows its presence: the number of one may have another meaning in an
/// older library.
fn to_mpi(operation: &'static str, kind: Option<SplitType>) -> Result<c_int> {
    let since_4_0 = ("MPI_Info_get_string", "4.0");
    let since_4_1 = ("MPI_Get_hw_resource_info", "4.1");
    let (kind, (sign, version)) = match kind {
        None => return Ok(sys::MPI_UNDEFINED),
        Some(SplitType::Shared) => return Ok(sys::MPI_COMM_TYPE_SHARED),
        Some(SplitType::HwGuided) => (sys::MPI_COMM_TYPE_HW_GUIDED, since_4_0),
        Some(SplitType::HwUnguided) => (sys::MPI_COMM_TYPE_HW_UNGUIDED, since_4_0),
        Some(SplitType::ResourceGuided) => (sys::MPI_COMM_TYPE_RESOURCE_GUIDED, since_4_1),
    };
    if sys::function(sign).is_some_and(Function::is_in_library) {
        return Ok(kind);
    }
    let why = format_args!(
        "this kind of split is not in {}; it needs MPI {version}",
        library()
    );
    Err(Error::new(ErrorKind::NotInLibrary, operation, why))
}
