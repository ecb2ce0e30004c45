//! Arrows from calls that send to those that receive: the n-th message from one rank to another
//! under a tag is the n-th received.
//!
//! Only where that is sure: where a rank receives from any rank or under any tag, by a matched
//! probe or by a persistent request, it is not told which message came; nothing is drawn for that
//! communicator on that rank then. An arrow to a nonblocking receive is drawn if the message was
//! sent before the call returned: it may have come at any time after that.

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

/// Functions that receive a message in the order of their calls, from whom they name.
const RECEIVES: [&str; 5] = [
    "MPI_Recv",
    "MPI_Irecv",
    "MPI_Mrecv",
    "MPI_Sendrecv",
    "MPI_Sendrecv_replace",
];

/// Functions after which it is not known which message came to which call.
const UNSURE: [&str; 6] = [
    "MPI_Mprobe",
    "MPI_Improbe",
    "MPI_Imrecv",
    "MPI_Recv_init",
    "MPI_Start",
    "MPI_Cancel",
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
            let op = event.op.as_str();
            let (from, to) = match SENDS.contains(&op) {
                true => (None, event.peer.zip(event.tag)),
                false => (event.peer.zip(event.tag), event.dest.zip(event.dest_tag)),
            };
            let receives = RECEIVES.contains(&op);
            if UNSURE.contains(&op) || receives && (event.wildcard || event.tag.is_none()) {
                unsure.insert((event.comm, me));
            }
            if let Some((peer, tag)) = to {
                let channel = (event.comm, tag, me, peer);
                sent.entry(channel).or_default().push((place, index));
            }
            if let Some((peer, tag)) = from.filter(|_| receives) {
                let channel = (event.comm, tag, peer, me);
                received.entry(channel).or_default().push((place, index));
            }
        }
    }
    // A call that has returned before the message was sent is no place for it to arrive at.
    let is_in_time = |arrow: &Arrow| {
        let [from, to] = [arrow.from, arrow.to].map(|(rank, event)| &ranks[rank].events[event]);
        to.op != "MPI_Irecv" || from.begin <= to.end
    };
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
                .map(|(&from, to)| Arrow { from, to })
                .filter(is_in_time),
        );
    }
    arrows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rank of two whose calls are given by name, other arguments and start; each takes 2 ns.
    fn rank(rank: usize, calls: &[(&str, &str, i64)]) -> RankFile {
        let head = format!(
            "{{\"ranks_timeline\":1,\"rank\":{rank},\"size\":2,\"job\":\"1\",\"host\":\"\",\"pid\":7,\"library\":\"\",\
             \"lost\":0,\"communicators\":[{{\"id\":0,\"name\":\"\",\"rank\":{rank},\"world_ranks\":[]}}]}}"
        );
        let calls = calls.iter().map(|(op, rest, begin)| {
            let end = begin + 2;
            format!("\n{{\"op\":\"{op}\",\"comm\":0,\"n\":0,\"thread\":1,\"begin\":{begin},\"end\":{end},{rest}}}")
        });
        let text: String = std::iter::once(head).chain(calls).collect();
        RankFile::read(text.as_bytes()).unwrap()
    }

    /// Arguments: the other rank and the tag, any rank, none, and the same rank both ways.
    const RANK_0: &str = "\"peer\":0,\"tag\":0";
    const RANK_1: &str = "\"peer\":1,\"tag\":0";
    const ANY: &str = "\"tag\":0,\"wildcard\":true";
    const NULL: &str = "\"tag\":0";
    const BOTH_0: &str = "\"peer\":0,\"tag\":0,\"dest\":0,\"dest_tag\":5";
    const BOTH_1: &str = "\"peer\":1,\"tag\":5,\"dest\":1,\"dest_tag\":0";

    fn to_rank_1(from: usize, to: usize) -> Arrow {
        Arrow {
            from: (0, from),
            to: (1, to),
        }
    }

    fn two_sends() -> RankFile {
        rank(0, &[("MPI_Send", RANK_1, 1), ("MPI_Send", RANK_1, 20)])
    }

    #[test]
    fn messages_go_in_order() {
        // Written in the order in which they ended.
        let one = rank(0, &[("MPI_Isend", RANK_1, 20), ("MPI_Send", RANK_1, 10)]);
        let other = rank(1, &[("MPI_Recv", RANK_0, 5), ("MPI_Mrecv", RANK_0, 30)]);
        let arrows = [to_rank_1(1, 0), to_rank_1(0, 1)];
        assert_eq!(find(&[one, other]), arrows);
    }

    #[test]
    fn a_combined_send_and_receive_is_both() {
        let one = rank(0, &[("MPI_Sendrecv", BOTH_1, 1)]);
        let other = rank(1, &[("MPI_Sendrecv_replace", BOTH_0, 1)]);
        let back = Arrow {
            from: (1, 0),
            to: (0, 0),
        };
        assert_eq!(find(&[one, other]), [to_rank_1(0, 0), back]);
    }

    #[test]
    fn a_nonblocking_receive_is_one_of_those_in_order() {
        let late = rank(1, &[("MPI_Irecv", RANK_0, 1), ("MPI_Irecv", RANK_0, 10)]);
        assert_eq!(find(&[two_sends(), late]), [to_rank_1(0, 0)]);
        let mixed = rank(1, &[("MPI_Irecv", RANK_0, 1), ("MPI_Recv", RANK_0, 10)]);
        let arrows = [to_rank_1(0, 0), to_rank_1(1, 1)];
        assert_eq!(find(&[two_sends(), mixed]), arrows);
    }

    #[test]
    fn a_receive_from_no_rank_takes_no_message() {
        let other = rank(1, &[("MPI_Recv", NULL, 1), ("MPI_Recv", RANK_0, 2)]);
        assert_eq!(find(&[two_sends(), other]), [to_rank_1(0, 1)]);
    }

    #[test]
    fn what_is_not_sure_is_not_drawn() {
        for other in ["MPI_Mprobe", "MPI_Imrecv", "MPI_Start", "MPI_Cancel"] {
            let receives = rank(1, &[(other, RANK_0, 1), ("MPI_Recv", RANK_0, 2)]);
            assert_eq!(find(&[two_sends(), receives]), []);
        }
        for other in RECEIVES {
            let from_any = rank(1, &[(other, ANY, 1), ("MPI_Recv", RANK_0, 2)]);
            assert_eq!(find(&[two_sends(), from_any]), []);
        }
        let alone = rank(1, &[("MPI_Recv", RANK_0, 2)]);
        assert_eq!(find(&[alone]), []);
    }
}
