//! Construction of communicators from others. All of these are collective: every rank of the old
//! communicator calls them.

use std::sync::Arc;

use ranks_launch::Count;

use crate::call::identity::digest;
use crate::communicator::Communicator;
use crate::communicator::group::Group;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::info::Info;

/// The property that the ranks of one part share after [`Communicator::split_type`].
///
/// MPI 5.0 §7.4.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SplitType {
    /// They can share memory: they are on one node.
    #[doc(alias = "MPI_COMM_TYPE_SHARED")]
    Shared,
    /// They share the kind of hardware that the info names under `mpi_hw_resource_type`. Since MPI
    /// 4.0.
    #[doc(alias = "MPI_COMM_TYPE_HW_GUIDED")]
    HwGuided,
    /// They share a kind of hardware that not all ranks of the communicator share: the next level
    /// down. Since MPI 4.0.
    #[doc(alias = "MPI_COMM_TYPE_HW_UNGUIDED")]
    HwUnguided,
    /// They share the resource that the info names under `mpi_hw_resource_type` or `mpi_pset_name`.
    /// Since MPI 4.1.
    #[doc(alias = "MPI_COMM_TYPE_RESOURCE_GUIDED")]
    ResourceGuided,
}

impl Communicator {
    /// Duplicates the communicator: the new one has the same ranks and a context of its own.
    ///
    /// Attributes are copied according to their [keys](crate::AttributeKey); name and hints are
    /// not.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §7.4.2 (`MPI_Comm_dup`).
    #[doc(alias = "MPI_Comm_dup")]
    pub fn dup(&self) -> Result<Self> {
        self.dup_by("MPI_Comm_dup")
    }

    /// The communicator that what `operation` makes has to itself; it has the
    /// [time limit](Self::set_time_limit) of this one.
    #[doc(hidden)]
    pub fn dup_for(&self, operation: &'static str) -> Result<Self> {
        let new = self.dup_by(operation)?;
        new.set_time_limit(self.0.limit.get().map(|limit| limit.duration))?;
        Ok(new)
    }

    /// The communicator that an operation on this one has to itself, which shares its time limit.
    pub(crate) fn dup_with_limit(&self, operation: &'static str) -> Result<Self> {
        let new = self.dup_by(operation)?;
        Ok(new.amended(|inner| inner.limit = Arc::clone(&self.0.limit)))
    }

    /// A duplicate that is a part of `operation`, under whose name the ranks compare their calls.
    fn dup_by(&self, operation: &'static str) -> Result<Self> {
        let new = self.dispatch_agreed(
            "MPI_Comm_dup",
            || self.all_call(operation, Ok(())),
            |comm, ()| comm.dup(self),
            |comm, ()| comm.dup().map(Self::in_process),
        )?;
        Ok(self.inherited_by(new))
    }

    /// As [`dup`](Self::dup), with hints for the new communicator.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if a key or a value is longer than the library takes; what the
    /// library reports.
    ///
    /// MPI 5.0 §7.4.2 (`MPI_Comm_dup_with_info`).
    #[doc(alias = "MPI_Comm_dup_with_info")]
    pub fn dup_with_info(&self, info: &Info) -> Result<Self> {
        let new = self.dispatch_together(
            "MPI_Comm_dup_with_info",
            Ok(()),
            |comm| comm.dup_with_info(self, info),
            |comm| {
                let new = comm.dup()?;
                new.set_info(info);
                Ok(Self::in_process(new))
            },
        )?;
        Ok(self.inherited_by(new))
    }

    /// Gives a duplicate its attributes.
    fn inherited_by(&self, new: Self) -> Self {
        let attributes = Arc::new(self.0.attributes.for_duplicate());
        new.amended(|inner| inner.attributes = attributes)
    }

    /// Makes one communicator for each color, in which ranks are ordered by `key`, then by rank
    /// here.
    ///
    /// A rank that passes `None` for the color gets `None`.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if the color is negative; what the library reports.
    ///
    /// MPI 5.0 §7.4.2 (`MPI_Comm_split`).
    #[doc(alias = "MPI_Comm_split")]
    #[doc(alias = "MPI_UNDEFINED")]
    pub fn split(&self, color: Option<i32>, key: i32) -> Result<Option<Self>> {
        const OPERATION: &str = "MPI_Comm_split";
        let mut ready = Ok(());
        if let Some(color @ ..0) = color {
            let why = format_args!("color {color} is negative; pass None to belong to no part");
            ready = Err(Error::new(ErrorKind::Argument, OPERATION, why));
        }
        self.dispatch_together(
            OPERATION,
            ready,
            |comm| comm.split(self, color, key),
            |comm| Ok(comm.split(color, key)?.map(Self::in_process)),
        )
    }

