//! The labels of output, as fuzz targets see them.

use super::output::{Labels, RankOutput, split};
use super::splitter::Splitter;

/// The launchers that label output.
const ALL: [Labels; 5] = [
    Labels::None,
    Labels::Hydra,
    Labels::Orte,
    Labels::Prrte,
    Labels::Slurm,
];

/// The output of ranks, and that of the launcher.
pub type Told = (Vec<RankOutput>, RankOutput);

/// Output told apart when all of it is there, by the labels of the launcher of this number.
pub fn told_apart(launcher: usize, ranks: usize, stdout: &[u8], stderr: &[u8]) -> Told {
    split(ALL[launcher % ALL.len()], ranks, stdout, stderr)
}

/// One stream told apart while it comes in pieces: who wrote what, in its order.
pub fn told_apart_in_pieces(
    launcher: usize,
    ranks: usize,
    pieces: &[&[u8]],
) -> Vec<(Option<usize>, Vec<u8>)> {
    let mut splitter = Splitter::new(ALL[launcher % ALL.len()], ranks);
    let mut told = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        let at_end = number + 1 == pieces.len();
        splitter.take(piece, at_end, &mut |rank, text| {
            told.push((rank, text.to_vec()));
        });
    }
    told
}
