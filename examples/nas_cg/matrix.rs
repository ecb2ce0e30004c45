//! The matrix: a sum of outer products of random sparse vectors, of which most elements are zero.

use std::ops::Range;

use crate::nas::{Random, SEED};

use super::Problem;

/// The ratio of the last to the first outer product; it makes the condition of the matrix.
const CONDITION: f64 = 0.1;

/// Some rows of the matrix, without the zeros.
#[derive(Debug)]
pub(super) struct Matrix {
    /// The beginning of each row in what follows, and the end of the last.
    bounds: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Matrix {
    /// The rows `mine`. All ranks draw all vectors, which are few numbers, and keep what is in
    /// their rows.
    pub(super) fn new(problem: &Problem, mine: Range<usize>) -> Matrix {
        let order = problem.rows;
        let mut random = Random::after(SEED, 1); // the benchmark throws one away
        let mut rows = vec![Vec::new(); mine.len()];
        let ratio = CONDITION.powf(1.0 / order as f64);
        let mut weight = 1.0;
        for i in 0..order {
            let vector = sparse_vector(&mut random, problem, i);
            for &(row, left) in vector.iter().filter(|(row, _)| mine.contains(row)) {
                let products = vector
                    .iter()
                    .map(|&(column, right)| (column, right * (weight * left)));
                rows[row - mine.start].extend(products);
            }
            if mine.contains(&i) {
                rows[i - mine.start].push((i, CONDITION - problem.shift));
            }
            weight *= ratio;
        }
        Matrix::of(rows)
    }

    /// Adds up the elements that are in the same place.
    #[expect(clippy::cast_possible_truncation, reason = "14 000 columns at most")]
    fn of(rows: Vec<Vec<(usize, f64)>>) -> Matrix {
        let mut matrix = Matrix {
            bounds: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
        };
        for mut row in rows {
            row.sort_by_key(|&(column, _)| column);
            for same in row.chunk_by(|one, other| one.0 == other.0) {
                matrix.columns.push(same[0].0 as u32);
                matrix
                    .values
                    .push(same.iter().map(|(_, value)| value).sum());
            }
            matrix.bounds.push(matrix.values.len());
        }
        matrix
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Writes the rows, times the vector `v`, to `to`.
    pub(super) fn times(&self, v: &[f64], to: &mut [f64]) {
        for (to, bounds) in to.iter_mut().zip(self.bounds.windows(2)) {
            let row = bounds[0]..bounds[1];
            *to = product(&self.columns[row.clone()], &self.values[row], v);
        }
    }
}

/// The sum of `values`, each times the element of `v` in its column. Four sums go on at a time: one
/// would wait for each addition.
fn product(columns: &[u32], values: &[f64], v: &[f64]) -> f64 {
    const SUMS: usize = 4;
    let at = |column: u32| v[column as usize];
    let mut sums = [0.0; SUMS];
    let (columns, rest_columns) = columns.as_chunks::<SUMS>();
    let (values, rest_values) = values.as_chunks::<SUMS>();
    for (columns, values) in columns.iter().zip(values) {
        for sum in 0..SUMS {
            sums[sum] += values[sum] * at(columns[sum]);
        }
    }
    let rest = rest_columns.iter().zip(rest_values);
    sums.iter().sum::<f64>() + rest.map(|(&column, value)| value * at(column)).sum::<f64>()
}

/// A vector of as many random elements at random places as the problem has, and 0.5 at place `i`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "0 < random number < 1"
)]
fn sparse_vector(random: &mut Random, problem: &Problem, i: usize) -> Vec<(usize, f64)> {
    let span = problem.rows.next_power_of_two() as f64;
    let mut elements: Vec<(usize, f64)> = Vec::with_capacity(problem.nonzeros + 1);
    while elements.len() < problem.nonzeros {
        let value = random.uniform();
        let place = (random.uniform() * span) as usize;
        if place < problem.rows && elements.iter().all(|&(taken, _)| taken != place) {
            elements.push((place, value));
        }
    }
    elements.retain(|&(place, _)| place != i);
    elements.push((i, 0.5));
    elements
}
