//! A store that serves: one thread, which answers whoever speaks its language and leaves whoever
//! does not.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
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

/// The time for which a connection may say nothing at first.
const PATIENCE: Duration = Duration::from_secs(10);

/// The thread, which ends when this goes.
#[derive(Debug)]
pub(super) struct Server {
    port: u16,
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
    /// It listens on all addresses of the machine, unless `host` is a name of the machine for
    /// itself alone.
    pub(super) fn on(host: &str, port: u16) -> io::Result<Option<Arc<Server>>> {
        let mut servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
        servers.retain(|server| server.strong_count() > 0);
        let here = servers.iter().filter_map(Weak::upgrade);
        if let Some(server) = here.into_iter().find(|server| server.port == port) {
            return Ok(Some(server));
        }
        let listener = match listen(host, port) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => return Ok(None),
            other => other?,
        };
        let server = Arc::new(Server::start(listener)?);
        servers.push(Arc::downgrade(&server));
        Ok(Some(server))
    }

    fn start(listener: TcpListener) -> io::Result<Server> {
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let (wake, woken) = system::pair()?;
        let thread = thread::Builder::new()
            .name("ranks-store".to_owned())
            .spawn(move || {
                serve(&listener, |clients| {
                    let (streams, limit) = interests(clients);
                    system::events(&listener, &woken, streams, limit)
                });
            })?;
        Ok(Server {
            port,
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

fn listen(host: &str, port: u16) -> io::Result<TcpListener> {
    let address: Option<IpAddr> = if host == "localhost" {
        Some(Ipv4Addr::LOCALHOST.into())
    } else {
        host.parse().ok()
    };
    if let Some(address) = address.filter(IpAddr::is_loopback) {
        return TcpListener::bind((address, port));
    }
    // Both families, where there is a second one.
    match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)) {
        Err(error) if error.kind() != ErrorKind::AddrInUse => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))
        }
        other => other,
    }
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

    fn write(&mut self) {
        while !self.talk.output.is_empty() && !self.talk.gone {
            match self.stream.write(&self.talk.output) {
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
fn serve(listener: &TcpListener, wait: impl Fn(&[Client]) -> io::Result<Vec<bool>>) {
    let mut values = Values::default();
    let mut clients: Vec<Client> = Vec::new();
    let mut buffer = vec![0; 64 << 10];
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
    fn a_store_that_looks_again_and_again_serves_and_ends() {
        let listener = listen("localhost", 0).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (wake, woken) = by_looking::pair().unwrap();
        let server = thread::spawn(move || {
            serve(&listener, |clients| {
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
