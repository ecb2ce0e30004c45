//! `ranks doctor`: what there is, what is wrong with it, and what to do.

use clap::builder::RangedU64ValueParser;
use ranks_launch::UnknownVariable;
use serde::Serialize;

use crate::Outcome;
use crate::tell::tell;

mod batch;
mod features;
mod file_system;
mod finding;
mod gpus;
mod libraries;
mod machine;
pub(crate) mod self_test;
mod test_run;
mod text;

use batch::Batch;
use features::Feature;
use finding::Finding;
use gpus::Gpus;
use libraries::Libraries;
use machine::Machine;
use test_run::TestRun;

/// The most ranks that are started for a report.
const MOST_RANKS: u64 = 1 << 16;

/// The content of the report, and its form.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Writes one JSON object.
    #[arg(long)]
    json: bool,
    /// Starts ranks on the MPI that `ranks run` takes, or as threads without one: messages,
    /// reductions, shared memory.
    #[arg(long)]
    run: bool,
    /// The number of ranks that `--run` starts; what each of them writes is kept.
    #[arg(short = 'n', long, default_value_t = 2, value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST_RANKS))]
    ranks: usize,
}

/// All that is known.
#[derive(Debug, Serialize)]
struct Report {
    /// The problems, the worst first.
    findings: Vec<Finding>,
    mpi: Libraries,
    machine: Machine,
    batch: Option<Batch>,
    gpus: Gpus,
    features: Vec<Feature>,
    /// The results of `--run`.
    run: Option<TestRun>,
}

/// A variable that nothing reads.
fn unread(UnknownVariable { name, meant }: UnknownVariable) -> Finding {
    let remedy = match meant {
        Some(meant) => format!("did you mean {meant}?"),
        None => "nothing need be done if the program reads it".to_owned(),
    };
    Finding::note(format!("{name} is set, which ranks does not read"), remedy)
}

impl Report {
    fn collect(arguments: &Arguments) -> Report {
        let machine = Machine::look();
        let mpi = Libraries::look();
        let gpus = Gpus::look(&machine.host, mpi.used());
        let batch = Batch::look(mpi.used());
        let features = features::table(mpi.used(), &gpus);
        let run = arguments.run.then(|| TestRun::make(arguments.ranks));
        let mut findings = mpi.findings();
        findings.extend(batch.iter().flat_map(Batch::findings));
        findings.extend(machine.findings());
        findings.extend(gpus.findings());
        findings.extend(run.iter().flat_map(TestRun::findings));
        findings.extend(UnknownVariable::all().into_iter().map(unread));
        findings.sort_by_key(|finding| !finding.trouble);
        Report {
            findings,
            mpi,
            machine,
            batch,
            gpus,
            features,
            run,
        }
    }

    fn is_well(&self) -> bool {
        self.findings.iter().all(|finding| !finding.trouble)
    }
}

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let report = Report::collect(arguments);
    tell(&report, arguments.json, text::write, report.is_well())
}
