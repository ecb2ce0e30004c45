//! Layouts on both sides.

use ranks_comm::layout::{Layout, Order};
use ranks_comm::{Communicator, ErrorKind, Result};
use ranks_rma_window::{LockKind, Window};

const ROWS: usize = 5;
const COLUMNS: usize = 7;

/// Layouts of the same number of elements.
fn layouts() -> Vec<Layout> {
    let block = Layout::subarray(&[ROWS, COLUMNS], &[2, 3], &[1, 2], Order::C);
    vec![
        Layout::contiguous(6).at(11),
        Layout::vector(3, 2, 4).at(1),
        Layout::indexed(&[(20, 2), (3, 3), (9, 1)]),
        block.unwrap(),
    ]
}

/// The elements that a layout takes, in its order.
fn places(layout: &Layout) -> Vec<usize> {
    let all: Vec<u32> = (0..(ROWS * COLUMNS) as u32).collect();
    let view = layout.of(&all).unwrap();
    view.to_vec().into_iter().map(|at| at as usize).collect()
}

fn moved(data: &[u32], from: &Layout, into: &mut [u32], to: &Layout) {
    for (from, to) in places(from).into_iter().zip(places(to)) {
        into[to] = data[from];
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn each_layout_goes_to_each_other_one(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let numbered = |rank: usize| -> Vec<u32> {
        let begin = 1000 * (rank as u32 + 1);
        (begin..).take(ROWS * COLUMNS).collect()
    };
    let mine = numbered(rank);
    let mut fenced = Window::<u32>::allocate(&world, ROWS * COLUMNS)?.fence()?;
    for from in &layouts() {
        for to in &layouts() {
            fenced.write(0, &[0; ROWS * COLUMNS])?;
            fenced.fence()?;
            fenced.step(|ops| ops.put_layout(&mine, from, right, to))?;
            let mut expected = [0; ROWS * COLUMNS];
            moved(&numbered(left), from, &mut expected, to);
            let mut arrived = [1; ROWS * COLUMNS];
            fenced.read(0, &mut arrived)?;
            assert_eq!(arrived, expected, "put from {from:?} to {to:?}");

            fenced.write(0, &mine)?;
            fenced.fence()?;
            let mut got = [7; ROWS * COLUMNS];
            fenced.step(|ops| ops.get_layout(&mut got, to, right, from))?;
            let mut expected = [7; ROWS * COLUMNS];
            moved(&numbered(right), from, &mut expected, to);
            assert_eq!(got, expected, "got from {from:?} to {to:?}");
        }
    }
    fenced.close()?.free().map(drop)
}

#[ranks_test::ranks(1, 2)]
fn under_a_lock_each_is_over_when_it_returns(world: Communicator) -> Result<()> {
    let target = world.size() - 1;
    let window = Window::<[f32; 3]>::allocate(&world, 12)?.passive()?;
    let mine: Vec<[f32; 3]> = (0..12).map(|at| [at as f32, 1.0, -1.0]).collect();
    let every_other = Layout::vector(6, 1, 2);
    let locked = window.lock(LockKind::Exclusive, target)?;
    locked.put_layout(&mine, &Layout::contiguous(6), target, &every_other)?;
    let mut back = vec![[0.0; 3]; 6];
    locked.get_layout(&mut back, &Layout::contiguous(6), target, &every_other)?;
    assert_eq!(back, mine[..6]);
    locked.unlock()?;
    window.close()?.free().map(drop)
}

#[ranks_test::ranks(1, 2)]
fn layouts_that_do_not_fit_are_refused(world: Communicator) -> Result<()> {
    let target = world.size() - 1;
    let window = Window::<u16>::allocate(&world, 8 + world.rank())?.passive()?;
    let len = window.len_of(target);
    let locked = window.lock_all()?;
    let mine = vec![0; 20];
    let kind = |from: &Layout, to: &Layout| {
        let refused = locked.put_layout(&mine, from, target, to);
        refused.unwrap_err().kind()
    };
    let two = Layout::contiguous(2);
    assert_eq!(kind(&two, &two.at(len - 1)), ErrorKind::Length);
    assert_eq!(kind(&two, &Layout::vector(2, 1, len)), ErrorKind::Length);
    assert_eq!(kind(&two, &Layout::contiguous(3)), ErrorKind::Length);
    assert_eq!(kind(&two.at(19), &two), ErrorKind::Length);
    let outside = locked.put_layout(&mine, &two.at(19), 0, &two).unwrap_err();
    assert_eq!(outside.operation(), "MPI_Put", "{outside}");
    assert_eq!(kind(&two, &two.at(usize::MAX)), ErrorKind::Length);
    assert_eq!(kind(&two, &Layout::vector(2, 1, 0)), ErrorKind::Argument);
    let text = locked.put_layout(&mine, &two, target, &two.at(len));
    let text = text.unwrap_err().to_string();
    assert!(text.contains(&format!("rank {target}")), "{text}");
    // What takes an element twice can be read.
    let mut into = [1; 2];
    locked.get_layout(&mut into, &two, target, &Layout::vector(2, 1, 0))?;
    assert_eq!(into, [0; 2]);
    let nowhere = locked.put_layout(&mine, &two, world.size(), &two);
    assert_eq!(nowhere.unwrap_err().kind(), ErrorKind::Rank);
    locked.put_layout(&mine, &Layout::contiguous(0), target, &two.repeat(0))?;
    locked.unlock()?;
    window.close()?.free().map(drop)
}

/// Nothing was begun, so that there is nothing to complete.
#[ranks_test::ranks(1, 2)]
fn a_layout_to_a_rank_that_is_not_there_ended_the_job(world: Communicator) -> Result<()> {
    let window = Window::<u32>::allocate(&world, 4)?.passive()?;
    let (two, data) = (Layout::contiguous(2), [1, 2]);
    let locked = window.lock(LockKind::Shared, world.rank())?;
    for rank in [world.size(), usize::MAX] {
        let mut into = [0; 2];
        let put = locked.scope(|ops| ops.put_layout(&data, &two, rank, &two));
        let got = locked.scope(|ops| ops.get_layout(&mut into, &two, rank, &two));
        for refused in [put, got] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Rank);
        }
    }
    locked.unlock()?;
    window.close().map(drop)
}
