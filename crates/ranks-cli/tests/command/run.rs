//! What `ranks run` starts, and how that ends.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{RANKS, Scratch, bare, said};

/// The command with the programs of a shell, and no MPI.
pub(crate) fn in_process() -> Command {
    let mut command = bare();
    command
        .env("PATH", "/usr/bin:/bin")
        .args(["run", "--mpi", "none"]);
    command
}

/// Returns `true` if a process is gone, or ends soon.
pub(crate) fn is_gone(pid: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(5);
    let path = Path::new("/proc").join(pid.trim());
    while path.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    !path.exists()
}

#[test]
fn without_an_mpi_ranks_are_threads() {
    let job = said(in_process().args(["-n", "3", RANKS, "self-test"]));
    assert_eq!(job.status, Some(0), "{}{}", job.text, job.errors);
    job.repeats("ranks-self-test: done", 3);
    job.repeats("ranks-self-test: pass", 15);
}

#[test]
fn the_status_is_the_programs() {
    let job = said(in_process().args(["sh", "-c", "echo out; echo err >&2; exit 7"]));
    assert_eq!(
        (job.status, job.text.as_str(), job.errors.as_str()),
        (Some(7), "out\n", "err\n")
    );
    let job = said(in_process().args(["sh", "-c", "kill -9 $$"]));
    assert_eq!(job.status, Some(128 + 9));
    let job = said(in_process().arg("/nonexistent/program"));
    assert_eq!(job.status, Some(127));
    job.complains(&["/nonexistent/program could not be started"]);
}

#[test]
fn options_reach_the_ranks_as_variables_and_a_failed_job_says_where_to_look() {
    let scratch = Scratch::new("observing");
    let dumps = scratch.path().join("dumps");
    let print = "echo $RANKS_TIMEOUT $RANKS_STATS $RANKS_TIMELINE; mkdir -p $RANKS_DUMP; touch $RANKS_DUMP/rank-0.json; exit 3";
    let mut command = in_process();
    command.args(["--timeout", "3s,warn", "--stats", "--timeline", "t"]);
    let job = said(command.arg("--dump").arg(&dumps).args(["sh", "-c", print]));
    assert_eq!((job.status, job.text.as_str()), (Some(3), "3s,warn 1 t\n"));
    let advice = format!("`ranks postmortem {}` shows", dumps.display());
    job.complains(&[&advice]);

    let scratch = Scratch::new("observing-hosts");
    let mut command = with_launchers(&scratch);
    command.args([
        "run",
        "--mpi",
        "openmpi-9",
        "--host",
        "a",
        "--stats=s.txt",
        "program",
    ]);
    let job = said(&mut command);
    job.tells(&["env RANKS_STATS=s.txt program"]);
}

#[test]
fn time_that_is_up_ends_the_whole_tree() {
    let mut command = in_process();
    command.args([
        "--time-limit",
        "300ms",
        "sh",
        "-c",
        "setsid sleep 100 & echo $!; wait",
    ]);
    let job = said(&mut command);
    assert_eq!(job.status, Some(124), "{}{}", job.text, job.errors);
    job.complains(&["the time limit of 300ms was reached"]);
    assert!(is_gone(&job.text), "{}", job.text);
}

#[test]
fn a_signal_ends_the_whole_tree() {
    for (signal, status) in [
        (Signal::SIGINT, 130),
        (Signal::SIGQUIT, 131),
        (Signal::SIGTERM, 143),
    ] {
        let mut command = in_process();
        command.args(["sh", "-c", "setsid sleep 100 & echo $!; wait"]);
        let mut job = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut pid = String::new();
        BufReader::new(job.stdout.take().unwrap())
            .read_line(&mut pid)
            .unwrap();
        kill(Pid::from_raw(i32::try_from(job.id()).unwrap()), signal).unwrap();
        assert_eq!(job.wait().unwrap().code(), Some(status));
        assert!(is_gone(&pid), "{pid}");
    }
}

