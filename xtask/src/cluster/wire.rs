//! What a host is asked over its socket, with the files that a program there is to have.

// Files that arrive with a message are numbers until somebody owns them.
#![allow(unsafe_code)]

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use serde::{Deserialize, Serialize};

/// Standard input, output and error.
const STREAMS: usize = 3;

/// The longest request, in bytes: an environment of a program is far shorter.
const LONGEST: u32 = 16 << 20;

/// What a host is asked.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(super) enum Request {
    /// Starts a program, and answers with how it ended.
    Run(Program),
    /// Sends a signal to all programs that run on the host, by its number.
    Signal(i32),
    /// Ends the host with all that runs on it, and answers when nothing does any more.
    End,
}

/// A program to start on a host.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(super) struct Program {
    /// Its name or path, and its arguments.
    pub(super) arguments: Vec<OsString>,
    /// All its variables.
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) directory: PathBuf,
    /// Whether it keeps the rights that the host itself has, over its network.
    pub(super) privileged: bool,
}

/// Sends a request; `streams` come with it.
pub(super) fn send(
    mut socket: &UnixStream,
    request: &Request,
    streams: [BorrowedFd<'_>; STREAMS],
) -> io::Result<()> {
    let text = serde_json::to_vec(request)?;
    let length = u32::try_from(text.len())
        .map_err(io::Error::other)?
        .to_le_bytes();
    let numbers = streams.map(|stream| stream.as_raw_fd());
    let files = [ControlMessage::ScmRights(&numbers)];
    // The kernel delivers files with the first byte, and no sooner.
    let sent = sendmsg::<()>(
        socket.as_raw_fd(),
        &[IoSlice::new(&length)],
        &files,
        MsgFlags::MSG_NOSIGNAL,
        None,
    )?;
    socket.write_all(length.get(sent..).unwrap_or_default())?;
    socket.write_all(&text)
}

/// Takes a request, and the streams that came with it.
pub(super) fn receive(mut socket: &UnixStream) -> io::Result<(Request, [OwnedFd; STREAMS])> {
    let mut length = [0; 4];
    let mut space = nix::cmsg_space!([RawFd; STREAMS]);
    let mut parts = [IoSliceMut::new(&mut length)];
    let message = recvmsg::<()>(
        socket.as_raw_fd(),
        &mut parts,
        Some(&mut space),
        MsgFlags::MSG_CMSG_CLOEXEC,
    )?;
    let received = message.bytes;
    let mut streams = Vec::new();
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(numbers) = part {
            streams.extend(numbers.into_iter().map(own));
        }
    }
    socket.read_exact(length.get_mut(received..).unwrap_or_default())?;
    let length = u32::from_le_bytes(length);
    if received == 0 || length > LONGEST {
        return Err(io::Error::other("no request came"));
    }
    let mut text = Vec::new();
    socket.take(u64::from(length)).read_to_end(&mut text)?;
    let streams = streams
        .try_into()
        .map_err(|_| io::Error::other("a request came without its streams"))?;
    Ok((serde_json::from_slice(&text)?, streams))
}

/// Owns a file that has just arrived.
fn own(number: RawFd) -> OwnedFd {
    // SAFETY: the kernel has just made this number for the message that `receive` took, and told nobody else of it.
    unsafe { OwnedFd::from_raw_fd(number) }
}

/// Answers with how a program ended, as shells count it.
pub(super) fn answer(mut socket: &UnixStream, code: i32) -> io::Result<()> {
    socket.write_all(&code.to_le_bytes())
}

/// Waits for the answer; a host that ends gives none.
pub(super) fn answered(mut socket: &UnixStream) -> io::Result<i32> {
    let mut code = [0; 4];
    socket.read_exact(&mut code)?;
    Ok(i32::from_le_bytes(code))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_program_arrives_with_its_streams() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut read, write) = io::pipe().unwrap();
        let null = File::open("/dev/null").unwrap();
        let request = Request::Run(Program {
            arguments: vec!["echo".into(), "a b".into()],
            environment: vec![("NAME".into(), "value".into())],
            directory: "/".into(),
            privileged: false,
        });
        send(&here, &request, [null.as_fd(), write.as_fd(), null.as_fd()]).unwrap();
        drop(write);
        let (received, [_, output, _]) = receive(&there).unwrap();
        assert_eq!(received, request);
        File::from(output).write_all(b"written there").unwrap();
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        assert_eq!(text, "written there");

        answer(&there, 137).unwrap();
        assert_eq!(answered(&here).unwrap(), 137);
    }

    #[test]
    fn a_caller_that_says_nothing_is_an_error() {
        let (here, there) = UnixStream::pair().unwrap();
        drop(here);
        assert!(receive(&there).is_err());
    }
}
