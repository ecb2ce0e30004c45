//! What is asked of a backend, and what becomes of its answers: one that notes what it is asked and
//! does nothing.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use numr_0_14::dtype::DType;
use numr_0_14::error::Error as NumrError;
use numr_0_14::runtime::{Communicator, ReduceOp};
use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::RawStream;
use ranks_numr::{NumrCommunicator, NumrOptions};
use ranks_raw::{Dtype, RawCollectives, RawOp, StreamSync, Takes};

use crate::logged::logged;

/// Rank 1 of 2 with memory of a GPU.
#[derive(Debug, Default)]
struct Noted {
    calls: Mutex<Vec<String>>,
    /// What every operation fails with.
    fails: Option<(ErrorKind, &'static str)>,
    /// A communicator that is synchronised while a send begins.
    synced_within_send: Mutex<Weak<NumrCommunicator>>,
}

impl Noted {
    fn note(&self, call: impl Into<String>) -> Result<()> {
        let call = call.into();
        self.calls.lock().unwrap().push(call);
        match self.fails {
            Some((kind, text)) => Err(Error::new(kind, "ncclSomething", text).with_code(7, 7)),
            None => Ok(()),
        }
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }
}

impl RawCollectives for Noted {
    fn rank(&self) -> usize {
        1
    }

    fn size(&self) -> usize {
        2
    }

    fn backend(&self) -> String {
        "a mock".to_owned()
    }

    fn supports(&self, _: RawOp, dtype: Dtype) -> bool {
        dtype != Dtype::U16
    }

    fn takes(&self) -> Takes {
        Takes {
            host: false,
            device: true,
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
        assert_eq!(send, recv.cast_const());
        self.note(format!(
            "allreduce {:#x} {count} {dtype:?} {op:?}",
            send.addr()
        ))
    }

    unsafe fn reduce(
        &self,
        _: *const c_void,
        _: *mut c_void,
        _: usize,
        _: Dtype,
        _: RawOp,
        _: usize,
    ) -> Result<()> {
        self.note("reduce")
    }

    unsafe fn bcast(&self, at: *mut c_void, count: usize, dtype: Dtype, root: usize) -> Result<()> {
        self.note(format!("bcast {:#x} {count} {dtype:?} {root}", at.addr()))
    }

    unsafe fn allgather(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
    ) -> Result<()> {
        self.note(format!(
            "allgather {:#x} {:#x} {count} {dtype:?}",
            send.addr(),
            recv.addr()
        ))
    }

    unsafe fn reduce_scatter_block(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        op: RawOp,
    ) -> Result<()> {
        self.note(format!(
            "reduce_scatter_block {:#x} {:#x} {count} {dtype:?} {op:?}",
            send.addr(),
            recv.addr()
        ))
    }

    unsafe fn alltoall(&self, _: *const c_void, _: *mut c_void, _: usize, _: Dtype) -> Result<()> {
        self.note("alltoall")
    }

    unsafe fn gather(
        &self,
        _: *const c_void,
        _: *mut c_void,
        _: usize,
        _: Dtype,
        _: usize,
    ) -> Result<()> {
        self.note("gather")
    }

    unsafe fn scatter(
        &self,
        _: *const c_void,
        _: *mut c_void,
        _: usize,
        _: Dtype,
        _: usize,
    ) -> Result<()> {
        self.note("scatter")
    }

    unsafe fn send(
        &self,
        at: *const c_void,
        count: usize,
        dtype: Dtype,
        dest: usize,
        tag: u32,
    ) -> Result<()> {
        let synced = self.synced_within_send.lock().unwrap().upgrade();
        if let Some(comm) = synced {
            comm.sync().unwrap();
        }
        self.note(format!(
            "send {:#x} {count} {dtype:?} {dest} {tag}",
            at.addr()
        ))
    }

    unsafe fn recv(
        &self,
        at: *mut c_void,
        count: usize,
        dtype: Dtype,
        source: usize,
        tag: u32,
    ) -> Result<()> {
        self.note(format!(
            "recv {:#x} {count} {dtype:?} {source} {tag}",
            at.addr()
        ))
    }

    fn group(&self, body: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        body()
    }

    fn barrier(&self) -> Result<()> {
        self.note("barrier")
    }

    fn sync(&self) -> Result<()> {
        self.note("sync")
    }

    fn wait(&self, limit: Duration) -> Result<()> {
        self.note(format!("wait {limit:?}"))
    }

    fn progress(&self) -> Result<bool> {
        Ok(true)
    }

    unsafe fn enqueue_wait(&self, _: RawStream) -> Result<()> {
        self.note("enqueue_wait")
    }

    fn split(&self, color: Option<u32>, key: u32) -> Result<Option<Box<dyn RawCollectives>>> {
        self.note(format!("split {color:?} {key}"))?;
        Ok((color != Some(9)).then(|| Box::new(Self::default()) as Box<dyn RawCollectives>))
    }

    fn abort(&self) -> Result<()> {
        self.note("abort")
    }

    fn failure(&self) -> Option<String> {
        None
    }

    fn stream_sync(&self) -> Option<&dyn StreamSync> {
        Some(self)
    }
}

impl StreamSync for Noted {
    fn create_event(&self) -> Result<u64> {
        self.note("create").map(|()| 40)
    }

