//! The Fourier transform in one dimension, of many lines at once.

use std::f64::consts::TAU;

use num_complex::Complex64;

/// From points to waves, or back (without the division by the number of points).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Back,
}

/// Transforms lines of `len` points, a power of two. The points of a line are `stride` apart, and lines begin at each of
/// the first `stride` points, and again behind the last of these lines.
pub(super) fn transform(data: &mut [Complex64], len: usize, stride: usize, direction: Direction) {
    let sign = match direction {
        Direction::Forward => -1.0,
        Direction::Back => 1.0,
    };
    let root = |k: usize| Complex64::cis(sign * TAU * k as f64 / len as f64);
    let roots: Vec<Complex64> = (0..len / 2).map(root).collect();
    let mut line = vec![Complex64::ZERO; len];
    for lines in data.chunks_exact_mut(len * stride) {
        for start in 0..stride {
            let points = lines[start..].iter().step_by(stride);
            line.iter_mut()
                .zip(points)
                .for_each(|(to, from)| *to = *from);
            transform_line(&mut line, &roots);
            let points = lines[start..].iter_mut().step_by(stride);
            points.zip(&line).for_each(|(to, from)| *to = *from);
        }
    }
}

/// Cooley and Tukey's algorithm in place: the points in the order of their reversed numbers, then longer and longer parts.
fn transform_line(line: &mut [Complex64], roots: &[Complex64]) {
    let len = line.len();
    for index in 0..len {
        let reversed = index.reverse_bits() >> (usize::BITS - len.ilog2());
        if index < reversed {
            line.swap(index, reversed);
        }
    }
    let mut half = 1;
    while half < len {
        for part in line.chunks_exact_mut(2 * half) {
            let (left, right) = part.split_at_mut(half);
            let roots = roots.iter().step_by(len / (2 * half));
            for ((a, b), root) in left.iter_mut().zip(right).zip(roots) {
                let turned = *b * root;
                (*a, *b) = (*a + turned, *a - turned);
            }
        }
        half *= 2;
    }
}
