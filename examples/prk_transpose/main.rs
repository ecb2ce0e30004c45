//! Parallel Research Kernels, Transpose: a matrix is added to another one across its diagonal, ten
//! times.
//!
//! ```text
//! RANKS_NP=4 prk_transpose                  # four ranks in this process, blocks are put into windows
//! mpiexec -n 4 prk_transpose shm            # four processes of one node that read each other's columns
//! mpiexec -n 4 prk_transpose rma 100 4096   # 100 iterations on matrices of order 4096
//! RANKS_NP=4 prk_transpose shmem            # … by a symmetric heap in process
//! mpiexec -n 4 prk_transpose shmem          # … of four GPUs, by NVSHMEM
//! ```

use ranks_examples::{prk, prk_transpose, report};

fn main() -> report::Outcome<()> {
    prk::run("prk_transpose", 1024, prk_transpose::benchmark)
}
