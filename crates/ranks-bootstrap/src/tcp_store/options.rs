//! The options of a store, by the program or the environment.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use ranks_comm::{Error, ErrorKind, Result};

use super::connection::Trouble;
use super::{OPERATION, TcpStore};

/// The variable that has the secret of a job.
const SECRET: &str = "RANKS_STORE_SECRET";

/// The variable that counts how often the program was started again.
const ATTEMPT: &str = "TORCHELASTIC_RESTART_COUNT";

/// The address at which ranks meet, and all else that a [`TcpStore`] is made of.
#[derive(Debug, Clone)]
pub struct TcpStoreOptions {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) rank: usize,
    pub(super) size: usize,
    pub(super) name: String,
    /// The start of the program that this is, where a launcher starts it again after a failure.
    pub(super) attempt: String,
    pub(super) limit: Duration,
    pub(super) served_elsewhere: bool,
    pub(super) listens_at: Option<IpAddr>,
    pub(super) secret: String,
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
            listens_at: None,
            secret: String::new(),
        }
    }

    /// As torchrun and its like say it: by `MASTER_ADDR`, `MASTER_PORT`, `RANK` and `WORLD_SIZE`.
    ///
    /// If `TORCHELASTIC_USE_AGENT_STORE` is `True`, torchrun serves itself, and rank 0 does not.
    /// `TORCHELASTIC_RESTART_COUNT` keeps ranks that were started again from what the former ones
    /// have left. `RANKS_STORE_SECRET` is the [secret](Self::secret).
    ///
    /// # Errors
    /// [`ErrorKind::Launch`] with the name of the variable that is missing, no number, or not text.
    pub fn from_env() -> Result<Self> {
        Self::from_variables(|name| env::var_os(name))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        const ALL: &str = "ranks are found by MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, as torchrun sets them";
        let fails = |text: fmt::Arguments<'_>| Error::new(ErrorKind::Launch, OPERATION, text);
        // The value is not in the error: it may be the secret.
        let given = |name: &str| {
            let value = variable(name).filter(|value| !value.is_empty());
            value.map(OsString::into_string).transpose().map_err(|_| {
                fails(format_args!(
                    "{name} is not text: write it in UTF-8, or unset it"
                ))
            })
        };
        let text = |name: &str| {
            given(name)?.ok_or_else(|| fails(format_args!("{name} is not set; {ALL}")))
        };
        let parse = |name: &str, text: &str| {
            text.trim().parse::<usize>().map_err(|_| {
                fails(format_args!(
                    "{name} is {text:?}, which is no number; {ALL}"
                ))
            })
        };
        let number = |name: &str| parse(name, &text(name)?);
        let host = text("MASTER_ADDR")?;
        let port = number("MASTER_PORT")?;
        let port = u16::try_from(port).map_err(|_| {
            fails(format_args!(
                "MASTER_PORT is {port}, which is no port; {ALL}"
            ))
        })?;
        let mut options = Self::new(host, port, number("RANK")?, number("WORLD_SIZE")?);
        options.served_elsewhere =
            given("TORCHELASTIC_USE_AGENT_STORE")?.is_some_and(|value| value == "True");
        if let Some(attempt) = given(ATTEMPT)? {
            options.attempt = parse(ATTEMPT, &attempt)?.to_string();
        }
        options.secret = given(SECRET)?.unwrap_or_default();
        Ok(options)
    }

    /// Ranks of stores of one name meet each other alone: another for each group of ranks that
    /// meets at one port. Two jobs at one port are told apart by it, or by a
    /// [secret](Self::secret), and by nothing else. Of at most 1000 bytes.
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

    /// Sets what the ranks of the job know and nobody else: a store that rank 0 serves leaves
    /// everybody who names a key that does not begin with it, PyTorch's clients too. The same on
    /// all ranks, and for all stores at a port; of at most 1000 bytes.
    ///
    /// It crosses the network as it is, so that whoever can read that knows it.
    pub fn secret(mut self, secret: impl Into<String>) -> Self {
        self.secret = secret.into();
        self
    }

    /// Sets the address at which rank 0 listens. Unless it is set, that is the one that the host
    /// stands for; all addresses of the machine if it stands for several, for none of its own, or
    /// by another name than `localhost` for the machine itself alone.
    pub fn listen_at(mut self, address: IpAddr) -> Self {
        self.listens_at = Some(address);
        self
    }

    /// Connects to the store, which rank 0 serves from now on. Waits for the store, and not for the
    /// other ranks.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] if there is no such rank, [`ErrorKind::Argument`] for a name or a secret
    /// that is too long, or for port 0 where this rank does not serve, [`ErrorKind::Launch`] if
    /// rank 0 cannot serve there, [`ErrorKind::TimedOut`] with the last reason if no store answers
    /// within the time limit, as where another program has the port, [`ErrorKind::PeerFailed`] if
    /// the store has another secret. One that has none answers, and those with a secret meet each
    /// other alone there.
    pub fn connect(self) -> Result<TcpStore> {
        TcpStore::new(self)
    }

    /// Returns `true` if this rank serves.
    pub(super) fn serves(&self) -> bool {
        self.rank == 0 && !self.served_elsewhere
    }

    /// Checks what the program has set.
    pub(super) fn check(&self) -> Result<()> {
        let (rank, size) = (self.rank, self.size);
        if rank >= size {
            let text = format_args!("there is no rank {rank} of {size}");
            return Err(Error::new(ErrorKind::Rank, OPERATION, text));
        }
        let names = [&self.name, &self.attempt, &self.secret];
        if names.iter().any(|name| name.len() > 1000) {
            let text = "a name or a secret of more than 1000 bytes is too long";
            return Err(Error::new(ErrorKind::Argument, OPERATION, text));
        }
        if self.port == 0 && !self.serves() {
            let text = "port 0 is for the rank that serves: the others need the port that it got \
                        (TcpStore::port)";
            return Err(Error::new(ErrorKind::Argument, OPERATION, text));
        }
        Ok(())
    }

    /// An error of the first request, in words.
    pub(super) fn refused(&self, trouble: Trouble, port: u16) -> Error {
        self.failed(
            match trouble {
                Trouble::Lost(why) => Trouble::Lost(format!(
                    "{why}; a store that has a secret leaves whoever does not ({SECRET})"
                )),
                other => other,
            },
            port,
        )
    }

    /// An error of an exchange, in words.
    pub(super) fn failed(&self, trouble: Trouble, port: u16) -> Error {
        let TcpStoreOptions {
            host, limit, rank, ..
        } = self;
        let (kind, why) = match trouble {
            Trouble::TimedOut => (
                ErrorKind::TimedOut,
                format!(
                    "timed out after {limit:?}: it gave no answer, or not all ranks took what was exchanged"
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

#[cfg(test)]
mod tests {
    use super::*;

    fn options(variables: &[(&str, &str)]) -> Result<TcpStoreOptions> {
        TcpStoreOptions::from_variables(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| OsString::from(value))
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
        }
        for name in ["MASTER_PORT", "RANK", "WORLD_SIZE", ATTEMPT] {
            let mut some = ALL.to_vec();
            some.retain(|(other, _)| *other != name);
            for wrong in ["70000x", "-1"] {
                let error = options(&[&some[..], &[(name, wrong)]].concat()).unwrap_err();
                let text = error.to_string();
                assert!(text.contains(&format!("{name} is {wrong:?}")), "{text}");
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

    #[cfg(unix)]
    #[test]
    fn a_variable_that_is_not_text_is_named_and_not_shown() {
        use std::os::unix::ffi::OsStringExt;

        for name in ["MASTER_ADDR", ATTEMPT, SECRET] {
            let error = TcpStoreOptions::from_variables(|variable| match variable {
                _ if variable == name => Some(OsString::from_vec(b"hidden\xff".to_vec())),
                _ => ALL
                    .iter()
                    .find(|(of, _)| *of == variable)
                    .map(|(_, it)| it.into()),
            })
            .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Launch);
            let text = error.to_string();
            assert!(text.contains(&format!("{name} is not text")), "{text}");
            assert!(!text.contains("hidden"), "{text}");
        }
    }
}
