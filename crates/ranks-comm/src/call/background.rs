//! Threads of the runtime.

use std::io;
use std::thread::{self, JoinHandle};

/// Starts one. What starts a thread is large, and compiled once for all of them.
pub(crate) fn start(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let work: Box<dyn FnOnce() + Send> = Box::new(work);
    thread::Builder::new().name(name.to_owned()).spawn(work)
}
