//! The columns that are one rank's.

use std::ops::Range;

/// Some columns of the square, and before them the one that they follow.
#[derive(Debug)]
pub(super) struct Strip {
    /// Points in a line.
    width: usize,
    /// Line after line.
    points: Vec<f64>,
}

impl Strip {
    /// `columns` of a square of as many `lines`, with their numbers in the first line. They follow
    /// another one.
    pub(super) fn new(columns: Range<usize>, lines: usize) -> Strip {
        let width = columns.len() + 1;
        let mut points = vec![0.0; width * lines];
        for (point, column) in points[1..width].iter_mut().zip(columns) {
            *point = column as f64;
        }
        Strip { width, points }
    }

    /// Computes a line, of which `before` is the point that precedes it; the last point of it. The
    /// lines above it have been computed.
    pub(super) fn advance(&mut self, line: usize, before: f64) -> f64 {
        let (above, here) = self.points.split_at_mut(line * self.width);
        let here = &mut here[..self.width];
        here[0] = before;
        if line > 0 {
            let above = &above[(line - 1) * self.width..];
            for column in 1..self.width {
                here[column] = above[column] + here[column - 1] - above[column - 1];
            }
        }
        here[self.width - 1]
    }
}
