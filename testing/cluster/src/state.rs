//! A cluster as its users see it: a folder with the socket of each host.

use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use nix::sys::statvfs::{FsFlags, statvfs};
use ranks_harness::workspace;

use super::wire::{self, Program, Request};
use super::{agent, names};

/// Names the folder for programs on the hosts, and so for the agent that their launchers call.
const VARIABLE: &str = "RANKS_CLUSTER";

/// What the path of a socket has room for.
const LONGEST: usize = 107;

/// The folder of a cluster.
#[derive(Debug, Clone)]
pub(super) struct State {
    folder: PathBuf,
}

impl State {
    /// That of the cluster of this name, whether it is up or not.
    pub(super) fn named(name: &str) -> Result<State, String> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if name.is_empty() || !name.bytes().all(plain) {
            return Err(format!(
                "a cluster is named with letters, digits and `-`, not {name:?}"
            ));
        }
        Ok(State {
            folder: folder().join(name),
        })
    }

    /// That of the cluster that this process runs on.
    pub(super) fn of_environment() -> Result<State, String> {
        let folder = std::env::var_os(VARIABLE)
            .ok_or_else(|| format!("{VARIABLE} is not set: this is no host of a cluster"))?;
        Ok(State {
            folder: folder.into(),
        })
    }

    /// Every cluster that has a folder.
    pub(super) fn all() -> Vec<State> {
        let entries = fs::read_dir(folder()).into_iter().flatten().flatten();
        let mut all: Vec<State> = entries
            .map(|entry| State {
                folder: entry.path(),
            })
            .collect();
        all.sort_by(|one, other| one.folder.cmp(&other.folder));
        all
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn name(&self) -> String {
        self.folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    /// Makes the folder, with the names of hosts and the agent; nothing runs yet.
    pub(super) fn create(&self, hosts: usize) -> Result<(), String> {
        let longest = self.socket(names::HEAD);
        if longest.as_os_str().len() > LONGEST {
            return Err(format!(
                "{} is too long for the path of a socket: set XDG_RUNTIME_DIR to a folder with a shorter one",
                longest.display()
            ));
        }
        let failed = |error| format!("{}: {error}", self.folder.display());
        let agents = self.folder.join("bin");
        // Who reaches a socket can do on its host what the maker of the cluster can.
        let mut private = fs::DirBuilder::new();
        private.recursive(true).mode(0o700);
        private.create(&agents).map_err(failed)?;
        fs::write(self.folder.join("hosts"), names::table(hosts)).map_err(failed)?;
        agent::install(&agents).map_err(failed)
    }

    /// Returns `true` if the cluster is up.
    pub(super) fn is_up(&self) -> bool {
        UnixStream::connect(self.socket(names::HEAD)).is_ok()
    }

    /// Takes the folder away.
    pub(super) fn remove(&self) {
        // Nothing is lost with what cannot be removed.
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// The hosts that have a socket, without the head.
    pub(super) fn hosts(&self) -> Vec<String> {
        (0..names::MOST)
            .map(names::host)
            .take_while(|host| self.socket(host).exists())
            .collect()
    }

    /// Where Slurm reads what it is told, if it runs on this cluster.
    pub(super) fn slurm(&self) -> PathBuf {
        self.folder.join("slurm.conf")
    }

    fn socket(&self, host: &str) -> PathBuf {
        self.folder.join(format!("{host}.sock"))
    }

    /// Asks a host for something; the answer comes over what is returned.
    pub(super) fn ask(
        &self,
        host: &str,
        request: &Request,
        streams: [BorrowedFd<'_>; 3],
    ) -> Result<UnixStream, String> {
        let socket = self.socket(host);
        let failed = |error| format!("{host} does not answer at {}: {error}", socket.display());
        let request = wire::encode(request).map_err(failed)?;
        let stream = UnixStream::connect(&socket).map_err(failed)?;
        wire::send(&stream, &request, streams).map_err(failed)?;
        Ok(stream)
    }

    /// Runs a program on a host with the streams of this process; returns how it ended.
    pub(super) fn run_here(
        &self,
        host: &str,
        arguments: &[OsString],
        privileged: bool,
    ) -> Result<i32, String> {
        let environment = self.environment(std::env::vars_os().collect());
        let directory = std::env::current_dir()
            .map_err(|error| format!("the folder of this process is gone: {error}"))?;
        let program = Program {
            arguments: arguments.to_vec(),
            environment,
            directory,
            privileged,
        };
        let (input, output, errors) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
        let stream = self.ask(
            host,
            &Request::Run(program),
            [input.as_fd(), output.as_fd(), errors.as_fd()],
        )?;
        wire::answered(&stream).map_err(|error| format!("{host} ended: {error}"))
    }

    /// Runs a program with the rights of a host, to change or read its network; returns what it
    /// wrote.
    pub(super) fn read(&self, host: &str, arguments: &[&str]) -> Result<String, String> {
        self.output(host, arguments, true)
    }

    /// Runs a program; returns what it wrote.
    pub(super) fn output(
        &self,
        host: &str,
        arguments: &[&str],
        privileged: bool,
    ) -> Result<String, String> {
        let (mut output, write) = std::io::pipe().map_err(|error| error.to_string())?;
        let program = Program {
            arguments: arguments.iter().map(OsString::from).collect(),
            environment: self.environment(std::env::vars_os().collect()),
            directory: "/".into(),
            privileged,
        };
        let input = std::io::stdin();
        let stream = self.ask(
            host,
            &Request::Run(program),
            [input.as_fd(), write.as_fd(), write.as_fd()],
        )?;
        drop(write);
        let mut text = String::new();
        std::io::Read::read_to_string(&mut output, &mut text)
            .map_err(|error| format!("{host}: {error}"))?;
        match wire::answered(&stream) {
            Ok(0) => Ok(text),
            Ok(code) => Err(format!(
                "{} on {host} ended with {code}: {}",
                arguments.join(" "),
                text.trim()
            )),
            Err(error) => Err(format!("{host} ended: {error}")),
        }
    }

    /// Sends a signal to everything that runs on a host.
    pub(super) fn signal(
        &self,
        host: &str,
        signal: nix::sys::signal::Signal,
    ) -> Result<(), String> {
        let stream = self.ask_plainly(host, &Request::Signal(signal as i32))?;
        wire::answered(&stream)
            .map(drop)
            .map_err(|error| format!("{host} ended: {error}"))
    }

    /// Ends a host and all that runs on it; the head's end is that of the cluster. Returns when
    /// nothing runs there any more.
    pub(super) fn end(&self, host: &str) -> Result<(), String> {
        let stream = self.ask_plainly(host, &Request::End)?;
        // It answers last of all; if it was ended by others at the same time there is no answer.
        let _ = wire::answered(&stream);
        Ok(())
    }

    fn ask_plainly(&self, host: &str, request: &Request) -> Result<UnixStream, String> {
        let input = std::io::stdin();
        self.ask(host, request, [input.as_fd(), input.as_fd(), input.as_fd()])
    }

    /// The variables of a program on a host: with the agent before every other `ssh`, and no folder
    /// for temporary files but the host's.
    pub(super) fn environment(
        &self,
        variables: Vec<(OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        let agents = self.folder.join("bin");
        let path = variables
            .iter()
            .find(|(name, _)| name == "PATH")
            .map(|(_, path)| path.clone())
            .unwrap_or_default();
        let rest = std::env::split_paths(&path).filter(|folder| *folder != agents);
        let path =
            std::env::join_paths([agents.clone()].into_iter().chain(rest)).unwrap_or_default();
        let slurm = Some(self.slurm()).filter(|file| file.is_file());
        let slurm = slurm.map(|file| ("SLURM_CONF".into(), file.into_os_string()));
        let own = ["PATH", "TMPDIR", "SLURM_CONF", VARIABLE];
        let others = variables
            .into_iter()
            .filter(|(name, _)| own.iter().all(|own| name != own));
        others
            .chain([
                ("PATH".into(), path),
                (VARIABLE.into(), self.folder.clone().into_os_string()),
            ])
            .chain(slurm)
            .collect()
    }
}

/// Where the folders of clusters are: paths of sockets are short, and agents are run.
fn folder() -> PathBuf {
    let runs = |folder: &PathBuf| {
        statvfs(folder).is_ok_and(|system| !system.flags().contains(FsFlags::ST_NOEXEC))
    };
    let runtime = std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|folder| folder.is_dir() && runs(folder));
    runtime.map_or_else(
        || workspace::root().join("target").join("cluster"),
        |folder| folder.join("ranks-cluster"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_on_hosts_find_the_agent_first_and_once() {
        let state = State::named("a-1").unwrap();
        let before = vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("TMPDIR".into(), "/else".into()),
            ("A".into(), "b".into()),
        ];
        let once = state.environment(before);
        let twice = state.environment(once.clone());
        assert_eq!(once, twice);
        let path = &once.iter().find(|(name, _)| name == "PATH").unwrap().1;
        let expected = format!("{}/bin:/usr/bin:/bin", state.folder().display());
        assert_eq!(path, expected.as_str());
        assert!(once.iter().all(|(name, _)| name != "TMPDIR"));
    }

    #[test]
    fn a_name_is_no_path() {
        for name in ["", "..", "a/b", "a b"] {
            assert!(State::named(name).is_err(), "{name}");
        }
    }
}
