//! Nonblocking sends and receives of the elements that layouts select.

use ranks_comm::layout::{Field, Fields};

use super::*;

/// The content of `LENGTH` elements of a rank.
fn data(rank: usize) -> Vec<u64> {
    (0..LENGTH)
        .map(|index| (1000 * rank + index) as u64)
        .collect()
}

/// A slice of 99s into which the elements of `rank` that `layout` selects were received.
fn arrived(layout: &Layout, rank: usize) -> Vec<u64> {
    let mut expected = vec![99; LENGTH];
    for index in indices(layout) {
        expected[index] = data(rank)[index];
    }
    expected
}

#[ranks_test::ranks(1, 2, 3)]
fn requests_own_what_layouts_take_of_them(world: Communicator) -> Result<()> {
    let (right, left) = ring(&world);
    let all = layouts();
    let mut requests = Vec::new();
    for (tag, layout) in (0..).zip(&all) {
        let receiving = world.irecv_layout(vec![99u64; LENGTH], layout, left, tag)?;
        let sending = world.isend_layout(data(world.rank()), layout, right, tag)?;
        requests.push((receiving, sending));
    }
    // The last come first.
    for ((receiving, sending), layout) in requests.into_iter().zip(&all).rev() {
        let (got, status) = receiving.wait()?;
        assert_eq!(got, arrived(layout, left), "{layout:?}");
        assert_eq!(status.count::<u64>()?, layout.elements());
        assert_eq!(status.source(), Some(left));
        assert_eq!(sending.wait()?.0, data(world.rank()));
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn scopes_borrow_what_layouts_take(world: Communicator) -> Result<()> {
    let (right, left) = ring(&world);
    let mine = data(world.rank());
    for layout in &layouts() {
        let (mut waited, mut left_over) = (vec![99u64; LENGTH], vec![99u64; LENGTH]);
        world.scope(|s| {
            let first = s.irecv_view(layout.of_mut(&mut waited)?, left, 1)?;
            s.irecv_view(layout.of_mut(&mut left_over)?, left, 2)?;
            let sending = s.isend_view(layout.of(&mine)?, right, 1)?;
            s.isend_view(layout.of(&mine)?, right, 2)?;
            let (got, status) = first.wait()?;
            assert_eq!(
                (got.len(), status.count::<u64>()?),
                (LENGTH, layout.elements())
            );
            // It was given back, so that it can be used again.
            got.iter_mut().for_each(|value| *value += 1);
            assert_eq!(sending.wait()?.0, mine);
            Ok::<_, ranks_comm::Error>(())
        })?;
        assert_eq!(left_over, arrived(layout, left), "{layout:?}");
        left_over.iter_mut().for_each(|value| *value += 1);
        assert_eq!(waited, left_over);
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn fields_of_borrowed_structs_travel(world: Communicator) -> Result<()> {
    let (right, left) = ring(&world);
    let fields = Fields::<[u32; 3]>::new([Field::at::<u32>(8), Field::at::<u32>(0)])?;
    let layout = Layout::vector(3, 1, 2);
    let mine: Vec<[u32; 3]> = (0..5).map(|index| [index, 7, 10 + index]).collect();
    let mut got = vec![[99u32; 3]; 5];
    world.scope(|s| {
        s.irecv_view(layout.of_mut(&mut got)?.fields(&fields)?, left, 0)?;
        s.isend_view(layout.of(&mine)?.fields(&fields)?, right, 0)?;
        Ok::<_, ranks_comm::Error>(())
    })?;
    assert_eq!(
        got,
        [[0, 99, 10], [99; 3], [2, 99, 12], [99; 3], [4, 99, 14]]
    );
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn long_columns_meet_plain_slices(world: Communicator) -> Result<()> {
    const ROWS: usize = if cfg!(miri) { 40 } else { 40_000 };
    let (right, left) = ring(&world);
    let column = Layout::vector(ROWS, 1, 3).at(1);
    let mine: Vec<u32> = (0..3 * ROWS as u32).collect();
    let to_plain = world.irecv_vec::<u32>(left, 1)?;
    let to_column = world.irecv_layout(vec![0u32; 3 * ROWS], &column, left, 2)?;
    let of_column = world.isend_layout(mine.clone(), &column, right, 1)?;
    let of_plain = world.isend(mine[..ROWS].to_vec(), right, 2)?;
    let (plain, _) = to_plain.wait()?;
    assert!(
        plain
            .iter()
            .zip(0..)
            .all(|(&value, row)| value == 3 * row + 1)
    );
    assert_eq!(plain.len(), ROWS);
    let (filled, _) = to_column.wait()?;
    for (index, &value) in filled.iter().enumerate() {
        assert_eq!(value as usize, if index % 3 == 1 { index / 3 } else { 0 });
    }
    of_column.wait()?;
    of_plain.wait()?;
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn what_does_not_fit_is_an_error_and_writes_nothing(world: Communicator) -> Result<()> {
    let (right, left) = ring(&world);
    let layout = Layout::vector(3, 1, 2);
    for (length, kind) in [
        (16, ErrorKind::Truncated),
        (40_000, ErrorKind::Truncated),
        (7, ErrorKind::Type),
    ] {
        let receiving = world.irecv_layout(vec![9u32; 5], &layout, left, 1)?;
        let mut borrowed = vec![9u32; 5];
        let sending = [
            world.isend(vec![0u8; length], right, 1)?,
            world.isend(vec![0u8; length], right, 2)?,
        ];
        let (kept, outcome) = receiving.complete()?;
        assert_eq!(outcome.unwrap_err().kind(), kind);
        assert_eq!(kept, [9; 5]);
        let error = world
            .scope(|s| {
                s.irecv_view(layout.of_mut(&mut borrowed)?, left, 2)
                    .map(drop)
            })
            .unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(borrowed, [9; 5]);
        for request in sending {
            request.wait()?;
        }
    }
    let short = world.isend(vec![5u32], right, 1)?;
    let (got, status) = world
        .irecv_layout(vec![9u32; 5], &layout, left, 1)?
        .wait()?;
    assert_eq!((got, status.count::<u32>()?), (vec![5, 9, 9, 9, 9], 1));
    short.wait()?;
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn nothing_is_begun_with_a_layout_that_does_not_fit(world: Communicator) -> Result<()> {
    let (right, left) = ring(&world);
    let (far, twice) = (Layout::contiguous(6), Layout::vector(2, 2, 1));
    let error = world
        .isend_layout(vec![0u8; 5], &far, right, 0)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Length);
    let error = world.irecv_layout(vec![0u8; 5], &far, left, 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Length);
    let error = world
        .irecv_layout(vec![0u8; 5], &twice, left, 0)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    // A send may select an element twice.
    let sending = world.isend_layout(vec![1u8, 2, 3], &twice, right, 0)?;
    assert_eq!(world.recv_vec::<u8>(left, 0)?.0, [1, 2, 2, 3]);
    sending.wait()?;
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn a_receive_through_a_layout_is_tested_cancelled_and_dropped(world: Communicator) -> Result<()> {
    let (right, left) = ring(&world);
    let layout = Layout::vector(2, 1, 2);
    let mut never = world.irecv_layout(vec![9u8; 3], &layout, left, 7)?;
    assert!(!never.test()?);
    never.cancel()?;
    let (kept, status) = never.wait()?;
    assert!(status.is_cancelled());
    assert_eq!(kept, [9; 3]);
    let dropped = world.irecv_layout(vec![9u8; 3], &layout, left, 1)?;
    let mut tested = world.irecv_layout(vec![9u8; 3], &layout, left, 1)?;
    drop(dropped);
    let first = world.isend_layout(vec![1u8, 9, 2], &layout, right, 1)?;
    let second = world.isend_layout(vec![3u8, 9, 4], &layout, right, 1)?;
    while !tested.test()? {}
    assert_eq!(tested.wait()?.0, [3, 9, 4]);
    first.wait()?;
    second.wait()?;
    Ok(())
}

/// The elements of a nonblocking view were bytes, which are received as any type.
#[ranks_test::ranks(2, in_process_only)]
fn selected_elements_of_another_type_were_bits_of_this_one(world: Communicator) -> Result<()> {
    let layout = Layout::vector(3, 1, 2);
    let other = 1 - world.rank();
    let (numbers, mut bits) = ([0.5f64; 6], [CANARY; 6]);
    world.scope(|s| {
        s.isend_view(layout.of(&numbers)?, other, 0)?.wait()?;
        let received = world.recv_view(&mut layout.of_mut(&mut bits)?, other, 0);
        let mut kinds = vec![received.unwrap_err().kind()];
        world.send_view(&layout.of(&numbers)?, other, 0)?;
        let receiving = world.irecv_layout(vec![0u64; 6], &layout, other, 0)?;
        kinds.push(receiving.wait().unwrap_err().kind());
        assert_eq!((kinds, bits), (vec![ErrorKind::Type; 2], [CANARY; 6]));
        Ok(())
    })
}
