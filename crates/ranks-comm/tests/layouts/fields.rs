//! Whole elements, and selected fields of them.

use std::mem::offset_of;

use bytemuck::{Pod, Zeroable};
use ranks_comm::layout::{Field, Fields, Layout, View, ViewMut};
use ranks_comm::{Communicator, ErrorKind, Result};

use crate::{CANARY, Sample, ring, taken, through_layouts};

/// Size 9, with no gap: MPI would have given it one.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C, packed)]
pub(crate) struct Packed {
    pub(crate) small: u8,
    pub(crate) large: f64,
}

/// Size 32, of which MPI would have seen 8.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C, align(32))]
struct Aligned {
    value: f64,
    rest: [u64; 3],
}

impl Sample for Packed {}
impl Sample for Aligned {}

#[ranks_test::ranks(1, 2, 3)]
fn packed_and_aligned_elements_lie_as_rust_lays_them(world: Communicator) -> Result<()> {
    through_layouts::<Packed>(&world)?;
    through_layouts::<Aligned>(&world)
}

#[ranks_test::ranks(1, 2, 3)]
fn only_the_fields_that_are_named_are_written(world: Communicator) -> Result<()> {
    let (next, previous) = ring(&world);
    let packed = Fields::<Packed>::new([Field::at::<f64>(offset_of!(Packed, large))])?;
    let small = Fields::<Packed>::new([Field::at::<u8>(offset_of!(Packed, small))])?;
    let data: Vec<Packed> = (0..21)
        .map(|i| Packed {
            small: i,
            large: f64::from(i) + 0.5,
        })
        .collect();
    let blank = Packed {
        small: 0xEE,
        large: -1.0,
    };
    for layout in [
        Layout::contiguous(21),
        Layout::vector(5, 2, 4).at(1),
        Layout::contiguous(1),
    ] {
        for fields in [&packed, &small] {
            let mut copy = vec![blank; 21];
            let mut into = layout.of_mut(&mut copy)?.fields(fields)?;
            let from = layout.of(&data)?.fields(fields)?;
            let status = world.sendrecv_view(&from, next, 0, &mut into, previous, 0)?;
            assert_eq!(status.bytes(), layout.elements() * fields.bytes());
            let taken = taken(&layout, 21);
            for (i, (copy, original)) in copy.iter().zip(&data).enumerate() {
                let mut expected = blank;
                match fields.bytes() {
                    8 if taken.contains(&i) => expected.large = original.large,
                    1 if taken.contains(&i) => expected.small = original.small,
                    _ => {}
                }
                assert_eq!(*copy, expected, "{i}");
            }
        }
    }

    let value = Fields::<Aligned>::new([
        Field::array::<u64>(offset_of!(Aligned, rest) + 8, 2),
        Field::at::<f64>(offset_of!(Aligned, value)),
    ])?;
    let data: Vec<Aligned> = (0..10)
        .map(|i| Aligned {
            value: i as f64,
            rest: [i, i + 1, i + 2],
        })
        .collect();
    let mut copy = vec![
        Aligned {
            value: -1.0,
            rest: [CANARY; 3]
        };
        10
    ];
    let from = View::whole(&data).fields(&value)?;
    let mut into = ViewMut::whole(&mut copy).fields(&value)?;
    world.sendrecv_view(&from, next, 0, &mut into, previous, 0)?;
    for (copy, original) in copy.iter_mut().zip(&data) {
        assert_eq!(copy.rest[0], CANARY);
        copy.rest[0] = original.rest[0];
        assert_eq!(copy, original);
    }
    Ok(())
}

#[ranks_test::ranks(2)]
fn too_many_fields_write_nothing_else(world: Communicator) -> Result<()> {
    let fields = Fields::<Packed>::new([Field::at::<u8>(offset_of!(Packed, small))])?;
    for excess in [1, 5000, 100_000] {
        if world.rank() == 0 {
            world.send(&vec![1u8; 40 + excess], 1, 0)?;
            world.send(&[1u8; 40], 1, 0)?;
        } else {
            let blank = Packed {
                small: 0xEE,
                large: -1.0,
            };
            let mut memory = vec![blank; 40 + excess];
            let mut view = ViewMut::whole(&mut memory[..40]).fields(&fields)?;
            let error = world.recv_view(&mut view, 0, 0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Truncated, "{error}");
            world.recv_view(&mut view, 0, 0)?;
            assert!(memory[..40].iter().all(|element| element.small == 1));
            assert!(memory.iter().all(|&Packed { large, .. }| large == -1.0));
            assert!(memory[40..].iter().all(|&element| element == blank));
        }
    }
    Ok(())
}
