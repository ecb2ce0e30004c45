//! The plate as a PNG: temperature as colour, with a thin line at every tenth.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use crate::slab::WIDTH;

/// Pixels from one grid point to the next.
const SCALE: usize = 12;
/// Pixels along an edge.
const EDGE: usize = (WIDTH - 1) * SCALE + 1;

/// Colours from cold to hot, evenly spaced: from near black through violet and orange to pale
/// yellow.
const COLOURS: [[f64; 3]; 7] = [
    [8.0, 8.0, 32.0],
    [62.0, 15.0, 105.0],
    [130.0, 31.0, 120.0],
    [196.0, 55.0, 90.0],
    [240.0, 105.0, 50.0],
    [252.0, 175.0, 55.0],
    [252.0, 250.0, 190.0],
];

/// Writes `field`, `WIDTH` rows of `WIDTH` temperatures from 0 to `hottest`, to `path`.
///
/// # Errors
/// Errors of the file system.
pub(crate) fn write(path: &Path, field: &[f64], hottest: f64) -> Result<(), png::EncodingError> {
    let file = BufWriter::new(File::create(path)?);
    #[expect(clippy::cast_possible_truncation, reason = "EDGE is 769")]
    let mut encoder = png::Encoder::new(file, EDGE as u32, EDGE as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels(field, hottest))?;
    writer.finish()
}

fn pixels(field: &[f64], hottest: f64) -> Vec<u8> {
    let heat = |x: usize, y: usize| interpolate(field, x, y) / hottest;
    let mut pixels = Vec::with_capacity(3 * EDGE * EDGE);
    for y in 0..EDGE {
        for x in 0..EDGE {
            let here = heat(x, y);
            let band = |heat: f64| (heat * 10.0).floor();
            let on_line = band(here) != band(heat((x + 1).min(EDGE - 1), y))
                || band(here) != band(heat(x, (y + 1).min(EDGE - 1)));
            pixels.extend(colour(here, if on_line { 0.6 } else { 1.0 }));
        }
    }
    pixels
}

/// The temperature at a pixel, linear between the four grid points round it.
fn interpolate(field: &[f64], x: usize, y: usize) -> f64 {
    let (column, row) = ((x / SCALE).min(WIDTH - 2), (y / SCALE).min(WIDTH - 2));
    let right = (x - column * SCALE) as f64 / SCALE as f64;
    let down = (y - row * SCALE) as f64 / SCALE as f64;
    let line = |row: usize| {
        let at = row * WIDTH + column;
        field[at] * (1.0 - right) + field[at + 1] * right
    };
    line(row) * (1.0 - down) + line(row + 1) * down
}

/// The colour of `heat` from 0 to 1, times `brightness`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the table, and to a byte"
)]
fn colour(heat: f64, brightness: f64) -> [u8; 3] {
    let place = heat.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let lower = (place as usize).min(COLOURS.len() - 2);
    let part = place - lower as f64;
    std::array::from_fn(|channel| {
        let (from, to) = (COLOURS[lower][channel], COLOURS[lower + 1][channel]);
        (brightness * (from + part * (to - from))) as u8
    })
}
