//! The report as a person reads it: what is wrong first, then what there is.

use std::io::{self, Write};

use ranks_launch::Count;

use anstyle::{AnsiColor, Style};

use crate::probe::GpuLibrary;

use super::Report;
use super::features::BACKENDS;
use super::finding::Finding;
use super::libraries::Run;
use super::machine::amount;
use super::test_run::TestRun;

const BOLD: Style = Style::new().bold();
const RED: Style = AnsiColor::Red.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    findings(&report.findings, out)?;
    if let Some(run) = &report.run {
        test_run(run, out)?;
    }
    mpi(report, out)?;
    machine(report, out)?;
    gpus(report, out)?;
    features(report, out)?;
    paths(report, out)
}

fn heading(out: &mut dyn Write, name: &str) -> io::Result<()> {
    writeln!(out, "\n{BOLD}{name}{BOLD:#}")
}

fn findings(findings: &[Finding], out: &mut dyn Write) -> io::Result<()> {
    if findings.iter().all(|finding| !finding.trouble) {
        writeln!(out, "{GREEN}nothing is wrong here{GREEN:#}")?;
    }
    for Finding {
        trouble,
        what,
        remedy,
    } in findings
    {
        let (style, word) = if *trouble {
            (RED, "TROUBLE")
        } else {
            (YELLOW, "NOTE")
        };
        writeln!(out, "{style}{word:<8}{style:#} {what}")?;
        writeln!(out, "{BOLD}remedy{BOLD:#}   {remedy}")?;
    }
    Ok(())
}

fn test_run(run: &TestRun, out: &mut dyn Write) -> io::Result<()> {
    heading(
        out,
        &format!(
            "{} on {}, in {} ms",
            Count(run.ranks, "rank"),
            run.on,
            run.milliseconds
        ),
    )?;
    for (name, fact) in &run.facts {
        writeln!(out, "  {name:<10} {fact}")?;
    }
    for case in &run.cases {
        let (style, word) = if case.passed {
            (GREEN, "pass")
        } else {
            (RED, "FAIL")
        };
        let (name, took) = (&case.name, case.microseconds);
        writeln!(out, "  {style}{word}{style:#}  {name:<28} {took:>10.1} µs")?;
    }
    Ok(())
}

fn mpi(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mpi = &report.mpi;
    heading(out, "MPI")?;
    writeln!(out, "  started    {}", mpi.started)?;
    let ranks = mpi.ranks.lines().next().unwrap_or_default();
    let unless = if mpi.unless_asked && mpi.used().is_some() {
        "; with RANKS_BACKEND=mpi a program opens what is used"
    } else {
        ""
    };
    writeln!(out, "  so         {ranks}{unless}")?;
    match mpi.used_and_why() {
        Some((used, why)) => {
            let (major, minor) = used.standard;
            writeln!(out, "  used       {} ({})", used.name, used.path.display())?;
            writeln!(out, "             named by {why}")?;
            writeln!(out, "             {}", used.version)?;
            writeln!(
                out,
                "             {}, standard {major}.{minor}, {} of 664 functions, {} with large counts (_c){}",
                used.abi,
                used.functions,
                used.large_counts,
                if used.preloaded { ", preloaded" } else { "" }
            )?;
        }
        None if mpi.unless_asked => {
            writeln!(out, "  used       none: ranks are threads of one process")?;
        }
        None => writeln!(out, "  used       none: no program starts")?,
    }
    match &mpi.run {
        Ok(Run {
            library: Some(library),
            launcher: Some(launcher),
            why,
        }) => {
            let launcher = launcher.display();
            if mpi.run_takes_used() {
                writeln!(out, "  ranks run  the same, by {launcher}")?;
            } else {
                writeln!(out, "  ranks run  {}, by {launcher}", library.display())?;
                writeln!(out, "             named by {why}")?;
            }
        }
        Ok(Run { why, .. }) => writeln!(out, "  ranks run  threads of one process: {why}")?,
        Err(reason) => {
            let reason = reason.lines().next().unwrap_or_default();
            writeln!(out, "  ranks run  nothing: {reason}")?;
        }
    }
    let launchers = [("launcher", &mpi.launcher), ("in PATH", &mpi.in_path)];
    for (name, launcher) in launchers {
        if let Some(launcher) = launcher {
            let of = launcher.of.as_deref().unwrap_or("an MPI that is not known");
            writeln!(out, "  {name:<10} {} (of {of})", launcher.file.display())?;
        }
    }
    for found in &mpi.installations {
        match &found.answer {
            Ok(answer) => writeln!(
                out,
                "  installed  {:<18} {}, {} ({})",
                found.name,
                answer.name,
                answer.abi,
                found.library.display()
            )?,
            Err(reason) => writeln!(out, "  unusable   {:<18} {reason}", found.name)?,
        }
    }
    for script in &mpi.linker_scripts {
        writeln!(
            out,
            "  script     {} (for compilers only)",
            script.file.display()
        )?;
    }
    Ok(())
}

