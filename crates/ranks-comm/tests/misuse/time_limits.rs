//! A rank that waits for an operation that never completes, under a limit of its own: an error,
//! after which it goes on with the others.

use std::time::Duration;

use ranks_comm::{Active, Communicator, ErrorKind, Persistent, Requests, Result, Source};

use crate::giving_up::a_call_that_a_rank_gives_up_ends_for_all;

const LIMIT: Duration = Duration::from_millis(60);

/// Calls of one rank that wait in vain: each is an error with the operation and the reason.
fn in_vain(comm: &Communicator, origin: &str) {
    let late = |operation: &str, outcome: Result<()>| {
        let error = outcome.expect_err(operation);
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{operation}: {error}");
        let text = error.to_string();
        assert!(text.starts_with(operation), "{operation}: {text}");
        let limit = format!("timed out after 60ms ({origin}) on rank 0 of ");
        assert!(text.contains(&limit), "{text}");
        text
    };
    let mut buf = [7u8; 4];
    late("MPI_Recv", comm.recv(&mut buf, 1, 5).map(drop));
    late("MPI_Recv", comm.recv(&mut buf, Source::Any, 5).map(drop));
    late("MPI_Mrecv", comm.recv_vec::<u64>(1, 5).map(drop));
    late("MPI_Probe", comm.probe(1, 5).map(drop));
    late("MPI_Mprobe", comm.mprobe(1, 5).map(drop));
    let nobody: Option<usize> = None;
    late(
        "MPI_Sendrecv",
        comm.sendrecv(&[1u8], nobody, 0, &mut buf, 1, 5).map(drop),
    );
    late(
        "MPI_Sendrecv_replace",
        comm.sendrecv_replace(&mut buf, nobody, 0, 1, 5).map(drop),
    );
    late("MPI_Ssend", comm.ssend(&[6u8; 9], 1, 6));
    let scoped = comm.scope(|s| s.irecv(&mut buf, 1, 5).map(drop));
    late("MPI_Wait", scoped);
    assert_eq!(buf, [7; 4]);
    // Over MPI it stayed pending, and took the next message of that tag.
    // In process the operation that is waited for was not named.
    let text = late(
        "MPI_Wait (of MPI_Irecv): ",
        comm.irecv(vec![0u8; 4], 1, 8)
            .and_then(|r| r.wait().map(drop)),
    );
    assert!(text.contains("; begun last: rank "), "{text}");
    assert!(text.contains(", tag 8"), "{text}");
    // Over MPICH it waited without an end. They are still pending: they take the next messages of
    // their tags.
    let prepared = [10, 13].map(|tag| comm.recv_init(vec![0u8; 4], 1, tag));
    let prepared: Result<Vec<_>> = prepared.into_iter().collect();
    let started = prepared.and_then(Persistent::start_all);
    late(
        "MPI_Waitall",
        started.and_then(|active| Active::wait_all(active).map(drop)),
    );
    // The same.
    let receiving = comm.irecv(vec![0u8; 4], 1, 7);
    let mut requests: Requests<_> = receiving.into_iter().collect();
    late("MPI_Waitany", requests.wait_any().map(drop));
    // Over MPI the second one stayed pending, and took the next message of that tag.
    let receiving = [11, 12].map(|tag| comm.irecv(vec![7u8; 4], 1, tag));
    let mut requests: Requests<_> = receiving.into_iter().flatten().collect();
    let all = requests.wait_all().map(drop);
    let statuses = all.as_ref().expect_err("MPI_Waitall").statuses();
    let kinds = statuses
        .iter()
        .filter_map(|(_, one)| Some(one.as_ref().err()?.kind()));
    assert_eq!(kinds.collect::<Vec<_>>(), [ErrorKind::TimedOut; 2]);
    late("MPI_Waitall", all);
    let buffers: Vec<_> = requests
        .take_ended()
        .into_iter()
        .map(|one| one.buffer)
        .collect();
    assert_eq!(buffers, [[7; 4], [7; 4]]);
    // The error was that of the send, which told of neither limit nor rank.
    let both = [
        comm.irecv(vec![0u8; 4], 1, 12),
        comm.issend(vec![6u8; 9], 1, 14),
    ];
    let mut requests: Requests<_> = both.into_iter().flatten().collect();
    let all = requests.wait_all().map(drop);
    assert_eq!(all.as_ref().expect_err("MPI_Waitall").statuses().len(), 2);
    late("MPI_Waitall", all);
}

