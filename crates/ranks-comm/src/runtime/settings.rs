//! Settings from the environment: `RANKS_BACKEND`, `RANKS_NP`, and the launcher's own variables.

use std::env::{self, VarError};
use std::time::Duration;

use ranks_launch::{Environment, Ground, Undecided, UnknownVariable};

use crate::call::checks::Checks;
use crate::call::limit::{self, Limit, OnTimeLimit, Origin};
use crate::call::record::dump::FAULTS;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::facts::Backend;

const OPERATION: &str = "MPI_Init_thread";

/// The variables that name folders for the files that ranks write at their end.
const FOLDERS: [&str; 2] = ["RANKS_DUMP", "RANKS_TIMELINE"];

/// Detects where this process runs, and checks that it can write the files that it will be asked
/// for at its end.
pub(crate) fn environment() -> Result<Environment> {
    FOLDERS.into_iter().try_for_each(folder)?;
    let environment = Environment::detect();
    // It is rank 0 that writes it.
    if environment.rank.is_none_or(|rank| rank == 0) {
        statistics()?;
        UnknownVariable::all().into_iter().for_each(warn_of);
    }
    faults()?;
    Ok(environment)
}

/// Warns of a variable that seems to be misspelt. Others may be of the program.
fn warn_of(UnknownVariable { name, meant }: UnknownVariable) {
    if let Some(meant) = meant {
        eprintln!("ranks: {name} is set, which nothing reads; did you mean {meant}?");
    }
}

/// Everything in the environment that a program is refused for, unless it sets it itself: the
/// errors of its start on this ground.
pub fn refused(ground: Ground) -> Vec<Error> {
    let folders = FOLDERS.into_iter().map(folder);
    let others = [
        statistics(),
        faults(),
        checks(None).map(drop),
        check_limit(None).map(drop),
        time_limit(None, None).map(drop),
        match ground {
            Ground::InProcess => ranks(None).map(drop),
            Ground::Mpi => Ok(()),
        },
    ];
    folders.chain(others).filter_map(Result::err).collect()
}

/// Checks that files can be written to the folder that this variable names.
fn folder(name: &str) -> Result<()> {
    let Some(folder) = env::var_os(name).filter(|folder| !folder.is_empty()) else {
        return Ok(());
    };
    ranks_trace::own_file::try_folder(folder.as_ref()).map_err(|reason| {
        let text = format!(
            "{name} is {}, where nothing can be written: {reason}; name a folder that all nodes can write to, or unset it",
            folder.display()
        );
        wrong(text).with_source(reason)
    })
}

/// Checks that the file that `RANKS_STATS` names can be written.
fn statistics() -> Result<()> {
    let Some(file) = ranks_trace::statistics_file() else {
        return Ok(());
    };
    ranks_trace::own_file::try_file(&file).map_err(|reason| {
        let text = format!(
            "RANKS_STATS is {}, which cannot be written: {reason}; name a file that the host of rank 0 can write, or `1` for standard error, or unset it",
            file.display()
        );
        wrong(text).with_source(reason)
    })
}

fn faults() -> Result<()> {
    match env::var_os(FAULTS) {
        Some(value) if value != "1" && value != "0" && !value.is_empty() => {
            let text = format!("{FAULTS} is {value:?}; it must be `1`, or `0`, or not set");
            Err(wrong(text))
        }
        _ => Ok(()),
    }
}

/// Decides between MPI and threads: as the program asks, or else as [`Ground`] finds from how it
/// was started. A program that asks for threads has them under any launcher.
pub(crate) fn resolve(asked: Backend, environment: &Environment) -> Result<Ground> {
    let asked = match asked {
        Backend::InProcess => return Ok(Ground::InProcess),
        Backend::Mpi => Some(Ground::Mpi),
        Backend::Auto => None,
    };
    Ground::of(environment, asked).map_err(|reason| {
        let kind = match &reason {
            Undecided::WorldsApart { .. }
            | Undecided::OneHostOfSeveral { .. }
            | Undecided::PodOfIndexedJob { .. }
            | Undecided::OneOfSeveral { .. }
            | Undecided::LauncherPod => ErrorKind::Launch,
            Undecided::NoSuchMpi { .. } => ErrorKind::Load,
            _ => ErrorKind::Argument,
        };
        Error::with_text(kind, OPERATION, reason.to_string()).with_source(reason)
    })
}

/// The largest number of in-process ranks. A process that has as many memory mappings as Linux
/// allows is killed, without an error, as soon as it starts a thread: each thread takes four of the
/// usual 65 530.
pub const MOST_THREADS: usize = 1 << 13;

