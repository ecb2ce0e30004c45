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
    /// Set if it keeps the rights that the host itself has, over its network.
    pub(super) privileged: bool,
}

/// A request as it goes over a socket: its length, and its text.
pub(super) fn encode(request: &Request) -> io::Result<Vec<u8>> {
    let text = serde_json::to_vec(request)?;
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    Ok([length.to_le_bytes().as_slice(), &text].concat())
}

/// Sends a request that is encoded; `streams` come with it.
pub(super) fn send(
    mut socket: &UnixStream,
    request: &[u8],
    streams: [BorrowedFd<'_>; STREAMS],
) -> io::Result<()> {
    let numbers = streams.map(|stream| stream.as_raw_fd());
    let files = [ControlMessage::ScmRights(&numbers)];
    // The kernel delivers files with the first byte, and no sooner.
    let sent = sendmsg::<()>(
        socket.as_raw_fd(),
        &[IoSlice::new(request)],
        &files,
        MsgFlags::MSG_NOSIGNAL,
        None,
    )?;
    socket.write_all(request.get(sent..).unwrap_or_default())
}

/// A request that comes in parts, however slow its sender is.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    bytes: Vec<u8>,
    streams: Vec<OwnedFd>,
}

impl Incoming {
    /// Takes what has come of it, and waits for nothing. Returns it, and the streams that came with
    /// it, when that is all.
    pub(super) fn take(
        &mut self,
        socket: &UnixStream,
    ) -> io::Result<Option<(Request, [OwnedFd; STREAMS])>> {
        loop {
            match self.part(socket) {
                Ok(0) => return Err(io::Error::other("no whole request came")),
                Ok(_) => {}
                Err(nix::Error::EINTR) => continue,
                Err(nix::Error::EAGAIN) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            let Some((length, text)) = self.bytes.split_first_chunk() else {
                continue;
            };
            let length = u32::from_le_bytes(*length);
            if length > LONGEST {
                return Err(io::Error::other("a request is too long"));
            }
            if text.len() as u64 >= u64::from(length) {
                let request = serde_json::from_slice(text)?;
                let streams = std::mem::take(&mut self.streams)
                    .try_into()
                    .map_err(|_| io::Error::other("a request came without its streams"))?;
                return Ok(Some((request, streams)));
            }
        }
    }

    /// Takes what is there in one piece; returns its length.
    fn part(&mut self, socket: &UnixStream) -> nix::Result<usize> {
        let mut bytes = [0; 16 << 10];
        let mut space = nix::cmsg_space!([RawFd; STREAMS]);
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_DONTWAIT;
        let message = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
        let length = message.bytes;
        for part in message.cmsgs()? {
            if let ControlMessageOwned::ScmRights(numbers) = part {
                self.streams.extend(numbers.into_iter().map(own));
            }
        }
        self.bytes
            .extend_from_slice(bytes.get(..length).unwrap_or_default());
        Ok(length)
    }
}

/// Owns a file that has just arrived.
fn own(number: RawFd) -> OwnedFd {
    // SAFETY: the kernel has just made this number for the message that `part` took, and told
    // nobody else of it.
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
    fn a_program_arrives_in_parts_with_its_streams() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut read, write) = io::pipe().unwrap();
        let null = File::open("/dev/null").unwrap();
        let request = Request::Run(Program {
            arguments: vec!["echo".into(), "a b".into()],
            environment: vec![("NAME".into(), "value".into())],
            directory: "/".into(),
            privileged: false,
        });
        let mut incoming = Incoming::default();
        assert!(incoming.take(&there).unwrap().is_none());
        let encoded = encode(&request).unwrap();
        let (first, rest) = encoded.split_at(9);
        send(&here, first, [null.as_fd(), write.as_fd(), null.as_fd()]).unwrap();
        assert!(incoming.take(&there).unwrap().is_none());
        (&here).write_all(rest).unwrap();
        drop(write);
        let (received, [_, output, _]) = incoming.take(&there).unwrap().unwrap();
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
        assert!(Incoming::default().take(&there).is_err());
    }
}
