//! Collectives whose ranks pass lengths that differ and are not asked to compare them: whatever
//! they return, nothing is written past a slice.

use std::time::Duration;

use super::{job_with, named, said};

/// Some libraries wait for ever in such a collective.
const LIMIT: Duration = Duration::from_secs(15);

/// The variable that says how long a message may be read remotely by Open MPI.
const PARAMETER: &str = "OMPI_MCA_pml_ob1_max_rdma_per_request";

fn nothing_is_written_past_a_slice(variable: &[&str], start: &str, form: &str) {
    for installation in named() {
        let name = installation.name.clone();
        let job = job_with(variable, &["overruns", start, form]).timeout(LIMIT);
        let outcome = job.on(installation).ranks(2).run().unwrap();
        assert!(!said(&outcome).contains("Signal"), "{name}: {outcome}");
        for output in &outcome.output {
            let begun = output.stdout.contains("receives are");
            let written = output.stdout.contains("past the slice");
            assert!(begun && !written, "{name}: {outcome}");
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