/// The number of in-process ranks: as the program asks, as `RANKS_NP` says, or one.
pub(crate) fn ranks(asked: Option<usize>) -> Result<usize> {
    let (ranks, who) = match asked {
        Some(ranks) => (ranks, "Builder::ranks"),
        None => match variable("RANKS_NP")? {
            Some(text) => (parse(&text)?, "RANKS_NP"),
            None => (1, ""),
        },
    };
    if ranks == 0 {
        return Err(wrong(format!(
            "{who} is 0; there must be at least one rank"
        )));
    }
    if ranks > MOST_THREADS {
        return Err(wrong(format!(
            "{who} is {ranks}; in process every rank is a thread, and there may be {MOST_THREADS} at most: \
                 run more ranks as processes, over an MPI"
        )));
    }
    Ok(ranks)
}

/// The level of checks: as the program asks, as `RANKS_CHECK` says, or the default of this build.
pub fn checks(asked: Option<Checks>) -> Result<Checks> {
    if let Some(checks) = asked {
        return Ok(checks);
    }
    match variable("RANKS_CHECK")?.as_deref().map(str::trim) {
        Some("collective") => Ok(Checks::Collective),
        Some("digests") => Ok(Checks::Digests),
        Some("local" | "off") => Ok(Checks::Local),
        None => Ok(Checks::of_this_build()),
        Some(other) => Err(wrong(format!(
            "RANKS_CHECK is `{other}`; it must be `collective`, `digests`, `local` or `off`"
        ))),
    }
}

/// The time to wait for other ranks where calls are compared: as the program asks, as
/// `RANKS_CHECK_LIMIT` says, or for ever.
pub(crate) fn check_limit(asked: Option<Duration>) -> Result<Duration> {
    if let Some(limit) = asked {
        return Ok(limit);
    }
    let Some(text) = variable("RANKS_CHECK_LIMIT")? else {
        return Ok(Duration::MAX);
    };
    match limit::parse(&text) {
        Some((limit, None)) => Ok(limit),
        _ => Err(wrong(format!(
            "RANKS_CHECK_LIMIT is `{text}`; it must be how long ranks wait for each other, such as `3`, `3s`, `500ms`, `2m` or `1h`"
        ))),
    }
}

/// The time limit of operations: as the program asks, as `RANKS_TIMEOUT` says, or none.
pub(crate) fn time_limit(
    limit: Option<Duration>,
    then: Option<OnTimeLimit>,
) -> Result<Option<Limit>> {
    if let Some(duration) = limit {
        if duration.is_zero() {
            let text = "Builder::time_limit is zero, which ends every operation; pass more";
            return Err(wrong(text));
        }
        let then = then.unwrap_or_default();
        let origin = Origin::Builder;
        return Ok(Some(Limit {
            duration,
            then,
            origin,
        }));
    }
    let Some(text) = variable("RANKS_TIMEOUT")? else {
        return Ok(None);
    };
    let Some((duration, said)) = limit::parse(&text) else {
        return Err(wrong(format!(
            "RANKS_TIMEOUT is `{text}`; it must be how long an operation may take, such as `3`, `3s`, `500ms`, `2m` or `1h`, \
                 and may end in `,error`, `,abort` or `,warn`"
        )));
    };
    Ok(Some(Limit {
        duration,
        then: then.or(said).unwrap_or_default(),
        origin: Origin::Environment,
    }))
}

fn parse(text: &str) -> Result<usize> {
    text.trim().parse().map_err(|reason| {
        wrong(format!(
            "RANKS_NP is `{text}`; it must be the number of in-process ranks ({reason})"
        ))
    })
}

/// An error: a setting that is none.
fn wrong(text: impl Into<String>) -> Error {
    Error::with_text(ErrorKind::Argument, OPERATION, text.into())
}

/// The value of a variable; one that is empty counts as not set.
fn variable(name: &str) -> Result<Option<String>> {
    match env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(value)) => {
            Err(wrong(format!("{name} is {value:?}, which is not text")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_ranks_is_a_positive_number() {
        assert_eq!(parse(" 4 ").unwrap(), 4);
        let error = parse("four").unwrap_err();
        assert!(
            error.to_string().starts_with("RANKS_NP is `four`"),
            "{error}"
        );
        assert_eq!(ranks(Some(0)).unwrap_err().kind(), ErrorKind::Argument);
        assert_eq!(ranks(Some(3)).unwrap(), 3);
        assert_eq!(ranks(Some(8192)).unwrap(), 8192);
        let error = ranks(Some(20_000)).unwrap_err().to_string();
        assert!(error.contains("Builder::ranks is 20000"), "{error}");
        assert!(error.contains("8192 at most"), "{error}");
    }
}