    /// Makes one communicator for each set of ranks that can share memory: the ranks of a node.
    ///
    /// Ranks are ordered by `key`, then by rank here. In process all ranks share memory.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §7.4.2 (`MPI_Comm_split_type` with `MPI_COMM_TYPE_SHARED`).
    pub fn split_shared(&self, key: i32) -> Result<Self> {
        let node = self.split_type(SplitType::Shared, key, &Info::new())?;
        node.ok_or_else(|| {
            let why = "the library made no communicator of this node";
            Error::new(ErrorKind::Library, "MPI_Comm_split_type", why)
        })
    }

    /// Makes one communicator for each set of ranks that share what `kind` and `info` name.
    ///
    /// Ranks are ordered by `key`, then by rank here. A rank that passes `None` for the kind gets
    /// `None`, and so does one whose kind of hardware is unknown to the library or has no meaning
    /// here; the others pass one and the same kind. In process all ranks share memory and no other
    /// hardware is known.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] if the library does not have this kind; what the library
    /// reports.
    ///
    /// MPI 5.0 §7.4.2 (`MPI_Comm_split_type`).
    #[doc(alias = "MPI_Comm_split_type")]
    pub fn split_type(
        &self,
        kind: impl Into<Option<SplitType>>,
        key: i32,
        info: &Info,
    ) -> Result<Option<Self>> {
        let kind = kind.into();
        self.dispatch_together(
            "MPI_Comm_split_type",
            Ok(()),
            |comm| comm.split_type(self, kind, key, info),
            |comm| {
                let shared = match kind {
                    Some(SplitType::Shared) => true,
                    Some(SplitType::HwGuided | SplitType::ResourceGuided) => {
                        info.get("mpi_hw_resource_type") == Some("mpi_shared_memory")
                    }
                    Some(SplitType::HwUnguided) | None => false,
                };
                Ok(comm.split(shared.then_some(0), key)?.map(Self::in_process))
            },
        )
    }

    /// Makes a communicator of the processes of `group`, which must be the same on every rank here;
    /// `None` elsewhere.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] if a process of the group is not in this communicator;
    /// [`ErrorKind::Argument`] on all ranks if they pass different groups; what the library
    /// reports.
    ///
    /// MPI 5.0 §7.4.2 (`MPI_Comm_create`).
    #[doc(alias = "MPI_Comm_create")]
    pub fn create(&self, group: &Group) -> Result<Option<Self>> {
        const OPERATION: &str = "MPI_Comm_create";
        let ready = self.check_group(OPERATION, group);
        let members = group.world_ranks();
        let digest = |(): &()| digest(members.iter().map(|&rank| rank as u64));
        self.dispatch_agreed(
            OPERATION,
            || self.agree_on(OPERATION, ready, digest),
            |comm, ()| comm.create(self, members),
            |comm, ()| Ok(comm.create(members)?.map(Self::in_process)),
        )
    }

    /// As [`create`](Self::create), but the other ranks of this communicator need not call:
    /// collective over the group.
    ///
    /// A process that is not in the group gets `None`. `tag` distinguishes concurrent calls of
    /// several threads for the same group; otherwise any will do. A communicator that is dropped is
    /// freed when the same ranks, in the same order, make another one in this way, or when the
    /// runtime ends.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] if a process of the group is not in this communicator;
    /// [`ErrorKind::Tag`]; what the library reports.
    ///
    /// MPI 5.0 §7.4.2 (`MPI_Comm_create_group`).
    #[doc(alias = "MPI_Comm_create_group")]
    #[doc(alias = "MPI_COMM_SELF")]
    pub fn create_group(&self, group: &Group, tag: i32) -> Result<Option<Self>> {
        const OPERATION: &str = "MPI_Comm_create_group";
        self.check_tag(OPERATION, tag)?;
        self.check_group(OPERATION, group)?;
        let members = group.world_ranks();
        self.dispatch(
            OPERATION,
            |comm| match group.rank() {
                Some(_) => comm.create_group(self, members, tag).map(Some),
                None => Ok(None),
            },
            |comm| Ok(comm.create_group(members, tag).map(Self::in_process)),
        )
    }

    /// Checks that all processes of the group are in this communicator.
    fn check_group(&self, operation: &'static str, group: &Group) -> Result<()> {
        let outside = group.difference(&self.group()?).size();
        if outside == 0 {
            return Ok(());
        }
        let all = Count(group.size(), "process");
        let why = format_args!("not in this communicator: {outside} of the group's {all}");
        Err(Error::new(ErrorKind::Rank, operation, why))
    }
}
