//! Runs what ranks does with GPUs on the driver, the NCCL and the NVSHMEM that are here, case by
//! case, and says what came of each.
//!
//! ```text
//! ranks-gpu                  # one rank on the first GPU
//! ranks-gpu 0 1 2 3          # a rank on each of these
//! ranks-gpu 0 0              # two ranks on one GPU: NCCL 2.30 and NCCL_MULTI_RANK_GPU_ENABLE=1; NVSHMEM with MPS, or limited
//! mpiexec -n 2 ranks-gpu --mpi [number of a GPU]...    # memory of these GPUs over MPI
//! ```
//!
//! Ranks of NCCL are threads of this process, and in one case processes that it starts; PEs of
//! NVSHMEM are always such processes.
//! `RANKS_CUDA`, `RANKS_NCCL` and `RANKS_NVSHMEM` name other files to open as the driver and as the
//! libraries: tests run this program on doubles. `RANKS_GPU_KERNEL` names a compiled
//! `examples/device_put/ring_shift.cu`.
//!
//! It ends with 0 unless a case has failed (1), and with 3 where there is no device to run on.

#![allow(clippy::print_stdout, reason = "a program that reports to its user")]

mod device;
mod graph;
mod heap;
mod machine;
mod operations;
mod over_mpi;
mod processes;
mod ranks;
mod report;

use std::process::ExitCode;

use machine::Machine;
use processes::Processes;
use ranks::Ranks;
use report::{Outcome, Report};

/// A case on a machine, or on a communicator of it.
type Case<T> = (&'static str, fn(&T) -> Outcome);

/// What the program ends with where there is nothing to run on.
const NO_DEVICE: u8 = 3;

const ON_A_DEVICE: &[Case<Machine>] = &[
    ("copies to the device, there, and back", device::copies),
    ("streams in the order of events", device::order),
    (
        "functions of the host in the order of a stream",
        device::host_functions,
    ),
    ("whose memory an address is", device::addresses),
    (
        "memory dropped while a stream works on it",
        device::dropped_in_flight,
    ),
];

const ON_RANKS: &[Case<Ranks>] = &[
    ("what the communicator can do", operations::properties),
    (
        "every case of the trait over addresses",
        operations::conformance,
    ),
    ("typed operations in a scope", operations::scoped),
    ("typed operations that own their buffers", operations::owned),
    (
        "sums of elements multiplied before",
        operations::pre_mul_sum,
    ),
    ("one group for all ranks", operations::grouped),
    ("a part by color", operations::split),
    ("operations that a graph captures", graph::captured),
    ("an abort while operations wait", operations::aborted),
    ("the end", operations::finalized),
];

fn main() -> ExitCode {
    match processes::if_inside(&[operations::IN_PROCESSES, heap::CASES]) {
        None => {}
        Some(Ok(_)) => return ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    let mut words = std::env::args().skip(1).peekable();
    let over_mpi = words.next_if(|word| word == "--mpi").is_some();
    let devices: Result<Vec<usize>, _> = words.map(|word| word.parse()).collect();
    let Ok(mut devices) = devices else {
        eprintln!("usage: ranks-gpu [--mpi] [number of a GPU]...");
        return ExitCode::from(2);
    };
    if devices.is_empty() {
        devices.push(0);
    }
    if over_mpi {
        return match over_mpi::run(&devices) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    let machine = match Machine::find(&devices) {
        Ok(machine) => machine,
        Err(error) => {
            println!("no device: {error}");
            return ExitCode::from(NO_DEVICE);
        }
    };
    println!("{machine}");
    let mut report = Report::default();
    for (name, case) in ON_A_DEVICE {
        report.run(name, || case(&machine));
    }
    for (name, case) in ON_RANKS {
        report.run(name, || match machine.nccl_of_all() {
            Ok(nccl) => case(&Ranks::new(&machine, nccl)?),
            Err(why) => Ok(report::Seen::NotHere(why)),
        });
    }
    let processes = Processes::new(&devices);
    for (name, _) in operations::IN_PROCESSES {
        report.run(name, || match machine.nccl_of_all() {
            Ok(_) => processes.run(name),
            Err(why) => Ok(report::Seen::NotHere(why)),
        });
    }
    for (name, _) in heap::CASES {
        report.run(name, || match &machine.nvshmem {
            Ok(_) => processes.run(name),
            Err(why) => Ok(report::Seen::NotHere(why.clone())),
        });
    }
    drop(processes);
    println!("{report}");
    if report.all_well() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
