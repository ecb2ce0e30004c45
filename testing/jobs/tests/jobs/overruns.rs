//! Collectives whose ranks pass lengths that differ and are not asked to compare them: whatever
//! they return, nothing is written past a slice.

use std::time::Duration;

use ranks_launch::{Family, Installation};

use super::{job_with, named, said};

/// Some libraries wait for ever in such a collective.
const LIMIT: Duration = Duration::from_secs(15);

/// The variable that says how long a message may be read remotely by Open MPI.
const PARAMETER: &str = "OMPI_MCA_pml_ob1_max_rdma_per_request";

/// The variable that says how many of its fragments are on their way.
const PIPELINE: &str = "OMPI_MCA_pml_ob1_send_pipeline_depth";

/// The variable that says up to which length it is sent in one through shared memory.
const LIMIT_OF_ONE: &str = "OMPI_MCA_btl_vader_eager_limit";

#[test]
#[ignore = "needs an MPI"]
fn messages_without_rdma_have_a_deep_pipeline_unless_the_user_has_said() {
    let said = |variable: &str, value: u32| Some(format!("{variable}={value}"));
    // What `ranks run` sets does not reach the program, so that it sets it by itself.
    let without = [PARAMETER, PIPELINE, LIMIT_OF_ONE].map(|variable| ["-u", variable]);
    let without = [without.as_flattened(), &["OMPI_MCA_pml=ob1"]].concat();
    for (said, depth, limit) in [
        (None, 64, 4352),
        (said(PARAMETER, 4), 3, 4096),
        (said(PIPELINE, 5), 5, 4352),
        (said(LIMIT_OF_ONE, 2048), 64, 2048),
    ] {
        for installation in named() {
            let name = installation.name.clone();
            let depth = match installation.family {
                Family::OpenMpi => format!("a pipeline of Some({depth}), a limit of Some({limit})"),
                _ => "a pipeline of None, a limit of None".to_owned(),
            };
            let variables: Vec<&str> = without.iter().copied().chain(said.as_deref()).collect();
            let job = job_with(&variables, &["overruns", "pipeline"]);
            let outcome = job.on(installation).ranks(2).run().unwrap();
            assert!(outcome.success(), "{name}: {outcome}");
            for output in &outcome.output {
                assert!(output.stdout.contains(&depth), "{name}: {outcome}");
            }
        }
    }
}

/// The number of pairs of lengths that the program knows.
const LENGTHS: usize = 4;

/// The end of a job in which a collective has failed that leaves messages in flight.
const ABORTED: &str = "messages of this collective are still in flight";

fn nothing_is_written_past_a_slice(variable: &[&str], start: &str, form: &str) {
    for installation in named() {
        let name = installation.name.clone();
        // One that is aborted has not come to the lengths that follow.
        for from in 0..LENGTHS {
            let from = from.to_string();
            let job = job_with(variable, &["overruns", start, form, &from]).timeout(LIMIT);
            let outcome = job.on(installation.clone()).ranks(2).run().unwrap();
            assert!(!said(&outcome).contains("Signal"), "{name}: {outcome}");
            for output in &outcome.output {
                let begun = output.stdout.contains("receives are");
                let written = output.stdout.contains("past the slice");
                assert!(begun && !written, "{name}: {outcome}");
            }
            if !said(&outcome).contains(ABORTED) {
                break;
            }
        }
    }
}

fn with_each_form(installation: Installation) -> [(Installation, &'static str); 3] {
    ["alltoall", "neighbor_alltoall", "neighbor_allgather"].map(|form| (installation.clone(), form))
}

#[test]
#[ignore = "needs an MPI"]
fn a_collective_that_had_failed_wrote_to_memory_that_was_given_back() {
    for (installation, form) in named().into_iter().flat_map(with_each_form) {
        let name = installation.name.clone();
        let can_go_on = installation.fault_tolerance().is_some();
        for fault_tolerant in [false, true].into_iter().take(1 + usize::from(can_go_on)) {
            let job = job_with(&["-u", PARAMETER], &["overruns", "given back", form]);
            let job = job.timeout(LIMIT).on(installation.clone()).ranks(3);
            let outcome = job.fault_tolerant(fault_tolerant).run().unwrap();
            let written = |text: &str| text.contains("were written") || text.contains("Signal");
            let printed = outcome.output.iter().map(|output| &output.stdout);
            assert!(
                !written(&said(&outcome)) && !printed.clone().any(|text| written(text)),
                "{name}: {outcome}"
            );
            // Where ranks may be lost the collectives are begun and waited for.
            let aborts = installation.family == Family::OpenMpi && !fault_tolerant;
            assert_eq!(
                said(&outcome).contains(ABORTED),
                aborts,
                "{name}: {outcome}"
            );
        }
    }
}

macro_rules! forms {
    ($($form:ident)*) => {$(
        mod $form {
            use super::*;

            const FORM: &str = stringify!($form);

            #[test]
            #[ignore = "needs an MPI"]
            fn of_differing_lengths_wrote_past_a_slice() {
                nothing_is_written_past_a_slice(&["-u", PARAMETER], "own", FORM);
            }

            #[test]
            #[ignore = "needs an MPI"]
            fn of_differing_lengths_wrote_past_a_slice_with_the_parameter_of_the_user() {
                nothing_is_written_past_a_slice(&[&format!("{PARAMETER}=4")], "own", FORM);
            }

            #[test]
            #[ignore = "needs an MPI"]
            fn of_differing_lengths_wrote_past_a_slice_where_others_had_initialised() {
                nothing_is_written_past_a_slice(&["-u", PARAMETER], "adopted", FORM);
            }
        }
    )*};
}

forms! { bcast scatter gather allgather ibcast scoped_ibcast }
