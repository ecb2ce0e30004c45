//! How a cluster comes up and goes down.

use std::fs::File;
use std::io::BufReader;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use ranks_harness::workspace;

use super::namespaces::Right;
use super::roles::{Told, hear};
use super::state::State;
use super::{HEAD, names, network};

/// When a folder that no cluster answers from is left behind, and not one that is about to come up.
const STALE: Duration = Duration::from_secs(60);

/// How long a cluster lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    /// As long as this process, however that ends.
    Held,
    /// Until somebody ends it.
    UntilDown,
}

/// A cluster that this process has made.
#[derive(Debug)]
pub(super) struct Cluster {
    state: State,
    life: Life,
    head: Child,
    /// Open as long as this process lives.
    _input: Option<ChildStdin>,
    took: Duration,
}

impl Cluster {
    /// Makes so many hosts, which also see the folder of `program`; returns when all are ready.
    pub(super) fn up(
        state: State,
        hosts: usize,
        right: Right,
        life: Life,
        program: Option<&Path>,
    ) -> Result<Cluster, String> {
        if hosts == 0 || hosts > names::MOST {
            return Err(format!(
                "a cluster has 1 to {} hosts, not {hosts}",
                names::MOST
            ));
        }
        sweep();
        if state.is_up() {
            return Err(format!(
                "{} is up already: `down` ends it, `--name` makes another",
                state.name()
            ));
        }
        let started = Instant::now();
        state.remove();
        state.create(hosts)?;
        let told = Told {
            state: state.folder().to_path_buf(),
            hosts,
            keep: kept(&state, program),
        };
        let held = if life == Life::Held { "held" } else { "free" };
        let right = match right {
            Right::Any => "any",
            Right::Root => "root",
            Right::User => "user",
        };
        let log = state.log();
        let log = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let mut command = told.stage(HEAD, &format!("{right},{held}"));
        // Keys of a terminal are not for hosts, and its streams must not stay open for them.
        command.process_group(0).stdout(Stdio::piped()).stderr(log);
        if life == Life::UntilDown {
            command.stdin(Stdio::null());
        }
        let mut head = command
            .spawn()
            .map_err(|error| format!("the head cannot be started: {error}"))?;
        let input = head.stdin.take();
        let heard = match head.stdout.take() {
            Some(output) => hear(names::HEAD, &mut BufReader::new(output)),
            None => Err("the head has no output".to_owned()),
        };
        if let Err(why) = heard {
            // It ends by itself when it has said so.
            let _ = head.wait();
            let log = std::fs::read_to_string(state.log()).unwrap_or_default();
            state.remove();
            return Err(format!("no cluster can be made: {why} {}", log.trim())
                .trim_end()
                .to_owned());
        }
        Ok(Cluster {
            state,
            life,
            head,
            _input: input,
            took: started.elapsed(),
        })
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// How long it took to come up.
    pub(super) fn took(&self) -> Duration {
        self.took
    }

    /// Ends it with everything that runs on it; returns how long that took.
    pub(super) fn down(self) -> Duration {
        let started = Instant::now();
        drop(self);
        started.elapsed()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.life == Life::UntilDown {
            return;
        }
        if self.state.end(names::HEAD).is_err() {
            // It does not listen: its end takes all others with it.
            let _ = self.head.kill();
        }
        let _ = self.head.wait();
        self.state.remove();
    }
}

/// The folders that hosts see even where they have folders of their own instead: with those of
/// this program and of `program`.
fn kept(state: &State, program: Option<&Path>) -> Vec<PathBuf> {
    let mut keep = vec![workspace::root(), state.folder().to_path_buf()];
    let this = std::env::current_exe().ok();
    let programs = [this.as_deref(), program].into_iter().flatten();
    keep.extend(programs.filter_map(Path::parent).map(Path::to_path_buf));
    keep.extend(std::env::current_dir());
    keep.into_iter()
        .filter_map(|path| path.canonicalize().ok())
        .collect()
}

/// Takes away what clusters have left behind whose makers were killed: folders, and nothing else
/// ever.
fn sweep() {
    for state in State::all() {
        let changed = std::fs::metadata(state.folder()).and_then(|data| data.modified());
        let old = changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > STALE));
        if old && !state.is_up() {
            state.remove();
        }
    }
}

/// Says which clusters are up, and what went over the links of their hosts.
pub(super) fn status() -> Result<(), String> {
    let up: Vec<State> = State::all().into_iter().filter(State::is_up).collect();
    if up.is_empty() {
        println!("no cluster is up");
    }
    for state in up {
        let traffic = network::traffic(&state.read(names::HEAD, &["cat", "/proc/net/dev"])?);
        println!("{}, in {}:", state.name(), state.folder().display());
        for (number, host) in state.hosts().iter().enumerate() {
            match traffic.get(&number) {
                Some(traffic) => println!(
                    "  {host}  sent {} bytes, received {}",
                    traffic.sent, traffic.received
                ),
                None => println!("  {host}  is gone"),
            }
        }
    }
    Ok(())
}
