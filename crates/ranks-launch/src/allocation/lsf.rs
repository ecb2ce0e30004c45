//! The variables of LSF.

use super::counts::whole;
use super::nodes::MOST;
use super::{Allocation, Scheduler};
use crate::environment::Variables;

/// Hosts with their slots, `x0 16 x1 16`; it is the one list that is there for jobs of any size.
const HOSTS: &str = "LSB_MCPU_HOSTS";

pub(super) fn read(variables: &Variables<'_>) -> Option<Allocation> {
    let job = variables.text("LSB_JOBID")?;
    let mut all = Allocation::of(Scheduler::Lsf, job);
    all.name = variables.text("LSB_JOBNAME");
    all.queue = variables.text("LSB_QUEUE");
    // A job that is none of an array has the index 0.
    all.array = variables
        .number(&["LSB_JOBINDEX"])
        .filter(|&index| index > 0)
        .map(|index| (all.job.clone(), index));
    if let Some(slots) = variables.parsed(&[HOSTS], "is no list of hosts and slots", slots) {
        all.tasks = slots
            .iter()
            .try_fold(0_usize, |sum, (_, many)| sum.checked_add(*many));
        all.tasks_per_node = slots.iter().map(|(_, many)| *many).collect();
        all.nodes = slots.into_iter().map(|(host, _)| host).collect();
    }
    all.step_nodes.clone_from(&all.nodes);
    Some(all)
}

fn slots(text: &str) -> Option<Vec<(String, usize)>> {
    let mut words = text.split_whitespace();
    let mut slots = Vec::new();
    while let Some(host) = words.next() {
        let many = whole(words.next()?)?;
        if slots.len() == MOST {
            return None;
        }
        slots.push((host.to_owned(), many));
    }
    (!slots.is_empty()).then_some(slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_their_slots() {
        let expected = [("x0".to_owned(), 16), ("x1".to_owned(), 8)];
        assert_eq!(slots(" x0 16  x1 8 ").as_deref(), Some(&expected[..]));
        for bad in ["", "x0", "x0 x1", "x0 16 x1", "x0 -1"] {
            assert_eq!(slots(bad), None, "{bad}");
        }
    }
}
