//! The operations of the trait; mistakes are told before anything is started.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::time::Duration;

use ranks_collectives::NonblockingCollectives;
use ranks_comm::backend::Backend;
use ranks_comm::{Communicator, Error, ErrorKind, Result};
use ranks_cuda::RawStream;

use super::arguments::{color, tag, takes_device};
use super::numbers;
use crate::memory::elements::PromisedMemory;
use crate::raw_collectives::dtype::bytes_of;
use crate::raw_comm::in_flight::StartedOp;
use crate::raw_comm::{RawComm, ResultRanks};
use crate::{Dtype, RawCollectives, RawOp, StreamSync, Takes};

impl RawCollectives for RawComm {
    fn rank(&self) -> usize {
        self.comm().rank()
    }

    fn size(&self) -> usize {
        self.comm().size()
    }

    fn backend(&self) -> String {
        self.comm().library().to_owned()
    }

    fn supports(&self, op: RawOp, dtype: Dtype) -> bool {
        numbers::supports(op, dtype)
    }

    fn takes(&self) -> Takes {
        Takes {
            host: true,
            device: takes_device(self),
        }
    }

    fn has_tags(&self) -> bool {
        true
    }

    fn reduces_in_order(&self) -> bool {
        matches!(self.comm().backend(), Backend::InProcess(_))
    }

    unsafe fn allreduce(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        op: RawOp,
    ) -> Result<()> {
        const NAME: &str = "RawComm::allreduce";
        self.supported(NAME, op, dtype)?;
        let bytes = bytes_of(NAME, count, dtype, 1)?;
        let (send, recv) = (self.side(NAME, send, bytes)?, self.side(NAME, recv, bytes)?);
        // SAFETY: by this function's contract.
        unsafe { self.reducing(NAME, (dtype, op), ResultRanks::All, &send, recv) }
    }

    unsafe fn reduce(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        op: RawOp,
        root: usize,
    ) -> Result<()> {
        const NAME: &str = "RawComm::reduce";
        self.supported(NAME, op, dtype)?;
        let bytes = bytes_of(NAME, count, dtype, 1)?;
        let send = self.side(NAME, send, bytes)?;
        let recv = match self.is_root(NAME, root)? {
            true => self.side(NAME, recv, bytes)?,
            false => PromisedMemory::NONE,
        };
        // SAFETY: by this function's contract.
        unsafe { self.reducing(NAME, (dtype, op), ResultRanks::Root(root), &send, recv) }
    }

    unsafe fn bcast(
        &self,
        buffer: *mut c_void,
        count: usize,
        dtype: Dtype,
        root: usize,
    ) -> Result<()> {
        const NAME: &str = "RawComm::bcast";
        let bytes = bytes_of(NAME, count, dtype, 1)?;
        let is_root = self.is_root(NAME, root)?;
        let buffer = self.side(NAME, buffer, bytes)?;
        let _order = self.enter(NAME)?;
        // SAFETY: by this function's contract.
        let (place, out) = unsafe { self.places().recv::<u8>(buffer, false, is_root) }?;
        let request = self.comm().ibcast(place, root)?;
        // SAFETY: by this function's contract.
        let begun = unsafe { StartedOp::new(request, out.filter(|_| !is_root)) };
        self.under_way().push(NAME, begun, None)
    }

    unsafe fn allgather(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
    ) -> Result<()> {
        const NAME: &str = "RawComm::allgather";
        let all = bytes_of(NAME, count, dtype, self.size())?;
        let send = self.side(NAME, send, all / self.size())?;
        let recv = self.side(NAME, recv, all)?;
        // SAFETY: by this function's contract.
        unsafe { self.moving(NAME, &send, recv, Communicator::iallgather) }
    }

    unsafe fn reduce_scatter_block(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        op: RawOp,
    ) -> Result<()> {
        const NAME: &str = "RawComm::reduce_scatter_block";
        self.supported(NAME, op, dtype)?;
        let all = bytes_of(NAME, count, dtype, self.size())?;
        let send = self.side(NAME, send, all)?;
        let recv = self.side(NAME, recv, all / self.size())?;
        // SAFETY: by this function's contract.
        unsafe { self.reducing(NAME, (dtype, op), ResultRanks::Each, &send, recv) }
    }

    unsafe fn alltoall(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
    ) -> Result<()> {
        const NAME: &str = "RawComm::alltoall";
        let all = bytes_of(NAME, count, dtype, self.size())?;
        let (send, recv) = (self.side(NAME, send, all)?, self.side(NAME, recv, all)?);
        // SAFETY: by this function's contract.
        unsafe { self.moving(NAME, &send, recv, Communicator::ialltoall) }
    }

