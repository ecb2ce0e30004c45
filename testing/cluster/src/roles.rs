//! The processes that hosts are made of: each is this program, started anew with the name of its
//! role.
//!
//! Of the head there are two: one that leaves the caller's namespaces, and the first process of the
//! new ones; of each host as well. Each ends when the one before it does, so the end of the first
//! is the end of all.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use clap::ValueEnum;
use nix::sys::signal::SigSet;

use super::namespaces::{Caller, Right, end_with_parent, leave, leave_head};
use super::{FIRST, HOST, mounts, names, network, service, stage};

/// What a process says when it has done its part.
const READY: &str = "ready";

/// What all roles are told.
#[derive(Debug, Clone)]
pub(super) struct Told {
    /// The folder of sockets.
    pub(super) state: PathBuf,
    /// The number of hosts, without the head.
    pub(super) hosts: usize,
    /// Folders that hosts see, wherever they lie.
    pub(super) keep: Vec<PathBuf>,
}

impl Told {
    /// Starts a role that is told the same, with a word of its own; its input stays open as long as
    /// this process lives.
    pub(super) fn stage(&self, role: &str, word: &str) -> Command {
        let mut command = stage(role);
        command
            .arg(word)
            .arg(&self.state)
            .arg(self.hosts.to_string())
            .args(&self.keep)
            .stdin(Stdio::piped());
        command
    }

    /// The word, and what all roles are told.
    fn read(arguments: &[OsString]) -> Result<(String, Told), String> {
        let [word, state, hosts, keep @ ..] = arguments else {
            return Err("a role was started without its arguments".to_owned());
        };
        let told = Told {
            state: state.into(),
            hosts: hosts
                .to_string_lossy()
                .parse()
                .map_err(|error| format!("{hosts:?}: {error}"))?,
            keep: keep.iter().map(PathBuf::from).collect(),
        };
        Ok((word.to_string_lossy().into_owned(), told))
    }
}

/// Leaves the caller's namespaces, and waits for the end of those that are made instead.
pub(super) fn head(arguments: &[OsString]) -> Result<(), String> {
    let (word, told) = Told::read(arguments)?;
    let (right, held) = word
        .split_once(',')
        .ok_or("a head needs to know its right")?;
    let right = Right::from_str(right, true)?;
    let held = held == "held";
    if held {
        end_with_parent()?;
    }
    let caller = leave(right)?;
    if held {
        end_with_parent()?;
    }
    let word = format!("{},{}", names::HEAD, Caller::word(caller));
    let mut first = told
        .stage(FIRST, &word)
        .spawn()
        .map_err(|error| format!("the head cannot be started: {error}"))?;
    // Its input stays open until it has ended.
    let input = first.stdin.take();
    let _ = first.wait();
    drop(input);
    Ok(())
}

/// Leaves the head's namespaces, and waits for its link before it starts the first process of the
/// host.
pub(super) fn host(arguments: &[OsString]) -> Result<(), String> {
    let (word, told) = Told::read(arguments)?;
    end_with_parent()?;
    leave_head()?;
    say(READY)?;
    let mut linked = [0];
    std::io::stdin()
        .read_exact(&mut linked)
        .map_err(|error| format!("no link came: {error}"))?;
    let mut first = told
        .stage(FIRST, &word)
        .spawn()
        .map_err(|error| format!("a host cannot be started: {error}"))?;
    let input = first.stdin.take();
    let _ = first.wait();
    drop(input);
    Ok(())
}

/// The first process of the head or of a host.
pub(super) fn first(arguments: &[OsString]) -> Result<(), String> {
    let (word, told) = Told::read(arguments)?;
    end_with_parent()?;
    let (name, caller) = word.split_once(',').ok_or("a host needs a name")?;
    let caller = Caller::of_word(caller);
    nix::unistd::sethostname(name).map_err(|error| format!("sethostname: {error}"))?;
    mounts::of_host(&told.state.join("hosts"), &told.keep)?;
    let hosts = match names::number(name) {
        Some(number) => {
            network::ip(&network::of_host(number))?;
            network::wait_for(&[network::OF_HOST.to_owned()])?;
            Vec::new()
        }
        None => start_hosts(&told, &Caller::word(caller))?,
    };
    let socket = told.state.join(format!("{name}.sock"));
    let listener =
        UnixListener::bind(&socket).map_err(|error| format!("{}: {error}", socket.display()))?;
    say(READY)?;
    let end = service::serve(&listener, caller);
    drop(hosts);
    end
}

/// Starts every host and its link; their inputs are to be kept as long as they are to live.
fn start_hosts(told: &Told, caller: &str) -> Result<Vec<ChildStdin>, String> {
    let hosts = names::hosts(told.hosts);
    let mut started = Vec::new();
    for host in &hosts {
        let child: Result<Child, _> = told
            .stage(HOST, &format!("{host},{caller}"))
            .stdout(Stdio::piped())
            .spawn();
        started.push(child.map_err(|error| format!("{host} cannot be started: {error}"))?);
    }
    let mut outputs = Vec::new();
    for (host, child) in hosts.iter().zip(&mut started) {
        let output = child.stdout.take().ok_or("a host has no output")?;
        let mut output = BufReader::new(output);
        hear(host, &mut output)?;
        outputs.push(output);
    }
    let processes: Vec<u32> = started.iter().map(Child::id).collect();
    network::ip(&network::of_head(&processes))?;
    let mut inputs = Vec::new();
    for child in &mut started {
        let mut input = child.stdin.take().ok_or("a host has no input")?;
        input
            .write_all(b"+")
            .map_err(|error| format!("a host is gone: {error}"))?;
        inputs.push(input);
    }
    for (host, output) in hosts.iter().zip(&mut outputs) {
        hear(host, output)?;
    }
    let links: Vec<String> = (0..hosts.len()).map(names::link).collect();
    network::wait_for(&links)?;
    Ok(inputs)
}

/// Waits until a process is ready, or says what is wrong.
pub(super) fn hear(who: &str, output: &mut BufReader<ChildStdout>) -> Result<(), String> {
    let mut line = String::new();
    output
        .read_line(&mut line)
        .map_err(|error| format!("{who}: {error}"))?;
    match line.trim() {
        READY => Ok(()),
        "" => Err(format!("{who} ended before it was ready")),
        why => Err(format!("{who}: {why}")),
    }
}

/// Says a line to the process that has started this one.
pub(super) fn say(line: &str) -> Result<(), String> {
    let mut output = std::io::stdout();
    writeln!(output, "{line}")
        .and_then(|()| output.flush())
        .map_err(|error| format!("nobody listens: {error}"))
}

/// Becomes a program on a host: in a session of its own, as the caller.
pub(super) fn start(arguments: &[OsString]) -> Result<(), String> {
    let [caller, program, rest @ ..] = arguments else {
        return Err("nothing is to be started".to_owned());
    };
    nix::unistd::setsid().map_err(|error| format!("setsid: {error}"))?;
    SigSet::all()
        .thread_unblock()
        .map_err(|error| format!("sigprocmask: {error}"))?;
    if let Some(caller) = Caller::of_word(&caller.to_string_lossy()) {
        caller.look_like()?;
    }
    let error = Command::new(program).args(rest).exec();
    Err(format!("{}: {error}", program.to_string_lossy()))
}
