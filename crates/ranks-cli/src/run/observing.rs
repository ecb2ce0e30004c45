//! Options that tell the ranks of a job what to write about themselves.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::postmortem;

/// The folder of dumps.
const DUMP: &str = "RANKS_DUMP";

/// The time limit of operations.
const TIMEOUT: &str = "RANKS_TIMEOUT";

/// Settings of the ranks, each of which is a variable of their environment too.
#[derive(clap::Args)]
pub(super) struct Observing {
    /// Makes an error of an operation that waits longer for other ranks: `3s`, `500ms`, `2m`, `1h`;
    /// or ends the job, or reports it: `3s,abort`, `3s,warn`. As RANKS_TIMEOUT.
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    timeout: Option<OsString>,
    /// Keeps the last calls of ranks that fail there, for `ranks postmortem DIR`. As RANKS_DUMP.
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
    /// Ends with a table of what all ranks have called, on standard error or in the file. As
    /// RANKS_STATS.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    stats: Option<OsString>,
    /// Keeps there when each rank has called what, for `ranks timeline DIR`. As RANKS_TIMELINE.
    #[arg(long, value_name = "DIR")]
    timeline: Option<PathBuf>,
}

impl Observing {
    /// The variables that say so to the ranks.
    pub(super) fn variables(&self) -> Vec<(OsString, OsString)> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(OsString::from);
        let all = [
            (TIMEOUT, self.timeout.clone()),
            (DUMP, path(&self.dump)),
            ("RANKS_STATS", self.stats.clone()),
            ("RANKS_TIMELINE", path(&self.timeline)),
        ];
        all.into_iter()
            .filter_map(|(name, value)| Some((name.into(), value?)))
            .collect()
    }

    /// The advice at the end of a job that has failed; of options those that were not given, and
    /// only `where_they_help`.
    pub(super) fn where_to_look(&self, where_they_help: bool) -> Option<String> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let folder = self.dump.clone();
        let folder = folder.or_else(|| variable(DUMP).map(PathBuf::from));
        if let Some(folder) = folder
            .as_ref()
            .filter(|folder| postmortem::has_dumps(folder))
        {
            let folder = folder.display();
            return Some(format!(
                "`ranks postmortem {folder}` shows what its ranks have called last"
            ));
        }
        let mut options = Vec::new();
        if folder.is_none() {
            options.push("with --dump DIR its ranks write what they have called last");
        }
        if self.timeout.is_none() && variable(TIMEOUT).is_none() {
            options.push("with --timeout 1m no wait is for ever");
        }
        (where_they_help && !options.is_empty()).then(|| options.join(", "))
    }
}

/// A time limit that the ranks will understand.
fn time_limit(text: &str) -> Result<OsString, String> {
    let (limit, effect) = text.split_once(',').unwrap_or((text, "error"));
    let effect = effect.trim();
    if !["error", "abort", "warn"].contains(&effect) {
        return Err(format!("`{effect}` is no effect: error, abort or warn"));
    }
    if ranks_launch::any_duration(limit)?.is_zero() {
        return Err("a limit of zero ends every operation; leave it out for none".to_owned());
    }
    Ok(text.into())
}

/// The variables as words of the program `env`.
pub(super) fn assignments(variables: &[(OsString, OsString)]) -> impl Iterator<Item = OsString> {
    let set =
        |(name, value): &(OsString, OsString)| [name, OsStr::new("="), value].into_iter().collect();
    variables.iter().map(set)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        observing: Observing,
        #[arg(trailing_var_arg = true)]
        program: Vec<String>,
    }

    fn words(line: &[&str]) -> Vec<String> {
        let command = Command::try_parse_from(line).unwrap();
        assert_eq!(command.program, ["program"]);
        let variables = command.observing.variables();
        let words = assignments(&variables).map(|word| word.into_string().unwrap());
        words.collect()
    }

    #[test]
    fn a_time_limit_that_ranks_refuse_is_an_error() {
        for text in ["3", " 1.5 s ", "500ms", "3s,abort", "3 , warn"] {
            assert_eq!(time_limit(text), Ok(text.into()));
        }
        for (text, why) in [
            ("3x", "`x` is no unit"),
            ("", "is no number"),
            ("0", "a limit of zero"),
            ("3s,die", "`die` is no effect"),
        ] {
            let error = time_limit(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn each_option_is_a_variable_of_the_ranks() {
        assert!(words(&["run", "program"]).is_empty());
        assert_eq!(
            words(&["run", "--stats", "--timeout", "3s,abort", "program"]),
            ["RANKS_TIMEOUT=3s,abort", "RANKS_STATS=1"]
        );
        let files = [
            "run",
            "--stats=s.txt",
            "--dump",
            "d",
            "--timeline",
            "t",
            "program",
        ];
        assert_eq!(
            words(&files),
            ["RANKS_DUMP=d", "RANKS_STATS=s.txt", "RANKS_TIMELINE=t"]
        );
    }
}
