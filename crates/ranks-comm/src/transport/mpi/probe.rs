//! Probes.

use std::ffi::c_int;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::native::{self, Cell};
use ranks_mpi_sys::{MPI_Comm, MPI_Status};

use super::communicator::Comm;
use super::error::check;
use super::message::Message;
use super::peer::{self, STANDARD};
use super::status;
use crate::call::record::Over;
use crate::data::source::Source;
use crate::data::tag::Tag;
use crate::result::Result;
use crate::result::status::{EMPTY_STATUS, Kind, Status, Words};

impl Comm {
    #[inline(always)]
    pub(crate) fn probe(
        comm: impl Over<Target = Comm>,
        source: Source,
        tag: Tag,
        words: &mut Words,
    ) -> Result<Kind> {
        let (from, under) = (comm.sentinels.source(source), comm.sentinels.tag(tag));
        // SAFETY: rank and tag are checked, and the status is ours.
        let code = unsafe { native::MPI_Probe(from, under, comm.native, status::to_write(words)) };
        comm.over();
        check(code, "MPI_Probe")?;
        Ok(Kind::MPI)
    }

    #[inline(always)]
    pub(crate) fn iprobe(
        &self,
        source: Source,
        tag: Tag,
        words: &mut Words,
    ) -> Result<Option<Kind>> {
        let (from, under) = (self.sentinels.source(source), self.sentinels.tag(tag));
        let mut flag: c_int = 0;
        // SAFETY: rank and tag are checked; flag and status are ours.
        let code = unsafe {
            native::MPI_Iprobe(
                from,
                under,
                self.native,
                &raw mut flag,
                status::to_write(words),
            )
        };
        check(code, "MPI_Iprobe")?;
        Ok((flag != 0).then_some(Kind::MPI))
    }

    #[inline]
    pub(crate) fn mprobe(&self, source: Source, tag: Tag) -> Result<(Message, Status)> {
        let (from, under) = (self.sentinels.source(source), self.sentinels.tag(tag));
        let (mut handle, mut words) = (Cell::new(), EMPTY_STATUS);
        // SAFETY: rank and tag are checked; message and status are ours.
        let code = unsafe {
            native::MPI_Mprobe(
                from,
                under,
                self.native,
                &raw mut handle,
                status::to_write(&mut words),
            )
        };
        check(code, "MPI_Mprobe")?;
        Ok((Message(handle), status::decode_words(&words)))
    }

    pub(crate) fn improbe(&self, source: Source, tag: Tag) -> Result<Option<(Message, Status)>> {
        // SAFETY: the communicator is alive; rank and tag are checked.
        unsafe { improbe(self.canonical, source, tag) }
    }
}

/// The first message that matches, if one has arrived (`MPI_Iprobe`).
///
/// # Safety
/// The communicator is alive, and has that rank.
pub(crate) unsafe fn iprobe(comm: MPI_Comm, source: Source, tag: Tag) -> Result<Option<Status>> {
    let (from, under) = (STANDARD.source(source), STANDARD.tag(tag));
    let mut flag: c_int = 0;
    let mut status = MPI_Status::EMPTY;
    // SAFETY: the caller's promise; flag and status are ours.
    let code = unsafe { sys::MPI_Iprobe(from, under, comm, &raw mut flag, &raw mut status) };
    check(code, "MPI_Iprobe")?;
    Ok((flag != 0).then(|| status::decode(&status)))
}

/// Matches a message, if there is one (`MPI_Improbe`).
///
/// # Safety
/// The communicator is alive, and has that rank.
pub(crate) unsafe fn improbe(
    comm: MPI_Comm,
    source: Source,
    tag: Tag,
) -> Result<Option<(Message, Status)>> {
    let sentinels = peer::of_library();
    let (from, under) = (sentinels.source(source), sentinels.tag(tag));
    // SAFETY: the library is loaded, as there is a communicator.
    let comm = unsafe { native::comm(comm) };
    let mut flag: c_int = 0;
    let (mut handle, mut words) = (Cell::new(), EMPTY_STATUS);
    // SAFETY: the caller's promise; flag, message and status are ours.
    let code = unsafe {
        native::MPI_Improbe(
            from,
            under,
            comm,
            &raw mut flag,
            &raw mut handle,
            status::to_write(&mut words),
        )
    };
    check(code, "MPI_Improbe")?;
    Ok((flag != 0).then(|| (Message(handle), status::decode_words(&words))))
}
