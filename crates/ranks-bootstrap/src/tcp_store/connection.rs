//! A connection to a store, with a time limit on whatever it waits for.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use super::wire::{self, Request};

/// The time that one attempt to connect may take, and a store to say that it is one.
const ATTEMPT: Duration = Duration::from_secs(5);

/// The time that a store may take for an answer that waits for no rank, beyond the time limit.
const GRACE: Duration = Duration::from_secs(5);

/// The reason why there is no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    TimedOut,
    /// The store has gone, or what it says cannot be understood.
    Lost(String),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        match error.kind() {
            // What a limit on a socket ends with differs among systems.
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Trouble::TimedOut,
            ErrorKind::UnexpectedEof => Trouble::Lost("it has closed the connection".to_owned()),
            _ => Trouble::Lost(error.to_string()),
        }
    }
}

/// The end of a time limit; `None` is never.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline(Option<Instant>);

impl Deadline {
    pub(super) fn after(limit: Duration) -> Deadline {
        // A limit that no clock can tell is none.
        Deadline(Instant::now().checked_add(limit))
    }

    /// The end of the time for an answer that waits for no rank.
    pub(super) fn grace() -> Deadline {
        Deadline::after(GRACE)
    }

    /// The time that is left; never zero, which sockets take for no limit.
    fn left(self) -> Result<Option<Duration>, Trouble> {
        let Some(end) = self.0 else { return Ok(None) };
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            Err(Trouble::TimedOut)
        } else {
            Ok(Some(left))
        }
    }

    /// Whichever is earlier.
    fn or_after(self, limit: Duration) -> Deadline {
        let other = Deadline::after(limit).0;
        Deadline(match (self.0, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        })
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
}

impl Connection {
    /// Connects as soon as something listens that is a store, and calls `before` each time it
    /// tries.
    ///
    /// The error is why the last attempt failed.
    pub(super) fn open(
        host: &str,
        mut port: impl FnMut() -> Result<u16, String>,
        deadline: Deadline,
    ) -> Result<Connection, String> {
        let mut pause = Duration::from_millis(2);
        loop {
            let attempt = deadline.or_after(ATTEMPT);
            let why = match Self::attempt((host, port()?), attempt) {
                Ok(connection) => return Ok(connection),
                Err(why) => why,
            };
            let Ok(left) = deadline.left() else {
                return Err(why);
            };
            thread::sleep(left.map_or(pause, |left| left.min(pause)));
            pause = (pause * 2).min(Duration::from_millis(200));
        }
    }

    fn attempt(address: (&str, u16), deadline: Deadline) -> Result<Connection, String> {
        let mut why = "the name stands for no address".to_owned();
        let addresses = address
            .to_socket_addrs()
            .map_err(|error| error.to_string())?;
        for address in addresses {
            // However late it is, there is one attempt, and so a reason.
            let left = deadline.left().unwrap_or(Some(Duration::from_millis(1)));
            let connected = match left {
                Some(left) => TcpStream::connect_timeout(&address, left),
                None => TcpStream::connect(address),
            };
            let mut connection = match connected {
                Ok(stream) => Connection { stream },
                Err(error) => {
                    why = error.to_string();
                    continue;
                }
            };
            match connection.greet(deadline) {
                Ok(()) => return Ok(connection),
                Err(Trouble::TimedOut) => "the listener there gives no answer".clone_into(&mut why),
                Err(Trouble::Lost(how)) => why = format!("the listener there is no store: {how}"),
            }
        }
        Err(why)
    }

    /// With whatever is at the other end of a stream.
    #[cfg(fuzzing)]
    pub(super) fn over(stream: TcpStream) -> Connection {
        Connection { stream }
    }

    /// Says what a client says first, all of it at once, and hears whether a store understands.
    fn greet(&mut self, deadline: Deadline) -> Result<(), Trouble> {
        self.stream.set_nodelay(true)?;
        let number = std::process::id();
        self.send(&[Request::Validate, Request::Ping { number }], deadline)?;
        if u32::from_ne_bytes(self.receive(deadline)?) == number {
            Ok(())
        } else {
            Err(Trouble::Lost("its answer is another".to_owned()))
        }
    }

