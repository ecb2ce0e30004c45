//! The datatypes of rsmpi's example programs, with the same values.
//!
//! Rank 0 sends where they broadcast; a byte stands for a `bool`, because not every byte is a
//! `bool`.

use std::fmt::Debug;
use std::mem::offset_of;

use bytemuck::{Pod, Zeroable};
use ranks_comm::layout::{Field, Fields, Layout, View, ViewMut};
use ranks_comm::{Communicator, Result};

use crate::ring;

/// Sends the elements of rank 0 to all others.
fn from_root<S: Pod, R: Pod>(
    world: &Communicator,
    root: &View<'_, S>,
    elsewhere: &mut ViewMut<'_, R>,
) -> Result<()> {
    if world.rank() > 0 {
        return world.recv_view(elsewhere, 0, 0).map(drop);
    }
    (1..world.size()).try_for_each(|dest| world.send_view(root, dest, 0))
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_contiguous(world: Communicator) -> Result<()> {
    let (next, previous) = ring(&world);
    let multiples = |rank: usize| [1.0, 2.0, 3.0].map(|x: f64| rank as f64 * x);
    let (b1, mut b2) = (multiples(world.rank()), [-1.0; 3]);
    let three = Layout::contiguous(3);
    let status = world.sendrecv_view(
        &three.of(&b1)?,
        next,
        0,
        &mut three.of_mut(&mut b2)?,
        previous,
        0,
    )?;
    assert_eq!(b2, multiples(previous));
    assert_eq!(
        (status.source(), status.count::<f64>()?),
        (Some(previous), 3)
    );
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_vector(world: Communicator) -> Result<()> {
    let (next, previous) = ring(&world);
    let multiples = |rank: usize| [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(|x: f64| rank as f64 * x);
    let (b1, mut b2) = (multiples(world.rank()), [-1.0; 6]);
    let vector = Layout::vector(2, 2, 3);
    let status = world.sendrecv_view(
        &vector.of(&b1)?,
        next,
        0,
        &mut vector.of_mut(&mut b2)?,
        previous,
        0,
    )?;
    let mut expected = multiples(previous);
    (expected[2], expected[5]) = (-1.0, -1.0);
    assert_eq!(b2, expected);
    assert_eq!(status.count::<f64>()?, 4);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_structured(world: Communicator) -> Result<()> {
    // The last field is sent first.
    let backwards = Fields::<[i32; 3]>::new([8, 4, 0].map(Field::at::<i32>))?;
    let root = [[3, 2, 1]];
    let mut ints = [0, 0, 0];
    from_root(
        &world,
        &View::whole(&root).fields(&backwards)?,
        &mut ViewMut::whole(&mut ints),
    )?;
    if world.rank() > 0 {
        assert_eq!(ints, [1, 2, 3]);
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_datatype_dup(world: Communicator) -> Result<()> {
    let ints = Layout::contiguous(4);
    let same = ints.clone();
    drop(ints);
    let (root, mut copy) = ([1, 2, 3, 4], [0; 4]);
    from_root(&world, &same.of(&root)?, &mut same.of_mut(&mut copy)?)?;
    if world.rank() > 0 {
        assert_eq!(copy, root);
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Tuple {
    floats: [f32; 2],
    byte: u8,
    unused: [u8; 3],
}

#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Complex {
    b: u8,
    unused: [u8; 3],
    ints: [i32; 4],
    tuple: Tuple,
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_complex_datatype(world: Communicator) -> Result<()> {
    let tuple = Fields::<Tuple>::new([
        Field::array::<f32>(offset_of!(Tuple, floats), 2),
        Field::at::<u8>(offset_of!(Tuple, byte)),
    ])?;
    let outer = [
        Field::at::<u8>(offset_of!(Complex, b)),
        Field::array::<i32>(offset_of!(Complex, ints), 4),
    ];
    let inner = tuple.at(offset_of!(Complex, tuple));
    let fields = Fields::<Complex>::new(outer.into_iter().chain(inner))?;
    assert_eq!(fields.bytes(), 1 + 16 + 9);
    let root = [Complex {
        b: 1,
        unused: [5; 3],
        ints: [1, -2, 3, -4],
        tuple: Tuple {
            floats: [-0.1, 0.1],
            byte: 7,
            unused: [6; 3],
        },
    }];
    let mut copy = [Complex::zeroed()];
    from_root(
        &world,
        &View::whole(&root).fields(&fields)?,
        &mut ViewMut::whole(&mut copy).fields(&fields)?,
    )?;
    if world.rank() > 0 {
        assert_eq!((copy[0].b, copy[0].ints), (1, [1, -2, 3, -4]));
        assert_eq!((copy[0].tuple.floats, copy[0].tuple.byte), ([-0.1, 0.1], 7));
        assert_eq!((copy[0].unused, copy[0].tuple.unused), ([0; 3], [0; 3]));
    }
    Ok(())
}

/// Asserts that the fields of `a` arrive as the fields of `b`.
fn assert_equivalence<A: Pod, B: Pod + PartialEq + Debug>(
    world: &Communicator,
    (a, a_fields): (A, &[Field]),
    (b, b_fields): (B, &[Field]),
) -> Result<()> {
    let a_fields = Fields::<A>::new(a_fields.iter().copied())?;
    let b_fields = Fields::<B>::new(b_fields.iter().copied())?;
    let mut packed = Vec::new();
    world.pack(&View::whole(&[a]).fields(&a_fields)?, &mut packed)?;
    let mut new_b = [B::zeroed()];
    let mut view = ViewMut::whole(&mut new_b).fields(&b_fields)?;
    world.unpack(&packed, &mut 0, &mut view)?;
    assert_eq!(new_b, [b]);
    Ok(())
}

/// A flag, a float and an integer, in the order in which Rust might lay them out.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct DataRust {
    f: f64,
    i: u16,
    b: u8,
    unused: [u8; 5],
}

/// The same fields, as C lays them out.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct DataC {
    b: u8,
    unused: [u8; 7],
    f: f64,
    i: u16,
    unused_too: [u8; 6],
}

/// The same fields, the last two in a struct of their own.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C, packed)]
struct Parent {
    b: u8,
    child: Child,
}

#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C, packed)]
struct Child(f64, u16);

#[ranks_test::ranks(1, 2)]
fn rsmpi_struct(world: Communicator) -> Result<()> {
    let rust = DataRust {
        f: 3.4,
        i: 7,
        b: 1,
        unused: [0; 5],
    };
    let rust_fields = [
        Field::at::<u8>(offset_of!(DataRust, b)),
        Field::at::<f64>(offset_of!(DataRust, f)),
        Field::at::<u16>(offset_of!(DataRust, i)),
    ];
    assert_equivalence(&world, (rust, &rust_fields), (rust, &rust_fields))?;

    let c = DataC {
        b: 1,
        unused: [0; 7],
        f: 3.4,
        i: 7,
        unused_too: [0; 6],
    };
    let c_fields = [
        Field::at::<u8>(offset_of!(DataC, b)),
        Field::at::<f64>(offset_of!(DataC, f)),
        Field::at::<u16>(offset_of!(DataC, i)),
    ];
    assert_equivalence(&world, (rust, &rust_fields), (c, &c_fields))?;

    let child = Fields::<Child>::new([
        Field::at::<f64>(offset_of!(Child, 0)),
        Field::at::<u16>(offset_of!(Child, 1)),
    ])?;
    let parent = Parent {
        b: 1,
        child: Child(3.4, 7),
    };
    let mut parent_fields = vec![Field::at::<u8>(offset_of!(Parent, b))];
    parent_fields.extend(child.at(offset_of!(Parent, child)));
    assert_equivalence(&world, (rust, &rust_fields), (parent, &parent_fields))?;

    // Three flags, as fields and as an array; three structs with flags in the same two ways.
    let flags = [Field::at::<u8>(0), Field::at::<u8>(1), Field::at::<u8>(2)];
    let array = [Field::array::<u8>(0, 3)];
    assert_equivalence(&world, ([1u8, 0, 1], &flags), ([1u8, 0, 1], &array))?;
    let nested: Vec<Field> = (0..9).map(Field::at::<i8>).collect();
    let values = [[1i8, 1, 1], [2, 0, 2], [3, 1, 3]];
    assert_equivalence(
        &world,
        (values, &nested),
        (values, &[Field::array::<i8>(0, 9)]),
    )?;

    // Empty.
    assert_equivalence(&world, ([0i32; 0], &[Field::at::<[i32; 0]>(0)]), ((), &[]))
}

#[ranks_test::ranks(1, 2)]
fn rsmpi_pack(world: Communicator) -> Result<()> {
    let mut packed = Vec::new();
    world.pack(&View::whole(&[3i32, 2, 1]), &mut packed)?;
    let mut ints = [0; 3];
    world.unpack(&packed, &mut 0, &mut ViewMut::whole(&mut ints))?;
    assert_eq!(ints, [3, 2, 1]);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_complex_numbers(world: Communicator) -> Result<()> {
    let root = [[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]];
    let mut copy = [[0.0f64; 2]; 3];
    from_root(&world, &View::whole(&root), &mut ViewMut::whole(&mut copy))?;
    if world.rank() > 0 {
        assert_eq!(copy, root);
    }
    Ok(())
}
