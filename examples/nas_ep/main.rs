//! NAS Parallel Benchmarks, kernel EP: 2²⁴ (class S) pairs of random numbers, the Gaussian ones
//! counted.
//!
//! Run it on threads, or on whatever MPI is there, with the same executable:
//!
//! ```text
//! RANKS_NP=4 nas_ep            # four ranks in this process
//! mpiexec -n 4 nas_ep A        # four processes, class A
//! ```

use ranks_examples::{nas, nas_ep, report};

fn main() -> report::Outcome<()> {
    nas::run("nas_ep", nas_ep::benchmark)
}
