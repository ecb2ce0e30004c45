//! What the ranks of a job say of a time limit, in what reaches the one who started it.

use std::collections::BTreeMap;

/// What such a text has in it, behind the operation.
const LATE: &str = ": timed out after ";

/// The texts in what a job has written, by the rank that each says it is of; the first of a rank.
pub(super) fn reports(output: &str) -> BTreeMap<usize, String> {
    let mut reports = BTreeMap::new();
    for (rank, text) in output.lines().filter_map(report) {
        reports.entry(rank).or_insert_with(|| text.to_owned());
    }
    reports
}

/// The text in a line, from the operation on, and its rank.
fn report(line: &str) -> Option<(usize, &str)> {
    let at = line.find(LATE)?;
    let operation = line[..at].rfind("MPI_")?;
    let (_, rank) = line[at..].split_once(" on rank ")?;
    let rank = rank.split(' ').next()?.parse().ok()?;
    Some((rank, &line[operation..]))
}

/// Returns `true` if the text says that a rank is silent.
pub(super) fn is_silent(text: &str, rank: usize) -> bool {
    let of_rank = format!("rank {rank} (does not answer)");
    text.split_once("silent: ")
        .is_some_and(|(_, silent)| silent.contains(&of_rank))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_by_rank_wherever_they_are_in_a_line() {
        let output = "rank 0 of 4 is at work\n\
            [n0:12] ranks: rank 1 of 4 failed: MPI_Recv: timed out after 3s (RANKS_TIMEOUT) on rank 1 of 4 of world; it waits for rank 2; silent: rank 2 (does not answer)\n\
            ranks: MPI_Allreduce: timed out after 3s (RANKS_TIMEOUT) on rank 0 of 4 of world; silent: rank 12 (does not answer); the process ends\n\
            ranks: MPI_Barrier: timed out after 3s (RANKS_TIMEOUT) on rank 0 of 4 of world\n\
            MPI_Barrier: timed out after 3s, cut o";
        let reports = reports(output);
        assert_eq!(reports.keys().copied().collect::<Vec<_>>(), [0, 1]);
        assert!(reports[&0].starts_with("MPI_Allreduce: timed out"));
        assert!(reports[&1].starts_with("MPI_Recv: timed out"));
        assert!(is_silent(&reports[&1], 2) && !is_silent(&reports[&1], 1));
        assert!(is_silent(&reports[&0], 12) && !is_silent(&reports[&0], 2));
    }
}
