//! Waiting for many connections by `poll`.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

pub(super) type Wake = UnixStream;
pub(super) type Woken = UnixStream;

/// Two ends, of which the second sees that the first is dropped.
pub(super) fn pair() -> io::Result<(Wake, Woken)> {
    UnixStream::pair()
}

/// Waits, no longer than `limit`, until `woken` sees the end, or somebody connects, or a stream has
/// something, or can take something where that is waited for; and returns which of them, in this
/// order.
pub(super) fn events<'a>(
    listener: &TcpListener,
    woken: &Woken,
    streams: impl Iterator<Item = (&'a TcpStream, bool)>,
    limit: Option<Duration>,
) -> io::Result<Vec<bool>> {
    let mut waiting = vec![
        PollFd::new(woken.as_fd(), PollFlags::POLLIN),
        PollFd::new(listener.as_fd(), PollFlags::POLLIN),
    ];
    waiting.extend(streams.map(|(stream, writes)| {
        let flags = if writes {
            PollFlags::POLLIN | PollFlags::POLLOUT
        } else {
            PollFlags::POLLIN
        };
        PollFd::new(stream.as_fd(), flags)
    }));
    let limit = limit.map_or(PollTimeout::NONE, |limit| {
        PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX)
    });
    match poll(&mut waiting, limit) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(waiting.iter().map(|fd| fd.any().unwrap_or(true)).collect())
}