/// A job under `nohup` ended with the session that it was to outlive.
#[test]
fn a_signal_that_is_ignored_ends_no_job() {
    let mut command = Command::new("sh");
    let start = "trap '' HUP; exec \"$0\" run --mpi none sh -c 'echo a; sleep 0.5; echo b'";
    command.args(["-c", start, RANKS]).stdout(Stdio::piped());
    let mut job = command.spawn().unwrap();
    let mut lines = BufReader::new(job.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "a");
    let pid = Pid::from_raw(i32::try_from(job.id()).unwrap());
    kill(pid, Signal::SIGHUP).unwrap();
    assert_eq!(job.wait().unwrap().code(), Some(0));
    assert_eq!(lines.next().unwrap().unwrap(), "b");
}

/// The command with two MPIs that cannot be opened, whose launchers say how they were called.
pub(crate) fn with_launchers(scratch: &Scratch) -> Command {
    scratch.mpi("mpich-9", "libmpi.so.12");
    scratch.mpi("openmpi-9", "libmpi.so.40");
    scratch.script("bin/srun", "printf '0: %s\\n1: again\\n' \"$*\"");
    let mut command = bare();
    let bin = scratch.path().join("bin");
    command
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .env("RANKS_MPI_DIR", scratch.path());
    command
}

#[test]
fn hosts_are_given_to_each_launcher_in_its_own_way() {
    for (name, hosts) in [
        ("mpich-9", "-hosts a,b -ppn 2"),
        (
            "openmpi-9",
            "--host a:2,b:2 --map-by ppr:2:node:oversubscribe",
        ),
    ] {
        let scratch = Scratch::new(&format!("hosts-{name}"));
        let mut command = with_launchers(&scratch);
        command.args([
            "run", "-n", "3", "--mpi", name, "--host", "a,b", "program", "--flag",
        ]);
        let job = said(&mut command);
        assert_eq!(job.status, Some(0), "{}", job.errors);
        job.tells(&["-n 3", hosts, "program --flag"]);
    }
}

/// Its ranks were refused, as they were to be threads: also where a job of threads starts one of an
/// MPI.
#[test]
fn an_mpi_that_is_named_goes_before_the_variable_that_asks_for_none() {
    let scratch = Scratch::new("named-mpi");
    let mut command = with_launchers(&scratch);
    scratch.script(
        "mpich-9/bin/mpiexec",
        "echo \"backend ${RANKS_BACKEND-none}\"",
    );
    command.env("RANKS_BACKEND", "inprocess");
    let job = said(command.args(["run", "--mpi", "mpich-9", "--host", "a", "program"]));
    assert_eq!(
        (job.status, &*job.text),
        (Some(0), "backend none\n"),
        "{}",
        job.errors
    );
}

#[test]
fn a_job_that_is_to_go_on_without_a_rank_has_a_launcher_that_can() {
    let scratch = Scratch::new("tolerant");
    let tolerant = |name: &str, program: &[&str]| {
        let mut command = with_launchers(&scratch);
        command.args(["run", "-n", "3", "--mpi", name, "--fault-tolerant"]);
        command.args(program);
        command
    };
    let job = said(&mut tolerant("openmpi-9", &["program"]));
    assert_eq!(job.status, Some(0), "{}", job.errors);
    job.tells(&["-n 3", "--with-ft ulfm", " program"]);
    // In an allocation too it is that launcher: `srun` ends a job that loses a task.
    let mut command = tolerant("openmpi-9", &["program"]);
    command.envs([("SLURM_JOB_ID", "7"), ("SLURM_JOB_NODELIST", "n[1-2]")]);
    let job = said(&mut command);
    job.tells(&["--with-ft ulfm"]);

    let job = said(&mut tolerant("mpich-9", &["program"]));
    assert_eq!((job.status, job.text.as_str()), (Some(1), ""));
    job.complains(&[
        "--fault-tolerant: the launcher of mpich-9 (MPICH) ends a job of which a rank dies",
        "use --mpi openmpi-9",
    ]);
    let job = said(in_process().args(["--fault-tolerant", "sh", "-c", "exit 5"]));
    assert_eq!(job.status, Some(5), "{}", job.errors);
}

