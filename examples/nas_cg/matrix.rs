//! The matrix: a sum of outer products of random sparse vectors, of which most elements are zero.

use std::ops::Range;

use crate::nas::{Random, SEED};

use super::Problem;

/// The ratio of the last to the first outer product; it makes the condition of the matrix.
const CONDITION: f64 = 0.1;

/// Some rows of the matrix, without the zeros.
#[derive(Debug)]
pub(super) struct Matrix {
    /// The end of each row in what follows.
    ends: Vec<usize>,
    columns: Vec<usize>,
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
    fn of(rows: Vec<Vec<(usize, f64)>>) -> Matrix {
        let mut matrix = Matrix {
            ends: Vec::new(),
            columns: Vec::new(),
            values: Vec::new(),
        };
        for mut row in rows {
            row.sort_by_key(|&(column, _)| column);
            for same in row.chunk_by(|one, other| one.0 == other.0) {
                matrix.columns.push(same[0].0);
                matrix
                    .values
                    .push(same.iter().map(|(_, value)| value).sum());
            }
            matrix.ends.push(matrix.values.len());
        }
        matrix
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.ends.len()
    }

    /// The rows, times the vector `v`.
    pub(super) fn times(&self, v: &[f64]) -> Vec<f64> {
        let mut start = 0;
        let row = |&end: &usize| {
            let range = start..end;
            start = end;
            let products = self.columns[range.clone()].iter().zip(&self.values[range]);
            products.map(|(&column, value)| value * v[column]).sum()
        };
        self.ends.iter().map(row).collect()
    }
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
