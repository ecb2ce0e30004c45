//! Processes that find each other at an address: over a store that one of them, or torchrun, serves
//! there.
//!
//! Each exchange (`round.rs`) has keys of its own, and each store of a rank has a number, which the
//! store at the address gives: the first store of each rank meets the first of the others.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ranks_comm::backend::Count;
use ranks_comm::{Error, ErrorKind, Result};

use super::Bootstrap;
use connection::{Connection, Deadline};
pub use options::TcpStoreOptions;
use round::{Round, Unfinished};
use server::Server;
use wire::Request;

mod connection;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod options;
mod round;
mod server;
mod talk;
mod values;
mod wire;

const OPERATION: &str = "TcpStore";

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
/// Without a [secret](TcpStoreOptions::secret) whoever can reach the port can read and change what
/// is exchanged, as with PyTorch: the network has to be one's own. Other bytes than a store's do no
/// harm.
///
/// Keep the store until all ranks have
/// done what they need it for: as rank 0's goes, the service ends, after which other ranks get
/// [`PeerFailed`](ErrorKind::PeerFailed).
///
/// After an error of [`exchange`](Bootstrap::exchange) a store cannot be used any more; others at
/// the same port can.
pub struct TcpStore {
    options: TcpStoreOptions,
    /// The prefix of the keys of this store.
    keys: String,
    /// Its number among those of its rank and name at the port, from 1.
    number: i64,
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
        options.check()?;
        let rank = options.rank;
        let serves = options.serves();
        let (prefix, others) = match options.secret.as_str() {
            "" => ("ranks/".to_owned(), true),
            secret => (format!("ranks/{secret}/"), false),
        };
        let only = if others { "" } else { prefix.as_str() };
        let deadline = Deadline::after(options.limit);
        let (mut server, mut port) = (None, options.port);
        let mut unserved = None;
        // Another store of this process may just be ending at the port, so this is tried again.
        let find = || {
            if serves && server.is_none() {
                let at = (options.host.as_str(), options.listens_at);
                server = Server::on(at, options.port, only).map_err(|error| {
                    let place = at.1.map_or("there".to_owned(), |told| format!("at {told}"));
                    unserved = Some(format!("rank 0 cannot serve {place}: {error}"));
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
                "timed out after {:?}: rank {rank} found no store at {}:{port}: {why}",
                options.limit, options.host
            );
            Error::new(ErrorKind::TimedOut, OPERATION, text)
        })?;
        let name = format!("{prefix}{}/{}", options.attempt, options.name);
        let counter = format!("{name}/stores/{rank}");
        let add = Request::Add {
            key: counter.as_bytes(),
            number: 1,
        };
        let number = connection
            .send(&[add], deadline)
            .and_then(|()| connection.receive_number(deadline))
            .map_err(|trouble| options.refused(trouble, port))?;
        let keys = format!("{name}/{number}");
        if rank == 0 {
            round::tell_size(&mut connection, &keys, options.size, deadline)
                .map_err(|trouble| options.failed(trouble, port))?;
        }
        Ok(TcpStore {
            keys,
            number,
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
        let round = Round {
            connection,
            keys: format!("{}/{round}", self.keys),
            size_key: (round == 0 && rank > 0).then(|| round::size_key(&self.keys)),
            rank,
            size,
            deadline: Deadline::after(limit),
        };
        round.exchange(mine).map_err(|why| match why {
            Unfinished::Store(trouble) => self.options.failed(trouble, self.port),
            Unfinished::Late(ranks) => {
                let mut text = format!(
                    "timed out after {limit:?}: {ranks} did not come to the store at {}:{}",
                    self.options.host, self.port
                );
                if self.number > 1 {
                    text += &format!(
                        "; this is store {} of rank {rank} there: unless this process has made the ones before, another is rank {rank} too",
                        self.number
                    );
                }
                Error::new(ErrorKind::TimedOut, OPERATION, text)
            }
            Unfinished::Sizes { rank, size, first } => {
                let text = format_args!(
                    "rank {rank} was told of {}, and rank 0 of {first}: pass all ranks the same number (WORLD_SIZE)",
                    Count(size, "rank")
                );
                Error::new(ErrorKind::Mismatch, OPERATION, text)
            }
            Unfinished::Long(rank) => {
                let text = format_args!(
                    "rank {rank} passes more than the {} bytes that a store takes of each rank",
                    wire::MAX_VALUE
                );
                Error::new(ErrorKind::Length, OPERATION, text)
            }
        })
    }
}

impl Bootstrap for TcpStore {
    fn rank(&self) -> usize {
        self.options.rank
    }

    fn size(&self) -> usize {
        self.options.size
    }

    /// At most 8 MiB a rank, which is what servers of PyTorch take, and less than 1 GiB of all
    /// ranks together, which is what the server holds.
    fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
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
