//! The allocations read from recorded environments of Slurm, and from those of other batch systems.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ranks_launch::{Allocation, Binding, Environment, MemoryLimit, Scheduler};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/slurm_env")
}

/// The CPUs that the kernel let the process run on, which the recording says, and the variables.
fn recorded(file: &str) -> (Vec<usize>, Allocation) {
    let text = fs::read_to_string(folder().join(file)).unwrap();
    let allowed = text
        .lines()
        .find_map(|line| line.strip_prefix("# Cpus_allowed_list="))
        .and_then(|rest| rest.split_whitespace().next())
        .unwrap();
    let allowed = allowed
        .split(',')
        .flat_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            first.parse().unwrap()..=last.parse().unwrap()
        })
        .collect();
    let allocation = Allocation::from_vars(variables(&text), |_| None);
    (
        allowed,
        allocation.unwrap_or_else(|| panic!("{file} is of a job")),
    )
}

fn variables(text: &str) -> impl Fn(&str) -> Option<String> {
    let map: HashMap<String, String> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    move |name| map.get(name).cloned()
}

fn of(file: &str) -> Allocation {
    recorded(file).1
}

#[test]
fn every_recording_makes_sense() {
    let mut seen = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let Some(name) = file.strip_suffix(".env") else {
            continue;
        };
        seen += 1;
        let (allowed, all) = recorded(&file);
        assert_eq!(all.malformed, [], "{name}");
        assert_eq!(all.scheduler, Scheduler::Slurm, "{name}");
        assert!(all.job.parse::<u32>().is_ok(), "{name}");
        assert_eq!(all.cpus_per_node.len(), all.nodes.len(), "{name}");
        let batch = name.ends_with(".shell") || name.contains(".batch") || name.contains(".task");
        let daemons = name.starts_with("mpiexec_in_salloc");
        assert_eq!(all.step.is_some(), !batch && !daemons, "{name}");
        if all.step.is_some() {
            assert_eq!(all.tasks, Some(all.tasks_per_node.iter().sum()), "{name}");
            assert_eq!(all.tasks_per_node.len(), all.step_nodes.len(), "{name}");
            assert!(
                all.step_nodes.contains(all.node.as_ref().unwrap()),
                "{name}"
            );
        }
        if let Some(Binding::Cpus(cpus)) = &all.binding {
            // An emulated node says four CPUs where there are two.
            let real = |cpus: &Vec<usize>| cpus.iter().all(|cpu| *cpu < 2);
            let bound = cpus.contains(&allowed);
            assert!(
                bound || !cpus.iter().all(real),
                "{name}: {cpus:?}, {allowed:?}"
            );
        }
    }
    assert!(seen > 150, "{seen} recordings");
}

#[test]
fn tasks_and_cpus_of_each_node() {
    let cyclic = of("srun_N4_n7_cyclic.rank4.env");
    assert_eq!(cyclic.nodes, ["n0", "n1", "n2", "n3"]);
    assert_eq!(cyclic.tasks_per_node, [4, 1, 1, 1]);
    assert_eq!((cyclic.tasks, cyclic.cpus_here), (Some(7), Some(4)));
    assert_eq!(of("srun_uneven_n5_N2.rank1.env").tasks_per_node, [4, 1]);
    assert_eq!(
        of("srun_w_n0_n1_n3.rank3.env").step_nodes,
        ["n0", "n1", "n3"]
    );
    assert_eq!(of("srun_N2_tpn2_c2_mem.rank1.env").cpus_per_task, Some(2));
    assert_eq!(of("srun_n4_N2.rank1.env").cpus_per_task, None);
}

#[test]
fn a_step_has_nodes_of_its_own() {
    let part = of("sbatch_substep.rank0.env");
    assert_eq!(part.nodes, ["n0", "n1"]);
    assert_eq!(part.step_nodes, ["n1"]);
    assert_eq!(part.tasks_per_node, [2]);
}

#[test]
fn a_batch_script_knows_what_was_asked_for() {
    let batch = of("sbatch_gpus.batch.env");
    assert_eq!((batch.step, batch.tasks), (None, Some(4)));
    assert_eq!(batch.tasks_per_node, [2, 2]);
    assert_eq!((batch.gpus.len(), batch.gpus_here), (2, Some(2)));
}

#[test]
fn the_shell_of_an_allocation_is_no_step() {
    let interactive = |name: &str| match name {
        "SLURM_JOB_ID" => Some("7".to_owned()),
        "SLURM_STEP_ID" => Some("4294967290".to_owned()),
        "SLURM_PROCID" => Some("0".to_owned()),
        "SLURM_NTASKS" => Some("4".to_owned()),
        _ => None,
    };
    let shell = Allocation::from_vars(interactive, |_| None).unwrap();
    assert_eq!((shell.step, shell.tasks), (None, Some(4)));
}

