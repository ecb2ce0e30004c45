//! Buffered sends when the attached buffer is full.

use super::*;

/// A message that waits for its receive on most libraries: Intel's takes as long a one without it,
/// and in process each does.
const LONG: usize = 1 << 18;

/// Open MPI counted a buffered send that it refused, in all three forms, and delivered no later
/// message to that rank.
#[ranks_test::ranks(2, 3, 4)]
fn after_a_buffered_send_that_was_refused_no_message_arrived(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let long = |value: u8| vec![value; LONG];
    let attached = world.buffer_attach(vec![0; LONG + LONG / 2])?;
    let persistent = world.bsend_init(long(4), right, 1)?;
    let is_refused = |outcome: Result<()>| match outcome {
        Ok(()) => false,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
            assert!(error.to_string().contains("are free"), "{error}");
            true
        }
    };
    world.bsend(&long(1), right, 1)?;
    let sent = [
        is_refused(world.bsend(&long(2), right, 1)),
        is_refused(
            world
                .ibsend(long(3), right, 1)
                .and_then(|sent| sent.wait().map(drop)),
        ),
        is_refused(
            persistent
                .start()
                .and_then(|active| active.wait().map(drop)),
        ),
    ];
    // Nothing is received before the sender has been refused.
    let mut of_left = [0u8; 3];
    world.sendrecv(&sent.map(u8::from), right, 9, &mut of_left, left, 9)?;
    // A standard send, and a buffered one when there is room again.
    let later = world.isend(vec![5u8], right, 2)?;
    assert_eq!(world.recv_vec::<u8>(left, 1)?.0, long(1));
    let arrived = (2u8..)
        .zip(of_left)
        .filter(|(_, is_refused)| *is_refused == 0);
    for (value, _) in arrived {
        assert_eq!(world.recv_vec::<u8>(left, 1)?.0, long(value));
    }
    assert_eq!(world.recv_vec::<u8>(left, 2)?.0, [5]);
    later.wait()?;
    let_the_left_go_on(&world)?;
    let persistent = world.bsend_init(long(6), right, 1)?;
    persistent.start()?.wait()?;
    assert_eq!(world.recv_vec::<u8>(left, 1)?.0, long(6));
    drop(attached.detach()?);
    Ok(())
}

/// Messages keep their order through a buffer that holds a few of them, with standard sends in
/// between.
#[ranks_test::ranks(2, 3, 4)]
fn a_thousand_messages_go_through_a_small_buffer_in_order(world: Communicator) -> Result<()> {
    const MESSAGES: u32 = 1000;
    let (left, right) = neighbours(&world);
    let attached = world.buffer_attach(vec![0; 4 * (4000 + ranks_comm::BSEND_OVERHEAD)])?;
    let (mut sent, mut received) = (0, 0);
    while sent < MESSAGES || received < MESSAGES {
        if sent < MESSAGES && sent % 10 == 9 {
            drop(world.isend(vec![sent; 1000], right, 3)?);
            sent += 1;
        } else if sent < MESSAGES && world.bsend(&vec![sent; 1000], right, 3).is_ok() {
            sent += 1;
        }
        if let Some(message) = world.improbe(left, 3)? {
            let (numbers, _) = message.recv_vec::<u32>()?;
            assert_eq!(numbers, vec![received; 1000]);
            received += 1;
        }
    }
    attached.detach()?;
    Ok(())
}

/// The guard goes while messages are in flight; they arrive, and another buffer can be attached.
#[ranks_test::ranks(2, 3)]
fn messages_of_a_buffer_whose_guard_was_dropped_arrive(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let attached = world.buffer_attach(vec![0; 2 * LONG])?;
    world.bsend(&vec![1u8; LONG], right, 4)?;
    drop(attached);
    assert!(
        world.bsend(&[1u8], right, 4).is_err(),
        "nothing is attached"
    );
    assert_eq!(world.recv_vec::<u8>(left, 4)?.0, vec![1u8; LONG]);
    let_the_left_go_on(&world)?;
    world.buffer_attach(vec![0; 2 * LONG])?.detach()?;
    Ok(())
}

/// A receiver that never comes.
#[ranks_test::ranks(2)]
fn a_detach_that_waits_for_a_receive_ends_at_its_limit(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let attached = world.buffer_attach(vec![0; 2 * LONG])?;
    world.bsend(&vec![2u8; LONG], right, 5)?;
    let late = world.within(Duration::from_millis(300), |_| attached.detach());
    if let Err(late) = late {
        assert_eq!(late.kind(), ErrorKind::TimedOut, "{late}");
    }
    let_the_left_go_on(&world)?;
    assert_eq!(world.recv_vec::<u8>(left, 5)?.0, vec![2u8; LONG]);
    Ok(())
}
