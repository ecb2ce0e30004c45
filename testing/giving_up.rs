//! A call in process that a rank gives up; tests of several crates are made of it.

use std::time::Duration;

use ranks_comm::{Backend, Checks, Communicator, Error, ErrorKind, Result, Runtime};

const LIMIT: Duration = Duration::from_millis(60);

/// The error of a rank without a limit, or with a longer one, names the rank that gave up.
fn names_rank_0(outcome: Result<()>) {
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PeerFailed, "{error}");
    assert!(error.to_string().contains("rank 0 of 3 "), "{error}");
}

/// As [`a_call_on_what_ranks_have_that_one_gives_up_ends_for_all`], on a communicator.
pub(crate) fn a_call_that_a_rank_gives_up_ends_for_all(
    call: impl Fn(&Communicator) -> Result<()> + Sync,
) {
    let given = |comm: &Communicator| Ok(comm.clone());
    a_call_on_what_ranks_have_that_one_gives_up_ends_for_all(given, |comm| call(&comm));
}

/// Rank 0 gives a call up at its limit while rank 1 waits in it, and rank 2 comes when both have
/// left: these two waited without an end, in that call or in the next one.
pub(crate) fn a_call_on_what_ranks_have_that_one_gives_up_ends_for_all<S>(
    make: impl Fn(&Communicator) -> Result<S> + Sync,
    call: impl Fn(S) -> Result<()> + Sync,
) {
    for checks in [Checks::Local, Checks::Collective] {
        let builder = Runtime::builder().backend(Backend::InProcess).ranks(3);
        let body = |world: Communicator| {
            let comm = world.dup()?;
            let given = make(&comm)?;
            match world.rank() {
                0 => {
                    let late = comm.within(LIMIT, |_| call(given)).unwrap_err();
                    assert_eq!(late.kind(), ErrorKind::TimedOut, "{late}");
                }
                1 => names_rank_0(call(given)),
                _ => {
                    world.recv(&mut [0u8], 0, 0)?;
                    world.recv(&mut [0u8], 1, 0)?;
                    names_rank_0(call(given));
                    return Ok::<(), Error>(());
                }
            }
            world.send(&[0u8], 2, 0)
        };
        builder.checks(checks).run(body).unwrap();
    }
}
