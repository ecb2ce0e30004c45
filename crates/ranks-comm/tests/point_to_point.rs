//! Messages between two ranks: they arrive as they were sent, and misuse is an error.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of ranks are small"
)]

use ranks_comm::{Communicator, ErrorKind, Pod, Result, Source, Tag, Zeroable};

/// Longer than what any library sends before it is received; in process all go the same way.
const LONG: usize = if cfg!(miri) { 400 } else { 100_000 };

fn neighbours(world: &Communicator) -> (usize, usize) {
    let (rank, size) = (world.rank(), world.size());
    ((rank + 1) % size, (rank + size - 1) % size)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_ring_carries_every_size(world: Communicator) -> Result<()> {
    let (right, left) = neighbours(&world);
    for length in [0, 1, 7, LONG / 100, LONG / 20, LONG] {
        let mine: Vec<f64> = (0..length)
            .map(|i| (world.rank() * length + i) as f64)
            .collect();
        let mut theirs = vec![-1.0; length];
        let status = world.sendrecv(&mine, right, 3, &mut theirs, left, 3)?;
        assert_eq!(status.count::<f64>()?, length);
        assert_eq!((status.source(), status.tag()), (Some(left), Some(3)));
        for (i, number) in theirs.iter().enumerate() {
            assert_eq!(*number, (left * length + i) as f64);
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn one_element_is_a_message(world: Communicator) -> Result<()> {
    let (right, left) = neighbours(&world);
    let mine = [world.rank() as u64];
    world.scope(|scope| {
        scope.isend(&mine, right, 3)?;
        let (theirs, status) = world.recv_one::<u64>(left, 3)?;
        assert_eq!((theirs, status.source()), (left as u64, Some(left)));
        Ok::<(), ranks_comm::Error>(())
    })?;
    if world.size() > 1 && world.rank() == 0 {
        world.send_one([1.5, 2.5], 1, 4)?;
        world.send::<f32>(&[], 1, 4)?;
        world.send(&[1u8; 2], 1, 4)?;
    } else if world.rank() == 1 {
        assert_eq!(world.recv_one::<[f64; 2]>(0, 4)?.0, [1.5, 2.5]);
        let empty = world.recv_one::<f32>(0, 4).unwrap_err();
        assert_eq!(empty.kind(), ErrorKind::Length);
        let long = world.recv_one::<u8>(0, 4).unwrap_err();
        assert_eq!(long.kind(), ErrorKind::Truncated);
    }
    let null = world.recv_one::<i32>(Source::Null, 4).unwrap_err();
    assert_eq!(null.kind(), ErrorKind::Length);
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn blocking_sends_and_receives_pair_up(world: Communicator) -> Result<()> {
    for length in [0usize, 3, 2 * LONG] {
        if world.rank() == 0 {
            for dest in 1..world.size() {
                world.send(&vec![dest as u32; length], dest, 5)?;
                world.ssend(&vec![dest as u32 + 100; length], dest, 6)?;
            }
        } else {
            let mut buf = vec![0u32; length];
            world.recv(&mut buf, 0, 5)?;
            assert!(buf.iter().all(|&x| x as usize == world.rank()));
            world.recv(&mut buf, 0, 6)?;
            assert!(buf.iter().all(|&x| x as usize == world.rank() + 100));
        }
    }
    Ok(())
}

#[ranks_test::ranks(2, 4)]
fn messages_of_one_sender_do_not_overtake(world: Communicator) -> Result<()> {
    const MESSAGES: u64 = 50;
    if world.rank() == 0 {
        let mut next = vec![0; world.size()];
        for _ in 0..MESSAGES * (world.size() as u64 - 1) {
            let mut number = [0u64];
            let status = world.recv(&mut number, Source::Any, Tag::Any)?;
            let source = status.source().unwrap();
            assert_eq!(status.tag(), Some(source as i32));
            assert_eq!(number[0], next[source]);
            next[source] += 1;
        }
    } else {
        for number in 0..MESSAGES {
            world.send(&[number], 0, world.rank() as i32)?;
        }
    }
    Ok(())
}

#[ranks_test::ranks(2)]
fn tags_choose_among_messages(world: Communicator) -> Result<()> {
    if world.rank() == 0 {
        world.send(&[1u8], 1, 1)?;
        world.send(&[2u8], 1, 2)?;
    } else {
        let mut byte = [0u8];
        world.recv(&mut byte, 0, 2)?;
        assert_eq!(byte, [2]);
        world.recv(&mut byte, 0, 1)?;
        assert_eq!(byte, [1]);
    }
    Ok(())
}

#[ranks_test::ranks(2, 3)]
fn a_message_may_be_shorter_than_its_buffer(world: Communicator) -> Result<()> {
    if world.rank() == 0 {
        world.send(&[1i32, 2, 3], 1, 0)?;
    } else if world.rank() == 1 {
        let mut buf = [-1i32; 5];
        let status = world.recv(&mut buf, 0, 0)?;
        assert_eq!(status.count::<i32>()?, 3);
        assert_eq!(status.bytes(), 12);
        assert_eq!(buf, [1, 2, 3, -1, -1]);
    }
    Ok(())
}

#[ranks_test::ranks(2)]
fn a_message_of_unknown_length_becomes_a_vec(world: Communicator) -> Result<()> {
    for length in [0usize, 1, LONG / 100, 3 * LONG] {
        if world.rank() == 0 {
            world.send(&vec![length as i64; length], 1, 9)?;
        } else {
            let (values, status) = world.recv_vec::<i64>(Source::Any, 9)?;
            assert_eq!(values, vec![length as i64; length]);
            assert_eq!(status.source(), Some(0));
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn nobody_is_a_peer(world: Communicator) -> Result<()> {
    let mut buf = [7u16];
    world.send(&buf, None, 0)?;
    world.ssend(&buf, None, 0)?;
    let status = world.recv(&mut buf, None, 0)?;
    assert_eq!(
        (status.source(), status.tag(), status.bytes()),
        (None, None, 0)
    );
    let status = world.sendrecv(&[1u16], None, 0, &mut buf, None, Tag::Any)?;
    assert_eq!(status.source(), None);
    world.sendrecv_replace(&mut buf, None, 0, None, 0)?;
    assert_eq!(buf, [7]);
    assert_eq!(world.probe(None, 0)?.source(), None);
    assert_eq!(world.recv_vec::<u16>(None, 0)?.0, [0u16; 0]);
    let mut none = [0u16; 0];
    assert_eq!(world.mprobe(None, 0)?.recv(&mut none)?.source(), None);
    Ok(())
}

#[ranks_test::ranks(1, 3)]
fn sendrecv_replace_turns_a_ring(world: Communicator) -> Result<()> {
    let (right, left) = neighbours(&world);
    for length in [1usize, LONG / 2] {
        let mut buf = vec![world.rank() as u64; length];
        for _ in 0..world.size() {
            world.sendrecv_replace(&mut buf, right, 1, left, 1)?;
        }
        assert_eq!(buf, vec![world.rank() as u64; length]);
    }
    Ok(())
}

#[ranks_test::ranks(2, 3)]
fn probes_see_what_a_receive_would_take(world: Communicator) -> Result<()> {
    if world.rank() == 0 {
        world.send(&[1.5f32; 6], 1, 4)?;
    } else if world.rank() == 1 {
        let status = world.probe(0, 4)?;
        assert_eq!(status.count::<f32>()?, 6);
        let status = world.iprobe(0, Tag::Any)?.expect("it has arrived");
        assert_eq!(status.tag(), Some(4));
        assert!(world.iprobe(0, 5)?.is_none());
        let mut buf = [0f32; 6];
        world.recv(&mut buf, 0, 4)?;
        assert!(world.iprobe(Source::Any, Tag::Any)?.is_none());
    }
    Ok(())
}

#[ranks_test::ranks(2)]
fn a_claimed_message_is_its_holders_alone(world: Communicator) -> Result<()> {
    if world.rank() == 0 {
        world.send(&[1u32], 1, 4)?;
        world.send(&[2u32, 3], 1, 4)?;
        world.send(&[4u32], 1, 4)?;
        world.send(&[5u32], 1, 5)?;
    } else {
        let first = world.mprobe(0, 4)?;
        let mut second = [0u32; 2];
        world.recv(&mut second, 0, 4)?;
        assert_eq!(second, [2, 3]);
        assert_eq!(first.status().count::<u32>()?, 1);
        let mut one = [0u32];
        first.recv(&mut one)?;
        assert_eq!(one, [1]);
        // A message that is dropped is lost, and nothing else.
        drop(world.mprobe(0, 4)?);
        let last = loop {
            if let Some(message) = world.improbe(0, Tag::Any)? {
                break message;
            }
        };
        assert_eq!(last.recv_vec::<u32>()?.0, [5]);
    }
    Ok(())
}

/// An element with a size that is no power of two, and one that is aligned to more than a word.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C, packed)]
struct Packed {
    tag: u8,
    value: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C, align(32))]
struct Wide([u64; 4]);

#[ranks_test::ranks(1, 2)]
fn any_pod_travels(world: Communicator) -> Result<()> {
    let (right, left) = neighbours(&world);
    let packed = [Packed { tag: 1, value: 2.5 }, Packed { tag: 3, value: 4.5 }];
    let mut got = [Packed::zeroed(); 2];
    let status = world.sendrecv(&packed, right, 0, &mut got, left, 0)?;
    assert_eq!(status.count::<Packed>()?, 2);
    assert_eq!(got, packed);
    let wide = [Wide([1, 2, 3, 4]); 3];
    let mut got = [Wide::zeroed(); 3];
    world.sendrecv(&wide, right, 0, &mut got, left, 0)?;
    assert_eq!(got, wide);
    let mut arrays = [[0i16; 3]; 2];
    world.sendrecv(&[[1i16, 2, 3], [4, 5, 6]], right, 0, &mut arrays, left, 0)?;
    assert_eq!(arrays, [[1, 2, 3], [4, 5, 6]]);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn empty_slices_of_every_width_travel(world: Communicator) -> Result<()> {
    fn turn<T: Pod>(world: &Communicator) -> Result<()> {
        let (right, left) = neighbours(world);
        let mut nothing: [T; 0] = [];
        let status = world.sendrecv::<T, T>(&[], right, 0, &mut nothing, left, 0)?;
        assert_eq!(status.bytes(), 0);
        world.sendrecv_replace(&mut nothing, right, 0, left, 0)?;
        Ok(())
    }
    turn::<u8>(&world)?;
    turn::<u16>(&world)?;
    turn::<f64>(&world)?;
    turn::<[u8; 3]>(&world)
}

#[ranks_test::ranks(1, 2)]
fn ranks_and_tags_are_checked_before_the_call(world: Communicator) -> Result<()> {
    let size = world.size();
    let mut buf = [0u8];
    let kinds = [
        world.send(&buf, size, 0).unwrap_err().kind(),
        world.ssend(&buf, size + 7, 0).unwrap_err().kind(),
        world.recv(&mut buf, usize::MAX, 0).unwrap_err().kind(),
        world.probe(size, 0).unwrap_err().kind(),
        world.iprobe(size, 0).unwrap_err().kind(),
        world.mprobe(size, 0).unwrap_err().kind(),
    ];
    assert_eq!(kinds, [ErrorKind::Rank; 6]);
    let error = world.send(&buf, size, 0).unwrap_err();
    assert!(error.to_string().starts_with("MPI_Send: rank"), "{error}");
    let kinds = [
        world.send(&buf, 0, -1).unwrap_err().kind(),
        world.recv(&mut buf, 0, -2).unwrap_err().kind(),
        world
            .sendrecv(&[0u8], 0, -1, &mut buf, 0, 0)
            .unwrap_err()
            .kind(),
    ];
    assert_eq!(kinds, [ErrorKind::Tag; 3]);
    assert!(world.max_tag() >= 32_767);
    if world.max_tag() < i32::MAX {
        let error = world.send(&buf, 0, world.max_tag() + 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tag);
    }
    let (right, left) = neighbours(&world);
    world.sendrecv(
        &[1u8],
        right,
        world.max_tag(),
        &mut buf,
        left,
        world.max_tag(),
    )?;
    assert_eq!(buf, [1]);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn a_message_that_is_no_whole_number_of_elements_is_an_error(world: Communicator) -> Result<()> {
    let (right, left) = neighbours(&world);
    let mut numbers = [0u64; 4];
    let error = world
        .sendrecv(&[1u8; 13], right, 0, &mut numbers, left, 0)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Type, "{error}");
    assert!(error.to_string().contains("13 bytes arrived"), "{error}");
    // The message is lost, the next one arrives.
    world.sendrecv(&[5u64], right, 0, &mut numbers, left, 0)?;
    assert_eq!(numbers[0], 5);
    if world.size() > 1 {
        if world.rank() == 0 {
            world.send(&[1u8; 5], 1, 0)?;
            world.send(&[1u8; 5], 1, 0)?;
        } else {
            let error = world.recv_vec::<u32>(0, 0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Type);
            let mut numbers = [0u16; 9];
            let error = world.recv(&mut numbers, 0, 0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Type);
        }
    }
    Ok(())
}

#[ranks_test::ranks(2)]
fn threads_communicate_side_by_side(world: Communicator) -> Result<()> {
    let (right, left) = neighbours(&world);
    std::thread::scope(|scope| {
        for tag in 0..4 {
            let world = &world;
            scope.spawn(move || {
                for round in 0..50u32 {
                    let mut got = [0u32];
                    world
                        .sendrecv(
                            &[round * 10 + tag],
                            right,
                            tag as i32,
                            &mut got,
                            left,
                            tag as i32,
                        )
                        .unwrap();
                    assert_eq!(got, [round * 10 + tag]);
                }
            });
        }
    });
    Ok(())
}

/// The addresses of slices without bytes are values that have a meaning for a library.
#[ranks_test::ranks(1, 2, 3)]
fn a_sendrecv_may_send_no_bytes(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    let mut room = [7u64; 3];
    let status = world.sendrecv::<u8, _>(&[], next, 2, &mut room, previous, 2)?;
    assert_eq!((status.source(), status.bytes()), (Some(previous), 0));
    assert_eq!(room, [7; 3]);
    Ok(())
}
