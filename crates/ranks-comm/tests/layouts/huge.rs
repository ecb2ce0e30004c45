//! Counts beyond an `int`: bytes and blocks. They take gigabytes, so these tests run on request.

use ranks_comm::layout::Layout;
use ranks_comm::{Communicator, ErrorKind};

#[ranks_test::ranks(2, timeout = 300)]
#[ignore = "needs 12 GB of memory"]
fn a_layout_of_more_bytes_than_an_int_counts(world: Communicator) {
    const BLOCK: usize = 1 << 30;
    let layout = Layout::vector(3, BLOCK, BLOCK + 1);
    let mut data = vec![0_u8; 3 * BLOCK + 2];
    let marks = [
        0,
        BLOCK - 1,
        BLOCK,
        BLOCK + 1,
        2 * BLOCK + 1,
        2 * BLOCK + 2,
        3 * BLOCK + 1,
    ];
    if world.rank() == 0 {
        for (mark, place) in (1..).zip(marks) {
            data[place] = mark;
        }
        world.send_view(&layout.of(&data).unwrap(), 1, 7).unwrap();
        return;
    }
    let mut view = layout.of_mut(&mut data).unwrap();
    let status = world.recv_view(&mut view, 0, 7).unwrap();
    assert_eq!(status.bytes(), 3 * BLOCK);
    // The third and the fifth lie in the gaps.
    assert_eq!(marks.map(|place| data[place]), [1, 2, 0, 4, 0, 6, 7]);
}

#[ranks_test::ranks(1)]
fn more_blocks_than_an_int_counts_are_understood(world: Communicator) {
    const BLOCKS: usize = (1 << 31) + 5;
    // Never touched: sending that many blocks takes minutes, describing them does not.
    let data = vec![0_u8; 3 * BLOCKS];
    for layout in [
        Layout::vector(BLOCKS, 1, 2),
        Layout::vector(BLOCKS, 1, 2).at(BLOCKS),
        Layout::vector(2, BLOCKS, BLOCKS + 1),
        Layout::indexed(&[(BLOCKS + 1, BLOCKS), (0, BLOCKS)]),
        Layout::vector(3, 1, 4).repeat_every(BLOCKS / 8, 20),
    ] {
        let view = layout.of(&data).unwrap();
        world.send_view(&view, None, 7).unwrap();
    }
}

/// The list of its blocks took all memory.
#[ranks_test::ranks(1)]
fn a_layout_without_end_is_an_error(world: Communicator) {
    let layout = Layout::contiguous(1).resized(0).repeat(1 << 62);
    let data = [7_u8];
    let sent = world.send_view(&layout.of(&data).unwrap(), None, 7);
    // In process nothing is made for a message to nobody.
    if let Err(error) = sent {
        assert_eq!(error.kind(), ErrorKind::Length, "{error}");
    }
    let packed = world.pack(&layout.of(&data).unwrap(), &mut Vec::new());
    assert_eq!(packed.unwrap_err().kind(), ErrorKind::Length);
}
