//! Whether a job over hosts is believed: not for what its launcher returned alone, which was 0 for
//! jobs that lost a host.

use std::collections::{BTreeMap, BTreeSet};

use super::network::Traffic;

/// What the program that is run must print once on each rank, when its work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    rank: usize,
    ranks: usize,
    host: usize,
    hosts: usize,
}

impl Mark {
    /// Those in what a job has written: lines such as `rank 3 of 4, host 1 of 2`.
    pub(super) fn all(output: &str) -> Vec<Mark> {
        output.lines().filter_map(Mark::of_line).collect()
    }

    fn of_line(line: &str) -> Option<Mark> {
        let (rank, host) = line.trim().strip_prefix("rank ")?.split_once(", host ")?;
        let pair = |text: &str| {
            let (one, all) = text.split_once(" of ")?;
            Some((one.parse().ok()?, all.parse().ok()?))
        };
        let ((rank, ranks), (host, hosts)) = (pair(rank)?, pair(host)?);
        Some(Mark {
            rank,
            ranks,
            host,
            hosts,
        })
    }
}

/// How a launcher ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// By itself, with this status.
    Itself(i32),
    /// It was ended, because its time was up.
    Late,
    /// With its host.
    Lost,
}

/// What a job should be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) hosts: usize,
    pub(super) ranks_per_host: usize,
    /// At least so much arrives at each host but the first, in bytes.
    pub(super) bytes: u64,
    /// And at most so much, where that is known.
    pub(super) most: Option<u64>,
    /// Set if the library is known to hang, now and then, when all work is done.
    pub(super) may_hang_at_end: bool,
}

/// What is wrong with a job; nothing if it is believed.
pub(super) fn faults(
    expected: Expected,
    end: End,
    marks: &[Mark],
    traffic: &BTreeMap<usize, Traffic>,
) -> Vec<String> {
    let mut faults = Vec::new();
    let ranks = expected.hosts * expected.ranks_per_host;
    let there: BTreeSet<usize> = marks.iter().map(|mark| mark.rank).collect();
    let whole = there.iter().copied().eq(0..ranks) && marks.len() == ranks;
    match end {
        End::Itself(0) => {}
        End::Late if whole && expected.may_hang_at_end => {}
        End::Itself(code) => faults.push(format!("the launcher returned {code}")),
        End::Late if whole => faults.push(
            "the deadline ended it, after each rank had done its work: it hung while it ended"
                .to_owned(),
        ),
        End::Late => faults.push("the deadline ended it".to_owned()),
        End::Lost => faults.push("the launcher ended with its host".to_owned()),
    }
    if !whole {
        faults.push(format!(
            "{} of {ranks} ranks said that they were done, {} times in all",
            there.len(),
            marks.len()
        ));
    }
    if let Some(mark) = marks.iter().find(|mark| mark.ranks != ranks) {
        faults.push(format!("a job has {} ranks instead of {ranks}", mark.ranks));
    }
    if let Some(mark) = marks.iter().find(|mark| mark.hosts != expected.hosts) {
        faults.push(format!(
            "rank {} sees {} hosts instead of {}",
            mark.rank, mark.hosts, expected.hosts
        ));
    }
    let mut on: BTreeMap<usize, usize> = BTreeMap::new();
    for mark in marks {
        *on.entry(mark.host).or_default() += 1;
    }
    if let Some((host, ranks)) = on
        .iter()
        .find(|(_, ranks)| **ranks != expected.ranks_per_host)
        .filter(|_| whole)
    {
        faults.push(format!(
            "host {host} has {ranks} ranks instead of {}",
            expected.ranks_per_host
        ));
    }
    for number in 1..expected.hosts {
        let received = traffic.get(&number).map_or(0, |traffic| traffic.received);
        if received < expected.bytes {
            faults.push(format!(
                "{received} bytes came to n{number}, of {} at least: data went another way",
                expected.bytes
            ));
        }
        if let Some(most) = expected.most.filter(|most| received > *most) {
            faults.push(format!(
                "{received} bytes came to n{number}, of {most} at most: data came more often than once"
            ));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: Expected = Expected {
        hosts: 2,
        ranks_per_host: 2,
        bytes: 1000,
        most: Some(1500),
        may_hang_at_end: false,
    };

    const GOOD: &str = "2 hosts\nrank 1 of 4, host 0 of 2\nrank 0 of 4, host 0 of 2\nrank 3 of 4, host 1 of 2\nrank 2 of 4, host 1 of 2\ndone\n";

    fn judged(output: &str, end: End, received: u64) -> String {
        let traffic = BTreeMap::from([(0, Traffic::default()), (1, Traffic { sent: 0, received })]);
        faults(EXPECTED, end, &Mark::all(output), &traffic).join("; ")
    }

    #[test]
    fn a_whole_job_is_believed() {
        assert_eq!(judged(GOOD, End::Itself(0), 1000), "");
    }

    #[test]
    fn a_status_alone_is_not_believed() {
        assert!(judged("", End::Itself(0), 1000).contains("0 of 4 ranks"));
        let lost = GOOD.replace("rank 3 of 4, host 1 of 2\n", "");
        assert!(judged(&lost, End::Itself(0), 1000).contains("3 of 4 ranks"));
        let twice = format!("{GOOD}rank 3 of 4, host 1 of 2\n");
        assert!(judged(&twice, End::Itself(0), 1000).contains("5 times"));
        assert!(judged(GOOD, End::Itself(15), 1000).contains("returned 15"));
    }

    #[test]
    fn singletons_and_wrong_places_are_seen() {
        let singletons = "rank 0 of 1, host 0 of 1\n".repeat(4);
        let text = judged(&singletons, End::Itself(0), 1000);
        assert!(
            text.contains("1 ranks instead of 4") && text.contains("1 hosts instead of 2"),
            "{text}"
        );
        let crowded = GOOD.replace("rank 2 of 4, host 1", "rank 2 of 4, host 0");
        assert!(judged(&crowded, End::Itself(0), 1000).contains("host 0 has 3 ranks"));
    }

    #[test]
    fn data_that_crossed_no_link_is_seen() {
        assert!(judged(GOOD, End::Itself(0), 999).contains("999 bytes came to n1"));
    }

    #[test]
    fn data_that_comes_too_often_is_seen() {
        assert_eq!(judged(GOOD, End::Itself(0), 1500), "");
        assert!(judged(GOOD, End::Itself(0), 1501).contains("more often than once"));
    }

    #[test]
    fn a_hang_at_the_end_is_told_from_one_before() {
        assert!(judged(GOOD, End::Late, 1000).contains("had done its work"));
        assert!(!judged("", End::Late, 1000).contains("had done its work"));
        let known = Expected {
            may_hang_at_end: true,
            ..EXPECTED
        };
        let traffic = BTreeMap::from([(
            1,
            Traffic {
                sent: 0,
                received: 1000,
            },
        )]);
        let judged = |output: &str| faults(known, End::Late, &Mark::all(output), &traffic);
        assert_eq!(judged(GOOD), [""; 0]);
        assert!(!judged("").is_empty());
    }
}
