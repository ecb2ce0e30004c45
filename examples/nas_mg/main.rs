//! NAS Parallel Benchmarks, kernel MG: a Poisson equation in three dimensions (32³ points in
//! class S), solved by cycles over coarser and coarser grids.
//!
//! ```text
//! RANKS_NP=4 nas_mg            # four ranks in this process
//! mpiexec -n 4 nas_mg A        # four processes, class A
//! ```

use ranks_examples::{nas, nas_mg, report};

fn main() -> report::Outcome<()> {
    nas::run("nas_mg", nas_mg::benchmark)
}