    fn destroy_event(&self, event: u64) -> Result<()> {
        self.note(format!("destroy {event}"))
    }

    fn record_on_comm_stream(&self, event: u64) -> Result<()> {
        self.note(format!("record {event} here"))
    }

    unsafe fn record_on_stream(&self, event: u64, stream: RawStream) -> Result<()> {
        self.note(format!("record {event} on {:#x}", stream.0.addr()))
    }

    fn comm_stream_wait_event(&self, event: u64) -> Result<()> {
        self.note(format!("wait here for {event}"))
    }

    unsafe fn stream_wait_event(&self, stream: RawStream, event: u64) -> Result<()> {
        self.note(format!("wait on {:#x} for {event}", stream.0.addr()))
    }

    fn sync_comm_stream(&self) -> Result<()> {
        self.note("sync here")
    }
}

fn over(noted: Noted) -> (Arc<Noted>, NumrCommunicator) {
    let noted = Arc::new(noted);
    let raw: Arc<dyn RawCollectives> = Arc::<Noted>::clone(&noted);
    let comm = NumrCommunicator::new(raw, NumrOptions::new().compare_calls(true)).unwrap();
    (noted, comm)
}

/// Addresses of a GPU are passed on as they are, and nobody looks at what is there.
#[test]
fn each_operation_is_passed_on() {
    let (noted, comm) = over(Noted::default());
    // SAFETY: nothing is done with the memory, here and below.
    unsafe { comm.all_reduce(0x1000, 4, DType::BF16, ReduceOp::Max) }.unwrap();
    // SAFETY: as above.
    unsafe { comm.broadcast(0x1000, 4, DType::FP8E5M2, 0) }.unwrap();
    // SAFETY: as above.
    unsafe { comm.all_gather(0x2001, 0x2000, 2, DType::Bool) }.unwrap_err();
    // SAFETY: as above.
    unsafe { comm.all_gather(0x2002, 0x2000, 2, DType::Bool) }.unwrap();
    // SAFETY: as above.
    unsafe { comm.reduce_scatter(0x1000, 0x2000, 2, DType::I8, ReduceOp::Prod) }.unwrap();
    // SAFETY: as above.
    unsafe { comm.send(0x1000, 4, DType::Complex128, 0, 5) }.unwrap();
    // SAFETY: as above.
    unsafe { comm.recv(0x1000, 4, DType::U64, 0, u32::MAX) }.unwrap();
    comm.sync().unwrap();
    comm.barrier().unwrap();
    comm.split(3, 2).unwrap().unwrap();
    comm.abort().unwrap();
    assert_eq!(
        noted.calls(),
        [
            "allreduce 0x1000 4 Bf16 Max",
            "bcast 0x1000 4 Fp8E5m2 0",
            "allgather 0x2002 0x2000 2 Bool",
            "reduce_scatter_block 0x1000 0x2000 2 I8 Prod",
            "send 0x1000 4 Complex128 0 5",
            "recv 0x1000 4 U64 0 4294967295",
            "sync",
            "barrier",
            "split Some(3) 2",
            "abort",
        ]
    );
}

/// In the order in which a bucket of gradients goes through it.
#[test]
fn events_are_passed_on() {
    let (noted, comm) = over(Noted::default());
    let streams = comm.as_stream_sync().unwrap();
    let event = streams.create_event().unwrap();
    streams.record_on_stream(event, 1).unwrap();
    streams.record_on_stream(event, 0x77).unwrap_err();
    streams.comm_stream_wait_event(event).unwrap();
    streams.record_on_comm_stream(event).unwrap();
    streams.stream_wait_event(0, event).unwrap();
    streams.destroy_event(event).unwrap();
    streams.sync_comm_stream().unwrap();
    assert_eq!(
        noted.calls(),
        [
            "create",
            "record 40 on 0x1",
            "wait here for 40",
            "record 40 here",
            "wait on 0x0 for 40",
            "destroy 40",
            "sync here",
        ]
    );
}

/// An error names numr's call, the rank, and what the library calls it.
#[test]
fn errors_in_the_terms_of_numr() {
    let failing = |kind| {
        over(Noted {
            fails: Some((kind, "it failed")),
            ..Noted::default()
        })
        .1
    };
    let text = failing(ErrorKind::Library).sync().unwrap_err();
    assert!(matches!(text, NumrError::Backend(_)));
    let text = text.to_string();
    for part in [
        "sync on rank 1 of 2",
        "ncclSomething",
        "it failed",
        "code 7",
    ] {
        assert!(text.contains(part), "{text}");
    }
    for (kind, named) in [
        (ErrorKind::Tag, "tag"),
        (ErrorKind::Rank, "src"),
        (ErrorKind::Argument, "ptr"),
    ] {
        // SAFETY: nothing is done with the memory.
        let error = unsafe { failing(kind).recv(0x1000, 1, DType::U8, 0, 0) }.unwrap_err();
        assert!(
            matches!(error, NumrError::InvalidArgument { arg, .. } if arg == named),
            "{error}"
        );
    }
    let (_, comm) = over(Noted::default());
    // SAFETY: as above.
    let refused = unsafe { comm.all_reduce(0x1000, 1, DType::U16, ReduceOp::Sum) };
    assert!(matches!(
        refused.unwrap_err(),
        NumrError::UnsupportedDType {
            dtype: DType::U16,
            op: "all_reduce"
        }
    ));
    assert!(!comm.supports(Dtype::U16, RawOp::Sum) && comm.supports(DType::U8, ReduceOp::Sum));
    let text = comm.split(9, 0).err().unwrap().to_string();
    assert!(text.contains("no communicator to color 9"), "{text}");
}

/// The order of ranks is for memory of the host.
#[test]
fn what_a_backend_cannot_do_is_refused_at_once() {
    let refused = NumrCommunicator::new(
        Arc::new(Noted::default()),
        NumrOptions::new().rank_order(true),
    );
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Argument);
}

/// And not at all where nothing is under way.
#[test]
fn a_drop_waits_for_so_long_and_logs_once() {
    let begin = |comm: &NumrCommunicator| {
        // SAFETY: nothing is done with the memory.
        let _ = unsafe { comm.send(0x1000, 4, DType::U8, 0, 5) };
    };
    let (noted, comm) = over(Noted::default());
    begin(&comm);
    assert_eq!(logged(|| drop(comm)), [""; 0]);
    assert_eq!(noted.calls(), ["send 0x1000 4 U8 0 5", "wait 5s"]);

    let (noted, comm) = over(Noted {
        fails: Some((ErrorKind::TimedOut, "2 receives")),
        ..Noted::default()
    });
    begin(&comm);
    let told = logged(|| drop(comm));
    assert!(
        told.len() == 1 && told[0].contains("rank 1 of 2") && told[0].contains("2 receives"),
        "{told:?}"
    );
    assert_eq!(noted.calls(), ["send 0x1000 4 U8 0 5", "wait 5s"]);

    let (noted, comm) = over(Noted::default());
    begin(&comm);
    comm.sync().unwrap();
    assert_eq!(logged(|| drop(comm)), [""; 0]);
    assert_eq!(noted.calls(), ["send 0x1000 4 U8 0 5", "sync"]);
}

/// An operation that was counted before it was begun was taken for complete by a thread that
/// synchronised in between, and the drop did not wait for it.
#[test]
fn a_drop_waits_for_what_began_while_others_were_completed() {
    let (noted, comm) = over(Noted::default());
    let comm = Arc::new(comm);
    *noted.synced_within_send.lock().unwrap() = Arc::downgrade(&comm);
    // SAFETY: nothing is done with the memory.
    unsafe { comm.send(0x1000, 4, DType::U8, 0, 5) }.unwrap();
    drop(comm);
    assert_eq!(noted.calls(), ["sync", "send 0x1000 4 U8 0 5", "wait 5s"]);
}