/// The rank that was waited for comes at last.
fn in_the_end(world: &Communicator, comm: &Communicator) -> Result<()> {
    let mut buf = [0u8; 9];
    match world.rank() {
        0 => {
            world.send(&[1u8], 1, 9)?;
            for tag in [5, 8, 11, 12] {
                assert_eq!(comm.recv(&mut buf, 1, i32::from(tag))?.count::<u8>()?, 1);
                assert_eq!(buf[0], tag);
            }
        }
        1 => {
            world.recv(&mut [0u8], 0, 9)?;
            for tag in [5u8, 7, 8, 10, 11, 12, 13] {
                comm.send(&[tag], 0, i32::from(tag))?;
            }
            for tag in [6, 14] {
                comm.recv(&mut buf, 0, tag)?;
                assert_eq!(buf, [6; 9]);
            }
        }
        _ => {}
    }
    Ok(())
}

#[ranks_test::ranks(2, 3)]
fn a_limit_of_a_call_is_an_error_and_others_are_reached_as_before(
    world: Communicator,
) -> Result<()> {
    if world.rank() == 0 {
        world.within(LIMIT, |world| {
            in_vain(world, "Communicator::within");
            Ok::<(), ranks_comm::Error>(())
        })?;
    }
    in_the_end(&world, &world)
}

#[ranks_test::ranks(2)]
fn a_limit_of_a_communicator_is_its_own(world: Communicator) -> Result<()> {
    let limited = world.dup()?;
    limited.set_time_limit(Some(LIMIT))?;
    if world.rank() == 0 {
        in_vain(&limited, "Communicator::set_time_limit");
    }
    limited.set_time_limit(None)?;
    in_the_end(&world, &limited)
}

#[ranks_test::ranks(1, 2)]
fn a_limit_of_zero_is_none(world: Communicator) -> Result<()> {
    let refused = world.set_time_limit(Some(Duration::ZERO));
    assert_eq!(refused.expect_err("zero").kind(), ErrorKind::Argument);
    // An operation that completes in time is not affected.
    world.within(Duration::from_secs(60), |world| {
        let mut got = [0u32; 3];
        let sending = world.isend(vec![1u32, 2, 3], world.rank(), 0)?;
        assert_eq!(world.recv(&mut got, world.rank(), 0)?.count::<u32>()?, 3);
        sending.wait()?;
        assert_eq!(got, [1, 2, 3]);
        Ok(())
    })
}

/// In process one in a hundred that were late had taken a message, which was lost.
#[ranks_test::ranks(2, in_process_only)]
fn a_receive_that_is_late_has_taken_no_message(world: Communicator) -> Result<()> {
    const MESSAGES: u64 = 1500;
    let micros = |number: u64| Duration::from_micros(100 + number * 61 % 400);
    if world.rank() == 0 {
        for number in 0..MESSAGES {
            std::thread::sleep(micros(number));
            world.send(&[number], 1, 0)?;
        }
        return Ok(());
    }
    let mut expected = 0;
    while expected < MESSAGES {
        let waited = world.within(micros(expected), |world| {
            world.irecv(vec![0u64], 0, 0)?.wait()
        });
        match waited {
            Ok((message, _)) => {
                assert_eq!(message, [expected]);
                expected += 1;
            }
            Err(late) => assert_eq!(late.kind(), ErrorKind::TimedOut, "{late}"),
        }
    }
    Ok(())
}

/// In process the agreement on the survivors waited without an end.
#[ranks_test::ranks(2, in_process_only)]
fn an_agreement_that_a_rank_never_comes_to_ends_at_the_time_limit(
    world: Communicator,
) -> Result<()> {
    let comm = world.dup()?;
    comm.set_time_limit(Some(LIMIT))?;
    if world.rank() == 0 {
        assert_eq!(comm.agree_flags(1).unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(
            comm.shrink().map(drop).unwrap_err().kind(),
            ErrorKind::TimedOut
        );
        world.send(&[1u8], 1, 0)
    } else {
        world.recv(&mut [0u8], 0, 0).map(drop)
    }
}

#[test]
fn an_agreement_that_a_rank_gives_up_ends_for_all() {
    a_call_that_a_rank_gives_up_ends_for_all(|comm| {
        comm.agree(Ok::<(), ranks_comm::Error>(()))?;
        comm.agree(Err::<(), _>("one that fails"))
    });
}

#[test]
fn an_agreement_of_survivors_that_a_rank_gives_up_ends_for_all() {
    a_call_that_a_rank_gives_up_ends_for_all(|comm| comm.agree_flags(1).map(drop));
    a_call_that_a_rank_gives_up_ends_for_all(|comm| comm.shrink().map(drop));
}
