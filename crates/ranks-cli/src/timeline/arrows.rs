//! Which call received the message of which: the n-th sent from one rank to another under a tag is
//! the n-th received.
//!
//! Only where that is sure: where a rank receives from any rank or under any tag, or receives
//! without waiting, it is not told which message came; nothing is drawn for that communicator on
//! that rank then.

use crate::operations::SENDS;
use std::collections::{BTreeMap, BTreeSet};

use super::file::RankFile;

/// From a call to a call, each of them as the rank's place and the event's.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arrow {
    pub(super) from: (usize, usize),
    pub(super) to: (usize, usize),
}

/// A communicator, a tag, and ranks of that communicator: whom from and whom to.
type Channel = (u64, i32, usize, usize);

/// All that take messages.
const RECEIVES: [&str; 10] = [
    "MPI_Recv",
    "MPI_Irecv",
    "MPI_Mprobe",
    "MPI_Improbe",
    "MPI_Mrecv",
    "MPI_Imrecv",
    "MPI_Sendrecv",
    "MPI_Sendrecv_replace",
    "MPI_Recv_init",
    "MPI_Start",
];

pub(super) fn find(ranks: &[RankFile]) -> Vec<Arrow> {
    let mut sent: BTreeMap<Channel, Vec<(usize, usize)>> = BTreeMap::new();
    let mut received: BTreeMap<Channel, Vec<(usize, usize)>> = BTreeMap::new();
    // Communicators with the ranks of which it is not known what they received, or what came to
    // them.
    let mut unsure: BTreeSet<(u64, usize)> = BTreeSet::new();
    for (place, rank) in ranks.iter().enumerate() {
        let mut order: Vec<usize> = (0..rank.events.len()).collect();
        order.sort_by_key(|&index| rank.events[index].begin);
        for index in order {
            let event = &rank.events[index];
            let Some(communicator) = rank.communicator(event.comm) else {
                continue;
            };
            let me = communicator.rank;
            if rank.head.lost > 0 || event.error.is_some() {
                unsure.insert((event.comm, me));
            }
            let named = event.peer.zip(event.tag);
            match (event.op.as_str(), named) {
                (op, Some((peer, tag))) if SENDS.contains(&op) => {
                    let channel = (event.comm, tag, me, peer);
                    sent.entry(channel).or_default().push((place, index));
                }
                ("MPI_Recv", Some((peer, tag))) => {
                    let channel = (event.comm, tag, peer, me);
                    received.entry(channel).or_default().push((place, index));
                }
                (op, _) if RECEIVES.contains(&op) => {
                    unsure.insert((event.comm, me));
                }
                _ => {}
            }
        }
    }
    let mut arrows = Vec::new();
    for (channel, receives) in received {
        let (comm, _, from, to) = channel;
        if unsure.contains(&(comm, to)) || unsure.contains(&(comm, from)) {
            continue;
        }
        let sends = sent.get(&channel).map_or(&[][..], Vec::as_slice);
        arrows.extend(
            sends
                .iter()
                .zip(receives)
                .map(|(&from, to)| Arrow { from, to }),
        );
    }
    arrows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(rank: usize, calls: &[(&str, Option<usize>, i64)]) -> RankFile {
        let head = format!(
            "{{\"ranks_timeline\":1,\"rank\":{rank},\"size\":2,\"job\":\"1\",\"host\":\"\",\"pid\":7,\"library\":\"\",\
             \"lost\":0,\"communicators\":[{{\"id\":0,\"name\":\"\",\"rank\":{rank},\"world_ranks\":[]}}]}}"
        );
        let calls = calls.iter().map(|(op, peer, begin)| {
            let peer = peer.map(|peer| format!(",\"peer\":{peer},\"tag\":0")).unwrap_or_default();
            format!("\n{{\"op\":\"{op}\",\"comm\":0,\"n\":0,\"thread\":1,\"begin\":{begin},\"end\":{begin}{peer}}}")
        });
        let text: String = std::iter::once(head).chain(calls).collect();
        RankFile::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn messages_go_in_order() {
        // Written in the order in which they ended.
        let one = rank(0, &[("MPI_Isend", Some(1), 20), ("MPI_Send", Some(1), 10)]);
        let other = rank(1, &[("MPI_Recv", Some(0), 5), ("MPI_Recv", Some(0), 30)]);
        let arrow = |from, to| Arrow {
            from: (0, from),
            to: (1, to),
        };
        assert_eq!(find(&[one, other]), [arrow(1, 0), arrow(0, 1)]);
    }

    #[test]
    fn what_is_not_sure_is_not_drawn() {
        let one = || rank(0, &[("MPI_Send", Some(1), 1), ("MPI_Send", Some(1), 2)]);
        for other in ["MPI_Irecv", "MPI_Mprobe", "MPI_Sendrecv"] {
            let receives = rank(1, &[(other, Some(0), 1), ("MPI_Recv", Some(0), 2)]);
            assert_eq!(find(&[one(), receives]), []);
        }
        let from_any = rank(1, &[("MPI_Recv", None, 1), ("MPI_Recv", Some(0), 2)]);
        assert_eq!(find(&[one(), from_any]), []);
        let alone = rank(1, &[("MPI_Recv", Some(0), 2)]);
        assert_eq!(find(&[alone]), []);
    }
}
