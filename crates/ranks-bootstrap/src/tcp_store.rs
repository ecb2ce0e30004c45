//! Processes that find each other at an address: over a store that one of them, or torchrun, serves
//! there.
//!
//! # An exchange
//!
//! Each rank sets a key of its own, waits until the keys of all ranks are there, gets them, and
//! adds one to a number. Who makes that as large as the number of ranks sets a last key. Rank 0,
//! which may be the one that serves, waits for it: so it does not go before all have what they
//! need. Then it removes all keys. Each exchange has keys of its own, and each store of a rank has
//! a number, which the store at the address gives: the first store of each rank meets the first of
//! the others.

use std::env;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ranks_comm::{Error, ErrorKind, Result};

use super::{Bootstrap, listed};
use connection::{Connection, Deadline, Trouble};
use server::Server;
use wire::Request;

mod connection;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod server;
mod talk;
mod values;
mod wire;

const OPERATION: &str = "TcpStore";

/// The address at which ranks meet, and all else that a [`TcpStore`] is made of.
#[derive(Debug, Clone)]
pub struct TcpStoreOptions {
    host: String,
    port: u16,
    rank: usize,
    size: usize,
    name: String,
    /// The start of the program that this is, where a launcher starts it again after a failure.
    attempt: String,
    limit: Duration,
    served_elsewhere: bool,
}

impl TcpStoreOptions {
    /// Rank `rank` of `size` meets the others at a port of `host`, where rank 0 serves.
    ///
    /// The port may be 0 for rank 0, who then has to tell the others which [port](TcpStore::port)
    /// it is.
    pub fn new(host: impl Into<String>, port: u16, rank: usize, size: usize) -> Self {
        Self {
            host: host.into(),
            port,
            rank,
            size,
            name: "default".to_owned(),
            attempt: "0".to_owned(),
            limit: Duration::from_secs(300),
            served_elsewhere: false,
        }
    }

    /// As torchrun and its like say it: by `MASTER_ADDR`, `MASTER_PORT`, `RANK` and `WORLD_SIZE`.
    ///
    /// If `TORCHELASTIC_USE_AGENT_STORE` is `True`, torchrun serves itself, and rank 0 does not.
    /// `TORCHELASTIC_RESTART_COUNT` keeps ranks that were started again from what the former ones
    /// have left.
    ///
    /// # Errors
    /// [`ErrorKind::Launch`] with the name of the variable that is missing, or is no number.
    pub fn from_env() -> Result<Self> {
        Self::from_variables(|name| env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        const ALL: &str = "ranks are found by MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, as torchrun sets them";
        let text = |name: &str| {
            variable(name)
                .filter(|text| !text.is_empty())
                .ok_or_else(|| {
                    let text = format_args!("{name} is not set; {ALL}");
                    Error::new(ErrorKind::Launch, OPERATION, text)
                })
        };
        let number = |name: &str| {
            let text = text(name)?;
            text.trim().parse::<usize>().map_err(|_| {
                let text = format_args!("{name} is {text:?}, which is no number; {ALL}");
                Error::new(ErrorKind::Launch, OPERATION, text)
            })
        };
        let host = text("MASTER_ADDR")?;
        let port = number("MASTER_PORT")?;
        let port = u16::try_from(port).map_err(|_| {
            let text = format_args!("MASTER_PORT is {port}, which is no port; {ALL}");
            Error::new(ErrorKind::Launch, OPERATION, text)
        })?;
        let mut options = Self::new(host, port, number("RANK")?, number("WORLD_SIZE")?);
        options.served_elsewhere =
            variable("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|value| value == "True");
        if let Some(attempt) = variable("TORCHELASTIC_RESTART_COUNT") {
            options.attempt = attempt;
        }
        Ok(options)
    }

    /// Ranks of stores of one name meet each other alone: another for each group of ranks that
    /// meets at one port. Of at most 1000 bytes.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the time to wait for the store, and in each exchange for ranks that have not come; 300
    /// seconds by default. The time that the system takes to find the address of a name is not
    /// counted.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Sets whether somebody else serves, who speaks as PyTorch's TCPStore does since 2.3: then
    /// rank 0 does not.
    pub fn served_elsewhere(mut self, elsewhere: bool) -> Self {
        self.served_elsewhere = elsewhere;
        self
    }

    /// Connects to the store, which rank 0 serves from now on. Waits for the store, and not for the
    /// other ranks.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] if there is no such rank, [`ErrorKind::Argument`] for a name that is too
    /// long, [`ErrorKind::Launch`] if rank 0 cannot serve there, [`ErrorKind::TimedOut`] with the
    /// last reason if no store answers within the time limit.
    pub fn connect(self) -> Result<TcpStore> {
        TcpStore::new(self)
    }
}

/// Ranks that are processes, and meet over TCP.
///
/// Rank 0 serves a store at an address that all know, or torchrun does; it speaks as the TCPStore
/// of PyTorch does, and so a program can be started by torchrun next to programs that are.
///
/// ```no_run
/// use ranks::bootstrap::{Bootstrap, TcpStore};
///
/// let store = TcpStore::from_env()?;
/// let all = store.exchange(format!("rank {}", store.rank()).as_bytes())?;
/// # Ok::<(), ranks::Error>(())
/// ```
///
/// Whoever can reach the port can read and change what is exchanged: as with PyTorch, the network
/// has to be one's own. Other bytes than a store's do no harm. Keep the store until all ranks have
/// done what they need it for: as rank 0's goes, the service ends, after which other ranks get
/// [`PeerFailed`](ErrorKind::PeerFailed).
///
/// After an error of [`exchange`](Bootstrap::exchange) a store cannot be used any more; others at
/// the same port can.
pub struct TcpStore {
    options: TcpStoreOptions,
    /// The prefix of the keys of this store.
    keys: String,
    port: u16,
    state: Mutex<State>,
    /// Dropped after the connection.
    _server: Option<Arc<Server>>,
}

struct State {
    /// The number of exchanges that were started.
    round: u64,
    /// `None` after an error.
    connection: Option<Connection>,
}

impl fmt::Debug for TcpStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpStore")
            .field("host", &self.options.host)
            .field("port", &self.port)
            .field("rank", &self.options.rank)
            .field("size", &self.options.size)
            .finish_non_exhaustive()
    }
}

