//! Messages that are too long: an error with both lengths, and not a byte outside of the buffer.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of ranks are small"
)]

use ranks_comm::{Backend, Communicator, ErrorKind, Result, Runtime};

const CANARY: u64 = 0xDEAD_BEEF_0BAD_CAFE;

/// Receives into the first `capacity` elements of a longer buffer, and looks at the rest.
fn too_long(
    capacity: usize,
    excess: usize,
    receive: impl FnOnce(&mut [u64]) -> Result<()>,
) -> Result<()> {
    let mut memory = vec![CANARY; capacity + excess + 64];
    let (buf, behind) = memory.split_at_mut(capacity);
    let error = receive(buf).expect_err("the message is too long");
    assert_eq!(error.kind(), ErrorKind::Truncated, "{error}");
    let text = error.to_string();
    assert!(text.contains("message truncated"), "{text}");
    let holds = format!("{capacity}");
    assert!(text.contains(&holds), "{text} does not say {capacity}");
    assert!(text.contains("MPI_ERR_TRUNCATE"), "{text}");
    let touched = behind.iter().filter(|&&word| word != CANARY).count();
    assert_eq!(
        touched, 0,
        "{touched} words behind a buffer of {capacity} were written"
    );
    Ok(())
}

const CAPACITIES: [usize; 4] = [0, 10, 1000, 100_000];
const EXCESSES: [usize; 5] = [1, 100, 512, 10_000, 1_000_000];

#[ranks_test::ranks(2, timeout = 120)]
fn a_receive_never_writes_past_its_buffer(world: Communicator) -> Result<()> {
    for capacity in CAPACITIES {
        for excess in EXCESSES {
            if world.rank() == 0 {
                world.send(&vec![1u64; capacity + excess], 1, 0)?;
                let mut done = [0u8];
                world.recv(&mut done, 1, 1)?;
            } else {
                too_long(capacity, excess, |buf| world.recv(buf, 0, 0).map(drop))?;
                world.send(&[1u8], 0, 1)?;
            }
        }
    }
    Ok(())
}

#[ranks_test::ranks(2, timeout = 120)]
fn a_sendrecv_never_writes_past_its_buffer(world: Communicator) -> Result<()> {
    let peer = 1 - world.rank();
    for capacity in CAPACITIES {
        for excess in EXCESSES {
            let long = vec![1u64; capacity + excess];
            too_long(capacity, excess, |buf| {
                world.sendrecv(&long, peer, 0, buf, peer, 0).map(drop)
            })?;
        }
    }
    Ok(())
}

#[ranks_test::ranks(2, timeout = 120)]
fn a_sendrecv_replace_never_writes_past_its_buffer(world: Communicator) -> Result<()> {
    let peer = 1 - world.rank();
    for excess in EXCESSES {
        if world.rank() == 0 {
            let mut long = vec![1u64; 10 + excess];
            let status = world.sendrecv_replace(&mut long, peer, 0, peer, 0)?;
            assert_eq!(status.count::<u64>()?, 10);
            assert_eq!(long[..10], [CANARY; 10]);
            assert!(long[10..].iter().all(|&word| word == 1));
        } else {
            too_long(10, excess, |buf| {
                world.sendrecv_replace(buf, peer, 0, peer, 0).map(drop)
            })?;
        }
    }
    Ok(())
}

