//! Packing.

use bytemuck::Zeroable;
use ranks_comm::layout::{Field, Fields, Layout, View, ViewMut};
use ranks_comm::{Communicator, ErrorKind, Result};

use crate::fields::Packed;
use crate::{LENGTH, layouts, ring};

#[ranks_test::ranks(1, 2, 3, 4)]
fn things_of_several_types_travel_in_one_message(world: Communicator) -> Result<()> {
    let (next, previous) = ring(&world);
    let fields = Fields::<Packed>::new([Field::at::<f64>(1)])?;
    let column = Layout::vector(4, 1, 6);
    let table: Vec<i32> = (0..24).map(|i| i + 100 * world.rank() as i32).collect();
    let element = Packed {
        small: 3,
        large: 0.25,
    };

    let mut packed = Vec::new();
    world.pack(&View::whole(&[world.rank() as u64]), &mut packed)?;
    world.pack(&View::<f64>::whole(&[]), &mut packed)?;
    world.pack(&column.at(2).of(&table)?, &mut packed)?;
    world.pack(&View::whole(&[element; 3]).fields(&fields)?, &mut packed)?;
    let mut arrived = vec![0u8; packed.len() + 10];
    let status = world.sendrecv(&packed, next, 0, &mut arrived, previous, 0)?;
    arrived.truncate(status.bytes());

    let mut position = 0;
    let mut from = [0u64];
    world.unpack(&arrived, &mut position, &mut ViewMut::whole(&mut from))?;
    assert_eq!(from, [previous as u64]);
    world.unpack(&arrived, &mut position, &mut ViewMut::<f64>::whole(&mut []))?;
    let mut copy = vec![-1; 24];
    world.unpack(&arrived, &mut position, &mut column.of_mut(&mut copy)?)?;
    for (i, &value) in copy.iter().enumerate() {
        let expected = if i % 6 == 0 {
            i as i32 + 2 + 100 * previous as i32
        } else {
            -1
        };
        assert_eq!(value, expected);
    }
    let mut elements = [Packed::zeroed(); 3];
    let mut view = ViewMut::whole(&mut elements).fields(&fields)?;
    world.unpack(&arrived, &mut position, &mut view)?;
    assert_eq!(
        elements,
        [Packed {
            small: 0,
            large: 0.25
        }; 3]
    );
    assert_eq!(position, arrived.len());
    Ok(())
}

#[ranks_test::ranks(1)]
fn no_more_is_packed_than_was_said(world: Communicator) -> Result<()> {
    let data = [0.5f64; LENGTH];
    for layout in layouts() {
        let view = layout.of(&data)?;
        let most = world.pack_size(&view)?;
        assert!(most >= view.bytes());
        let mut packed = vec![0xEE; 5];
        world.pack(&view, &mut packed)?;
        assert!((view.bytes()..=most).contains(&(packed.len() - 5)));
        assert_eq!(packed[..5], [0xEE; 5]);
        let (mut copy, mut position) = ([0.0f64; LENGTH], 5);
        world.unpack(&packed, &mut position, &mut layout.of_mut(&mut copy)?)?;
        assert_eq!(position, packed.len());
        assert_eq!(layout.of(&copy)?.to_vec(), view.to_vec());
        assert_eq!(
            copy.iter().filter(|&&value| value != 0.0).count(),
            layout.elements()
        );
    }
    Ok(())
}

#[ranks_test::ranks(1)]
fn too_little_to_unpack_is_an_error_and_writes_nothing(world: Communicator) -> Result<()> {
    let mut packed = Vec::new();
    world.pack(&View::whole(&[1u32, 2, 3]), &mut packed)?;
    let layout = Layout::vector(3, 1, 2);
    let (mut data, length) = ([7u32; 5], packed.len());
    for (cut, begin) in [
        (length - 1, 0),
        (0, 0),
        (length, 1),
        (length, length),
        (length, usize::MAX),
    ] {
        let mut position = begin;
        let mut view = layout.of_mut(&mut data)?;
        let error = world
            .unpack(&packed[..cut], &mut position, &mut view)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Length, "{error}");
        assert_eq!(position, begin);
    }
    assert_eq!(data, [7; 5]);
    Ok(())
}

#[ranks_test::ranks(2)]
fn what_is_packed_for_all_machines_travels_as_bytes(world: Communicator) -> Result<()> {
    let layout = Layout::vector(3, 2, 3);
    let data: Vec<i16> = (-4..4).collect();
    if world.rank() == 0 {
        let mut packed = Vec::new();
        layout.of(&data)?.pack_external(&mut packed)?;
        View::whole(&[1.5f32]).pack_external(&mut packed)?;
        world.send(&packed, 1, 0)?;
        return Ok(());
    }
    let (packed, _) = world.recv_vec::<u8>(0, 0)?;
    assert_eq!(packed[..4], [0xFF, 0xFC, 0xFF, 0xFD]);
    let (mut copy, mut float, mut position) = ([9i16; 8], [0.0f32], 0);
    layout
        .of_mut(&mut copy)?
        .unpack_external(&packed, &mut position)?;
    ViewMut::whole(&mut float).unpack_external(&packed, &mut position)?;
    assert_eq!(copy, [-4, -3, 9, -1, 0, 9, 2, 3]);
    assert_eq!((float, position), ([1.5], packed.len()));
    Ok(())
}