#[test]
fn in_an_allocation_of_slurm_it_is_srun_with_the_plugin_of_the_mpi() {
    for (name, plugin) in [("mpich-9", "--mpi=pmi2"), ("openmpi-9", "--mpi=pmix")] {
        let scratch = Scratch::new(&format!("srun-{name}"));
        let mut command = with_launchers(&scratch);
        command.envs([("SLURM_JOB_ID", "7"), ("SLURM_JOB_NODELIST", "n[1-2]")]);
        command.args([
            "run", "-n", "2", "--mpi", name, "--host", "n1", "program", "x",
        ]);
        let job = said(&mut command);
        assert_eq!(job.status, Some(0), "{}", job.errors);
        assert!(job.text.starts_with("[0] --ntasks=2 "), "{}", job.text);
        job.tells(&[
            plugin,
            "--nodelist=n1",
            "--label",
            "--kill-on-bad-exit=1",
            "program x\n[1] again\n",
        ]);
    }
}

/// It said that there was no such file, and not which.
#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let scratch = Scratch::new("no-folder");
    let mut command = with_launchers(&scratch);
    command.env("TMPDIR", "/dev/null");
    let job = said(command.args(["run", "--mpi", "mpich-9", "program"]));
    assert_eq!(job.status, Some(1), "{}", job.text);
    job.complains(&["no folder /dev/null/ranks-run-", "set TMPDIR"]);
}

/// A launcher that was not built for PBS or LSF started all ranks on the first host.
#[test]
fn launchers_are_told_the_hosts_of_pbs_and_lsf() {
    let scratch = Scratch::new("batch");
    let nodes = scratch.put("nodes", "x0\nx0\nx1\nx1\n");
    let nodes = nodes.display().to_string();
    let pbs = [("PBS_JOBID", "12.server"), ("PBS_NODEFILE", nodes.as_str())];
    let lsf = [("LSB_JOBID", "77"), ("LSB_MCPU_HOSTS", "x0 2 x1 2 ")];
    let run = |variables: [(&str, &str); 2], mpi: &str, more: &[&str]| {
        let mut command = with_launchers(&scratch);
        command.envs(variables);
        command.args(["run", "-n", "4", "--mpi", mpi]).args(more);
        let job = said(command.arg("program"));
        assert_eq!(job.status, Some(0), "{}", job.errors);
        job.text
    };
    for variables in [pbs, lsf] {
        let text = run(variables, "mpich-9", &[]);
        assert!(text.contains("-hosts x0,x1 -ppn 2"), "{text}");
        let text = run(variables, "openmpi-9", &[]);
        assert!(text.contains("--host x0:2,x1:2"), "{text}");
        let text = run(variables, "mpich-9", &["--host", "x1"]);
        assert!(text.contains("-hosts x1 -ppn 4"), "{text}");
    }
    let alone = [("LSB_JOBID", "77"), ("LSB_MCPU_HOSTS", "x0 4")];
    let text = run(alone, "mpich-9", &[]);
    assert!(!text.contains("-hosts"), "{text}");
}

