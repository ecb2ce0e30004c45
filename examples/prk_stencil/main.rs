//! Parallel Research Kernels, Stencil: a star of radius 2 over a square of points, ten times.
//!
//! ```text
//! RANKS_NP=4 prk_stencil                    # four ranks in this process, edges are put into windows
//! mpiexec -n 4 prk_stencil shm              # four processes of one node that read each other's rows
//! mpiexec -n 4 prk_stencil rma 100 4000     # 100 iterations on 4000 × 4000 points
//! RANKS_NP=4 prk_stencil shmem              # … by a symmetric heap in process
//! mpiexec -n 4 prk_stencil shmem            # … of four GPUs, by NVSHMEM
//! ```

use ranks_examples::{prk, prk_stencil, report};

fn main() -> report::Outcome<()> {
    prk::run("prk_stencil", 1000, prk_stencil::benchmark)
}
