//! Ends of the runtime with operations under way: no memory is freed that the library has, with its
//! own threads at work where it has them.

use super::{job, named, scratch};

const RANKS: usize = 2;

const LEVELS: [&str; 4] = ["single", "funneled", "serialized", "multiple"];

/// The first so many ranks find nothing freed. How a job ends whose ranks have not told MPI of
/// their end is the library's.
#[track_caller]
fn nothing_is_freed(what: &str, level: Option<&str>, ranks: usize) {
    for installation in named() {
        let name = installation.name.clone();
        let folder = scratch(&format!("{what}-{name}"));
        let path = folder.to_string_lossy();
        let mut arguments = vec!["in-flight", what, &*path];
        arguments.extend(level);
        let job = match level {
            // Libraries of MPICH's family receive in a thread of their own then.
            Some(_) => job(&arguments).env("MPIR_CVAR_ASYNC_PROGRESS", "1"),
            // Open MPI does not receive without the sender's help then.
            None => (job(&arguments).env("OMPI_MCA_pml", "ob1")).env("OMPI_MCA_btl", "self,tcp"),
        };
        let outcome = job.on(installation).ranks(RANKS).run().unwrap();
        for rank in 0..ranks {
            let well = folder.join(rank.to_string()).is_file();
            assert!(well, "{name}, {level:?}, rank {rank}: {outcome}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
#[ignore = "needs an MPI"]
fn the_last_handle_goes_on_a_thread_that_may_not_call_and_nothing_is_freed() {
    for level in LEVELS {
        nothing_is_freed("elsewhere", Some(level), RANKS);
    }
}

#[test]
#[ignore = "needs an MPI"]
fn a_claimed_receive_that_has_not_ended_keeps_its_memory_when_the_runtime_ends() {
    nothing_is_freed("after-the-patience", None, 1);
}

#[test]
#[ignore = "needs an MPI"]
fn requests_that_are_dropped_forgotten_leaked_or_in_a_static_free_nothing() {
    for level in LEVELS {
        nothing_is_freed("left", Some(level), RANKS);
    }
}
