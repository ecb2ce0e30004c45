//! Layouts: the selected elements arrive, and nothing else is touched.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::unwrap_used,
    reason = "numbers are small, and a failure is to end the test"
)]

mod fields;
mod huge;
mod nonblocking;
mod pack;
mod rsmpi;

use bytemuck::Pod;
use ranks_comm::layout::{Halo, Layout, Order, Side, ViewMut};
use ranks_comm::{Communicator, ErrorKind, Result, Source};

/// Sends to the next rank and receives from the one before, which may be this one.
fn ring(world: &Communicator) -> (usize, usize) {
    let (rank, size) = (world.rank(), world.size());
    ((rank + 1) % size, (rank + size - 1) % size)
}

/// Layouts of all kinds, none of which selects an element twice, each for slices of `LENGTH`
/// elements.
fn layouts() -> Vec<Layout> {
    let block = Layout::subarray(&[3, 5, 4], &[2, 2, 3], &[1, 2, 0], Order::C).unwrap();
    let columns = Layout::subarray(&[4, 5], &[3, 2], &[1, 0], Order::Fortran).unwrap();
    vec![
        Layout::contiguous(7).at(2),
        Layout::contiguous(0),
        Layout::vector(5, 2, 7),
        Layout::vector(3, 1, 4).at(1),
        Layout::indexed(&[(40, 3), (2, 1), (9, 5)]),
        Layout::indexed_block(2, &[30, 4, 11]),
        block,
        columns.at(3),
        columns.repeat(3),
        Layout::vector(3, 1, 2).repeat_every(4, 10),
        Layout::vector(4, 1, 2).repeat_every(2, 1),
        Layout::concat(&[
            (20, Layout::vector(3, 2, 5)),
            (0, Layout::indexed(&[(3, 1), (0, 2)])),
            (50, Layout::contiguous(4)),
        ]),
        Layout::contiguous(1).resized(6).repeat(5),
    ]
}

const LENGTH: usize = 64;

/// The indices that a layout selects.
fn indices(layout: &Layout) -> Vec<usize> {
    let all: Vec<u64> = (0..LENGTH as u64).collect();
    let taken = layout.of(&all).unwrap().to_vec();
    taken.into_iter().map(|index| index as usize).collect()
}

/// Any element from a number.
trait Sample: Pod + PartialEq + std::fmt::Debug {
    fn sample(number: u8) -> Self {
        let mut value = Self::zeroed();
        bytemuck::bytes_of_mut(&mut value).fill(number);
        value
    }
}

impl Sample for u8 {}
impl Sample for i16 {}
impl Sample for f32 {}
impl Sample for f64 {}
impl Sample for [u8; 3] {}
impl Sample for [f64; 2] {}

fn numbered<T: Sample>() -> Vec<T> {
    (1..=LENGTH as u8).map(T::sample).collect()
}