impl TcpStore {
    /// [`TcpStoreOptions::from_env`], connected.
    ///
    /// # Errors
    /// As [`TcpStoreOptions::from_env`] and [`TcpStoreOptions::connect`].
    pub fn from_env() -> Result<Self> {
        TcpStoreOptions::from_env()?.connect()
    }

    /// The port at which the ranks meet.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn new(options: TcpStoreOptions) -> Result<Self> {
        let TcpStoreOptions { rank, size, .. } = options;
        if rank >= size {
            let text = format_args!("there is no rank {rank} of {size}");
            return Err(Error::new(ErrorKind::Rank, OPERATION, text));
        }
        if options.name.len().max(options.attempt.len()) > 1000 {
            let text = "a name of more than 1000 bytes is too long";
            return Err(Error::new(ErrorKind::Argument, OPERATION, text));
        }
        let serves = rank == 0 && !options.served_elsewhere;
        let deadline = Deadline::after(options.limit);
        let (mut server, mut port) = (None, options.port);
        let mut unserved = None;
        // Another store of this process may just be ending at the port, so this is tried again.
        let find = || {
            if serves && server.is_none() {
                server = Server::on(&options.host, options.port).map_err(|error| {
                    unserved = Some(format!("rank 0 cannot serve there: {error}"));
                    String::new()
                })?;
                port = server.as_ref().map_or(port, |server| server.port());
            }
            Ok(port)
        };
        let opened = Connection::open(&options.host, find, deadline);
        if let Some(why) = unserved {
            let text = format_args!("{}:{}: {why}", options.host, options.port);
            return Err(Error::new(ErrorKind::Launch, OPERATION, text));
        }
        let mut connection = opened.map_err(|why| {
            let text = format_args!(
                "rank {rank} found no store at {}:{port} within {:?}: {why}",
                options.host, options.limit
            );
            Error::new(ErrorKind::TimedOut, OPERATION, text)
        })?;
        let name = format!("ranks/{}/{}", options.attempt, options.name);
        let counter = format!("{name}/stores/{rank}");
        let add = Request::Add {
            key: counter.as_bytes(),
            number: 1,
        };
        let number = connection
            .send(&[add], deadline)
            .and_then(|()| connection.receive_number(deadline))
            .map_err(|trouble| options.failed(trouble, port))?;
        Ok(TcpStore {
            keys: format!("{name}/{number}"),
            port,
            state: Mutex::new(State {
                round: 0,
                connection: Some(connection),
            }),
            options,
            _server: server,
        })
    }

    /// One exchange on a connection that is whole. What is exchanged is in no error.
    fn round(&self, connection: &mut Connection, round: u64, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let TcpStoreOptions {
            rank, size, limit, ..
        } = self.options;
        let failed = |trouble| self.options.failed(trouble, self.port);
        let deadline = Deadline::after(limit);
        let key = |what: &dyn fmt::Display| format!("{}/{round}/{what}", self.keys).into_bytes();
        let keys: Vec<Vec<u8>> = (0..size).map(|rank| key(&rank)).collect();
        let all = || keys.iter().map(Vec::as_slice).collect::<Vec<_>>();
        let (read, over) = (key(&"read"), key(&"over"));

        let set = Request::Set {
            key: &keys[rank],
            value: mine,
        };
        connection.send(&[set], deadline).map_err(failed)?;
        match connection.wait(all(), deadline) {
            Ok(()) => {}
            Err(Trouble::TimedOut) => {
                let missing = connection.missing(&keys).map_err(failed)?;
                let text = format_args!(
                    "{} did not come to the store at {}:{} within {limit:?}",
                    listed(missing.into_iter()),
                    self.options.host,
                    self.port
                );
                return Err(Error::new(ErrorKind::TimedOut, OPERATION, text));
            }
            Err(lost) => return Err(failed(lost)),
        }
        let get = Request::MultiGet { keys: all() };
        connection.send(&[get], deadline).map_err(failed)?;
        let values = keys.iter().map(|_| connection.receive_value(deadline));
        let values: Vec<Vec<u8>> = values.collect::<Result<_, _>>().map_err(failed)?;

        let add = Request::Add {
            key: &read,
            number: 1,
        };
        connection.send(&[add], deadline).map_err(failed)?;
        let readers = connection.receive_number(deadline).map_err(failed)?;
        if usize::try_from(readers) == Ok(size) {
            let set = Request::Set {
                key: &over,
                value: b"1",
            };
            connection.send(&[set], deadline).map_err(failed)?;
        }
        if rank == 0 {
            connection
                .wait(vec![over.as_slice()], deadline)
                .map_err(failed)?;
            let used = keys.iter().chain([&read, &over]);
            let delete: Vec<_> = used.map(|key| Request::DeleteKey { key }).collect();
            connection.send(&delete, deadline).map_err(failed)?;
            for _ in &delete {
                connection.receive_number(deadline).map_err(failed)?;
            }
        }
        Ok(values)
    }
}

