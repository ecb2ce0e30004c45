//! Halo exchanges.

use ranks_comm::{
    Backend, Cartesian, Checks, Communicator, ErrorKind, HaloExchange, Result, Runtime,
};

use crate::square;

/// A number for each cell of a whole array of this shape.
fn value(at: &[usize], shape: &[usize]) -> i64 {
    at.iter()
        .zip(shape)
        .fold(1, |value, (&at, &length)| value * length as i64 + at as i64)
}

/// All indices of an array of this shape.
fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let shape = shape.to_vec();
    (0..shape.iter().product()).map(move |mut cell| {
        let mut at = vec![0; shape.len()];
        for (at, &length) in at.iter_mut().zip(&shape).rev() {
            *at = cell % length;
            cell /= length;
        }
        at
    })
}

/// Exchanges the halo of an array whose every rank owns `own` cells (`per` rank), and compares each
/// cell with that of the whole array. Outside of a grid that is not periodic, the boundary value
/// `-1` is kept by the rank that owns the cells next to it, and must be the value of the corners.
fn check_halo(grid: &Cartesian, own: &[usize], widths: &[usize], corners: bool) -> Result<()> {
    let dimensions = grid.dimensions();
    let width = |dimension: usize| widths.get(dimension).copied().unwrap_or(0);
    let shape: Vec<usize> = own
        .iter()
        .enumerate()
        .map(|(d, own)| own + 2 * width(d))
        .collect();
    let ranks = |d: usize| grid.dims().get(d).copied().unwrap_or(1);
    let whole: Vec<usize> = own
        .iter()
        .enumerate()
        .map(|(d, own)| own * ranks(d))
        .collect();
    // The value of the whole array at a place of this rank's; `None` outside of it.
    let truth = |at: &[usize]| -> Option<i64> {
        let mut place = Vec::new();
        for (d, &at) in at.iter().enumerate() {
            let coord = grid.my_coords().get(d).copied().unwrap_or(0);
            let at = (coord * own[d] + at) as isize - width(d) as isize;
            let length = whole[d] as isize;
            let periodic = d < dimensions && grid.periods()[d];
            let at = if periodic { at.rem_euclid(length) } else { at };
            place.push(usize::try_from(at).ok().filter(|&at| at < whole[d])?);
        }
        Some(value(&place, &whole))
    };
    // The number of dimensions in which a cell is in the halo, or beyond the end of the whole
    // array.
    let outside = |at: &[usize]| {
        let beyond = |d: usize, at: usize| at < width(d) || at >= width(d) + own[d];
        at.iter()
            .enumerate()
            .filter(|&(d, &at)| beyond(d, at))
            .count()
    };
    let array = |factor: i64| -> Vec<i64> {
        let cells = indices(&shape).map(|at| match (truth(&at), outside(&at)) {
            (Some(value), 0) => factor * value,
            (Some(_), _) => -2,
            (None, _) => -1,
        });
        cells.collect()
    };
    let compare = |array: &[i64], factor: i64| {
        for (at, &found) in indices(&shape).zip(array) {
            let expected = match (truth(&at), outside(&at)) {
                (Some(_), 2..) if !corners => -2,
                (Some(value), _) => factor * value,
                (None, _) => -1,
            };
            assert_eq!(found, expected, "{at:?} of {shape:?} on {grid:?}");
        }
    };
    let mut halo = if corners {
        HaloExchange::new(grid, &shape, widths)?
    } else {
        HaloExchange::faces_only(grid, &shape, widths)?
    };
    let mut one = array(1);
    for _ in 0..2 {
        halo.exchange(&mut one)?;
        compare(&one, 1);
    }
    for count in [3, 0, 2] {
        let mut arrays: Vec<Vec<i64>> = (1..=count).map(array).collect();
        let mut borrowed: Vec<&mut [i64]> = arrays.iter_mut().map(Vec::as_mut_slice).collect();
        halo.exchange_all(&mut borrowed)?;
        for (array, factor) in arrays.iter().zip(1..) {
            compare(array, factor);
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn halos_are_what_the_whole_array_has_there(world: Communicator) -> Result<()> {
    for periods in [[false, false], [true, false], [false, true], [true, true]] {
        let grid = square(&world, periods)?;
        for corners in [true, false] {
            check_halo(&grid, &[3, 4], &[1, 1], corners)?;
            check_halo(&grid, &[2, 3], &[2, 1], corners)?;
            check_halo(&grid, &[4, 3], &[0, 3], corners)?;
            // Cells of two numbers, and one dimension that is not split.
            check_halo(&grid, &[3, 2, 2], &[1, 2], corners)?;
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 4)]
fn halos_of_slabs_and_of_cubes(world: Communicator) -> Result<()> {
    for periodic in [true, false] {
        let slabs = world.cart_create(&[world.size()], &[periodic], false)?;
        let slabs = slabs.expect("there is room for all ranks");
        check_halo(&slabs, &[2, 5, 3], &[2], true)?;
        let mut dims = [0, 0, 0];
        world.dims_create(world.size(), &mut dims)?;
        let cubes = world.cart_create(&dims, &[periodic, true, false], false)?;
        let cubes = cubes.expect("there is room for all ranks");
        check_halo(&cubes, &[3, 2, 4], &[1, 2, 1], true)?;
        check_halo(&cubes, &[3, 2, 4], &[1, 2, 1], false)?;
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn arrays_that_do_not_fit_the_halo_are_refused(world: Communicator) -> Result<()> {
    let line = world.cart_create(&[world.size()], &[true], false)?;
    let line = line.expect("there is room for all ranks");
    let kind = |shape: &[usize], widths: &[usize]| {
        HaloExchange::<f64>::new(&line, shape, widths)
            .unwrap_err()
            .kind()
    };
    assert_eq!(kind(&[], &[1]), ErrorKind::Length);
    assert_eq!(kind(&[5], &[1, 1]), ErrorKind::Length);
    assert_eq!(kind(&[5], &[2]), ErrorKind::Argument);
    let mut halo = HaloExchange::new(&line, &[6, 2], &[2])?;
    assert_eq!(halo.shape(), [6, 2]);
    let error = halo.exchange(&mut [0.0; 11]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Length);
    let (fits, does_not) = (&mut [0.0; 12], &mut [0.0; 11]);
    let error = halo.exchange_all(&mut [fits, does_not]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Length);
    Ok(())
}

#[ranks_test::ranks(2)]
fn neighbours_of_other_widths_are_found_out(world: Communicator) -> Result<()> {
    let line = world.cart_create(&[2], &[false], false)?;
    let line = line.expect("there is room for all ranks");
    // Rank 0 expects less than rank 1 sends, which gets less than it expects.
    let columns = [2, 3][world.rank()];
    let mut array = vec![0u8; 3 * columns];
    let error = HaloExchange::new(&line, &[3, columns], &[1])?
        .exchange(&mut array)
        .unwrap_err();
    let expected = [ErrorKind::Truncated, ErrorKind::Length][world.rank()];
    assert_eq!(error.kind(), expected, "{error}");
    Ok(())
}

/// The ranks of `world` in a line.
fn line(world: &Communicator, periodic: bool) -> Result<Cartesian> {
    let line = world.cart_create(&[world.size()], &[periodic], false)?;
    Ok(line.expect("there is room for all ranks"))
}

/// The neighbours of a rank that refused its arguments waited for ever, and other exchanges than
/// this rank's were taken for it, if they were as long.
#[ranks_test::ranks(2, 3)]
fn ranks_that_exchange_something_else_are_told(world: Communicator) -> Result<()> {
    if !world.compares_calls() {
        return Ok(());
    }
    let (grid, odd) = (line(&world, false)?, world.rank() == 0);
    let told = |outcome: Result<()>, kind: ErrorKind, text: &str| {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    };
    let mut halo = HaloExchange::new(&grid, &[6], &[1])?;
    let outcome = halo.exchange(&mut vec![0; if odd { 5 } else { 6 }]);
    if odd {
        told(outcome, ErrorKind::Length, "an array of 5 cells");
    } else {
        told(outcome, ErrorKind::Mismatch, "rank 0 refuses its arguments");
    }
    let mut arrays = [[0; 6]; 2];
    let [one, other] = &mut arrays;
    let outcome = if odd {
        halo.exchange_all(&mut [one, other])
    } else {
        HaloExchange::new(&grid, &[6], &[2])?.exchange(one)
    };
    let text = "rank 0 calls a halo exchange of 2 arrays of i32, [1] cells wide, with corners";
    told(outcome, ErrorKind::Mismatch, text);
    let outcome = if odd {
        HaloExchange::faces_only(&grid, &[6], &[1])?.exchange(&mut arrays[0])
    } else {
        halo.exchange(&mut arrays[0])
    };
    told(outcome, ErrorKind::Mismatch, "without corners");
    let outcome = if odd {
        HaloExchange::new(&grid, &[6], &[1])?.exchange(&mut [0_u32; 6])
    } else {
        halo.exchange(&mut arrays[0])
    };
    told(outcome, ErrorKind::Mismatch, "1 array of u32");
    halo.exchange(&mut arrays[0])
}

#[ranks_test::ranks(1, 2)]
fn no_arrays_are_exchanged_as_any(world: Communicator) -> Result<()> {
    for shape in [&[3][..], &[4, 3]] {
        let mut halo = HaloExchange::<f64>::new(&line(&world, true)?, shape, &[1])?;
        halo.exchange_all(&mut [])?;
    }
    Ok(())
}

#[test]
fn neighbours_that_exchange_more_arrays_are_found_out() {
    let builder = Runtime::builder().backend(Backend::InProcess).ranks(2);
    builder.checks(Checks::Local).run(more_arrays).unwrap();
}

fn more_arrays(world: Communicator) -> Result<()> {
    let line = line(&world, false)?;
    let mut halo = HaloExchange::new(&line, &[3], &[1])?;
    for more in [1, 0] {
        let [mut one, mut other] = [[0u8; 3]; 2];
        let mut arrays: [&mut [u8]; 2] = [&mut one, &mut other];
        let given = if world.rank() == 0 { more } else { 2 };
        let error = halo
            .exchange_all(&mut arrays[..given])
            .expect_err("they exchange other numbers of arrays");
        let expected = [ErrorKind::Truncated, ErrorKind::Length][world.rank()];
        assert_eq!(error.kind(), expected, "{error}");
    }
    Ok(())
}