    pub(super) fn send(
        &mut self,
        requests: &[Request<'_>],
        deadline: Deadline,
    ) -> Result<(), Trouble> {
        let mut bytes = Vec::new();
        for request in requests {
            request.write(&mut bytes);
        }
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            self.stream.set_write_timeout(deadline.left()?)?;
            match self.stream.write(rest) {
                Ok(0) => return Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// So many bytes of an answer.
    pub(super) fn receive<const N: usize>(
        &mut self,
        deadline: Deadline,
    ) -> Result<[u8; N], Trouble> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, deadline)?;
        Ok(bytes)
    }

    fn fill(&mut self, mut rest: &mut [u8], deadline: Deadline) -> Result<(), Trouble> {
        while !rest.is_empty() {
            self.stream.set_read_timeout(deadline.left()?)?;
            match self.stream.read(rest) {
                Ok(0) => return Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
                Ok(read) => rest = &mut rest[read..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// A number that is an answer.
    pub(super) fn receive_number(&mut self, deadline: Deadline) -> Result<i64, Trouble> {
        Ok(i64::from_ne_bytes(self.receive(deadline)?))
    }

    /// A value.
    pub(super) fn receive_value(&mut self, deadline: Deadline) -> Result<Vec<u8>, Trouble> {
        let length = u64::from_ne_bytes(self.receive(deadline)?);
        let length = usize::try_from(length).ok();
        let Some(length) = length.filter(|length| *length <= wire::MAX_VALUE) else {
            let why = "it answers with a value that is longer than any";
            return Err(Trouble::Lost(why.to_owned()));
        };
        let mut value = vec![0; length];
        self.fill(&mut value, deadline)?;
        Ok(value)
    }

    /// Waits until all keys are there.
    ///
    /// After [`Trouble::TimedOut`] the connection can still be used.
    pub(super) fn wait(&mut self, keys: Vec<&[u8]>, deadline: Deadline) -> Result<(), Trouble> {
        let wait = self.send(&[Request::Wait { keys }], deadline);
        match wait.and_then(|()| self.receive(deadline)) {
            Ok([wire::STOP_WAITING]) => return Ok(()),
            Ok(_) => return Err(misunderstood()),
            Err(Trouble::TimedOut) => {}
            Err(lost) => return Err(lost),
        }
        let grace = Deadline::grace();
        self.send(&[Request::CancelWait], grace)?;
        match self.receive(grace)? {
            [wire::WAIT_CANCELED] => Err(Trouble::TimedOut),
            // They came just then.
            [wire::STOP_WAITING] => match self.receive(grace)? {
                [wire::WAIT_CANCELED] => Ok(()),
                _ => Err(misunderstood()),
            },
            _ => Err(misunderstood()),
        }
    }

    /// The places of the first of those keys that are not there, no more than `most`.
    pub(super) fn missing(&mut self, keys: &[Vec<u8>], most: usize) -> Result<Vec<usize>, Trouble> {
        let mut missing = Vec::new();
        if self.are_there(keys)? {
            return Ok(missing);
        }
        for (index, key) in keys.iter().enumerate() {
            if missing.len() < most && !self.are_there(std::slice::from_ref(key))? {
                missing.push(index);
            }
        }
        Ok(missing)
    }

    fn are_there(&mut self, keys: &[Vec<u8>]) -> Result<bool, Trouble> {
        let grace = Deadline::grace();
        let keys = keys.iter().map(Vec::as_slice).collect();
        self.send(&[Request::Check { keys }], grace)?;
        Ok(self.receive(grace)? == [wire::READY])
    }
}

fn misunderstood() -> Trouble {
    Trouble::Lost("its answer is none to what was asked".to_owned())
}
