//! Any text in the variables: nothing panics, and the values read keep to their limits.

use proptest::prelude::*;
use ranks_launch::{Allocation, Environment};

/// Text made of the pieces that the formats are made of, so that it often almost makes sense.
fn almost() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z]{1,3}",
        "[0-9]{1,6}",
        Just("[".to_owned()),
        Just("]".to_owned()),
        Just(",".to_owned()),
        Just("-".to_owned()),
        Just("(x".to_owned()),
        Just(")".to_owned()),
        Just(":".to_owned()),
        Just("*".to_owned()),
        Just("0x".to_owned()),
        Just("mask_cpu:".to_owned()),
        Just("map_cpu:".to_owned()),
        "\\PC{0,3}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// A list of nodes, and the names that it stands for.
fn nodes() -> impl Strategy<Value = (String, Vec<String>)> {
    let range = (0_usize..200, 0_usize..20, 1_usize..4);
    let pattern = (
        "[a-z]{1,4}",
        prop::collection::vec(range, 0..3),
        "[a-z]{0,2}",
    );
    prop::collection::vec(pattern, 1..4).prop_map(|patterns| {
        let mut names = Vec::new();
        let mut texts = Vec::new();
        for (head, ranges, tail) in patterns {
            if ranges.is_empty() {
                names.push([head.as_str(), &tail].concat());
                texts.push([head, tail].concat());
                continue;
            }
            let mut written = Vec::new();
            for (first, more, width) in ranges {
                written.push(format!("{first:0width$}-{:0width$}", first + more));
                names.extend((first..=first + more).map(|number| {
                    // The width of a range is that of its first number.
                    let width = format!("{first:0width$}").len();
                    format!("{head}{number:0width$}{tail}")
                }));
            }
            texts.push(format!("{head}[{}]{tail}", written.join(",")));
        }
        (texts.join(","), names)
    })
}

proptest! {
    #[test]
    fn allocations_of_any_text(values in prop::collection::vec(almost(), 12)) {
        let names = [
            "SLURM_JOB_NODELIST", "SLURM_STEP_NODELIST", "SLURM_JOB_CPUS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE",
            "SLURM_MEM_PER_NODE", "SLURM_CPU_BIND", "SLURM_GPUS_PER_NODE", "SLURM_NTASKS", "SLURM_STEP_ID",
            "SLURM_HET_SIZE", "SLURM_JOB_END_TIME", "SLURM_JOB_NODELIST_HET_GROUP_0",
        ];
        let vars = |name: &str| match names.iter().position(|known| *known == name) {
            Some(at) => values.get(at).cloned(),
            None => (name == "SLURM_JOB_ID").then(|| "1".to_owned()),
        };
        let all = Allocation::from_vars(vars, |_| None);
        prop_assert!(all.is_some_and(|all| all.nodes.len() <= 1 << 17 && all.tasks_per_node.len() <= 1 << 17));
        let _ = Environment::from_vars(vars);
    }

    #[test]
    fn files_of_nodes_of_any_text(text in "(\\PC{0,8}\n){0,20}") {
        let vars = |name: &str| match name {
            "PBS_JOBID" => Some("1".to_owned()),
            "PBS_NODEFILE" => Some("/nodes".to_owned()),
            _ => None,
        };
        let all = Allocation::from_vars(vars, |_| Some(text.clone()));
        prop_assert!(all.is_some_and(|all| all.nodes.len() == all.tasks_per_node.len()));
    }

    #[test]
    fn lists_of_hosts_of_any_text(text in "(\\PC{0,8} [0-9]{0,22} ?){0,20}") {
        let vars = |name: &str| match name {
            "LSB_JOBID" => Some("1".to_owned()),
            "LSB_MCPU_HOSTS" => Some(text.clone()),
            _ => None,
        };
        let all = Allocation::from_vars(vars, |_| None);
        prop_assert!(all.is_some_and(|all| all.nodes.len() == all.tasks_per_node.len()));
    }

    #[test]
    fn lists_of_nodes_stand_for_their_names((text, names) in nodes()) {
        let vars = |name: &str| match name {
            "SLURM_JOB_ID" => Some("1".to_owned()),
            "SLURM_JOB_NODELIST" => Some(text.clone()),
            _ => None,
        };
        let all = Allocation::from_vars(vars, |_| None);
        prop_assert_eq!(all.map(|all| all.nodes), Some(names));
    }
}