    unsafe fn gather(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        root: usize,
    ) -> Result<()> {
        const NAME: &str = "RawComm::gather";
        let is_root = self.is_root(NAME, root)?;
        let all = bytes_of(NAME, count, dtype, self.size())?;
        let send = self.side(NAME, send, all / self.size())?;
        let recv = match is_root {
            true => self.side(NAME, recv, all)?,
            false => PromisedMemory::NONE,
        };
        // SAFETY: by this function's contract.
        unsafe {
            self.moving(NAME, &send, recv, |comm, from, to| {
                comm.igather(from, to, root)
            })
        }
    }

    unsafe fn scatter(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        root: usize,
    ) -> Result<()> {
        const NAME: &str = "RawComm::scatter";
        let is_root = self.is_root(NAME, root)?;
        let all = bytes_of(NAME, count, dtype, self.size())?;
        let recv = self.side(NAME, recv, all / self.size())?;
        let send = match is_root {
            true => self.side(NAME, send, all)?,
            false => PromisedMemory::NONE,
        };
        // SAFETY: by this function's contract.
        unsafe {
            self.moving(NAME, &send, recv, |comm, from, to| {
                comm.iscatter(from, to, root)
            })
        }
    }

    unsafe fn send(
        &self,
        buffer: *const c_void,
        count: usize,
        dtype: Dtype,
        dest: usize,
        tag_number: u32,
    ) -> Result<()> {
        const NAME: &str = "RawComm::send";
        let bytes = bytes_of(NAME, count, dtype, 1)?;
        let tag = tag(NAME, self.comm(), tag_number)?;
        let buffer = self.side(NAME, buffer, bytes)?;
        let _order = self.enter(NAME)?;
        let unawaited = self.under_way().may_go_unawaited(bytes);
        // SAFETY: by this function's contract.
        let place = unsafe { self.places().send::<u8>(&buffer, unawaited) }?;
        let request = self.comm().isend(place, dest, tag)?;
        // SAFETY: nothing is received.
        let begun = unsafe { StartedOp::new(request, None) };
        self.under_way()
            .push(NAME, begun, unawaited.then_some(bytes))
    }

    unsafe fn recv(
        &self,
        buffer: *mut c_void,
        count: usize,
        dtype: Dtype,
        source: usize,
        tag_number: u32,
    ) -> Result<()> {
        const NAME: &str = "RawComm::recv";
        let bytes = bytes_of(NAME, count, dtype, 1)?;
        let tag = tag(NAME, self.comm(), tag_number)?;
        let buffer = self.side(NAME, buffer, bytes)?;
        let _order = self.enter(NAME)?;
        // SAFETY: by this function's contract.
        let (place, out) = unsafe { self.places().recv::<u8>(buffer, false, false) }?;
        let request = self.comm().irecv(place, source, tag)?;
        // SAFETY: by this function's contract.
        let begun = unsafe { StartedOp::message(request, out) };
        self.under_way().push(NAME, begun, None)
    }

    fn group(&self, body: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.under_way().failing.check("RawComm::group")?;
        body()
    }

    fn barrier(&self) -> Result<()> {
        self.barrier_within("RawComm::barrier")
    }

    fn sync(&self) -> Result<()> {
        self.under_way().sync("RawComm::sync")
    }

    fn wait(&self, limit: Duration) -> Result<()> {
        self.under_way().wait("RawComm::wait", Some(limit))
    }

    fn progress(&self) -> Result<bool> {
        self.under_way().progress()
    }

    unsafe fn enqueue_wait(&self, _stream: RawStream) -> Result<()> {
        let library = self.comm().library();
        let text = format!("{library} knows no streams; call sync");
        Err(Error::new(
            ErrorKind::Argument,
            "RawComm::enqueue_wait",
            text,
        ))
    }

    fn split(
        &self,
        color_number: Option<u32>,
        key: u32,
    ) -> Result<Option<Box<dyn RawCollectives>>> {
        const NAME: &str = "RawComm::split";
        let (color, key) = color(NAME, color_number, key)?;
        // As long as the time limit lasts; the libraries' own calls have none.
        self.barrier_within(NAME)?;
        let _order = self.enter(NAME)?;
        let Some(part) = self.comm().split(color, key)? else {
            return Ok(None);
        };
        Ok(Some(Box::new(Self::with_own(
            part,
            self.options().clone(),
        )?)))
    }

    fn abort(&self) -> Result<()> {
        self.under_way().failing.fail("it was aborted");
        self.under_way().give_up();
        Ok(())
    }

    fn failure(&self) -> Option<String> {
        self.under_way().failing.reason().map(str::to_owned)
    }

    fn stream_sync(&self) -> Option<&dyn StreamSync> {
        None
    }
}
