//! A solver as people write it: each rank has some rows, reads those of its neighbours where they
//! lie, and writes its own.

use ranks_collectives::{Collectives, ops::Max};
use ranks_comm::{Communicator, Result};
use ranks_rma_window::{SharedWindow, phase::Read};

const COLUMNS: usize = 12;

/// The rows of each rank: some have none.
fn rows(total: usize, rank: usize, size: usize) -> std::ops::Range<usize> {
    let begin = |rank: usize| (total * rank * rank).div_ceil(size * size);
    begin(rank)..begin(rank + 1)
}

/// Value at the left side of the plate; on its other sides there are zeros.
const HOT: f64 = 1.0;

/// The plate after so many steps, by one loop; with its borders.
fn serial(total: usize, steps: usize) -> Vec<[f64; COLUMNS + 2]> {
    let mut row = [0.0; COLUMNS + 2];
    row[0] = HOT;
    let mut old = vec![row; total + 2];
    (old[0][0], old[total + 1][0]) = (0.0, 0.0);
    for _ in 0..steps {
        let mut new = old.clone();
        for row in 1..=total {
            for column in 1..=COLUMNS {
                let sum = old[row - 1][column] + old[row][column - 1] + old[row][column + 1];
                new[row][column] = (sum + old[row + 1][column]) / 4.0;
            }
        }
        old = new;
    }
    old
}

/// One row of the plate, wherever it lies; `None` beyond its ends.
fn row_of(plate: &SharedWindow<f64, Read>, total: usize, row: Option<usize>) -> Option<&[f64]> {
    let (row, size) = (row.filter(|&row| row < total)?, plate.size());
    let owner = (0..size).find(|&rank| rows(total, rank, size).contains(&row))?;
    let at = (row - rows(total, owner, size).start) * COLUMNS;
    plate.segment(owner).get(at..at + COLUMNS)
}

fn relax(old: &SharedWindow<f64, Read>, new: &mut [f64], total: usize) -> f64 {
    let mut change = 0.0f64;
    for (row, out) in rows(total, old.rank(), old.size()).zip(new.chunks_mut(COLUMNS)) {
        let here = row_of(old, total, Some(row)).unwrap();
        let above = row_of(old, total, row.checked_sub(1));
        let below = row_of(old, total, Some(row + 1));
        for (column, value) in out.iter_mut().enumerate() {
            let vertical = |other: Option<&[f64]>| other.map_or(0.0, |row| row[column]);
            let left = column.checked_sub(1).map_or(HOT, |column| here[column]);
            let right = here.get(column + 1).copied().unwrap_or(0.0);
            *value = (vertical(above) + left + right + vertical(below)) / 4.0;
            change = change.max((*value - here[column]).abs());
        }
    }
    change
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn the_plate_has_the_bits_of_the_serial_one(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    let (total, steps) = (15, if cfg!(miri) { 4 } else { 60 });
    let mine = rows(total, world.rank(), world.size()).len() * COLUMNS;
    let mut old = SharedWindow::<f64>::allocate(&world, mine)?.fence()?;
    let mut new = SharedWindow::<f64>::allocate(&world, mine)?;
    let mut changes = Vec::new();
    for step in 0..steps {
        let change = relax(&old, new.mine_mut(), total);
        // One wait a step, whichever way.
        if step % 2 == 0 {
            (old, new) = new.fence_with(old)?;
        } else {
            let read = new.fence()?;
            new = old.fence()?;
            old = read;
        }
        if step % 20 == 3 {
            changes.push(world.allreduce_one(change, Max)?);
        }
    }
    assert!(changes.windows(2).all(|two| two[1] < two[0]), "{changes:?}");
    for (row, expected) in serial(total, steps)[1..=total].iter().enumerate() {
        assert_eq!(
            row_of(&old, total, Some(row)),
            Some(&expected[1..=COLUMNS]),
            "row {row}"
        );
    }
    new.free()?;
    old.free()
}
