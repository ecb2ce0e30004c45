//! A rank is killed, and the others go on without it where the MPI can; where it cannot, they are
//! told so before.

use ranks_launch::Installation;

use super::{assert_done, job, named, said};

/// What needs the lost rank.
const WAYS: [&str; 7] = [
    "recv",
    "recv-any",
    "irecv",
    "irecv-any",
    "ssend",
    "isend",
    "barrier",
];

/// The MPIs whose launchers can let the others go on.
fn those_that_go_on() -> impl Iterator<Item = Installation> {
    let can = |installation: &Installation| installation.fault_tolerance().is_some();
    named().into_iter().filter(can)
}

#[test]
#[ignore = "needs an MPI"]
fn the_others_go_on_where_the_launcher_lets_them() {
    for installation in those_that_go_on() {
        for how in WAYS {
            let job = job(&["surviving", how]).on(installation.clone()).ranks(4);
            let outcome = job.fault_tolerant(true).run().unwrap();
            assert!(!outcome.timed_out, "{how}: {outcome}");
            for output in &outcome.output {
                let mut last = output.stdout.lines().rev();
                let last = [last.next(), last.next()];
                let expected = if output.rank == 1 {
                    [None, None]
                } else {
                    [Some("done"), Some("went on")]
                };
                assert_eq!(last, expected, "{how}, rank {}: {outcome}", output.rank);
                let kinds = ["ProcFailed", "Revoked"];
                let is_told = kinds.iter().any(|kind| output.stdout.starts_with(kind));
                assert_eq!(is_told, output.rank != 1, "{how}: {outcome}");
            }
        }
    }
}

/// Rank 0 tells what the others have counted, and of whom there is nothing; nobody waits for the
/// lost one, though there is no limit.
#[test]
#[ignore = "needs an MPI"]
fn what_the_others_have_counted_is_told_without_the_lost_rank() {
    for installation in those_that_go_on() {
        let name = installation.name.clone();
        let scratch = std::env::temp_dir().join(format!("ranks-jobs-{}-lost", std::process::id()));
        let job = job(&["surviving", "barrier"]).on(installation).ranks(4);
        let outcome = job
            .fault_tolerant(true)
            .env("RANKS_STATS", "1")
            .env("RANKS_TIMELINE", &scratch)
            .run()
            .unwrap();
        assert!(!outcome.timed_out, "{name}: {outcome}");
        let said = said(&outcome);
        for text in [
            "ranks: 4 ranks on Open MPI ",
            "missing: rank 1, it is lost\n",
        ] {
            assert!(said.contains(text), "{name}: no {text:?} in {outcome}");
        }
        assert_eq!(said.matches("missing:").count(), 1, "{name}: {outcome}");
        let no_timeline: Vec<usize> = (0..4)
            .filter(|rank| !scratch.join(format!("rank-{rank}.timeline")).is_file())
            .collect();
        assert_eq!(no_timeline, [1], "{name}: {outcome}");
        std::fs::remove_dir_all(&scratch).unwrap();
    }
}

#[test]
#[ignore = "needs an MPI"]
fn memory_of_a_receive_from_any_rank_was_given_back_when_one_was_lost() {
    for installation in those_that_go_on() {
        let job = job(&["pending"]).on(installation.clone()).ranks(4);
        let outcome = job.fault_tolerant(true).run().unwrap();
        assert!(!outcome.timed_out, "{outcome}");
        for output in outcome.output.iter().filter(|output| output.rank != 1) {
            assert!(output.stdout.ends_with("went on\ndone\n"), "{outcome}");
        }
    }
}

/// Open MPI leaves messages of a blocking collective in flight where a rank is lost: seen in every
/// second job of these.
#[test]
#[ignore = "needs an MPI"]
fn memory_of_a_collective_was_given_back_when_a_rank_was_lost() {
    for installation in those_that_go_on() {
        for _ in 0..6 {
            let job = job(&["surviving", "given back"]).on(installation.clone());
            // A comparison would end first.
            let job = job.ranks(4).env("RANKS_CHECK", "local");
            let outcome = job.fault_tolerant(true).run().unwrap();
            assert!(!outcome.timed_out, "{outcome}");
            let told = outcome.output.iter().map(|output| output.stdout.as_str());
            let mut told = told.filter(|text| text.contains("were written")).peekable();
            assert!(told.peek().is_some(), "{outcome}");
            // Where the machine is busy the exchange may be over before the rank is lost.
            let untouched = told.all(|text| text.contains("): 0 elements were written"));
            assert!(untouched, "{outcome}");
        }
    }
}

#[test]
#[ignore = "needs an MPI"]
fn a_loss_ends_the_job_where_the_library_reduces_by_an_operation_of_the_program() {
    for installation in those_that_go_on() {
        let job = job(&["surviving", "reducing"]).on(installation).ranks(4);
        let job = job.env("RANKS_CHECK", "local");
        let outcome = job.fault_tolerant(true).run().unwrap();
        assert!(!outcome.timed_out && !outcome.success(), "{outcome}");
        for part in [
            "messages of this collective are still in flight",
            "iallreduce",
        ] {
            assert!(said(&outcome).contains(part), "{outcome}");
        }
    }
}

/// Every second one of these jobs had a launcher that waited for ever.
#[test]
#[ignore = "needs an MPI"]
fn ranks_that_abort_at_once_end_the_job() {
    for installation in those_that_go_on() {
        for _ in 0..6 {
            let job = job(&["surviving", "abort"]).on(installation.clone());
            let outcome = job.ranks(4).fault_tolerant(true).run().unwrap();
            assert!(!outcome.timed_out && !outcome.success(), "{outcome}");
        }
    }
}

#[test]
#[ignore = "needs an MPI"]
fn they_are_told_what_would_help_where_nobody_can() {
    for installation in named() {
        let name = installation.name.clone();
        let job = job(&["surviving", "recv"]).on(installation).ranks(2);
        let outcome = job.run().unwrap();
        assert_done(&name, &outcome);
        let told = &outcome.output[0].stdout;
        assert!(told.contains("mpiexec --with-ft ulfm"), "{name}: {outcome}");
    }
}

#[test]
fn ranks_go_on_without_a_thread_that_fails() {
    for how in ["panic", "error"] {
        let outcome = job(&["surviving", how]).ranks(4).run().unwrap();
        assert!(!outcome.timed_out, "{outcome}");
        let went_on = outcome.output[0].stdout.matches("went on").count();
        assert_eq!(went_on, 3, "{how}: {outcome}");
        // What failed is told at the end all the same.
        assert!(said(&outcome).contains("out of luck"), "{how}: {outcome}");
    }
}
