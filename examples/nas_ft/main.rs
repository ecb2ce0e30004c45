//! NAS Parallel Benchmarks, kernel FT: a heat equation in three dimensions (64³ points in class S),
//! solved by Fourier transforms.
//!
//! ```text
//! RANKS_NP=4 nas_ft            # four ranks in this process
//! mpiexec -n 4 nas_ft A        # four processes, class A
//! ```

use ranks_examples::{nas, nas_ft, report};

fn main() -> report::Outcome<()> {
    nas::run("nas_ft", nas_ft::benchmark)
}
