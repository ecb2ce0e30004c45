//! The Fourier transform in one dimension, of many lines at once.

use std::f64::consts::TAU;

use num_complex::Complex64;

/// The lines that are transformed together: as many as fit into the caches near the core.
const TOGETHER: usize = 16;

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
    let mut batch = Batch::new(len);
    if stride == 1 {
        for lines in data.chunks_mut(TOGETHER * len) {
            for (line, points) in lines.chunks_exact(len).enumerate() {
                batch.read_line(line, points);
            }
            batch.transform(&roots);
            for (line, points) in lines.chunks_exact_mut(len).enumerate() {
                batch.write_line(line, points);
            }
        }
        return;
    }
    for lines in data.chunks_exact_mut(len * stride) {
        for first in (0..stride).step_by(TOGETHER) {
            let side_by_side = first..stride.min(first + TOGETHER);
            for (index, points) in lines.chunks_exact(stride).enumerate() {
                batch.read_points(index, &points[side_by_side.clone()]);
            }
            batch.transform(&roots);
            for (index, points) in lines.chunks_exact_mut(stride).enumerate() {
                batch.write_points(index, &mut points[side_by_side.clone()]);
            }
        }
    }
}

/// The numbers at one point of [`TOGETHER`] lines.
type Row = [f64; TOGETHER];

/// Lines side by side, real and imaginary parts apart, so that one instruction works on several.
#[derive(Debug)]
struct Batch {
    re: Vec<Row>,
    im: Vec<Row>,
}

impl Batch {
    fn new(len: usize) -> Batch {
        Batch {
            re: vec![[0.0; TOGETHER]; len],
            im: vec![[0.0; TOGETHER]; len],
        }
    }

    /// The place of a point before the transform: at its number with the bits reversed.
    fn reversed(&self, index: usize) -> usize {
        index.reverse_bits() >> (usize::BITS - self.re.len().ilog2())
    }

    /// Takes the points of one line.
    fn read_line(&mut self, line: usize, points: &[Complex64]) {
        for (index, point) in points.iter().enumerate() {
            let place = self.reversed(index);
            self.re[place][line] = point.re;
            self.im[place][line] = point.im;
        }
    }

    fn write_line(&self, line: usize, points: &mut [Complex64]) {
        for (point, (re, im)) in points.iter_mut().zip(self.re.iter().zip(&self.im)) {
            *point = Complex64::new(re[line], im[line]);
        }
    }

    /// Takes one point of each line.
    fn read_points(&mut self, index: usize, points: &[Complex64]) {
        let place = self.reversed(index);
        let row = self.re[place].iter_mut().zip(&mut self.im[place]);
        for ((re, im), point) in row.zip(points) {
            (*re, *im) = (point.re, point.im);
        }
    }

    fn write_points(&self, index: usize, points: &mut [Complex64]) {
        let row = self.re[index].iter().zip(&self.im[index]);
        for ((re, im), point) in row.zip(points) {
            *point = Complex64::new(*re, *im);
        }
    }

    /// Cooley and Tukey's algorithm in place: longer and longer parts of the lines.
    fn transform(&mut self, roots: &[Complex64]) {
        let len = self.re.len();
        let mut half = 1;
        while half < len {
            let parts = self.re.chunks_exact_mut(2 * half);
            for (re, im) in parts.zip(self.im.chunks_exact_mut(2 * half)) {
                let (left_re, right_re) = re.split_at_mut(half);
                let (left_im, right_im) = im.split_at_mut(half);
                let left = left_re.iter_mut().zip(left_im);
                let right = right_re.iter_mut().zip(right_im);
                for ((left, right), root) in
                    left.zip(right).zip(roots.iter().step_by(len / (2 * half)))
                {
                    turn(left, right, root);
                }
            }
            half *= 2;
        }
    }
}

/// The sum and the difference of two points of each line, of which the second is turned before.
fn turn((a_re, a_im): (&mut Row, &mut Row), (b_re, b_im): (&mut Row, &mut Row), root: &Complex64) {
    for line in 0..TOGETHER {
        let re = b_re[line] * root.re - b_im[line] * root.im;
        let im = b_re[line] * root.im + b_im[line] * root.re;
        (a_re[line], b_re[line]) = (a_re[line] + re, a_re[line] - re);
        (a_im[line], b_im[line]) = (a_im[line] + im, a_im[line] - im);
    }
}
