//! Waiting for many connections by looking at all of them again and again, where the standard
//! library has no other way.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The time between one look and the next.
const STEP: Duration = Duration::from_millis(1);

pub(super) type Wake = Sender<()>;
pub(super) type Woken = Receiver<()>;

/// Two ends, of which the second sees that the first is dropped.
pub(super) fn pair() -> io::Result<(Wake, Woken)> {
    Ok(channel())
}

/// Waits a little; then whether `woken` sees the end, and for the listener and each stream that it
/// may be ready: none of them blocks.
pub(super) fn events<'a>(
    _: &TcpListener,
    woken: &Woken,
    streams: impl Iterator<Item = (&'a TcpStream, bool)>,
    _: Option<Duration>,
) -> io::Result<Vec<bool>> {
    let ended = woken.recv_timeout(STEP) == Err(RecvTimeoutError::Disconnected);
    let mut ready = vec![ended, true];
    ready.extend(streams.map(|_| true));
    Ok(ready)
}
