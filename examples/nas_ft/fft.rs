//! The Fourier transform in one dimension, of many lines at once.

use std::f64::consts::TAU;

use num_complex::Complex64;

/// From points to waves, or back (without the division by the number of points).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Back,
}

/// Transforms lines of `len` points, a power of two. The points of a line are `stride` apart, and
/// lines begin at each of the first `stride` points, and again behind the last of these lines.
pub(super) fn transform(data: &mut [Complex64], len: usize, stride: usize, direction: Direction) {
    let sign = match direction {
        Direction::Forward => -1.0,
        Direction::Back => 1.0,
    };
    let root = |k: usize| Complex64::cis(sign * TAU * k as f64 / len as f64);
    let roots: Vec<Complex64> = (0..len / 2).map(root).collect();
    for lines in data.chunks_exact_mut(len * stride) {
        transform_together(lines, stride, &roots);
    }
}

/// Cooley and Tukey's algorithm in place, on lines that lie side by side: the points in the order
/// of their reversed numbers, then longer and longer parts of the lines.
fn transform_together(lines: &mut [Complex64], stride: usize, roots: &[Complex64]) {
    let len = lines.len() / stride;
    for index in 0..len {
        let reversed = index.reverse_bits() >> (usize::BITS - len.ilog2());
        if index < reversed {
            let (before, behind) = lines.split_at_mut(reversed * stride);
            before[index * stride..][..stride].swap_with_slice(&mut behind[..stride]);
        }
    }
    let mut half = 1;
    while half < len {
        for part in lines.chunks_exact_mut(2 * half * stride) {
            let (left, right) = part.split_at_mut(half * stride);
            let left = left.chunks_exact_mut(stride);
            let pairs = left.zip(right.chunks_exact_mut(stride));
            for ((left, right), root) in pairs.zip(roots.iter().step_by(len / (2 * half))) {
                for (a, b) in left.iter_mut().zip(right) {
                    let turned = *b * root;
                    (*a, *b) = (*a + turned, *a - turned);
                }
            }
        }
        half *= 2;
    }
}
