//! The common parts of the Parallel Research Kernels.
//!
//! Written from their published description (Van der Wijngaart and Mattson, The Parallel Research
//! Kernels, HPEC 2014) and the formulas that it gives for their results.

mod form;
pub(crate) mod heap;

use std::thread;
use std::time::{Duration, Instant};

use ranks::prelude::*;

use crate::report::{Outcome, Report};

pub use form::Form;
pub use heap::options_for;

/// The problem of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    /// The way in which ranks reach each other's memory.
    pub form: Form,
    /// The number of iterations after the first.
    pub iterations: usize,
    /// The length of the edges of its square.
    pub order: usize,
}

impl Problem {
    /// The problem for machines, as `key=value`.
    #[must_use]
    pub fn machine_readable(&self) -> String {
        format!(
            "form={} iterations={} order={}",
            self.form, self.iterations, self.order
        )
    }

    /// The number of iterations in all.
    #[must_use]
    pub fn sweeps(&self) -> f64 {
        self.iterations as f64 + 1.0
    }
}

/// Runs the kernel `name` in the form, with as many iterations and of the order that the command
/// line asks for; if it does not, through windows, ten times, of the order given here.
///
/// # Errors
/// If the command line asks for something else; what the kernel reports, and if its results are not
/// what they must be.
pub fn run(
    name: &str,
    order: usize,
    kernel: impl Fn(&Communicator, Problem) -> Result<Report> + Send + Sync,
) -> Outcome<()> {
    let mut problem = Problem {
        form: Form::Rma,
        iterations: 10,
        order,
    };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.len() > 3 {
        return Err(format!("usage: {name} [rma|shm|shmem [ITERATIONS [ORDER]]]").into());
    }
    if let Some(form) = arguments.first() {
        problem.form = form.parse()?;
    }
    if let Some(iterations) = arguments.get(1) {
        problem.iterations = iterations.parse()?;
    }
    if let Some(order) = arguments.get(2) {
        problem.order = order.parse()?;
    }
    ranks::run(|world| kernel(&world, problem)?.conclude(name, &world))
}

/// The place of `line`, of lines divided into blocks: the rank that has it, and the index among
/// that rank's.
#[must_use]
pub fn place_of(line: usize, blocks: &Blocks) -> (usize, usize) {
    let starts = blocks.displacements();
    let rank = starts.partition_point(|&start| start <= line) - 1;
    (rank, line - starts[rank])
}

/// Waits until `look` finds something. Others may use the core between two looks.
///
/// # Errors
/// Those of `look`, and if it finds nothing for as long as `patience`.
pub fn wait_for<T>(patience: Duration, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let start = Instant::now();
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if start.elapsed() >= patience {
            return Err(Error::new(
                ErrorKind::TimedOut,
                "wait_for",
                format_args!("nothing came for {patience:?}"),
            ));
        }
        thread::yield_now();
    }
}
