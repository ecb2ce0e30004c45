//! A store that serves: one thread, which answers whoever speaks its language and leaves whoever
//! does not.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::talk::Talk;
use super::values::Values;
use system::Wake;

#[cfg(any(test, not(unix)))]
mod by_looking;
#[cfg(unix)]
mod by_poll;

#[cfg(not(unix))]
use by_looking as system;
#[cfg(unix)]
use by_poll as system;

/// The time in which a client has to show that it is no stranger.
const PATIENCE: Duration = Duration::from_secs(10);

/// The bytes that are read or written at a time.
const PIECE: usize = 64 << 10;

/// The thread, which ends when this goes.
#[derive(Debug)]
pub(super) struct Server {
    address: IpAddr,
    port: u16,
    /// The beginning of the keys that it serves.
    only: String,
    /// Dropped to end the thread.
    wake: Option<Wake>,
    thread: Option<JoinHandle<()>>,
}

/// The servers of this process, so that a second store on a port finds the first one's.
static SERVERS: Mutex<Vec<Weak<Server>>> = Mutex::new(Vec::new());

impl Server {
    /// A server on a port, or the one that this process has there already; 0 is any port. `None` if
    /// another program listens there.
    ///
    /// It listens at the address, or else at the one that the name stands for, if there is one
    /// that others have too, and otherwise at all of the machine; `only` is the beginning of the
    /// keys that it serves.
    pub(super) fn on(
        (host, address): (&str, Option<IpAddr>),
        port: u16,
        only: &str,
    ) -> io::Result<Option<Arc<Server>>> {
        let at = address.or_else(|| address_of(host, port));
        let mut servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
        servers.retain(|server| server.strong_count() > 0);
        let here = servers.iter().filter_map(Weak::upgrade);
        let serves = |server: &Arc<Server>| {
            let all = server.address.is_unspecified();
            server.port == port && (all || Some(server.address) == at)
        };
        if let Some(server) = here.into_iter().find(serves) {
            if server.only != only {
                return Err(io::Error::other(
                    "this process serves a store of another secret there",
                ));
            }
            return Ok(Some(server));
        }
        let listener = match listen(at, address.is_some(), port) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => return Ok(None),
            other => other?,
        };
        let server = Arc::new(Server::start(listener, only)?);
        servers.push(Arc::downgrade(&server));
        Ok(Some(server))
    }

    fn start(listener: TcpListener, only: &str) -> io::Result<Server> {
        listener.set_nonblocking(true)?;
        let bound = listener.local_addr()?;
        let (wake, woken) = system::pair()?;
        let values = Values::only(only);
        let thread = thread::Builder::new()
            .name("ranks-store".to_owned())
            .spawn(move || {
                serve(&listener, values, |clients| {
                    let (streams, limit) = interests(clients);
                    system::events(&listener, &woken, streams, limit)
                });
            })?;
        Ok(Server {
            address: bound.ip(),
            port: bound.port(),
            only: only.to_owned(),
            wake: Some(wake),
            thread: Some(thread),
        })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            // It waits for nothing else, so this is at once. That it has panicked nobody needs to
            // hear here.
            let _ = thread.join();
        }
    }
}

/// Listens at the address, or unless it `must` at all of the machine, if that has it not.
fn listen(at: Option<IpAddr>, must: bool, port: u16) -> io::Result<TcpListener> {
    if let Some(address) = at {
        match TcpListener::bind((address, port)) {
            // As that of a router that passes connections on.
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable && !must => {}
            other => return other,
        }
    }
    // Both families, where there is a second one.
    match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)) {
        Err(error) if error.kind() != ErrorKind::AddrInUse => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))
        }
        other => other,
    }
}

/// The one address that a name stands for, if it does so elsewhere as well: on many systems the
/// machine's own name stands for an address of the machine for itself alone.
fn address_of(host: &str, port: u16) -> Option<IpAddr> {
    if host == "localhost" {
        return Some(Ipv4Addr::LOCALHOST.into());
    }
    if let Ok(address) = host.parse() {
        return Some(address);
    }
    let mut all = (host, port).to_socket_addrs().ok()?.map(|all| all.ip());
    let first = all.next().filter(|first| !first.is_loopback())?;
    all.all(|other| other == first).then_some(first)
}

/// A client that is connected.
struct Client {
    stream: TcpStream,
    since: Instant,
    talk: Talk,
}

