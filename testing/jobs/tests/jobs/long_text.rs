//! Long texts of errors: some releases of MPICH write them past the end of the buffer that the
//! standard asks for.

use super::{assert_done, is_mpich, job, named};

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