#[ranks_test::ranks(2)]
fn a_claimed_message_that_is_too_long_is_gone(world: Communicator) -> Result<()> {
    for excess in EXCESSES {
        if world.rank() == 0 {
            world.send(&vec![1u64; 10 + excess], 1, 0)?;
            world.send(&[7u64], 1, 0)?;
        } else {
            too_long(10, excess, |buf| world.mprobe(0, 0)?.recv(buf).map(drop))?;
            let mut next = [0u64];
            world.recv(&mut next, 0, 0)?;
            assert_eq!(next, [7]);
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn a_message_to_oneself_is_truncated_like_any_other(world: Communicator) -> Result<()> {
    let me = world.rank();
    for excess in EXCESSES {
        let long = vec![1u64; 10 + excess];
        too_long(10, excess, |buf| {
            world.sendrecv(&long, me, 0, buf, me, 0).map(drop)
        })?;
    }
    Ok(())
}

/// Whether or not the library says that it has cut it.
#[ranks_test::ranks(1, 2)]
fn a_message_to_oneself_was_written_past_its_buffer(world: Communicator) -> Result<()> {
    let me = world.rank();
    for excess in EXCESSES {
        let long = vec![1u64; 10 + excess];
        let mut memory = vec![CANARY; 10 + excess + 64];
        let (buf, behind) = memory.split_at_mut(10);
        // Its error is what another test looks at.
        let _ = world.sendrecv(&long, me, 0, buf, me, 0);
        let touched = behind.iter().filter(|&&word| word != CANARY).count();
        assert_eq!(touched, 0, "{touched} words behind the buffer were written");
    }
    Ok(())
}

/// One that fails leaves the next as it should be.
#[ranks_test::ranks(2)]
fn the_second_scope_that_fails_waited_for_ever(world: Communicator) -> Result<()> {
    let peer = 1 - world.rank();
    for _ in 0..4 {
        world.send(&[1u64; 9], peer, 0)?;
    }
    for _ in 0..4 {
        let mut words = [0u64; 3];
        let outcome: Result<()> = world.scope(|s| s.irecv(&mut words, peer, 0).map(drop));
        assert_eq!(outcome.expect_err("too long").kind(), ErrorKind::Truncated);
    }
    Ok(())
}

#[ranks_test::ranks(2)]
fn both_lengths_are_in_the_text(world: Communicator) -> Result<()> {
    if world.rank() == 0 {
        world.send(&[0u32; 9000], 1, 0)?;
    } else {
        let error = world.recv(&mut [0u32; 100], 0, 0).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with(
                "MPI_Recv: message truncated: 36000 bytes arrived, the buffer holds 400 bytes (100 elements of 4) (MPI_ERR_TRUNCATE, "
            ) || text.starts_with(
                "MPI_Recv: message truncated: a longer message arrived, the buffer holds 400 bytes (100 elements of 4) (MPI_ERR_TRUNCATE, "
            ),
            "{text}"
        );
    }
    Ok(())
}

/// In process the type of elements travels with them; over MPI nobody sees it.
#[test]
fn what_was_sent_as_one_type_was_received_as_another() {
    fn refused<R>(outcome: Result<R>) {
        let error = outcome.map(drop).expect_err("another type");
        assert_eq!(error.kind(), ErrorKind::Type, "{error}");
        assert!(
            error
                .to_string()
                .contains("16 bytes of f64 arrived, to be received as i32"),
            "{error}"
        );
    }
    fn two_numbers(world: &Communicator) -> Result<()> {
        let other = 1 - world.rank();
        for tag in 0..7 {
            world.send(&[0.5f64, 1.5], other, tag)?;
        }
        refused(world.recv(&mut [0i32; 4], other, 0));
        refused(world.recv_vec::<i32>(other, 1));
        refused(world.irecv(vec![0i32; 1], other, 2)?.wait());
        refused(world.irecv_vec::<i32>(other, 3)?.wait());
        let mut room = [0i32; 8];
        refused(world.scope(|s| s.irecv(&mut room, other, 4).map(drop)));
        // Bytes may be anything, and so may structs and arrays.
        assert_eq!(world.recv_vec::<u8>(other, 5)?.0.len(), 16);
        assert_eq!(world.recv_vec::<[f64; 2]>(other, 6)?.0, [[0.5, 1.5]]);
        let (left, right) = (&[0u8; 8][..], &mut [1u64]);
        world.sendrecv(left, other, 8, right, other, 8)?;
        assert_eq!(right, &[0]);
        // Persistent ones too; what there is nothing of is of any type.
        let sending = world.send_init(vec![0.5f64, 1.5], other, 9)?.start()?;
        refused(world.recv(&mut [0i32; 4], other, 9));
        sending.wait()?;
        world.send::<f32>(&[], other, 10)?;
        world.recv::<u64>(&mut [7], other, 10).map(drop)
    }
    let world = Runtime::builder().backend(Backend::InProcess).ranks(2);
    world.run(|world| two_numbers(&world)).expect("all as said");
}
