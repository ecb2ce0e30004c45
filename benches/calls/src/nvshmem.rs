//! Operations of the symmetric heap to be counted under callgrind, on doubles of NVSHMEM and of the
//! CUDA driver.
//!
//! `nvshmem single|multiple CALLS` makes each so many times on a heap of one PE and dumps one
//! profile a call: `NAME` is ours, `NAME_c` the same call of C through the table of functions. The
//! stream is held up meanwhile: what it does is nobody's cost here.

#![deny(unsafe_code)]

use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};

use ranks_bootstrap::ThreadBootstrap;
use ranks_cuda::{CudaStream, DeviceSlice, Stream};
use ranks_nvshmem::{HeapBackend, Nvshmem, NvshmemOptions};

use callgrind::count;

mod callgrind;
mod doubles;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(Ok(calls)) = arguments.get(1).map(|calls| calls.parse::<usize>()) else {
        // Cargo starts it like that as well, to see that it runs.
        return Ok(());
    };
    let here = std::env::current_exe()?;
    let file = |name: &str| -> PathBuf { here.with_file_name(format!("lib{name}.so")) };
    let cuda = doubles::driver(&file("cuda_double"))?;
    let library = doubles::library(&file("nvshmem_double"), &file("cuda_double"))?;
    let options = NvshmemOptions::new()
        .backend(HeapBackend::Library)
        .library(library)
        .cuda(cuda)
        .device(0);
    let bootstraps = ThreadBootstrap::of(1, std::time::Duration::from_secs(20))?;
    let bootstrap = bootstraps.first().ok_or("no bootstrap")?;
    let pe = Nvshmem::init(bootstrap, &options)?;
    count_all(&pe, library, calls)?;
    let name = pe.backend_name();
    pe.finalize()?;
    report(&name)
}

fn count_all(
    pe: &Nvshmem<'_>,
    library: &'static ranks_nvshmem_sys::NvshmemLibrary,
    calls: usize,
) -> Outcome {
    let context = pe.context().ok_or("no device")?;
    let stream = context.stream()?;
    let (dest, source) = (pe.alloc::<u64>(8)?, pe.alloc::<u64>(8)?);
    let call = doubles::Put {
        library,
        dest: dest.device()?.address(),
        source: source.device()?.address(),
        bytes: 64,
        stream: stream.raw(),
    };
    // The second time the double has all the room it needs.
    for _ in 0..2 {
        count("empty", calls, &mut (), |()| Ok(()))?;
        let entered = context.enter()?;
        let held = hold(&stream)?;
        count("put_on_stream_c", calls, &mut (&call, 0_usize), |state| {
            let (call, to) = state;
            call.make(*to);
            Ok(())
        })?;
        held.send(())?;
        drop(entered);
        stream.synchronize()?;
        let held = hold(&stream)?;
        pe.scope(&stream, |q| {
            let mut state = (q, &dest, &source, 0_usize);
            let counted = count("put_on_stream", calls, &mut state, |state| {
                let (q, dest, source, to) = state;
                q.put(*dest, *source, *to)
            });
            // Who holds the stream may be gone only if it runs on.
            let _ = held.send(());
            counted
        })?;
    }
    dest.free()?;
    source.free()?;
    Ok(())
}

/// Holds a stream up, from the return until something is sent.
fn hold(stream: &CudaStream) -> Result<Sender<()>, Box<dyn std::error::Error>> {
    let (sender, receiver) = channel();
    let (begins, begun) = channel();
    stream.launch_host(Box::new(move || {
        let _ = begins.send(());
        let _ = receiver.recv();
    }))?;
    begun.recv()?;
    Ok(sender)
}

#[expect(clippy::print_stdout, reason = "the one line that this program says")]
fn report(library: &str) -> Outcome {
    println!("{library}");
    Ok(())
}
