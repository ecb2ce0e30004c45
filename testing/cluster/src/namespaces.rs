//! Leaving the namespaces of the caller, and ending when the process does that one was started by.
//!
//! A process leaves its namespaces before it has a second thread, and starts the first process of
//! the new ones as a child of its own: what needs a process of one thread is a role of this program
//! that is started anew.

use std::fs;
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;

/// By what right namespaces are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Right {
    /// The first of the others that works.
    Any,
    /// That of a privileged process: nothing else changes for programs on the hosts.
    Root,
    /// That of everybody, in a namespace of users; programs on the hosts run as the caller all the
    /// same.
    User,
}

/// Who the caller is outside, where hosts are in a namespace of users: what programs on them are to
/// look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Caller {
    uid: u32,
    gid: u32,
}

impl Caller {
    /// As an argument for the processes that are started next; `-` where nothing is to be changed.
    pub(super) fn word(caller: Option<Caller>) -> String {
        caller.map_or("-".to_owned(), |caller| {
            format!("{}:{}", caller.uid, caller.gid)
        })
    }

    pub(super) fn of_word(word: &str) -> Option<Caller> {
        let (uid, gid) = word.split_once(':')?;
        Some(Caller {
            uid: uid.parse().ok()?,
            gid: gid.parse().ok()?,
        })
    }

    /// Makes this process look like the caller again, without rights over the host.
    pub(super) fn look_like(self) -> Result<(), String> {
        unshare(CloneFlags::CLONE_NEWUSER).map_err(|error| format!("unshare: {error}"))?;
        map(self.uid, 0, self.gid, 0)
    }
}

/// What each host has of its own. With fewer, libraries find ways for data through what is shared.
fn all() -> CloneFlags {
    CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWPID
}

/// Leaves all namespaces by a right; says whether programs are to look like somebody else there.
pub(super) fn leave(right: Right) -> Result<Option<Caller>, String> {
    let by_root = || unshare(all()).map(|()| None);
    let by_user = || {
        let caller = Caller {
            uid: nix::unistd::geteuid().as_raw(),
            gid: nix::unistd::getegid().as_raw(),
        };
        unshare(all() | CloneFlags::CLONE_NEWUSER)
            .map_err(|error| refused("a namespace of users", error))?;
        map(0, caller.uid, 0, caller.gid)?;
        Ok(Some(caller))
    };
    match right {
        Right::Root => by_root().map_err(|error| refused("namespaces without one of users", error)),
        Right::User => by_user(),
        // Not decided by the user's number: a root without capabilities is an ordinary user here.
        Right::Any => by_root().or_else(|_| by_user()),
    }
}

/// Leaves the namespaces of the head for those of a host.
pub(super) fn leave_head() -> Result<(), String> {
    unshare(all()).map_err(|error| refused("the namespaces of a host", error))
}

fn refused(what: &str, error: nix::Error) -> String {
    let why = match error {
        nix::Error::EPERM => {
            "this process may not (a container's seccomp or AppArmor, or no CAP_SYS_ADMIN)"
        }
        nix::Error::ENOSPC => "the limit in /proc/sys/user is reached, or 0",
        _ => "the kernel does not",
    };
    format!("{what} cannot be made: {why}: {error}")
}

/// Maps one user and one group of the namespace that this process is in now to those of the one
/// before.
fn map(uid: u32, outer_uid: u32, gid: u32, outer_gid: u32) -> Result<(), String> {
    let write = |file: &str, text: String| {
        fs::write(file, &text).map_err(|error| format!("{file} does not take {text:?}: {error}"))
    };
    write("/proc/self/setgroups", "deny".to_owned())?;
    write("/proc/self/uid_map", format!("{uid} {outer_uid} 1"))?;
    write("/proc/self/gid_map", format!("{gid} {outer_gid} 1"))
}

/// Ends this process, by a signal that cannot be refused, as soon as the one ends that has started
/// it.
///
/// That one must hold the other end of this process's standard input: if it is gone already no
/// signal comes any more, and the closed input tells. To be called again after a change of user
/// namespaces, which takes the signal back.
pub(super) fn end_with_parent() -> Result<(), String> {
    set_pdeathsig(Signal::SIGKILL).map_err(|error| format!("prctl(PR_SET_PDEATHSIG): {error}"))?;
    let stdin = std::io::stdin();
    let mut ends = [PollFd::new(stdin.as_fd(), PollFlags::empty())];
    poll(&mut ends, PollTimeout::ZERO).map_err(|error| format!("poll: {error}"))?;
    let gone = ends[0]
        .revents()
        .is_some_and(|events| events.contains(PollFlags::POLLHUP));
    if gone {
        return Err("the process that started this one has ended".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_handed_on_as_a_word() {
        let caller = Caller { uid: 4242, gid: 7 };
        assert_eq!(Caller::word(Some(caller)), "4242:7");
        assert_eq!(Caller::of_word("4242:7"), Some(caller));
        assert_eq!(Caller::of_word(&Caller::word(None)), None);
    }

    #[test]
    fn a_refusal_says_what_may_be_the_reason() {
        let text = refused("a namespace of users", nix::Error::ENOSPC);
        assert!(text.contains("/proc/sys/user"), "{text}");
    }
}
