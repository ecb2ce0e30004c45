//! Long texts of errors, which some releases of MPICH write past the end of the buffer that the
//! standard asks for, and long names.

use super::{assert_done, is_mpich, job, named, succeeds_on_each};

/// Open MPI 5 wrote it past the end of the first name, and died as it ended.
#[test]
#[ignore = "needs an MPI"]
fn the_world_may_have_a_long_name() {
    succeeds_on_each(1, &["long-text", "name"]);
}

#[test]
#[ignore = "needs an MPI"]
fn a_text_of_the_greatest_length_is_read() {
    for installation in named() {
        let name = installation.name.clone();
        let at_the_limit = is_mpich(&installation);
        let outcome = job(&["long-text"]).on(installation).ranks(2).run().unwrap();
        assert_done(&name, &outcome);
        let lengths = outcome.output[1].stdout.lines().filter_map(|line| {
            let rest = line.split_once("wrote ")?.1;
            rest.split(' ').next()?.parse().ok()
        });
        let longest: usize = lengths.max().unwrap();
        // The limit is 512 for MPICH, Intel and the standard ABI, 256 for Open MPI.
        let least = if at_the_limit { 500 } else { 250 };
        assert!(
            longest >= least,
            "{name}: no text came near the limit: {outcome}"
        );
    }
}
