//! The parts of a store that fuzz targets see: the server's half of a talk, and the client's.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::connection::{Connection, Deadline, Trouble};
use super::talk::Talk;
use super::values::Values;
use super::wire::{MAX_VALUE, Request};

/// The requests at the beginning of `bytes`, written again, and whether something follows that is
/// none.
pub fn requests(mut bytes: &[u8]) -> (Vec<u8>, bool) {
    let mut again = Vec::new();
    loop {
        match Request::parse(bytes) {
            Ok(Some((request, length))) => {
                request.write(&mut again);
                bytes = &bytes[length..];
            }
            Ok(None) => return (again, false),
            Err(_) => return (again, true),
        }
    }
}

/// A server and those who talk to it.
#[derive(Default)]
pub struct Store {
    values: Values,
    clients: Vec<Talk>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// For so many clients.
    pub fn new(clients: usize) -> Store {
        let clients = (0..clients).map(|_| Talk::default()).collect();
        Store {
            clients,
            ..Store::default()
        }
    }

    /// One of them says something more; the server leaves it if it cannot be a client.
    pub fn hear(&mut self, client: usize, bytes: &[u8]) {
        let talk = &mut self.clients[client];
        if talk.gone {
            return;
        }
        talk.input.extend(bytes);
        for key in talk.answer(&mut self.values) {
            self.clients
                .iter_mut()
                .for_each(|client| client.hears_of(&key));
        }
        assert!(self.values.is_counted());
    }

    /// The bytes for one of them until now, and `true` if it was left.
    pub fn told(&mut self, client: usize) -> (&[u8], bool) {
        let talk = &mut self.clients[client];
        (talk.output.make_contiguous(), talk.gone)
    }
}

/// Has a client read from a store that says `bytes` and goes.
pub fn answers(bytes: &[u8]) {
    let Ok((here, mut there)) = UnixStream::pair() else {
        return;
    };
    let said = there.write_all(bytes);
    if said.and_then(|()| there.shutdown(Shutdown::Write)).is_err() {
        return;
    }
    let mut store = Connection::over(TcpStream::from(OwnedFd::from(here)));
    let limit = Deadline::after(Duration::from_secs(30));
    let talk = |store: &mut Connection| -> Result<(), Trouble> {
        loop {
            store.send(&[Request::Get { key: b"key" }], limit)?;
            assert!(store.receive_value(limit)?.len() <= MAX_VALUE);
            store.wait(vec![b"key"], limit)?;
            store.receive_number(limit)?;
            let keys = [b"one".to_vec(), b"other".to_vec()];
            assert!(store.missing(&keys, keys.len())?.len() <= keys.len());
        }
    };
    // Nobody is waited for: whoever has gone says nothing any more.
    assert!(!matches!(talk(&mut store), Ok(()) | Err(Trouble::TimedOut)));
    drop(there);
}
