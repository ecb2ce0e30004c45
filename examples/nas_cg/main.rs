//! NAS Parallel Benchmarks, kernel CG: the smallest eigenvalue of a sparse matrix of 1400 rows
//! (class S).
//!
//! ```text
//! RANKS_NP=4 nas_cg            # four ranks in this process
//! mpiexec -n 4 nas_cg A        # four processes, class A
//! ```

use ranks_examples::nas_cg::Problem;
use ranks_examples::{nas, nas_cg, report};

fn main() -> report::Outcome<()> {
    nas::run("nas_cg", |world, class| {
        nas_cg::benchmark(world, Problem::of(class))
    })
}
