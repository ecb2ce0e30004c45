//! Sums over the 27 points of a cube, in which those at the same distance from its centre have the
//! same weight; and what a coarse grid says of the points of a finer one.

use ranks::prelude::*;

use super::grid::Grid;

/// The weights of the centre of a cube, and of the points amid its faces, amid its edges and at its
/// corners.
type Weights = [f64; 4];

/// The Laplacian, negative: a residual is the right side and this.
const MINUS_LAPLACIAN: Weights = [8.0 / 3.0, 0.0, -1.0 / 6.0, -1.0 / 12.0];
/// The smoother of these classes, a rough inverse of the Laplacian.
const SMOOTHER: Weights = [-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0.0];
/// The mean of a cube, times four: the points of a coarser grid are twice as far apart, and the
/// Laplacian does not know.
const RESTRICTION: Weights = [1.0 / 2.0, 1.0 / 4.0, 1.0 / 8.0, 1.0 / 16.0];

/// `r = v − A·u`, or `r −= A·u` without a `v`, where A is the Laplacian.
///
/// # Errors
/// Errors of the communication.
pub(super) fn residual(u: &Grid, v: Option<&Grid>, r: &mut Grid) -> Result<()> {
    let mut cubes = Cubes::new(u, MINUS_LAPLACIAN);
    r.change(r.planes(), |plane, row, r| {
        let sums = cubes.along(plane, row);
        if let Some(v) = v {
            let v = &v.row(plane, row)[1..];
            for (r, (v, sum)) in r.iter_mut().zip(v.iter().zip(sums)) {
                *r = v + sum;
            }
        } else {
            r.iter_mut().zip(sums).for_each(|(r, sum)| *r += sum);
        }
    });
    r.fill_halo()
}

/// `u += S·r`, where S is the smoother.
///
/// # Errors
/// Errors of the communication.
pub(super) fn smooth(r: &Grid, u: &mut Grid) -> Result<()> {
    let mut cubes = Cubes::new(r, SMOOTHER);
    u.change(u.planes(), |plane, row, u| {
        let sums = cubes.along(plane, row);
        u.iter_mut().zip(sums).for_each(|(u, sum)| *u += sum);
    });
    u.fill_halo()
}

/// Restricts `fine` to a grid of half as many points in each direction: the second of each two.
///
/// # Errors
/// Errors of the communication.
pub(super) fn restrict(fine: &Grid, coarse: &mut Grid) -> Result<()> {
    let mut cubes = Cubes::new(fine, RESTRICTION);
    let is_shared = fine.is_divided();
    let planes = if is_shared {
        coarse.share()
    } else {
        coarse.planes()
    };
    let (fine_first, coarse_first) = (fine.planes().start, coarse.planes().start);
    coarse.change(planes, |plane, row, coarse| {
        let plane = 2 * (plane + coarse_first) - fine_first;
        let sums = cubes.along(plane, 2 * row).skip(1).step_by(2);
        for (coarse, sum) in coarse.iter_mut().zip(sums) {
            *coarse = sum;
        }
    });
    if is_shared {
        coarse.gather()?;
    }
    coarse.fill_halo()
}

/// `fine += Q·coarse`, where Q interpolates: a point between others gets their mean. The halo is
/// right afterwards if it was before.
pub(super) fn interpolate(coarse: &Grid, fine: &mut Grid) {
    let mut line = vec![0.0; coarse.points() + 2];
    let (fine_first, coarse_first) = (fine.planes().start, coarse.planes().start);
    fine.change_all(|plane, row, fine| {
        // One and the same where a point is in a plane, or a row, of the coarse grid.
        let planes = nearest(plane + fine_first).map(|plane| plane - coarse_first);
        let rows = planes.map(|plane| nearest(row).map(|row| coarse.row(plane, row)));
        mean(&mut line, rows);
        for (pair, ends) in fine.chunks_exact_mut(2).zip(line.windows(2)) {
            pair[0] += ends[0];
            pair[1] += 0.5 * (ends[0] + ends[1]);
        }
    });
}

/// The places in a coarse grid that are nearest to one in a finer grid.
fn nearest(place: usize) -> [usize; 2] {
    [place / 2, place.div_ceil(2)]
}

/// The mean of four rows.
fn mean(line: &mut [f64], [[a, b], [c, d]]: [[&[f64]; 2]; 2]) {
    let rows = a.iter().zip(b).zip(c.iter().zip(d));
    for (mean, ((a, b), (c, d))) in line.iter_mut().zip(rows) {
        *mean = 0.25 * ((a + b) + (c + d));
    }
}

/// The weighted sums of the cubes about a row of points. What a cube has at the left, in the middle
/// and at the right are squares of nine points; each is at one of these places in three cubes.
#[derive(Debug)]
struct Cubes<'a> {
    grid: &'a Grid,
    weights: Weights,
    /// The sum of each square as the middle one of a cube.
    middles: Vec<f64>,
    /// The same as one at a side.
    sides: Vec<f64>,
}

impl<'a> Cubes<'a> {
    fn new(grid: &'a Grid, weights: Weights) -> Cubes<'a> {
        let squares = vec![0.0; grid.points() + 2];
        Cubes {
            grid,
            weights,
            middles: squares.clone(),
            sides: squares,
        }
    }

    /// The sums of the cubes about the points of a row.
    fn along(&mut self, plane: usize, row: usize) -> impl Iterator<Item = f64> {
        let len = self.middles.len();
        let line = |plane: usize, row: usize| &self.grid.row(plane, row)[..len];
        sum_squares(
            self.weights,
            line(plane, row),
            [
                line(plane - 1, row),
                line(plane, row - 1),
                line(plane, row + 1),
                line(plane + 1, row),
            ],
            [
                line(plane - 1, row - 1),
                line(plane - 1, row + 1),
                line(plane + 1, row - 1),
                line(plane + 1, row + 1),
            ],
            &mut self.middles[..len],
            &mut self.sides[..len],
        );
        let sides = self.sides.iter().zip(&self.sides[2..]);
        let squares = self.middles[1..].iter().zip(sides);
        squares.map(|(middle, (left, right))| middle + (left + right))
    }
}

/// Sums squares, given as rows: of their centres, of the points amid their edges and of those at
/// their corners.
fn sum_squares(
    [centre, face, edge, corner]: Weights,
    centres: &[f64],
    edges: [&[f64]; 4],
    corners: [&[f64]; 4],
    middles: &mut [f64],
    sides: &mut [f64],
) {
    for x in 0..middles.len() {
        let at_edges = edges[0][x] + edges[1][x] + edges[2][x] + edges[3][x];
        let at_corners = corners[0][x] + corners[1][x] + corners[2][x] + corners[3][x];
        middles[x] = centre * centres[x] + face * at_edges + edge * at_corners;
        sides[x] = face * centres[x] + edge * at_edges + corner * at_corners;
    }
}
