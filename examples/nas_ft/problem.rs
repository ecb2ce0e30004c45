//! The sizes of the benchmark, and the published checksums.

use crate::nas::Class;

/// The number of iterations: in each, waves fade and points are looked at.
pub(super) const ITERATIONS: usize = 6;

/// A size.
#[derive(Debug)]
pub(super) struct Problem {
    /// Along x, y and z.
    pub(super) points: [usize; 3],
    /// Real and imaginary part after each iteration.
    pub(super) checksums: [[f64; 2]; ITERATIONS],
}

impl Problem {
    /// The size of that letter.
    pub(super) fn of(class: Class) -> Problem {
        match class {
            Class::S => Problem {
                points: [64, 64, 64],
                checksums: [
                    [5.546_087_004_964e2, 4.845_363_331_978e2],
                    [5.546_385_409_189e2, 4.865_304_269_511e2],
                    [5.546_148_406_171e2, 4.883_910_722_336e2],
                    [5.545_423_607_415e2, 4.901_273_169_046e2],
                    [5.544_255_039_624e2, 4.917_475_857_993e2],
                    [5.542_683_411_902e2, 4.932_597_244_941e2],
                ],
            },
            Class::W => Problem {
                points: [128, 128, 32],
                checksums: [
                    [5.673_612_178_944e2, 5.293_246_849_175e2],
                    [5.631_436_885_271e2, 5.282_149_986_629e2],
                    [5.594_024_089_970e2, 5.270_996_558_037e2],
                    [5.560_698_047_020e2, 5.260_027_904_925e2],
                    [5.530_898_991_250e2, 5.249_400_845_633e2],
                    [5.504_159_734_538e2, 5.239_212_247_086e2],
                ],
            },
            Class::A => Problem {
                points: [256, 256, 128],
                checksums: [
                    [5.046_735_008_193e2, 5.114_047_905_510e2],
                    [5.059_412_319_734e2, 5.098_809_666_433e2],
                    [5.069_376_896_287e2, 5.098_144_042_213e2],
                    [5.077_892_868_474e2, 5.101_336_130_759e2],
                    [5.085_233_095_391e2, 5.104_914_655_194e2],
                    [5.091_487_099_959e2, 5.107_917_842_803e2],
                ],
            },
        }
    }
}
