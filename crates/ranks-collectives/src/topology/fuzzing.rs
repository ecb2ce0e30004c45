//! The answers that make a topology, as fuzz targets see them.

use super::{Answer, Topology, bind};
use crate::topology::{Domain, Policy};

/// The topology that a rank makes of what all ranks have answered, after everything was asked of
/// it.
pub fn topology(rank: usize, answers: &[Vec<u8>]) -> Topology {
    // A few numbers, so that some have what others say.
    let keys = answers.iter().map(|answer| {
        let byte = |place: usize| answer.get(place).map_or(0, |byte| u64::from(byte % 4));
        [byte(0), byte(1)]
    });
    let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
    let topology = Topology::of(rank, &keys.collect::<Vec<_>>(), &answers);
    for domain in [Domain::Socket, Domain::Numa, Domain::L3, Domain::Core] {
        for rank in 0..answers.len() {
            let _ = topology.part(rank, domain);
        }
    }
    for policy in [
        Policy::NumaPerRank,
        Policy::SocketPerRank,
        Policy::CoresPerRank,
    ] {
        let _ = bind::cpus(&topology, policy);
    }
    topology
}

/// The number of the byte strings that are an answer, and the same when written again.
pub fn answers(answers: &[Vec<u8>]) -> usize {
    let answers = answers.iter().filter_map(|bytes| {
        let answer: Answer = postcard::from_bytes(bytes).ok()?;
        let again = postcard::to_stdvec(&answer).expect("an answer can be written");
        let read: Answer =
            postcard::from_bytes(&again).expect("an answer that was written can be read");
        let twice = postcard::to_stdvec(&read).expect("an answer can be written");
        assert_eq!(again, twice);
        Some(())
    });
    answers.count()
}