fn through_layouts<T: Sample>(world: &Communicator) -> Result<()> {
    let (next, previous) = ring(world);
    let layouts = layouts();
    for (number, from) in layouts.iter().enumerate() {
        // Into the same layout, into another one of as many elements or more, and as a plain slice.
        for into in [from, &layouts[(number + 1) % layouts.len()]] {
            if into.elements() < from.elements() {
                continue;
            }
            let data = numbered::<T>();
            let mut copy = vec![T::sample(0xEE); LENGTH];
            let status = world.sendrecv_view(
                &from.of(&data)?,
                next,
                3,
                &mut into.of_mut(&mut copy)?,
                previous,
                3,
            )?;
            assert_eq!(status.bytes(), from.elements() * size_of::<T>());
            let mut expected = vec![T::sample(0xEE); LENGTH];
            for (&to, &from) in indices(into).iter().zip(&indices(from)) {
                expected[to] = data[from];
            }
            assert_eq!(copy, expected, "{from:?} into {into:?}");
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn what_a_layout_takes_arrives_where_another_says(world: Communicator) -> Result<()> {
    through_layouts::<u8>(&world)?;
    through_layouts::<i16>(&world)?;
    through_layouts::<f64>(&world)?;
    through_layouts::<[u8; 3]>(&world)?;
    through_layouts::<[f64; 2]>(&world)
}

/// Intel's MPI took blocks that overlap for one, where they begin as many bytes apart as they have
/// items.
#[ranks_test::ranks(1, 2)]
fn what_is_sent_may_be_selected_twice(world: Communicator) -> Result<()> {
    fn through<T: Sample>(world: &Communicator) -> Result<()> {
        let (next, previous) = ring(world);
        let mut layouts = vec![
            Layout::indexed(&[(4, 2), (5, 1), (3, 5)]),
            Layout::indexed(&[(0, 3), (1, 3)]).repeat_every(3, 1),
            Layout::indexed(&[(0, 2), (1, 2), (9, 1)]).repeat_every(2, 14),
        ];
        for length in 1..=9 {
            for stride in 0..length {
                layouts.push(Layout::vector(3, length, stride));
                layouts.push(Layout::indexed(&[(1, length), (1 + stride, length)]));
                layouts.push(Layout::vector(2, length, stride).repeat_every(2, 1));
            }
        }
        let data = numbered::<T>();
        for layout in layouts {
            let expected: Vec<T> = indices(&layout).into_iter().map(|at| data[at]).collect();
            let mut sent = vec![T::sample(0xEE); expected.len()];
            let (from, into) = (layout.of(&data)?, &mut ViewMut::whole(&mut sent));
            world.sendrecv_view(&from, next, 3, into, previous, 3)?;
            assert_eq!(sent, expected, "{layout:?}");
            let mut packed = Vec::new();
            world.pack(&from, &mut packed)?;
            assert_eq!(
                packed,
                bytemuck::cast_slice::<T, u8>(&expected),
                "{layout:?}"
            );
        }
        Ok(())
    }
    through::<u8>(&world)?;
    through::<i16>(&world)?;
    through::<f32>(&world)?;
    through::<f64>(&world)?;
    through::<[u8; 3]>(&world)
}

#[ranks_test::ranks(2)]
fn a_layout_and_a_slice_are_the_same_message(world: Communicator) -> Result<()> {
    for layout in layouts() {
        let data: Vec<f64> = (0..LENGTH).map(|i| i as f64).collect();
        let view = layout.of(&data)?;
        if world.rank() == 0 {
            world.send_view(&view, 1, 0)?;
            world.ssend_view(&view, 1, 1)?;
            world.send(&view.to_vec(), 1, 2)?;
            world.ssend(&view.to_vec(), 1, 3)?;
            continue;
        }
        let mut plain = vec![-1.0; layout.elements()];
        let status = world.recv(&mut plain, 0, 0)?;
        assert_eq!(status.count::<f64>()?, layout.elements());
        assert_eq!(plain, view.to_vec());
        assert_eq!(world.recv_vec::<f64>(0, 1)?.0, view.to_vec());
        for tag in [2, 3] {
            let mut copy = vec![-1.0; LENGTH];
            let status = world.recv_view(&mut layout.of_mut(&mut copy)?, Source::Any, tag)?;
            assert_eq!((status.source(), status.tag()), (Some(0), Some(tag)));
            assert_eq!(layout.of(&copy)?.to_vec(), view.to_vec());
            let untouched = copy.iter().filter(|&&value| value == -1.0).count();
            assert_eq!(untouched, LENGTH - layout.elements());
        }
    }
    Ok(())
}

#[ranks_test::ranks(2)]
fn a_short_message_fills_the_beginning_of_a_layout(world: Communicator) -> Result<()> {
    let layout = Layout::indexed(&[(8, 2), (1, 3), (5, 1)]);
    for length in 0..=6 {
        if world.rank() == 0 {
            world.send(&vec![7u32; length], 1, 0)?;
            continue;
        }
        let mut data = [0u32; 12];
        let status = world.recv_view(&mut layout.of_mut(&mut data)?, 0, 0)?;
        assert_eq!(status.count::<u32>()?, length);
        let taken = layout.of(&data)?.to_vec();
        let full: Vec<u32> = [vec![7; length], vec![0; 6 - length]].concat();
        assert_eq!(taken, full);
        assert_eq!(data.iter().sum::<u32>(), 7 * length as u32);
    }
    Ok(())
}

#[ranks_test::ranks(2)]
fn nobody_is_no_peer_of_a_layout(world: Communicator) -> Result<()> {
    let mut data = [5u16; 8];
    let layout = Layout::vector(4, 1, 2);
    world.send_view(&layout.of(&data)?, None, 0)?;
    let status = world.recv_view(&mut layout.of_mut(&mut data)?, None, 0)?;
    assert_eq!((status.source(), status.bytes()), (None, 0));
    let other = layout.at(1);
    world.sendrecv_within(&mut data, &layout, None, 0, &other, None, 0)?;
    assert_eq!(data, [5; 8]);
    Ok(())
}

const CANARY: u64 = 0xDEAD_BEEF_0BAD_CAFE;

/// Receives through a layout from a buffer with a margin behind, and checks all that is not to be
/// touched.
fn too_long(
    layout: &Layout,
    excess: usize,
    receive: impl FnOnce(&mut ViewMut<'_, u64>) -> Result<()>,
) -> Result<()> {
    let length = layout.true_extent().end;
    let mut memory = vec![CANARY; length + excess + 64];
    let (buf, _) = memory.split_at_mut(length);
    let error = receive(&mut layout.of_mut(buf)?).expect_err("the message is too long");
    assert_eq!(error.kind(), ErrorKind::Truncated, "{error}");
    assert!(error.to_string().contains("message truncated"), "{error}");
    // The selected elements may hold the beginning of the message or not.
    for place in taken(layout, length) {
        memory[place] = CANARY;
    }
    let touched = memory.iter().filter(|&&word| word != CANARY).count();
    assert_eq!(
        touched, 0,
        "{touched} words outside of the layout were written"
    );
    Ok(())
}

fn taken(layout: &Layout, length: usize) -> Vec<usize> {
    let all: Vec<u64> = (0..length as u64).collect();
    let taken = layout.of(&all).unwrap().to_vec();
    taken.into_iter().map(|index| index as usize).collect()
}

fn targets() -> [Layout; 7] {
    [
        Layout::contiguous(0),
        Layout::contiguous(10).at(3),
        Layout::vector(10, 1, 3).at(1),
        Layout::vector(LONG / 50, 2, 5),
        Layout::vector(LONG, 1, 2),
        Layout::indexed(&[(500, 100), (0, 100), (1000, 7)]),
        Layout::subarray(&[20, 20, 20], &[18, 18, 1], &[1, 1, 19], Order::C).unwrap(),
    ]
}

const LONG: usize = if cfg!(miri) { 150 } else { 50_000 };
const EXCESSES: [usize; 4] = [1, 100, LONG / 5, 4 * LONG];

#[ranks_test::ranks(2, timeout = 120)]
fn a_receive_through_a_layout_writes_nothing_else(world: Communicator) -> Result<()> {
    for layout in targets() {
        for excess in EXCESSES {
            let long = layout.elements() + excess;
            if world.rank() == 0 {
                world.send(&vec![1u64; long], 1, 0)?;
                let gaps = Layout::vector(long, 1, 2);
                world.send_view(&gaps.of(&vec![1u64; 2 * long])?, 1, 0)?;
                let mut done = [0u8];
                world.recv(&mut done, 1, 1)?;
            } else {
                for _ in 0..2 {
                    too_long(&layout, excess, |buf| world.recv_view(buf, 0, 0).map(drop))?;
                }
                world.send(&[1u8], 0, 1)?;
            }
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, timeout = 120)]
fn a_sendrecv_through_layouts_writes_nothing_else(world: Communicator) -> Result<()> {
    let peer = world.size() - 1 - world.rank();
    for layout in targets() {
        for excess in EXCESSES {
            let long = layout.elements() + excess;
            let (gaps, data) = (Layout::vector(long, 1, 2), vec![1u64; 2 * long]);
            too_long(&layout, excess, |buf| {
                let send = gaps.of(&data)?;
                world.sendrecv_view(&send, peer, 0, buf, peer, 0).map(drop)
            })?;
        }
    }
    Ok(())
}

#[ranks_test::ranks(2)]
fn the_next_message_arrives_after_one_that_was_too_long(world: Communicator) -> Result<()> {
    let layout = Layout::vector(3, 1, 2);
    if world.rank() == 0 {
        world.send(&[1u64; 4], 1, 0)?;
        world.send(&[7u64; 3], 1, 0)?;
    } else {
        let mut data = [0u64; 5];
        let mut view = layout.of_mut(&mut data)?;
        let text = world.recv_view(&mut view, 0, 0).unwrap_err().to_string();
        let told = ["32 bytes", "a longer message"].map(|length| {
            format!(
                "MPI_Recv: message truncated: {length} arrived from rank 0 with tag 0, \
                 the buffer holds 24 bytes (3 elements of 8);"
            )
        });
        assert!(told.iter().any(|told| text.starts_with(told)), "{text}");
        world.recv_view(&mut view, 0, 0)?;
        assert_eq!([data[0], data[2], data[4]], [7; 3]);
    }
    Ok(())
}

#[ranks_test::ranks(2)]
fn a_part_of_an_element_is_an_error(world: Communicator) -> Result<()> {
    let layout = Layout::vector(3, 1, 2);
    for bytes in [1, 7, 9, 23] {
        if world.rank() == 0 {
            world.send(&vec![1u8; bytes], 1, 0)?;
        } else {
            let mut data = [CANARY; 6];
            let mut view = layout.of_mut(&mut data)?;
            let error = world.recv_view(&mut view, 0, 0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Type, "{error}");
            assert_eq!([data[1], data[3], data[5]], [CANARY; 3]);
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn halos_are_exchanged_in_one_array(world: Communicator) -> Result<()> {
    let (next, previous) = ring(&world);
    for order in [Order::C, Order::Fortran] {
        let halo = Halo::new(&[5, 6, 7], 1, order)?;
        for dimension in 0..3 {
            let mut cells: Vec<u64> = (0..5 * 6 * 7)
                .map(|i| 1000 * world.rank() as u64 + i)
                .collect();
            let before = cells.clone();
            let (border, ghost) = (
                halo.border(dimension, Side::High)?,
                halo.ghost(dimension, Side::Low)?,
            );
            world.sendrecv_within(&mut cells, &border, next, 0, &ghost, previous, 0)?;
            let mut expected = before;
            for (to, from) in taken(&ghost, 210).into_iter().zip(taken(&border, 210)) {
                expected[to] = 1000 * previous as u64 + from as u64;
            }
            assert_eq!(cells, expected, "{order:?} {dimension}");
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn what_is_sent_and_what_is_received_into_must_not_meet(world: Communicator) -> Result<()> {
    let mut data = [0u8; 10];
    let (send, recv) = (Layout::vector(3, 2, 3), Layout::vector(3, 1, 3).at(1));
    let error = world
        .sendrecv_within(&mut data, &send, None, 0, &recv, None, 0)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    let too_long = Layout::contiguous(1).at(10);
    let error = world
        .sendrecv_within(&mut data, &send, None, 0, &too_long, None, 0)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Length, "{error}");
    world.sendrecv_within(&mut data, &send, None, 0, &recv.at(1), None, 0)?;
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn wrong_ranks_and_tags_are_refused(world: Communicator) -> Result<()> {
    let mut data = [0u8; 4];
    let layout = Layout::vector(2, 1, 2);
    let size = world.size();
    let send = |dest, tag| {
        world
            .send_view(&layout.of(&[0u8; 4]).unwrap(), dest, tag)
            .unwrap_err()
            .kind()
    };
    assert_eq!(send(size, 0), ErrorKind::Rank);
    assert_eq!(send(0, -1), ErrorKind::Tag);
    let error = world
        .recv_view(&mut layout.of_mut(&mut data)?, size, 0)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Rank);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn more_layouts_than_are_kept(world: Communicator) -> Result<()> {
    let (next, previous) = ring(&world);
    let data: Vec<u16> = (0..2000).collect();
    // Twice, so that some are in the cache and some were freed.
    for _ in 0..2 {
        for stride in 2..600 {
            let layout = Layout::vector(3, 1, stride);
            let mut copy = [0u16; 3];
            world.sendrecv_view(
                &layout.of(&data)?,
                next,
                0,
                &mut ViewMut::whole(&mut copy),
                previous,
                0,
            )?;
            let stride = stride as u16;
            assert_eq!(copy, [0, stride, 2 * stride]);
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 4, threads = multiple)]
fn layouts_are_shared_by_threads(world: Communicator) {
    let (next, previous) = ring(&world);
    std::thread::scope(|scope| {
        for tag in 0..4 {
            let world = world.clone();
            scope.spawn(move || {
                for stride in 2..40 {
                    let data: Vec<i32> = (0..200).map(|i| i + tag).collect();
                    let layout = Layout::vector(5, 1, stride);
                    let mut copy = vec![-1; 200];
                    world
                        .sendrecv_view(
                            &layout.of(&data).unwrap(),
                            next,
                            tag,
                            &mut layout.of_mut(&mut copy).unwrap(),
                            previous,
                            tag,
                        )
                        .unwrap();
                    assert_eq!(
                        layout.of(&copy).unwrap().to_vec(),
                        layout.of(&data).unwrap().to_vec()
                    );
                }
            });
        }
    });
}
