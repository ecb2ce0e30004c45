//! Operations on addresses that a graph of CUDA captures, and does whenever it is launched.
#![allow(unsafe_code, reason = "the driver's functions of graphs are called")]

use std::ffi::{CStr, c_int, c_uint, c_ulonglong, c_void};
use std::mem::transmute_copy;
use std::ptr;

use ranks_cuda::{Cuda, CudaStream, DeviceSlice, Stream};
use ranks_load::{Candidate, Library};
use ranks_nccl::{NcclCommunicator, RawNccl};
use ranks_raw::{Dtype, RawCollectives, RawOp};

use crate::ranks::Ranks;
use crate::report::{Outcome, Seen, ensure};

type Handle = *mut c_void;

/// `CU_STREAM_CAPTURE_MODE_RELAXED`: other ranks of this process call the driver meanwhile.
const RELAXED: c_uint = 2;
const COUNT: usize = 1000;
const LAUNCHES: usize = 3;

/// The driver's functions of graphs.
#[derive(Clone, Copy)]
struct Graphs {
    begin: unsafe extern "C" fn(Handle, c_uint) -> c_int,
    end: unsafe extern "C" fn(Handle, *mut Handle) -> c_int,
    instantiate: unsafe extern "C" fn(*mut Handle, Handle, c_ulonglong) -> c_int,
    launch: unsafe extern "C" fn(Handle, Handle) -> c_int,
    destroy: unsafe extern "C" fn(Handle) -> c_int,
}

/// An allreduce is captured, and its graph launched several times.
pub(crate) fn captured(ranks: &Ranks) -> Outcome {
    let Some(comm) = ranks.all.first() else {
        return Err("there is no rank".into());
    };
    let Some(graphs) = Graphs::of(comm.context().cuda()) else {
        return Ok(Seen::NotHere("the driver has no graphs".into()));
    };
    ranks.each(|comm| of_one(comm, graphs))?;
    Ok(Seen::Well(format!("launched {LAUNCHES} times")))
}

fn of_one(
    comm: &NcclCommunicator,
    graphs: Graphs,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (context, size) = (comm.context().clone(), comm.size());
    let part = comm.split(Some(0), 0)?.ok_or("a part without this rank")?;
    let comm = RawNccl::new(part)?;
    let stream = context.stream()?;
    let mine = context.device_vec_of(&[comm.rank() as f32 + 1.0; COUNT])?;
    let mut sum = context.alloc::<f32>(COUNT)?;
    let (from, to) = (mine.address() as *const c_void, sum.address() as Handle);
    // SAFETY: as many elements lie at both addresses until the end of this function, which waits
    // for the stream; all ranks do the same.
    let allreduce = || unsafe { comm.allreduce(from, to, COUNT, Dtype::F32, RawOp::Sum) };
    // Connections are made by the first operation.
    allreduce()?;
    comm.sync()?;

    let _current = context.enter()?;
    let sync = comm.stream_sync().ok_or("it has no streams")?;
    let event = sync.create_event()?;
    let graph = graphs.capture(&stream, || {
        // SAFETY: the stream is live.
        unsafe { sync.record_on_stream(event, stream.raw()) }?;
        sync.comm_stream_wait_event(event)?;
        allreduce()?;
        // SAFETY: as above.
        unsafe { comm.enqueue_wait(stream.raw()) }
    })?;
    let expected = (1..=size).map(|rank| rank as f32).sum::<f32>();
    for _ in 0..LAUNCHES {
        context.copy_to_device(&[0.0; COUNT], &mut sum)?;
        // SAFETY: the graph is instantiated, its memory is there, and the stream is live.
        let launched = unsafe { (graphs.launch)(graph, stream.raw().0) };
        code(launched, "cuGraphLaunch")?;
        stream.synchronize()?;
        ensure(sum.to_vec()? == [expected; COUNT], || {
            "a graph has not summed what it captured".into()
        })?;
    }
    // SAFETY: it was instantiated, and nothing of it is under way.
    code(unsafe { (graphs.destroy)(graph) }, "cuGraphExecDestroy")?;
    Ok(sync.destroy_event(event)?)
}

impl Graphs {
    fn of(cuda: Cuda) -> Option<Self> {
        let driver = [Candidate::new(cuda.path(), "the driver")];
        // SAFETY: it is open already.
        let library = unsafe { Library::open("the driver", &driver, |_| Ok(())) }.ok()?;
        // SAFETY: the driver's function of this name has the type of the field.
        let begin = unsafe { function(&library, c"cuStreamBeginCapture_v2") }?;
        // SAFETY: as above.
        let end = unsafe { function(&library, c"cuStreamEndCapture") }?;
        // SAFETY: as above.
        let instantiate = unsafe { function(&library, c"cuGraphInstantiateWithFlags") }?;
        // SAFETY: as above.
        let launch = unsafe { function(&library, c"cuGraphLaunch") }?;
        // SAFETY: as above.
        let destroy = unsafe { function(&library, c"cuGraphExecDestroy") }?;
        Some(Self {
            begin,
            end,
            instantiate,
            launch,
            destroy,
        })
    }

    /// The graph of what `enqueue` does on the stream, and on others that wait for it, ready to be
    /// launched.
    fn capture(
        self,
        stream: &CudaStream,
        enqueue: impl FnOnce() -> ranks_comm::Result<()>,
    ) -> Result<Handle, Box<dyn std::error::Error + Send + Sync>> {
        let (mut graph, mut ready) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the stream is live.
        let begun = unsafe { (self.begin)(stream.raw().0, RELAXED) };
        code(begun, "cuStreamBeginCapture_v2")?;
        let enqueued = enqueue();
        // SAFETY: its capture has begun, and one handle is written to the place of one.
        let ended = unsafe { (self.end)(stream.raw().0, &raw mut graph) };
        enqueued?;
        code(ended, "cuStreamEndCapture")?;
        // SAFETY: one handle is written to the place of one, made of a graph that is complete.
        let made = unsafe { (self.instantiate)(&raw mut ready, graph, 0) };
        code(made, "cuGraphInstantiateWithFlags")?;
        Ok(ready)
    }
}

/// # Safety
/// `F` is the type of the function of this name.
unsafe fn function<F>(library: &Library, name: &CStr) -> Option<F> {
    let address = library.own_symbol(name)?.as_ptr();
    const { assert!(size_of::<F>() == size_of::<Handle>()) };
    // SAFETY: a function is its address, and the caller vouches for the type; the driver is never
    // closed.
    Some(unsafe { transmute_copy(&address) })
}

fn code(code: c_int, name: &str) -> Result<(), String> {
    match code {
        0 => Ok(()),
        other => Err(format!("{name}: code {other}")),
    }
}
