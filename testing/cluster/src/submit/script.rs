//! Scripts of batch systems.

use std::path::Path;
use std::time::Duration;

use super::super::slurm::By;
use super::system::System;
use super::{Part, Wish, shell};

/// The script of parts, each of which writes into a file of its own, and how it ended into a list.
pub(super) fn jobs(
    system: System,
    wish: &Wish,
    parts: &[Part],
    words: &[String],
    deadline: Duration,
    folder: &Path,
) -> String {
    let mut lines = head(system, wish, folder);
    // Slurm tells launchers itself where they are.
    let named = system != System::Slurm;
    lines.extend(named.then(|| system.hosts().to_owned()));
    let seconds = deadline.as_secs().max(1);
    lines.push(format!(
        "part() {{\n    \
             local name=$1 by=$2 began; shift 2\n    \
             began=$(date +%s%N)\n    \
             timeout --kill-after=5 {seconds} \"$@\" > \"$name.$by\" 2>&1\n    \
             echo \"$name $by $? $(( ($(date +%s%N) - began) / 1000000 ))\" >> results\n\
         }}"
    ));
    for (installation, by) in parts {
        let ranks = wish.hosts * wish.each;
        let hosts = if named { wish.hosts } else { 0 };
        let hosts: Vec<String> = (0..hosts).map(shell::host).collect();
        let mut command = match by {
            By::Srun => installation.srun(ranks, &hosts),
            By::Flux => installation.flux_run(ranks, &hosts),
            By::Mpiexec => installation.command_in_allocation(ranks, &hosts),
        };
        command.args(words);
        lines.push(format!(
            "part {} {by} {}",
            installation.name,
            shell::line(&command)
        ));
    }
    lines.push("touch ended\n".to_owned());
    lines.join("\n")
}

/// The script of the tests: all is done by a program on the first node.
pub(super) fn tests(system: System, wish: &Wish, program: &Path, folder: &Path) -> String {
    let mut lines = head(system, wish, folder);
    lines.push(system.hosts().to_owned());
    if system == System::Slurm {
        // A step whose srun was killed keeps nodes from the next one else.
        lines.push("export SLURM_OVERLAP=1".to_owned());
    }
    // Some systems start a script as a login does, where other MPIs are found.
    for name in ["PATH", "LD_LIBRARY_PATH"] {
        let value = std::env::var_os(name);
        lines.extend(value.map(|value| format!("export {name}={}", shell::word(&value))));
    }
    lines.push(format!(
        "{} within {} \"${{hosts[@]}}\" > log 2>&1",
        shell::word(program.as_os_str()),
        shell::word(folder.as_os_str())
    ));
    lines.push("echo $? > status".to_owned());
    lines.push("touch ended\n".to_owned());
    lines.join("\n")
}

