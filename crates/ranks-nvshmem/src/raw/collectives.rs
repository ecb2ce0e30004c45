//! The operations of the trait.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::RawStream;
use ranks_raw::{Dtype, RawCollectives, RawOp, StreamSync, Takes};

use super::{Member, RawNvshmem};
use crate::team::TeamUniqueId;
use crate::team::movement::Movement;

impl RawNvshmem {
    fn root(&self, name: &'static str, root: usize) -> Result<()> {
        if root < self.size {
            return Ok(());
        }
        let text = format_args!("there is no root {root} among {}", self.size);
        Err(Error::new(ErrorKind::Root, name, text))
    }

    /// Fails: NVSHMEM has no function for messages.
    fn no_messages(&self, name: &'static str, peer: usize) -> Result<()> {
        self.begin(name)?;
        if peer >= self.size {
            let text = format_args!("there is no rank {peer} among {}", self.size);
            return Err(Error::new(ErrorKind::Rank, name, text));
        }
        let text = "NVSHMEM has no messages from PE to PE: put to the heap, and signal";
        Err(Error::new(ErrorKind::NotInLibrary, name, text))
    }

    /// All is over when an operation returns.
    fn nothing_under_way(&self, name: &'static str) -> Result<()> {
        self.begin(name).map(drop)
    }
}

impl RawCollectives for RawNvshmem {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn backend(&self) -> String {
        self.home.name.clone()
    }

    fn supports(&self, op: RawOp, dtype: Dtype) -> bool {
        self.computes(op, dtype).is_some()
    }

    fn takes(&self) -> Takes {
        Takes {
            host: true,
            device: !self.home.in_process,
        }
    }

    fn has_tags(&self) -> bool {
        false
    }

    fn reduces_in_order(&self) -> bool {
        false
    }

    unsafe fn allreduce(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        op: RawOp,
    ) -> Result<()> {
        const NAME: &str = "allreduce";
        let (kind, op) = self.reduction(NAME, op, dtype)?;
        let parts = self.parts(NAME, count, dtype, Some((send, 1)), Some((recv, 1)))?;
        // SAFETY: passed on. So below.
        unsafe { self.staged(Movement::Reduce(kind, op), parts, (1, 0..1)) }
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
        const NAME: &str = "reduce";
        let (kind, op) = self.reduction(NAME, op, dtype)?;
        self.root(NAME, root)?;
        let recv = (self.rank == root).then_some((recv, 1));
        let parts = self.parts(NAME, count, dtype, Some((send, 1)), recv)?;
        // SAFETY: as above.
        unsafe { self.staged(Movement::Reduce(kind, op), parts, (1, 0..1)) }
    }

    unsafe fn bcast(
        &self,
        buffer: *mut c_void,
        count: usize,
        dtype: Dtype,
        root: usize,
    ) -> Result<()> {
        const NAME: &str = "bcast";
        self.root(NAME, root)?;
        let is_root = self.rank == root;
        let send = is_root.then_some((buffer.cast_const(), 1));
        let recv = (!is_root).then_some((buffer, 1));
        let parts = self.parts(NAME, count, dtype, send, recv)?;
        // SAFETY: as above.
        unsafe { self.staged(Movement::Broadcast(root), parts, (1, 0..1)) }
    }

    unsafe fn allgather(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
    ) -> Result<()> {
        let size = self.size;
        let parts = self.parts(
            "allgather",
            count,
            dtype,
            Some((send, 1)),
            Some((recv, size)),
        )?;
        // SAFETY: as above.
        unsafe { self.staged(Movement::Fcollect, parts, (1, 0..size)) }
    }

    unsafe fn reduce_scatter_block(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        op: RawOp,
    ) -> Result<()> {
        const NAME: &str = "reduce_scatter_block";
        let (kind, op) = self.reduction(NAME, op, dtype)?;
        let size = self.size;
        let parts = self.parts(NAME, count, dtype, Some((send, size)), Some((recv, 1)))?;
        let movement = Movement::Reducescatter(kind, op);
        // SAFETY: as above.
        unsafe { self.staged(movement, parts, (size, 0..1)) }
    }

