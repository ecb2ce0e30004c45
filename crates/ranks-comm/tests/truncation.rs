//! Messages that are too long: an error with both lengths, and not a byte outside of the buffer.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of ranks are small"
)]

use ranks_comm::layout::{Field, Fields, Layout, View, ViewMut};
use ranks_comm::{Backend, Communicator, Error, ErrorKind, Result, Runtime, Source};

const CANARY: u64 = 0xDEAD_BEEF_0BAD_CAFE;

/// Receives into the first `capacity` elements of a longer buffer, and checks the rest.
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

const CAPACITIES: [usize; 4] = if cfg!(miri) {
    [0, 10, 20, 50]
} else {
    [0, 10, 1000, 100_000]
};
const EXCESSES: [usize; 5] = if cfg!(miri) {
    [1, 5, 10, 30, 100]
} else {
    [1, 100, 512, 10_000, 1_000_000]
};

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

/// Of Open MPI, where the receive was posted before: each mode of sending, into each form of
/// receive.
#[ranks_test::ranks(1, 2, timeout = 120)]
fn a_message_to_oneself_that_was_cut_was_received_well(world: Communicator) -> Result<()> {
    type Send = fn(&Communicator, &[u32], usize) -> Result<()>;
    type Receive = fn(&Communicator, usize, &dyn Fn() -> Result<()>) -> Result<()>;
    let sends: [Send; 13] = [
        |comm, data, me| comm.send(data, me, 7),
        |comm, data, me| comm.bsend(data, me, 7),
        // SAFETY: each receive here is posted before.
        |comm, data, me| unsafe { comm.rsend(data, me, 7) },
        |comm, data, me| comm.isend(data.to_vec(), me, 7)?.wait().map(drop),
        |comm, data, me| comm.issend(data.to_vec(), me, 7)?.wait().map(drop),
        |comm, data, me| comm.ibsend(data.to_vec(), me, 7)?.wait().map(drop),
        |comm, data, me| {
            let sending = comm.send_init(data.to_vec(), me, 7)?;
            sending.start()?.wait().map(drop)
        },
        |comm, data, me| comm.scope(|s| s.isend(data, me, 7).map(drop)),
        |comm, data, me| comm.send_view(&View::whole(data), me, 7),
        |comm, data, me| comm.send_view(&one_field(data)?, me, 7),
        |comm, data, me| comm.scope(|s| s.isend_view(one_field(data)?, me, 7).map(drop)),
        |comm, data, me| {
            let first = comm.isend([1u8].to_vec(), me, 8)?;
            comm.sendrecv(data, me, 7, &mut [0u8], me, 8)?;
            first.wait().map(drop)
        },
        |comm, data, me| {
            let mut other = data.to_vec();
            let first = comm.isend(data.to_vec(), me, 8)?;
            let status = comm.sendrecv_replace(&mut other, me, 7, me, 8)?;
            assert_eq!((status.bytes(), &other[..]), (4 * data.len(), data));
            first.wait().map(drop)
        },
    ];
    let receives: [Receive; 7] = [
        |comm, room, send| {
            let receiving = comm.irecv(vec![0u32; room], comm.rank(), 7)?;
            send()?;
            receiving.wait().map(drop)
        },
        |comm, room, send| {
            let receiving = comm.irecv(vec![0u32; room], Source::Any, 7)?;
            send()?;
            receiving.wait().map(drop)
        },
        |comm, room, send| {
            let receiving = comm.recv_init(vec![0u32; room], comm.rank(), 7)?.start()?;
            send()?;
            receiving.wait().map(drop)
        },
        |comm, room, send| {
            let mut memory = vec![0u32; room];
            comm.scope(|s| {
                let receiving = s.irecv(&mut memory, comm.rank(), 7)?;
                send()?;
                receiving.wait().map(drop)
            })
        },
        |comm, room, send| {
            let mut memory = vec![0u32; room];
            comm.scope(|s| {
                let _receiving = s.irecv(&mut memory, Source::Any, 7)?;
                send()
            })
        },
        |comm, room, send| {
            let mut memory = vec![0u32; room];
            comm.scope(|s| {
                let view = ViewMut::whole(&mut memory);
                let receiving = s.irecv_view(view, comm.rank(), 7)?;
                send()?;
                receiving.wait().map(drop)
            })
        },
        |comm, room, send| {
            let receiving =
                comm.irecv_layout(vec![0u32; room], &Layout::contiguous(room), comm.rank(), 7)?;
            send()?;
            receiving.wait().map(drop)
        },
    ];
    let me = world.rank();
    let attached = world.buffer_attach(vec![0; 100_000])?;
    for (way, send) in sends.iter().enumerate() {
        for (other, receive) in receives.iter().enumerate() {
            for (room, length) in [
                (1, 1),
                (1, 2),
                (2, 2),
                (3, 65),
                (64, 64),
                (64, 65),
                (66, 250),
                (254, 255),
                (200, 300),
            ] {
                let data: Vec<u32> = (0..length as u32).collect();
                let outcome = receive(&world, room, &|| send(&world, &data, me));
                let told = outcome.map(drop).map_err(|error| error.kind());
                let expected = if length > room {
                    Err(ErrorKind::Truncated)
                } else {
                    Ok(())
                };
                assert_eq!(
                    told, expected,
                    "{length} into {room}, sent by {way}, received by {other}"
                );
            }
        }
    }
    attached.detach().map(drop)
}