/// What all scripts begin with.
fn head(system: System, wish: &Wish, folder: &Path) -> Vec<String> {
    let mut lines = vec!["#!/bin/bash".to_owned()];
    lines.extend(system.directives(wish, &folder.join("output")));
    lines.push(format!("cd {} || exit 1", shell::word(folder.as_os_str())));
    lines
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use ranks_launch::{Family, Installation};

    use super::*;

    /// Lets a shell read a script, without doing anything of it.
    fn is_bash(text: &str) {
        let status = Command::new("bash").args(["-n", "-c", text]).status();
        assert!(status.unwrap().success(), "{text}");
    }

    fn installation(name: &str, family: Family) -> Installation {
        Installation {
            name: name.to_owned(),
            family,
            version: None,
            library: "/m/lib/libmpi.so".into(),
            launcher: "/m/bin/mpiexec".into(),
            env: Vec::new(),
        }
    }

    fn wish() -> Wish {
        Wish {
            hosts: 2,
            each: 3,
            minutes: 90,
            queue: Some("short".to_owned()),
            account: Some("me".to_owned()),
            directives: vec!["-m n".to_owned()],
        }
    }

    fn text(system: System, by: By, family: Family) -> String {
        let wish = wish();
        let parts = [(installation("one", family), by)];
        let words = ["/w/program".to_owned(), "a b".to_owned()];
        let folder = Path::new("/w/f");
        let text = jobs(
            system,
            &wish,
            &parts,
            &words,
            Duration::from_secs(30),
            folder,
        );
        is_bash(&text);
        text
    }

    #[test]
    fn a_script_of_slurm_leaves_places_to_slurm() {
        let text = text(System::Slurm, By::Srun, Family::OpenMpi);
        let head = "#!/bin/bash\n#SBATCH --job-name=ranks\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=3\n#SBATCH --time=90\n\
                    #SBATCH --output=/w/f/output\n#SBATCH --partition=short\n#SBATCH --account=me\n#SBATCH -m n\ncd /w/f || exit 1\n";
        assert!(text.starts_with(head), "{text}");
        assert!(text.contains("timeout --kill-after=5 30 "), "{text}");
        let line = text
            .lines()
            .find(|line| line.starts_with("part one "))
            .unwrap();
        assert!(line.starts_with("part one srun env "), "{line}");
        assert!(
            line.ends_with(
                "RANKS_MPI=/m/lib/libmpi.so UCX_HANDLE_ERRORS=none srun --ntasks=6 --mpi=pmix --kill-on-bad-exit=1 /w/program 'a b'"
            ),
            "{line}"
        );
        assert!(text.ends_with("\ntouch ended\n"), "{text}");
    }

    #[test]
    fn a_script_of_pbs_names_the_nodes_that_it_was_given() {
        let text = text(System::Pbs, By::Mpiexec, Family::Mpich);
        let head = "#!/bin/bash\n#PBS -N ranks\n#PBS -l select=2:ncpus=3:mpiprocs=3\n#PBS -l walltime=01:30:00\n#PBS -j oe\n\
                    #PBS -o /w/f/output\n#PBS -q short\n#PBS -A me\n#PBS -m n\ncd /w/f || exit 1\n\
                    mapfile -t hosts < <(sort -u \"$PBS_NODEFILE\")\n";
        assert!(text.starts_with(head), "{text}");
        let line = text
            .lines()
            .find(|line| line.starts_with("part one "))
            .unwrap();
        assert!(
            line.ends_with(
                "/m/bin/mpiexec -n 6 -hosts \"${hosts[0]}\"','\"${hosts[1]}\" -ppn 3 /w/program 'a b'"
            ),
            "{line}"
        );
    }

    #[test]
    fn a_script_of_lsf_names_the_hosts_that_it_was_given() {
        let text = text(System::Lsf, By::Mpiexec, Family::Mpich);
        let head = "#!/bin/bash\n#BSUB -J ranks\n#BSUB -n 6\n#BSUB -R \"span[ptile=3]\"\n#BSUB -W 90\n#BSUB -o /w/f/output\n\
                    #BSUB -q short\n#BSUB -P me\n#BSUB -m n\ncd /w/f || exit 1\n\
                    mapfile -t hosts < <(sort -u \"$LSB_DJOB_HOSTFILE\")\n";
        assert!(text.starts_with(head), "{text}");
        let hosts = " -hosts \"${hosts[0]}\"','\"${hosts[1]}\" -ppn 3 ";
        assert!(text.contains(hosts), "{text}");
    }

    #[test]
    fn a_script_of_flux_starts_ranks_by_flux() {
        let text = text(System::Flux, By::Flux, Family::OpenMpi);
        let head = "#!/bin/bash\n#flux: --job-name=ranks\n#flux: --nodes=2\n#flux: --nslots=6\n#flux: --time-limit=90m\n\
                    #flux: --output=/w/f/output\n#flux: --queue=short\n#flux: --bank=me\n#flux: -m n\ncd /w/f || exit 1\n\
                    read -ra hosts <<< \"$(flux hostlist --expand instance)\"\n";
        assert!(text.starts_with(head), "{text}");
        let command = " flux run --ntasks=6 --nodes=2 '--requires=host:'\"${hosts[0]}\"','\"${hosts[1]}\" -o pmi=pmix /w/program 'a b'";
        assert!(text.contains(command), "{text}");
    }

    #[test]
    fn tests_are_a_program_on_the_first_node_that_is_told_all_of_them() {
        for system in [System::Slurm, System::Pbs, System::Lsf, System::Flux] {
            let text = tests(system, &wish(), Path::new("/w/a b"), Path::new("/w/f"));
            is_bash(&text);
            let last = "\n'/w/a b' within /w/f \"${hosts[@]}\" > log 2>&1\necho $? > status\ntouch ended\n";
            assert!(text.ends_with(last), "{text}");
            assert!(text.contains(system.hosts()), "{text}");
            assert!(text.contains("\nexport PATH="), "{text}");
        }
    }
}