fn machine(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let machine = &report.machine;
    let host = &machine.host;
    heading(out, &format!("Machine {}", host.name))?;
    writeln!(
        out,
        "  CPUs       {} (allowed: {}), cores: {}, sockets: {}, NUMA nodes: {}",
        host.processors.cpus.len(),
        host.processors.allowed,
        machine.cores,
        machine.sockets,
        machine.numa_nodes
    )?;
    let limit = |limit: Option<u64>| limit.map_or("none".to_owned(), amount);
    let cpus = host.cpu_limit.map_or("none".to_owned(), |thousandths| {
        format!("{}.{:03} CPUs", thousandths / 1000, thousandths % 1000)
    });
    writeln!(
        out,
        "  memory     {}; limits of control groups: {} of memory, {cpus}",
        amount(host.memory),
        limit(host.memory_limit)
    )?;
    if let Some(room) = &machine.shared_memory {
        writeln!(
            out,
            "  /dev/shm   {}, {} free",
            amount(room.size),
            amount(room.free)
        )?;
    }
    let [huge, shared] = &machine.huge_pages;
    let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "not told".to_owned());
    writeln!(
        out,
        "  huge pages {}, of shared memory {}, {} reserved",
        word(huge),
        word(shared),
        machine.huge_pages_reserved
    )?;
    writeln!(
        out,
        "  limits     memlock {}, ptrace_scope {}",
        machine.memlock.map_or("unlimited".to_owned(), amount),
        machine
            .ptrace_scope
            .map_or("not told".to_owned(), |scope| scope.to_string())
    )?;
    if !machine.infiniband.is_empty() {
        writeln!(out, "  InfiniBand {}", machine.infiniband.join(", "))?;
    }
    let Some(batch) = &report.batch else {
        return Ok(());
    };
    heading(out, &format!("{}, job {}", batch.scheduler, batch.job))?;
    writeln!(out, "  nodes      {}", batch.nodes.join(", "))?;
    let number = |number: Option<usize>| number.map_or("not told".to_owned(), |n| n.to_string());
    writeln!(
        out,
        "  tasks      {}, CPUs for each {}, time left {}",
        number(batch.tasks),
        number(batch.cpus_per_task),
        batch
            .seconds_left
            .map_or("not told".to_owned(), |left| format!("{left} s"))
    )?;
    writeln!(out, "  start      {}", batch.start)
}

fn gpus(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    heading(out, "GPUs")?;
    if report.gpus.devices().is_empty() {
        writeln!(out, "  none")?;
    }
    for (ordinal, device) in report.gpus.devices().iter().enumerate() {
        writeln!(out, "  {ordinal}          {device}")?;
    }
    let reaches = report.gpus.cuda.iter().flat_map(|cuda| &cuda.reaches);
    for (ordinal, others) in reaches
        .enumerate()
        .filter(|_| report.gpus.devices().len() > 1)
    {
        let others: Vec<String> = others.iter().map(usize::to_string).collect();
        let others = others.join(", ");
        let others = if others.is_empty() {
            "no other"
        } else {
            &others
        };
        writeln!(
            out,
            "  {ordinal}          reaches the memory of {others} itself"
        )?;
    }
    let asked = match &report.gpus.mpi_takes_memory {
        None => "no MPI",
        Some(Ok(Some(true))) => "takes it (MPIX_Query_cuda_support)",
        Some(Ok(Some(false))) => {
            "does not say before MPI_Init that it takes it (MPIX_Query_cuda_support); --run asks again"
        }
        Some(Ok(None)) => "does not say whether it takes it; RANKS_GPU_AWARE=1 says so for it",
        Some(Err(_)) => "answers only when it is initialised: --run asks",
    };
    writeln!(out, "  GPU memory  MPI: {asked}")?;
    for (name, library) in report.gpus.libraries() {
        match library {
            Ok(GpuLibrary { version, path, .. }) => {
                writeln!(out, "  {name:<11} {version} ({})", path.display())?;
            }
            Err(_) => writeln!(out, "  {name:<11} none")?,
        }
    }
    Ok(())
}

fn features(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    heading(out, "Features")?;
    let cells = |cells: [&str; 4]| cells.map(|cell| format!("{cell:<12}")).concat();
    writeln!(out, "  {:<28}{}", "", cells(BACKENDS).trim_end())?;
    for feature in &report.features {
        writeln!(
            out,
            "  {:<28}{}",
            feature.name,
            cells(feature.on).trim_end()
        )?;
    }
    Ok(())
}

/// Everything that was tried, with the reasons.
fn paths(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    heading(out, "Tried")?;
    for tried in &report.mpi.tried {
        let answer = match &tried.answer {
            Ok(mpi) => mpi.name.as_str(),
            Err(reason) => reason,
        };
        writeln!(out, "  {}: {answer} [{}]", tried.file.display(), tried.why)?;
    }
    for (_, library) in report.gpus.libraries() {
        if let Err(reason) = library {
            for line in reason.lines() {
                writeln!(out, "  {}", line.trim_end())?;
            }
        }
    }
    Ok(())
}
