//! A launcher of one MPI and the library of another: an error on every rank that names both and
//! what to set.

use std::fs;
use std::os::unix::fs::symlink;

use ranks_launch::{Family, Installation, Job, Outcome};

use super::{
    all, assert_done, assert_failed_soon, is_mpich, job, job_with, named, run_in_spite_of_hydra,
    said, scratch,
};

#[test]
#[ignore = "needs an MPI"]
fn a_library_of_the_other_family_is_refused() {
    for launcher in named() {
        let others = all()
            .into_iter()
            .filter(|other| is_mpich(other) != is_mpich(&launcher));
        for other in others {
            refused(&launcher, &other);
        }
    }
}

fn refused(launcher: &Installation, library: &Installation) {
    let name = format!("{} under {}", library.name, launcher.name);
    let pair = Installation {
        library: library.library.clone(),
        ..launcher.clone()
    };
    let outcome = run_in_spite_of_hydra(&job(&["world"]).on(pair).ranks(2));
    assert_failed_soon(&name, &outcome);
    let (whose, word, other) = match (launcher.family, is_mpich(library)) {
        (Family::OpenMpi, _) => (
            "Open MPI's",
            "openmpi",
            if library.family == Family::Intel {
                "Intel MPI"
            } else {
                "MPICH"
            },
        ),
        (Family::Intel, _) => ("Intel MPI's", "intel", "Open MPI"),
        _ => ("MPICH's", "mpich", "Open MPI"),
    };
    let file = library.library.file_name().unwrap().to_string_lossy();
    // A launcher ends the job with the first rank that fails, and the other may not have come to
    // say it, or not to its end.
    let is_whole = |stderr: &str| stderr.ends_with('\n');
    let mut outputs = outcome.output.iter();
    assert!(
        outputs.any(|output| is_whole(&output.stderr)),
        "{name}: {outcome}"
    );
    for output in &outcome.output {
        assert_eq!(output.stdout, "", "{name}: a rank ran: {outcome}");
        if !is_whole(&output.stderr) {
            continue;
        }
        let started = format!(
            "started by {whose} mpiexec as rank {} of 2, but the MPI loaded is {other} ",
            output.rank
        );
        assert!(
            output.stderr.contains(&started),
            "{name}: no {started:?} in {outcome}"
        );
        let advice = format!("({file}); set RANKS_MPI={word}");
        assert!(
            output.stderr.contains(&advice),
            "{name}: no {advice:?} in {outcome}"
        );
    }
}

#[test]
#[ignore = "needs an MPI"]
fn what_the_error_advises_works() {
    for launcher in named() {
        let word = match launcher.family {
            Family::OpenMpi => "openmpi",
            Family::Intel => "intel",
            _ => "mpich",
        };
        let name = format!("RANKS_MPI={word} under {}", launcher.name);
        let variable = format!("RANKS_MPI={word}");
        let outcome = job_with(&[&variable], &["world"])
            .on(launcher)
            .ranks(2)
            .run()
            .unwrap();
        assert_done(&name, &outcome);
        assert!(
            outcome.output[1].stdout.contains("rank 1 of 2"),
            "{name}: {outcome}"
        );
    }
}

#[test]
#[ignore = "needs an MPI"]
fn with_nothing_set_the_library_of_the_launcher_is_found() {
    for launcher in named() {
        let name = launcher.name.clone();
        let outcome = job_with(&["-u", "RANKS_MPI"], &["world"])
            .on(launcher)
            .ranks(2)
            .run()
            .unwrap();
        assert_done(&name, &outcome);
        assert!(
            outcome.output[1].stdout.contains("rank 1 of 2"),
            "{name}: {outcome}"
        );
    }
}

/// MPICH 5.0.0 and 5.0.1 end the name of their library with the standard interface in 0.
#[test]
#[ignore = "needs an MPI"]
fn the_standard_interface_is_opened_under_its_early_name_too() {
    for installation in named() {
        let folder = installation.library.parent().unwrap();
        let standard = folder.join("libmpi_abi.so.1");
        if installation.family != Family::Mpich || !standard.is_file() {
            continue;
        }
        let name = format!("{}, libmpi_abi.so.0", installation.name);
        let prefix = scratch(&format!("early-name-{}", installation.name));
        symlink(standard, prefix.join("libmpi_abi.so.0")).unwrap();
        // What it needs, and no other library of MPI.
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_string_lossy();
            if !file.starts_with("libmpi") {
                symlink(&path, prefix.join(&*file)).unwrap();
            }
        }
        let pair = Installation {
            library: prefix.clone(),
            ..installation
        };
        let outcome = job(&["world"]).on(pair).ranks(2).run().unwrap();
        fs::remove_dir_all(prefix).unwrap();
        assert_done(&name, &outcome);
        let world = "rank 1 of 2 on MPICH";
        assert!(
            outcome.output[1].stdout.contains(world),
            "{name}: {outcome}"
        );
    }
}

/// PRRTE's own launcher, where an Open MPI brings it: it offers PMIx, and says to no rank how many
/// there are.
fn prterun() -> Option<Installation> {
    all().into_iter().find_map(|found| {
        let launcher = found.launcher.with_file_name("prterun");
        launcher
            .is_file()
            .then_some(Installation { launcher, ..found })
    })
}

/// A job of two ranks by `prterun`.
fn by_prterun(library: &Installation, program: Job) -> Option<Outcome> {
    let prterun = Installation {
        library: library.library.clone(),
        ..prterun()?
    };
    let job = program
        .on(prterun)
        .ranks(2)
        .env("PRTE_ALLOW_RUN_AS_ROOT", "1")
        .env("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    Some(job.run().unwrap())
}

/// A library that does not understand it made n worlds of one rank each, and a success of them.
#[test]
#[ignore = "needs an MPI"]
fn a_launcher_that_offers_pmix_alone_starts_one_job_or_an_error() {
    for library in named() {
        let name = format!("{} under prterun", library.name);
        let Some(outcome) = by_prterun(&library, job(&["world"])) else {
            println!("no prterun is here");
            return;
        };
        if outcome.success() {
            assert_done(&name, &outcome);
            for rank in 0..2 {
                let world = format!("rank {rank} of 2 on ");
                let said = &outcome.output[rank].stdout;
                assert!(said.contains(&world), "{name}: {outcome}");
            }
            continue;
        }
        assert_failed_soon(&name, &outcome);
        let said = said(&outcome);
        for part in [
            "started by a launcher that offers PMIx as rank ",
            "RANKS_MPI",
        ] {
            assert!(said.contains(part), "{name}: no {part:?} in {outcome}");
        }
    }
}

/// Each process was a world of its own, and the job a success.
#[test]
#[ignore = "needs an MPI"]
fn threads_that_are_asked_for_under_a_launcher_are_an_error() {
    for installation in named() {
        let name = installation.name.clone();
        let job = job_with(&["RANKS_BACKEND=inprocess"], &["world"]);
        let outcome = run_in_spite_of_hydra(&job.on(installation).ranks(2));
        assert_failed_soon(&name, &outcome);
        let said = said(&outcome);
        for part in [
            "mpiexec as rank ",
            " of 2, but RANKS_BACKEND=inprocess makes each of these processes a world of its own",
            "unset RANKS_BACKEND",
        ] {
            assert!(said.contains(part), "{name}: no {part:?} in {outcome}");
        }
    }
}
