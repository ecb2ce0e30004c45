//! The variables of PBS Professional, OpenPBS and Torque.

use std::path::Path;

use super::nodes::MOST;
use super::{Allocation, Scheduler};
use crate::environment::Variables;

pub(super) fn read(
    variables: &Variables<'_>,
    file: &dyn Fn(&Path) -> Option<String>,
) -> Option<Allocation> {
    let job = variables.text("PBS_JOBID")?;
    let mut all = Allocation::of(Scheduler::Pbs, job);
    all.name = variables.text("PBS_JOBNAME");
    all.queue = variables.text("PBS_QUEUE");
    all.cpus_here = variables.number(&["NCPUS", "PBS_NUM_PPN"]);
    all.array = variables
        .text("PBS_ARRAY_ID")
        .or_else(|| array_of(&all.job))
        .zip(variables.number(&["PBS_ARRAY_INDEX", "PBS_ARRAYID"]));
    if let Some(path) = variables.text("PBS_NODEFILE") {
        match file(Path::new(&path)).and_then(|text| slots(&text)) {
            Some(slots) => {
                all.tasks = Some(slots.iter().map(|(_, many)| many).sum());
                all.tasks_per_node = slots.iter().map(|(_, many)| *many).collect();
                all.nodes = slots.into_iter().map(|(node, _)| node).collect();
            }
            None => variables.note(
                "PBS_NODEFILE",
                &path,
                "is no file of nodes that can be read",
            ),
        }
    }
    all.step_nodes.clone_from(&all.nodes);
    Some(all)
}

/// `1234[7].server` is of the array `1234[]`.
fn array_of(job: &str) -> Option<String> {
    let (number, _) = job.split_once('[')?;
    Some(format!("{number}[]"))
}

/// A line for each task, which names its node: the nodes in the order in which they come first,
/// with their tasks.
fn slots(text: &str) -> Option<Vec<(String, usize)>> {
    let mut slots: Vec<(String, usize)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let place = *places.entry(line).or_insert(slots.len());
        if let Some((_, many)) = slots.get_mut(place) {
            *many += 1;
        } else if slots.len() < MOST {
            slots.push((line.to_owned(), 1));
        } else {
            return None;
        }
    }
    (!slots.is_empty()).then_some(slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_their_tasks_come_from_the_file() {
        let text = "x1001\nx1001\n\nx1000\nx1001\n";
        let expected = [("x1001".to_owned(), 3), ("x1000".to_owned(), 1)];
        assert_eq!(slots(text).as_deref(), Some(&expected[..]));
        assert_eq!(slots("\n\n"), None);
    }

    #[test]
    fn arrays() {
        assert_eq!(array_of("1234[7].server").as_deref(), Some("1234[]"));
        assert_eq!(array_of("1234.server"), None);
    }
}