/// A view of the same memory: the only field of one element.
fn one_field(data: &[u32]) -> Result<View<'_, u32>> {
    let fields = Fields::<u32>::new([Field::at::<u32>(0)])?;
    View::whole(data).fields(&fields)
}

/// Receives a message to oneself, whether the library reports the truncation or not.
#[ranks_test::ranks(1, 2)]
fn a_message_to_oneself_was_written_past_its_buffer(world: Communicator) -> Result<()> {
    let me = world.rank();
    for excess in EXCESSES {
        let long = vec![1u64; 10 + excess];
        let mut memory = vec![CANARY; 10 + excess + 64];
        let (buf, behind) = memory.split_at_mut(10);
        // Its error is checked by another test.
        let _ = world.sendrecv(&long, me, 0, buf, me, 0);
        let touched = behind.iter().filter(|&&word| word != CANARY).count();
        assert_eq!(touched, 0, "{touched} words behind the buffer were written");
    }
    Ok(())
}

/// A scope that fails leaves the next one intact.
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

/// MPICH 4.3 and 5.0 report success for some, now and then.
#[ranks_test::ranks(3, timeout = 120)]
fn a_message_from_any_rank_was_cut_without_a_word(world: Communicator) -> Result<()> {
    let (rank, any) = (world.rank(), Source::Any);
    let next = (rank + 1) % 3;
    let mut prepared = Some(world.recv_init(vec![0u8; 1], any, 5)?);
    for round in 0..800 {
        world.agree(Ok::<(), Error>(()))?;
        let sending = world.isend(vec![7u8; 3], next, 5)?;
        let received = match round % 5 {
            // The fewest of these.
            _ if round >= 200 => {
                let mut room = [0u8];
                let mut view = ViewMut::whole(&mut room);
                world.recv_view(&mut view, any, 5).map(drop)
            }
            0 => world.recv(&mut [0u8], any, 5).map(drop),
            1 => world.irecv(vec![0u8], any, 5)?.wait().map(drop),
            2 => {
                let started = prepared.take().expect("it was given back").start()?;
                let ended = started.wait().map(drop);
                prepared = Some(world.recv_init(vec![0u8; 1], any, 5)?);
                ended
            }
            3 => {
                let mut room = [0u8];
                world.scope(|s| s.irecv(&mut room, any, 5)?.wait().map(drop))
            }
            _ => {
                let (mut room, mut other) = ([0u8], [0u8]);
                world.scope(|s| {
                    s.irecv(&mut room, any, 5)?;
                    s.irecv(&mut other, rank, 6)?;
                    s.isend(&[1u8], rank, 6).map(drop)
                })
            }
        };
        let error = received.expect_err("3 bytes for 1");
        assert_eq!(error.kind(), ErrorKind::Truncated, "{round}: {error}");
        sending.wait()?;
    }
    Ok(())
}

#[ranks_test::ranks(2)]
fn both_lengths_source_and_tag_are_in_the_text(world: Communicator) -> Result<()> {
    if world.rank() == 0 {
        world.send(&[0u32; 9000], 1, 5)?;
    } else {
        let error = world.recv(&mut [0u32; 100], 0, 5).unwrap_err();
        let [start, end] = [
            "MPI_Recv: message truncated: ",
            " arrived from rank 0 with tag 5, the buffer holds 400 bytes (100 elements of 4); ",
        ];
        let text = error.to_string();
        let told = ["36000 bytes", "a longer message"]
            .iter()
            .any(|length| text.starts_with(&format!("{start}{length}{end}")));
        assert!(told, "{text}");
    }
    Ok(())
}

