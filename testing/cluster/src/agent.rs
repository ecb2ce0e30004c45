//! `ssh` and `rsh` of a cluster: what launchers call to start a program on another host.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::linkat;

use super::AGENTS;
use super::state::State;

/// Puts the agent into a folder, by each of its names.
pub(super) fn install(folder: &Path) -> io::Result<()> {
    let [ssh, rsh] = AGENTS.map(|name| folder.join(name));
    keep(Path::new("/proc/self/exe"), &ssh)?;
    fs::hard_link(ssh, rsh)
}

/// Makes a file that stays what a program is now: cargo puts another one in the place of this while
/// a cluster is up.
fn keep(program: &Path, file: &Path) -> io::Result<()> {
    // A second name costs nothing. It cannot be had on another file system, nor of a file that has
    // no name any more.
    linkat(
        AT_FDCWD,
        program,
        AT_FDCWD,
        file,
        AtFlags::AT_SYMLINK_FOLLOW,
    )
    .or_else(|_| fs::copy(program, file).map(drop))
}

/// A call of `ssh`.
#[derive(Debug, PartialEq, Eq)]
struct Call {
    host: String,
    /// The words of the command, which `ssh` joins with blanks for a shell on the other side.
    command: String,
}

/// Carries out a call of `ssh`; returns what the program on the other host returned.
pub(super) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let words: Vec<String> = arguments
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let call =
        parse(&words).ok_or_else(|| format!("ssh {}: no host, or no command", words.join(" ")))?;
    let state = State::of_environment()?;
    let shell = ["/bin/sh", "-c", &call.command].map(OsString::from);
    state.note(&format!("{}: {}", call.host, call.command));
    let ended = state.run_here(&call.host, &shell, false);
    state.note(&match &ended {
        Ok(code) => format!("{}: ended with {code}", call.host),
        Err(why) => format!("{}: {why}", call.host),
    });
    let code = ended?;
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}

/// What is meant by the arguments of `ssh` or `rsh`.
fn parse(words: &[String]) -> Option<Call> {
    /// Those of its options that a value follows.
    const WITH_VALUE: &str = "BbcDEeFIiJLlmOopQRSWw";
    let mut words = words.iter();
    let host = loop {
        let word = words.next()?;
        let Some(option) = word.strip_prefix('-') else {
            break word;
        };
        // A value may be joined to its option.
        let mut letters = option.chars();
        if letters
            .next()
            .is_some_and(|letter| WITH_VALUE.contains(letter))
            && letters.next().is_none()
        {
            words.next()?;
        }
    };
    let command: Vec<&str> = words.map(String::as_str).collect();
    if command.is_empty() {
        return None;
    }
    let host = host
        .rsplit_once('@')
        .map_or(host.as_str(), |(_, host)| host);
    Some(Call {
        host: host.to_owned(),
        command: command.join(" "),
    })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn an_agent_stays_what_it_was() {
        let folder = std::env::temp_dir().join(format!("ranks-agent-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let program = folder.join("program");
        fs::write(&program, "one").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let running = fs::File::open(&program).unwrap();
        let running = format!("/proc/self/fd/{}", running.as_raw_fd());
        keep(Path::new(&running), &folder.join("ssh")).unwrap();
        fs::remove_file(&program).unwrap();
        fs::write(&program, "another").unwrap();
        fs::remove_file(folder.join("ssh")).unwrap();
        // Now it has no name.
        keep(Path::new(&running), &folder.join("rsh")).unwrap();
        let (text, mode) = (
            fs::read(folder.join("rsh")),
            fs::metadata(folder.join("rsh")),
        );
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(text.unwrap(), b"one");
        assert_eq!(mode.unwrap().permissions().mode() & 0o777, 0o700);
    }

    fn call(line: &str) -> Option<(String, String)> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        parse(&words).map(|call| (call.host, call.command))
    }

    #[test]
    fn host_and_command_are_found_behind_the_options() {
        let expected = |command: &str| Some(("n1".to_owned(), command.to_owned()));
        assert_eq!(
            call("-x n1 \"/a/proxy\" --id 1"),
            expected("\"/a/proxy\" --id 1")
        );
        assert_eq!(
            call("-q -o BatchMode=yes -l me n1 orted -mca a b"),
            expected("orted -mca a b")
        );
        assert_eq!(call("-oBatchMode=yes me@n1 true"), expected("true"));
        assert_eq!(call("n1 -x"), expected("-x"));
    }

    #[test]
    fn a_call_without_a_command_is_none() {
        for line in ["n1", "-x", "-l me", "-l me n1"] {
            assert_eq!(call(line), None, "{line}");
        }
    }
}