#[test]
fn in_an_instance_of_flux_it_is_flux_run_on_all_of_its_nodes() {
    for (name, plugin) in [("mpich-9", ""), ("openmpi-9", " -o pmi=pmix")] {
        let scratch = Scratch::new(&format!("flux-{name}"));
        let flux =
            "case $1 in hostlist) echo n1 n2 ;; run) printf '0: %s\\n1: again\\n' \"$*\" ;; esac";
        scratch.script("bin/flux", flux);
        let mut command = with_launchers(&scratch);
        command.env("FLUX_URI", "local:///run/flux/local-0");
        command.args(["run", "-n", "2", "--mpi", name, "program", "x"]);
        let job = said(&mut command);
        assert_eq!(job.status, Some(0), "{}", job.errors);
        let called = format!(
            "[0] run --ntasks=2 --nodes=2 --requires=host:n1,n2{plugin} --label-io program x\n[1] again\n"
        );
        assert_eq!(job.text, called, "{}", job.errors);
        // A task of Flux is no place to start others from.
        command.env("FLUX_TASK_RANK", "0");
        let job = said(&mut command);
        job.tells(&["-n 2 "]);
    }
}

/// All that a job wrote was kept until somebody read it, and `| head` never ended.
#[test]
fn a_job_that_nobody_listens_to_any_more_ends() {
    let mut command = in_process();
    command
        .args(["-n", "2", "yes"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut job = command.spawn().unwrap();
    let mut reader = BufReader::new(job.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert!(line.ends_with("y\n"), "{line}");
    // A reader that is slower than the job.
    std::thread::sleep(Duration::from_millis(500));
    let status = std::fs::read_to_string(format!("/proc/{}/status", job.id())).unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes: u64 = memory
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    assert!(kilobytes < 64 * 1024, "{kilobytes} kB");
    drop(reader);
    assert_eq!(job.wait().unwrap().code(), Some(128 + 13));
}

/// Of these bytes 135 arrived, as on a terminal that is to see no sequences.
#[test]
fn a_file_has_the_bytes_that_the_program_wrote() {
    let bytes: Vec<u8> = (0..=u8::MAX).collect();
    let scratch = Scratch::new("bytes");
    let file = scratch.path().join("bytes");
    std::fs::write(&file, &bytes).unwrap();
    let both = "cat \"$0\"; cat \"$0\" >&2";
    let output = in_process().args(["sh", "-c", both]).arg(&file).output();
    let output = output.unwrap();
    assert_eq!((output.stdout, output.stderr), (bytes.clone(), bytes));
}

/// It was lost, nothing was said, and the job was a success.
#[test]
fn output_that_cannot_be_written_is_no_success() {
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let written = |command: &mut Command| {
        let job = command.stdout(full()).stderr(Stdio::piped()).spawn();
        let output = job.unwrap().wait_with_output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        let told = "ranks: the output of the ranks could not be written: No space left on device";
        assert_eq!(errors.matches(told).count(), 1, "{errors}");
        output.status.code()
    };
    let scratch = Scratch::new("full");
    let mut command = with_launchers(&scratch);
    let mpich = command.args(["run", "--mpi", "mpich-9", "program"]);
    assert_eq!(written(mpich), Some(1));
    // It goes on: what it is there for may be in files.
    let file = scratch.path().join("result");
    let go_on = format!("echo a; sleep 0.1; echo b; touch {}", file.display());
    let program = |text: &str| written(in_process().args(["sh", "-c", text]));
    assert_eq!(program(&go_on), Some(1));
    assert!(file.exists());
    assert_eq!(program("echo a; exit 7"), Some(7));
    // Where errors cannot be written, the status is all that tells.
    let mut command = in_process();
    command.args(["sh", "-c", "echo a >&2; exit 7"]);
    let job = said(command.stderr(full()));
    assert_eq!((job.status, job.text.as_str()), (Some(7), ""));
}

/// Each rank would have been a world of its own, or have waited for ever.
#[test]
fn an_mpiexec_of_another_family_is_an_error_that_names_both() {
    let scratch = Scratch::new("families");
    let mpiexec = |name: &str| scratch.path().join(name).join("bin/mpiexec");
    let run = |more: &[&str], launcher: &Path| {
        let mut command = with_launchers(&scratch);
        command.args(["run", "-n", "3", "--mpiexec"]).arg(launcher);
        command.args(more).arg("program");
        command.env("RANKS_MPI", "mpich-9");
        command
    };
    let job = said(&mut run(&[], &mpiexec("openmpi-9")));
    assert_eq!((job.status, job.text.as_str()), (Some(1), ""));
    let library = scratch.path().join("mpich-9/lib/libmpi.so.12");
    let library = library.display();
    job.complains(&[
        &format!("--mpiexec {} is Open MPI's", mpiexec("openmpi-9").display()),
        &format!("the MPI is MPICH ({library}, by RANKS_MPI=mpich-9)"),
        &format!("leave it out for {}", mpiexec("mpich-9").display()),
        "--mpi openmpi",
    ]);
    let job = said(&mut run(&["--mpi", "openmpi-9"], &mpiexec("openmpi-9")));
    assert_eq!(job.status, Some(0), "{}", job.errors);
    job.tells(&["-n 3 "]);
    // Where nothing else names the MPI, it does.
    let job = said(run(&[], &mpiexec("openmpi-9")).env_remove("RANKS_MPI"));
    assert_eq!(job.status, Some(0), "{}", job.errors);
    job.tells(&["-x RANKS_MPI"]);
    let job = said(&mut run(&["--mpi", "none"], &mpiexec("mpich-9")));
    assert_eq!(job.status, Some(1), "{}", job.text);
    let job = said(&mut run(&[], Path::new("mpiexec-of-nobody")));
    job.complains(&["--mpiexec mpiexec-of-nobody: no such file"]);
}

/// Output of its ranks may be lost then.
#[test]
fn a_launcher_that_a_signal_ends_is_told() {
    let scratch = Scratch::new("ended-launcher");
    let mut command = with_launchers(&scratch);
    scratch.script("mpich-9/bin/mpiexec", "kill -PIPE $$");
    let job = said(command.args(["run", "--mpi", "mpich-9", "program"]));
    let told = "ranks: the launcher: killed by signal 13 (SIGPIPE)";
    job.complains(&[told]);
    assert_eq!(job.status, Some(128 + 13), "{}", job.errors);
}

#[test]
fn an_mpi_that_is_not_there_is_an_error() {
    let scratch = Scratch::new("absent");
    let job = said(with_launchers(&scratch).args(["run", "--mpi", "mpihc-9", "program"]));
    assert_eq!(job.status, Some(1));
    job.complains(&["mpihc-9", "mpich-9", "openmpi-9"]);
    let job = said(in_process().args(["--host", "a", "program"]));
    job.complains(&["cannot be on --host"]);
}

/// Ranks were threads, whatever was asked for.
#[test]
fn an_mpi_that_is_asked_for_is_not_passed_over() {
    let scratch = Scratch::new("asked");
    // What the dynamic linker would take from the current folder is left out: there is no MPI.
    for name in [
        "libmpi.so.12",
        "libmpich.so.12",
        "libmpi_cray.so.12",
        "libmpi.so.40",
    ] {
        scratch.put(name, "");
    }
    for name in ["libmpi_abi.so.0", "libmpi_abi.so.1"] {
        scratch.put(name, "");
    }
    let run = |backend: &str| {
        let mut command = bare();
        command.env_remove("RANKS_MPI").env("LD_LIBRARY_PATH", ":");
        command
            .env("RANKS_BACKEND", backend)
            .current_dir(scratch.path());
        said(command.args(["run", "-n", "2", RANKS, "self-test"]))
    };
    let job = run("auto");
    assert_eq!(job.status, Some(0), "{}", job.errors);
    job.tells(&["world: 2 ranks, by no launcher"]);
    for (backend, expected) in [
        ("mpi", "RANKS_BACKEND=mpi: no MPI is found; install one"),
        (
            "tcp",
            "RANKS_BACKEND is `tcp`; it must be `mpi`, `inprocess` or `auto`",
        ),
    ] {
        let job = run(backend);
        assert_eq!(job.status, Some(1), "{backend}: {}", job.text);
        job.complains(&[expected]);
    }
}