impl TcpStoreOptions {
    /// An error of an exchange, in words.
    fn failed(&self, trouble: Trouble, port: u16) -> Error {
        let TcpStoreOptions {
            host, limit, rank, ..
        } = self;
        let (kind, why) = match trouble {
            Trouble::TimedOut => (
                ErrorKind::TimedOut,
                format!(
                    "gave no answer within {limit:?}, or not all ranks took what was exchanged"
                ),
            ),
            Trouble::Lost(why) => (
                ErrorKind::PeerFailed,
                format!("is lost to rank {rank}: {why}"),
            ),
        };
        let text = format_args!("the store at {host}:{port} {why}");
        Error::new(kind, OPERATION, text)
    }
}

impl Bootstrap for TcpStore {
    fn rank(&self) -> usize {
        self.options.rank
    }

    fn size(&self) -> usize {
        self.options.size
    }

    /// At most 8 MiB a rank, which is what servers of PyTorch take.
    fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        if mine.len() > wire::MAX_VALUE {
            let text = format_args!(
                "{} bytes are more than the {} that a store takes of a rank",
                mine.len(),
                wire::MAX_VALUE
            );
            return Err(Error::new(ErrorKind::Length, OPERATION, text));
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut connection) = state.connection.take() else {
            let text = "an earlier exchange failed, after which ranks are not where the others are";
            return Err(Error::new(ErrorKind::PeerFailed, OPERATION, text));
        };
        let round = state.round;
        state.round += 1;
        let values = self.round(&mut connection, round, mine)?;
        state.connection = Some(connection);
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(variables: &[(&str, &str)]) -> Result<TcpStoreOptions> {
        TcpStoreOptions::from_variables(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    const ALL: [(&str, &str); 4] = [
        ("MASTER_ADDR", "node7"),
        ("MASTER_PORT", "29500"),
        ("RANK", "3"),
        ("WORLD_SIZE", "4"),
    ];

    #[test]
    fn what_torchrun_says_is_understood() {
        let plain = options(&ALL).unwrap();
        assert_eq!((plain.host.as_str(), plain.port), ("node7", 29500));
        assert_eq!((plain.rank, plain.size), (3, 4));
        assert!(!plain.served_elsewhere);
        let more = [
            ("TORCHELASTIC_USE_AGENT_STORE", "True"),
            ("TORCHELASTIC_RESTART_COUNT", "2"),
        ];
        let again = options(&[&ALL[..], &more].concat()).unwrap();
        assert!(again.served_elsewhere);
        assert_eq!(again.attempt, "2");
    }

    #[test]
    fn the_variable_that_is_missing_or_wrong_is_named() {
        for (at, (name, _)) in ALL.iter().enumerate() {
            let mut some = ALL.to_vec();
            some.remove(at);
            let error = options(&some).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Launch);
            assert!(
                error.to_string().contains(&format!("{name} is not set")),
                "{error}"
            );
            if *name != "MASTER_ADDR" {
                some.push((name, "70000x"));
                let text = options(&some).unwrap_err().to_string();
                assert!(text.contains(&format!("{name} is \"70000x\"")), "{text}");
            }
        }
        let mut far = ALL;
        far[1].1 = "70000";
        let text = options(&far).unwrap_err().to_string();
        assert!(text.contains("MASTER_PORT is 70000"), "{text}");
        let error = TcpStoreOptions::new("localhost", 1, 4, 4)
            .connect()
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Rank);
    }
}
