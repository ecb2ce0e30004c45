//! NAS Parallel Benchmarks, kernel IS: 2¹⁶ (class S) integers are ranked ten times.
//!
//! ```text
//! RANKS_NP=4 nas_is            # four ranks in this process
//! mpiexec -n 4 nas_is A        # four processes, class A
//! ```

use ranks_examples::{nas, nas_is, report};

fn main() -> report::Outcome<()> {
    nas::run("nas_is", nas_is::benchmark)
}