    unsafe fn alltoall(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
    ) -> Result<()> {
        let size = self.size;
        let parts = self.parts(
            "alltoall",
            count,
            dtype,
            Some((send, size)),
            Some((recv, size)),
        )?;
        // SAFETY: as above.
        unsafe { self.staged(Movement::Alltoall, parts, (size, 0..size)) }
    }

    unsafe fn gather(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        root: usize,
    ) -> Result<()> {
        const NAME: &str = "gather";
        self.root(NAME, root)?;
        let size = self.size;
        let recv = (self.rank == root).then_some((recv, size));
        let parts = self.parts(NAME, count, dtype, Some((send, 1)), recv)?;
        // SAFETY: as above.
        unsafe { self.staged(Movement::Fcollect, parts, (1, 0..size)) }
    }

    unsafe fn scatter(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        root: usize,
    ) -> Result<()> {
        const NAME: &str = "scatter";
        self.root(NAME, root)?;
        let size = self.size;
        let send = (self.rank == root).then_some((send, size));
        let parts = self.parts(NAME, count, dtype, send, Some((recv, 1)))?;
        // The others send whatever lies there, and nobody looks at it.
        // SAFETY: as above.
        unsafe { self.staged(Movement::Alltoall, parts, (size, root..root + 1)) }
    }

    unsafe fn send(
        &self,
        _buffer: *const c_void,
        _count: usize,
        _dtype: Dtype,
        dest: usize,
        _tag: u32,
    ) -> Result<()> {
        self.no_messages("send", dest)
    }

    unsafe fn recv(
        &self,
        _buffer: *mut c_void,
        _count: usize,
        _dtype: Dtype,
        source: usize,
        _tag: u32,
    ) -> Result<()> {
        self.no_messages("recv", source)
    }

    fn group(&self, body: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        body()
    }

    fn barrier(&self) -> Result<()> {
        self.together(Movement::Barrier, None)
    }

    fn sync(&self) -> Result<()> {
        self.nothing_under_way("sync")
    }

    fn wait(&self, _limit: Duration) -> Result<()> {
        self.nothing_under_way("wait")
    }

    fn progress(&self) -> Result<bool> {
        self.nothing_under_way("progress").map(|()| true)
    }

    unsafe fn enqueue_wait(&self, _stream: RawStream) -> Result<()> {
        self.nothing_under_way("enqueue_wait")
    }

    fn split(&self, color: Option<u32>, key: u32) -> Result<Option<Box<dyn RawCollectives>>> {
        const NAME: &str = "split";
        let (heap, _) = self.begin(NAME)?;
        let of_color = color.map_or(u64::MAX, u64::from);
        // Whoever is the first of a color makes the id of its team: all make one, and one is taken.
        let id = heap.team_unique_id()?.to_u64();
        let mine = [of_color, u64::from(key), id];
        let mut all = vec![0_u64; 3 * self.size];
        let (send, recv) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
        // SAFETY: three words are sent, and there is room for three of each.
        unsafe { self.allgather(send, recv, 3, Dtype::U64)? };
        if color.is_none() {
            return Ok(None);
        }
        let mut members: Vec<(u64, usize, u64)> = all
            .chunks_exact(3)
            .enumerate()
            .filter(|(_, said)| said[0] == of_color)
            .map(|(rank, said)| (said[1], rank, said[2]))
            .collect();
        members.sort_unstable();
        let rank = members.iter().position(|(_, rank, _)| *rank == self.rank);
        let (Some(rank), Some((_, _, id))) = (rank, members.first()) else {
            let text = "this rank is not among those of its own color";
            return Err(Error::new(ErrorKind::Library, NAME, text));
        };
        let size = members.len();
        let team = heap.team_from_unique_id(TeamUniqueId::from_u64(*id), rank, size)?;
        Ok(Some(Box::new(Self {
            home: Arc::clone(&self.home),
            team: ManuallyDrop::new(Member::Part(team)),
            rank,
            size,
            failed: Mutex::new(None),
        })))
    }

    fn abort(&self) -> Result<()> {
        self.fail("it was aborted");
        Ok(())
    }

    fn failure(&self) -> Option<String> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.clone()
    }

    fn stream_sync(&self) -> Option<&dyn StreamSync> {
        None
    }
}
