//! The memory of calls that grows with the number of ranks, as docs/scale.md has it.

use ranks_scale::row;

use super::call_description::{CallDescription, Groups, Joined};
use super::limit::asked;
use super::record::Recorder;

/// The digests of ranks of which every third calls something else.
fn digests(ranks: usize) -> Vec<u64> {
    (0..ranks as u64).map(|rank| rank % 3 / 2).collect()
}

#[test]
fn calls_are_compared_by_a_few_words() {
    let told = CallDescription::named("MPI_Barrier");
    row(
        "calls that are the same",
        (0, 64),
        |ranks| Joined::words(&told, ranks - 1, true),
        |_, words| [words.to_vec(), words.to_vec()],
    );
    row("calls that differ", (0, 4 << 10), digests, |_, digests| {
        let groups = Groups::of(digests.iter().copied());
        let words = groups.words(&told, 0);
        groups.differ_by_words("MPI_Barrier", &words)
    });
}

#[test]
fn recorders_of_large_worlds_list_no_ranks() {
    let list = Recorder::MOST * size_of::<usize>();
    row(
        "the recorder of the world",
        (0, list + (32 << 10)),
        |_| (),
        |ranks, ()| Recorder::of_world(0, 1, ranks),
    );
}

#[test]
fn few_ranks_are_asked_at_a_time_limit() {
    row(
        "ranks that are asked at a time limit",
        (0, 4 << 10),
        |_| (),
        |ranks, ()| asked(1, ranks, None),
    );
}