#[test]
fn under_mpiexec_the_step_is_of_its_daemons() {
    for mpi in ["mpich4", "mpich5", "impi", "ompi4", "ompi5"] {
        let inside = of(&format!("mpiexec_in_salloc_{mpi}.rank3.env"));
        assert_eq!((inside.step, inside.tasks), (None, None), "{mpi}");
        assert_eq!(inside.nodes, ["n0", "n1"], "{mpi}");
    }
}

#[test]
fn memory_where_it_is_told() {
    let mebibytes = |all: &Allocation| all.memory_here().map(|bytes| bytes >> 20);
    let node = of("sbatch_N2_n2_c2_mem1000.batch.env");
    assert_eq!(node.memory, Some(MemoryLimit::PerNode(1000 << 20)));
    assert_eq!(mebibytes(&node), Some(1000));
    let cpu = of("sbatch_N3_mempercpu.rank2.env");
    assert_eq!(cpu.memory, Some(MemoryLimit::PerCpu(200 << 20)));
    assert_eq!(
        mebibytes(&cpu),
        Some(200 * u64::try_from(cpu.cpus_here.unwrap()).unwrap())
    );
    assert_eq!(of("sbatch_N2_mem0_exclusive.batch.env").memory, None);
    assert_eq!(of("srun_N2_tpn2_c2_mem.rank1.env").memory, None);
}

#[test]
fn gpus_bindings_arrays_and_parts() {
    assert_eq!(of("srun_gpus_per_task.rank1.env").gpus, ["0"]);
    assert_eq!(
        of("aff_maskcpu.rank1.env").binding,
        Some(Binding::Cpus(vec![vec![0, 1], vec![0]]))
    );
    assert_eq!(
        of("aff_mapcpu.rank0.env").binding,
        Some(Binding::Cpus(vec![vec![1], vec![0]]))
    );
    assert_eq!(of("aff_none.rank1.env").binding, Some(Binding::None));
    assert_eq!(
        of("aff_rank.rank1.env").binding,
        Some(Binding::To("rank".to_owned()))
    );
    assert_eq!(
        of("sbatch_array.task3.env").array,
        Some(("24".to_owned(), 3))
    );
    let parts = of("sbatch_het.rank1.env").components;
    assert_eq!(parts[0].nodes, ["n0"]);
    assert_eq!((parts[0].tasks, parts[0].cpus_per_task), (Some(1), Some(2)));
    assert_eq!(parts[1].nodes, ["n1", "n2"]);
    assert_eq!(parts[1].cpus_per_node, [1, 1]);
    // Started by srun alone, parts are called packs.
    assert_eq!(of("srun_het.rank2.env").components[1].cpus_per_node, [2, 1]);
}

#[test]
fn restarts_and_the_end() {
    let ends = SystemTime::now() + Duration::from_secs(3600);
    let seconds = ends
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let text = format!("SLURM_JOB_ID=7\nSLURM_RESTART_COUNT=2\nSLURM_JOB_END_TIME={seconds}\n");
    let all = Allocation::from_vars(variables(&text), |_| None).unwrap();
    assert_eq!(all.restarts, 2);
    let left = all.remaining().unwrap().as_secs();
    assert!((3500..=3600).contains(&left), "{left}");
}

#[test]
fn nonsense_is_listed() {
    let text = "SLURM_JOB_ID=7\nSLURM_JOB_NODELIST=n[0-\nSLURM_JOB_CPUS_PER_NODE=4(x\nSLURM_MEM_PER_CPU=much\n\
                SLURM_CPU_BIND=mask_cpu:zz\nSLURM_STEP_ID=0\nSLURM_PROCID=0\nSLURM_NTASKS=-2\n";
    let all = Allocation::from_vars(variables(text), |_| None).unwrap();
    let named: Vec<&str> = all
        .malformed
        .iter()
        .map(|bad| bad.variable.as_str())
        .collect();
    for name in [
        "SLURM_JOB_NODELIST",
        "SLURM_JOB_CPUS_PER_NODE",
        "SLURM_MEM_PER_CPU",
        "SLURM_CPU_BIND",
        "SLURM_NTASKS",
    ] {
        assert!(named.contains(&name), "{name}: {named:?}");
    }
    assert_eq!((all.nodes.len(), all.tasks), (0, None));
}