/// Each form of a receive, from one rank and from any, of a message that is too long and of one
/// that is no whole number of elements.
#[ranks_test::ranks(2)]
fn every_receive_names_the_source_and_the_tag_of_what_it_refuses(
    world: Communicator,
) -> Result<()> {
    const TAG: i32 = 70;
    fn refused<R>(form: &str, outcome: Result<R>, from: usize) {
        let error = outcome.map(drop).expect_err(form);
        let named = format!(" arrived from rank {from} with tag {TAG}, ");
        assert!(error.to_string().contains(&named), "{form}: {error}");
    }
    let other = 1 - world.rank();
    for (length, room) in [(9, 1), (9, 4), (90_000, 10_000)] {
        for source in [Source::Rank(other), Source::Any] {
            let refuse = |form, receive: &mut dyn FnMut(&mut [u32]) -> Result<()>| {
                let sending = world.isend(vec![1u8; length], other, TAG)?;
                refused(form, receive(&mut vec![0u32; room]), other);
                sending.wait().map(drop)
            };
            refuse("recv", &mut |buf| world.recv(buf, source, TAG).map(drop))?;
            refuse("irecv", &mut |buf| {
                world.irecv(buf.to_vec(), source, TAG)?.wait().map(drop)
            })?;
            refuse("scope", &mut |buf| {
                world.scope(|s| s.irecv(buf, source, TAG)?.wait().map(drop))
            })?;
            refuse("persistent", &mut |buf| {
                let receiving = world.recv_init(buf.to_vec(), source, TAG)?;
                receiving.start()?.wait().map(drop)
            })?;
            refuse("matched", &mut |buf| {
                world.mprobe(source, TAG)?.recv(buf).map(drop)
            })?;
            refuse("recv_view", &mut |buf| {
                let view = Layout::vector(buf.len(), 1, 2);
                let mut spread = vec![0u32; 2 * buf.len()];
                let mut view = view.of_mut(&mut spread)?;
                world.recv_view(&mut view, source, TAG).map(drop)
            })?;
            refuse("irecv_view", &mut |buf| {
                let view = ViewMut::whole(buf);
                world.scope(|s| s.irecv_view(view, source, TAG)?.wait().map(drop))
            })?;
            // These send as well.
            let mut buf = vec![0u32; room];
            let sent = &vec![1u8; length];
            let outcome = world.sendrecv(sent, other, TAG, &mut buf, source, TAG);
            refused("sendrecv", outcome, other);
            let (from, mut into) = (View::whole(sent), ViewMut::whole(&mut buf));
            let outcome = world.sendrecv_view(&from, other, TAG, &mut into, source, TAG);
            refused("sendrecv_view", outcome, other);
            if length % 4 != 0 {
                refuse("recv_vec", &mut |_| {
                    world.recv_vec::<u32>(source, TAG).map(drop)
                })?;
                refuse("irecv_vec", &mut |_| {
                    world.irecv_vec::<u32>(source, TAG)?.wait().map(drop)
                })?;
            }
        }
    }
    Ok(())
}

/// In process the type of elements travels with them; over MPI it does not.
#[test]
fn what_was_sent_as_one_type_was_received_as_another() {
    fn refused<R>(outcome: Result<R>, (from, tag): (usize, i32)) {
        let error = outcome.map(drop).expect_err("another type");
        assert_eq!(error.kind(), ErrorKind::Type, "{error}");
        let told = format!(
            "16 bytes of f64 arrived from rank {from} with tag {tag}, to be received as i32"
        );
        assert!(error.to_string().contains(&told), "{error}");
    }
    fn two_numbers(world: &Communicator) -> Result<()> {
        let other = 1 - world.rank();
        for tag in 0..7 {
            world.send(&[0.5f64, 1.5], other, tag)?;
        }
        refused(world.recv(&mut [0i32; 4], other, 0), (other, 0));
        refused(world.recv_vec::<i32>(other, 1), (other, 1));
        refused(world.irecv(vec![0i32; 1], other, 2)?.wait(), (other, 2));
        refused(world.irecv_vec::<i32>(other, 3)?.wait(), (other, 3));
        let mut room = [0i32; 8];
        refused(
            world.scope(|s| s.irecv(&mut room, other, 4).map(drop)),
            (other, 4),
        );
        // Bytes may be received as any type, and so may structs and arrays.
        assert_eq!(world.recv_vec::<u8>(other, 5)?.0.len(), 16);
        assert_eq!(world.recv_vec::<[f64; 2]>(other, 6)?.0, [[0.5, 1.5]]);
        let (left, right) = (&[0u8; 8][..], &mut [1u64]);
        world.sendrecv(left, other, 8, right, other, 8)?;
        assert_eq!(right, &[0]);
        // Persistent ones too; an empty message is of any type.
        let sending = world.send_init(vec![0.5f64, 1.5], other, 9)?.start()?;
        refused(world.recv(&mut [0i32; 4], other, 9), (other, 9));
        sending.wait()?;
        // Partitions too.
        let sending = world.psend_init(vec![0.5f64, 1.5, 2.5, 3.5], 2, other, 11)?;
        let sending = sending.start()?;
        sending.pready_range(0..2)?;
        let receiving = world.precv_init(vec![0i32; 8], 2, other, 11)?.start()?;
        refused(receiving.wait(), (other, 11));
        sending.wait()?;
        world.send::<f32>(&[], other, 10)?;
        world.recv::<u64>(&mut [7], other, 10).map(drop)
    }
    let world = Runtime::builder().backend(Backend::InProcess).ranks(2);
    world.run(|world| two_numbers(&world)).expect("all as said");
}
