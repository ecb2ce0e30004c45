//! The ends of ranks: a process between the launcher and each of them notes it, and `ranks run`
//! tells it.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ranks_launch::{Count, Environment, stand_in};

use crate::Outcome;
use crate::run::system;
use crate::tell::say;

/// The exit status of a shell that does not find a program.
pub(super) const NOT_STARTED: u8 = 127;

/// The rank, and where its end is noted.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder of the notes.
    folder: PathBuf,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
}

/// An argument of a program as it gets past launchers, for which `:` is the beginning of another
/// program: one of colons alone has one more.
pub(super) fn through_launcher(argument: OsString) -> OsString {
    match colons(&argument) {
        Some(colons) => format!("{colons}:").into(),
        None => argument,
    }
}

/// The argument as it was before [`through_launcher`].
fn as_it_was(argument: OsString) -> OsString {
    let less = colons(&argument).and_then(|colons| colons.strip_prefix(':'));
    less.map(OsString::from).unwrap_or(argument)
}

/// The text of an argument that is of colons alone.
fn colons(argument: &OsStr) -> Option<&str> {
    let text = argument.to_str().filter(|text| !text.is_empty())?;
    text.chars().all(|letter| letter == ':').then_some(text)
}

/// The process between: it ends as the rank has ended.
pub(crate) fn main(arguments: Arguments) -> Outcome {
    let mut program = arguments.program.into_iter();
    let file = PathBuf::from(program.next().ok_or("name a program")?);
    let program = program.map(as_it_was);
    let status = match stand_in(&file, program, &arguments.folder) {
        Ok(status) => status,
        Err(error) => {
            say(format_args!(
                "{} could not be started: {error}",
                file.display()
            ));
            return Ok(ExitCode::from(NOT_STARTED));
        }
    };
    let signal = system::signal(status);
    let (word, number) = match (signal, status.code()) {
        (Some(signal), _) => ("signal", signal),
        (None, code) => ("status", code.unwrap_or(1)),
    };
    if let Some(rank) = Environment::detect().rank {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        let time = time.map_or(0, |time| time.as_nanos());
        // The folder is gone when the job was ended, and then nobody asks.
        let _ = fs::write(
            arguments.folder.join(rank.to_string()),
            format!("{time} {word} {number}"),
        );
    }
    if !status.success() {
        system::hang_up();
    }
    if let Some(signal) = signal {
        system::end_by(signal)?;
    }
    Ok(ExitCode::from(u8::try_from(number).unwrap_or(1)))
}

/// The end of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// By a signal of this number.
    Signal(i32),
    /// With this status.
    Status(i32),
}

impl End {
    /// As the status of a shell.
    pub(crate) fn status(self) -> u8 {
        let status = match self {
            End::Signal(signal) => 128 + signal,
            End::Status(status) => status,
        };
        u8::try_from(status).unwrap_or(1)
    }

    /// True if a launcher may have done it, when another rank had failed.
    fn is_of_launchers(self) -> bool {
        match self {
            End::Status(_) => true,
            End::Signal(signal) => system::OF_LAUNCHERS.contains(&signal),
        }
    }
}

/// `killed by signal 11 (SIGSEGV)`, `ended with status 3`.
impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            End::Signal(signal) => {
                write!(f, "killed by signal {signal}")?;
                system::name(signal).map_or(Ok(()), |name| write!(f, " ({name})"))
            }
            End::Status(status) => write!(f, "ended with status {status}"),
        }
    }
}

/// The notes of a job's ranks, in a folder that is this user's alone and goes with this.
#[derive(Debug)]
pub(crate) struct Ends(PathBuf);