#[test]
fn parts_of_a_job_together_have_no_more_nodes_than_a_machine() {
    let mut text = "SLURM_JOB_ID=7\nSLURM_HET_SIZE=3\n".to_owned();
    for part in 0..3 {
        let half = format!(
            "SLURM_JOB_NODELIST_HET_GROUP_{part}=n[0-65535]\nSLURM_JOB_CPUS_PER_NODE_HET_GROUP_{part}=2(x65536)\n"
        );
        text.push_str(&half);
    }
    let all = Allocation::from_vars(variables(&text), |_| None).unwrap();
    let lengths: Vec<(usize, usize)> = all
        .components
        .iter()
        .map(|part| (part.nodes.len(), part.cpus_per_node.len()))
        .collect();
    assert_eq!(lengths, [(65536, 65536), (65536, 65536), (0, 0)]);
    assert_eq!(all.malformed.len(), 2);
}

#[test]
fn pbs_names_its_nodes_in_a_file() {
    let text = "PBS_JOBID=1234[7].server\nPBS_JOBNAME=heat\nPBS_QUEUE=workq\nPBS_NODEFILE=/var/spool/pbs/aux/1234\nPBS_ARRAY_INDEX=7\nNCPUS=8\n";
    let file = |path: &Path| {
        (path == Path::new("/var/spool/pbs/aux/1234")).then(|| "x0\nx0\nx1\n".to_owned())
    };
    let all = Allocation::from_vars(variables(text), file).unwrap();
    assert_eq!(all.scheduler, Scheduler::Pbs);
    assert_eq!(all.nodes, ["x0", "x1"]);
    assert_eq!(
        (all.tasks, all.tasks_per_node.as_slice()),
        (Some(3), &[2, 1][..])
    );
    assert_eq!(all.array, Some(("1234[]".to_owned(), 7)));
    let gone = Allocation::from_vars(variables(text), |_| None).unwrap();
    assert_eq!(gone.malformed[0].variable, "PBS_NODEFILE");
}

#[test]
fn lsf_names_its_hosts_in_a_variable() {
    let text = "LSB_JOBID=77\nLSB_JOBNAME=heat[3]\nLSB_QUEUE=normal\nLSB_JOBINDEX=3\nLSB_MCPU_HOSTS=x0 16 x1 8 \n";
    let all = Allocation::from_vars(variables(text), |_| None).unwrap();
    assert_eq!(all.scheduler, Scheduler::Lsf);
    assert_eq!(all.nodes, ["x0", "x1"]);
    assert_eq!(
        (all.tasks, all.tasks_per_node.as_slice()),
        (Some(24), &[16, 8][..])
    );
    assert_eq!(all.array, Some(("77".to_owned(), 3)));
    assert_eq!(all.malformed, []);
    let odd = "LSB_JOBID=77\nLSB_JOBINDEX=0\nLSB_MCPU_HOSTS=x0 x1\n";
    let all = Allocation::from_vars(variables(odd), |_| None).unwrap();
    assert_eq!((all.array, all.malformed.len()), (None, 1));
}

/// It was told nowhere that the program uses one host of several.
#[test]
fn a_program_alone_on_one_of_several_hosts_ran_there_in_silence() {
    let alone = |text: &str| {
        let file = |_: &Path| Some("x0\nx0\nx1\n".to_owned());
        let environment = Environment::from_vars(variables(text));
        Allocation::from_vars(variables(text), file)?.alone(&environment)
    };
    let of_slurm = |file: &str| alone(&fs::read_to_string(folder().join(file)).unwrap());
    for (file, told) in [
        (
            "sbatch_N2_tpn2.batch.env",
            "alone on one of the 2 hosts of Slurm job 18",
        ),
        (
            "salloc_N2_tpn2_mem.shell.env",
            "alone on one of the 2 hosts of Slurm job 28",
        ),
    ] {
        assert_eq!(of_slurm(file).as_deref(), Some(told), "{file}");
    }
    for rank in [
        "sbatch_N2_tpn2.rank1.env",
        "mpiexec_in_salloc_ompi5.rank3.env",
    ] {
        assert_eq!(of_slurm(rank), None, "{rank}");
    }
    assert_eq!(
        alone("PBS_JOBID=12.server\nPBS_NODEFILE=/aux/12\n").as_deref(),
        Some("alone on one of the 2 hosts of PBS job 12.server")
    );
    let lsf = |hosts: &str| alone(&format!("LSB_JOBID=77\nLSB_MCPU_HOSTS={hosts}\n"));
    assert_eq!(
        lsf("x0 16 x1 8").as_deref(),
        Some("alone on one of the 2 hosts of LSF job 77")
    );
    assert_eq!(lsf("x0 16"), None);
}

#[test]
fn outside_of_batch_systems_there_is_none() {
    assert_eq!(Allocation::from_vars(|_| None, |_| None), None);
}