impl Client {
    fn new(stream: TcpStream) -> io::Result<Client> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Client {
            stream,
            since: Instant::now(),
            talk: Talk::default(),
        })
    }

    /// Takes what has come, but not for ever: others want their turn.
    fn read(&mut self, buffer: &mut [u8]) {
        for _ in 0..16 {
            match self.stream.read(buffer) {
                Ok(0) => {
                    self.talk.gone = true;
                    return;
                }
                Ok(read) => self.talk.input.extend(&buffer[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.talk.gone = true;
                    return;
                }
            }
        }
    }

    /// Gives what it takes, but not for ever either.
    fn write(&mut self) {
        for _ in 0..16 {
            if self.talk.output.is_empty() || self.talk.gone {
                return;
            }
            let next = self.talk.output.as_slices().0;
            match self.stream.write(&next[..next.len().min(PIECE)]) {
                Ok(written) => drop(self.talk.output.drain(..written)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.talk.gone = true,
            }
        }
    }
}

/// Until `wait` says that it is to end, or fails: it waits for what happens, and returns whether
/// the server is to end, whether somebody connects, and which clients have sent something or can
/// take something.
fn serve(
    listener: &TcpListener,
    mut values: Values,
    wait: impl Fn(&[Client]) -> io::Result<Vec<bool>>,
) {
    let mut clients: Vec<Client> = Vec::new();
    let mut buffer = vec![0; PIECE];
    loop {
        let Ok(events) = wait(&clients) else {
            return;
        };
        let [ended, arrived, ready @ ..] = events.as_slice() else {
            return;
        };
        if *ended {
            return;
        }
        for index in 0..ready.len() {
            if ready[index] {
                clients[index].read(&mut buffer);
                for key in clients[index].talk.answer(&mut values) {
                    clients
                        .iter_mut()
                        .for_each(|client| client.talk.hears_of(&key));
                }
            }
        }
        if *arrived {
            accept(listener, &mut clients);
        }
        for client in &mut clients {
            client.write();
            client.talk.gone |= !client.talk.valid && client.since.elapsed() > PATIENCE;
        }
        clients.retain(|client| !client.talk.gone);
    }
}

/// The streams of clients, with `true` if there is something to write, and how long they may be
/// waited for.
fn interests(clients: &[Client]) -> (impl Iterator<Item = (&TcpStream, bool)>, Option<Duration>) {
    let streams = clients
        .iter()
        .map(|client| (&client.stream, !client.talk.output.is_empty()));
    let strangers = clients.iter().any(|client| !client.talk.valid);
    (streams, strangers.then_some(Duration::from_secs(1)))
}

/// Takes in whoever has come.
fn accept(listener: &TcpListener, clients: &mut Vec<Client>) {
    loop {
        match listener.accept() {
            Ok((stream, _)) => clients.extend(Client::new(stream)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => {
                // As when there is no room for another file: whoever waits is still there later.
                thread::sleep(Duration::from_millis(10));
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::connection::{Connection, Deadline};
    use super::super::wire::Request;
    use super::*;

    #[test]
    fn a_store_listens_where_it_is_looked_for() {
        let here = IpAddr::from(Ipv4Addr::LOCALHOST);
        let elsewhere = IpAddr::from([192, 0, 2, 1]);
        let at = |address| {
            listen(address, false, 0)
                .unwrap()
                .local_addr()
                .unwrap()
                .ip()
        };
        assert_eq!(at(Some(here)), here);
        // An address that no machine has, and none at all.
        assert!(at(Some(elsewhere)).is_unspecified() && at(None).is_unspecified());
        assert!(listen(Some(elsewhere), true, 0).is_err());
        for (host, address) in [
            ("localhost", here),
            ("127.0.0.1", here),
            ("192.0.2.1", elsewhere),
        ] {
            assert_eq!(address_of(host, 0), Some(address));
        }
    }

    #[test]
    fn a_store_that_looks_again_and_again_serves_and_ends() {
        let listener = listen(address_of("localhost", 0), true, 0).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (wake, woken) = by_looking::pair().unwrap();
        let server = thread::spawn(move || {
            serve(&listener, Values::default(), |clients| {
                let (streams, limit) = interests(clients);
                by_looking::events(&listener, &woken, streams, limit)
            });
        });
        let limit = Deadline::after(Duration::from_secs(30));
        let client = || Connection::open("127.0.0.1", || Ok(port), limit).unwrap();
        let (mut waits, mut sets) = (client(), client());
        let waiting = thread::spawn(move || {
            waits.wait(vec![b"key"], limit).unwrap();
            waits.send(&[Request::Get { key: b"key" }], limit).unwrap();
            waits.receive_value(limit).unwrap()
        });
        let set = Request::Set {
            key: b"key",
            value: b"value",
        };
        sets.send(&[set], limit).unwrap();
        assert_eq!(waiting.join().unwrap(), b"value");
        drop(wake);
        server.join().unwrap();
    }
}