impl Ends {
    pub(crate) fn new() -> io::Result<Ends> {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        let time = time.map_or(0, |time| time.as_nanos());
        let name = format!("ranks-run-{}-{time}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let made = system::make_folder(&folder);
        made.map_err(|error| {
            let folder = folder.display();
            let text = format!("no folder {folder} for the ends of ranks: {error}; set TMPDIR to one that can be written");
            io::Error::new(error.kind(), text)
        })?;
        Ok(Ends(folder))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    /// The rank that was the first to end badly, and others that no launcher can have ended for it;
    /// the first one first.
    pub(crate) fn bad(&self) -> Vec<(usize, End)> {
        let ends = self.all_bad().into_iter().enumerate();
        ends.filter(|(at, (_, end))| *at == 0 || !end.is_of_launchers())
            .map(|(_, end)| end)
            .collect()
    }

    /// Every rank that ended badly, in their order.
    pub(crate) fn all_bad(&self) -> Vec<(usize, End)> {
        let mut ends = self.read();
        ends.retain(|&(_, end)| end != End::Status(0));
        ends
    }

    /// A sentence on ranks that have no end of their own. Launchers end ranks when another leaves
    /// early, with status 0 too, which is no bad end.
    pub(crate) fn cut_short(&self, ranks: usize) -> Option<String> {
        let ended = self.read();
        let (first, _) = ended.first()?;
        let has_ended = |rank: &usize| ended.iter().any(|(ended, _)| ended == rank);
        let mut others = (0..ranks).filter(|rank| !has_ended(rank));
        let one = others.next()?;
        let more = match others.count() {
            0 => String::new(),
            more => format!(" and {}", Count(more, "other")),
        };
        Some(format!(
            "rank {one}{more}: ended by the launcher before the end; rank {first} was the first to leave, with status 0"
        ))
    }

    /// The ends that were noted, in their order.
    fn read(&self) -> Vec<(usize, End)> {
        let notes = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let mut ends: Vec<(u128, usize, End)> = notes
            .filter_map(|note| {
                let rank = note.file_name().to_str()?.parse().ok()?;
                let text = fs::read_to_string(note.path()).ok()?;
                let mut words = text.split(' ');
                let time = words.next()?.parse().ok()?;
                let end = match (words.next()?, words.next()?.parse().ok()?) {
                    ("signal", signal) => End::Signal(signal),
                    (_, status) => End::Status(status),
                };
                Some((time, rank, end))
            })
            .collect();
        ends.sort_by_key(|&(time, rank, _)| (time, rank));
        ends.into_iter().map(|(_, rank, end)| (rank, end)).collect()
    }
}

/// The thing that a launcher waits for, and that would not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// Ranks that wait for one that has ended badly. Hydra waits for them, where that one has not
    /// come to `MPI_Init`.
    Ranks,
    /// The end of output that a process holds open which a rank has started and left behind.
    Output,
}

impl std::fmt::Display for Stuck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stuck::Ranks => "the launcher waited for the other ranks",
            Stuck::Output => {
                "all ranks have ended, and the launcher waited for what they had started and left behind"
            }
        })
    }
}

/// The silence of a job, in which its launcher may wait for ever.
#[derive(Debug)]
pub(crate) struct Silence {
    since: Cell<Instant>,
    /// The state in which the last whole time of silence ended.
    was: Cell<Option<Stuck>>,
}

impl Silence {
    /// The time that a launcher has to end a job by itself, or to hand on what ranks have written.
    const PATIENCE: Duration = Duration::from_secs(2);

    pub(crate) fn new() -> Silence {
        Silence {
            since: Cell::new(Instant::now()),
            was: Cell::new(None),
        }
    }

    /// Begins again: the job has written something.
    pub(crate) fn begin_again(&self) {
        self.since.set(Instant::now());
    }

    /// The reason why it is, if a rank has ended badly, or all have ended, before a whole time of
    /// silence.
    pub(crate) fn is_for_good(&self, ends: &Ends, ranks: usize) -> Option<Stuck> {
        if self.since.get().elapsed() < Self::PATIENCE {
            return None;
        }
        self.begin_again();
        let ended = ends.read();
        let is = if ended.len() == ranks {
            Some(Stuck::Output)
        } else {
            let is_bad = ended.iter().any(|&(_, end)| end != End::Status(0));
            is_bad.then_some(Stuck::Ranks)
        };
        self.was.replace(is).filter(|was| Some(*was) == is)
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        // What cannot be removed is a small file of a folder for such.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_without_an_end_of_their_own_were_cut_short() {
        let ends = Ends::new().unwrap();
        let note = |rank: usize, text: &str| fs::write(ends.folder().join(rank.to_string()), text);
        assert_eq!(ends.cut_short(4), None, "no rank has begun");
        note(2, "7 status 0").unwrap();
        note(1, "5 status 0").unwrap();
        assert_eq!(ends.bad(), []);
        let told = ends.cut_short(4).unwrap();
        assert_eq!(
            told,
            "rank 0 and 1 other: ended by the launcher before the end; rank 1 was the first to leave, with status 0"
        );
        note(0, "8 status 0").unwrap();
        assert_eq!(ends.cut_short(3), None);
        note(3, "9 signal 11").unwrap();
        assert_eq!(ends.bad(), [(3, End::Signal(11))]);
    }
}
