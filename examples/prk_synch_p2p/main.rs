//! Parallel Research Kernels, Synch_p2p: a wave through a square of points that each rank hands to
//! the next, ten times.
//!
//! ```text
//! RANKS_NP=4 prk_synch_p2p                  # four ranks in this process, values go into windows
//! mpiexec -n 4 prk_synch_p2p shm            # four processes of one node that share atomics
//! mpiexec -n 4 prk_synch_p2p rma 100 4096   # 100 waves through 4096 × 4096 points
//! RANKS_NP=4 prk_synch_p2p shmem            # … by a symmetric heap in process
//! mpiexec -n 4 prk_synch_p2p shmem          # … of four GPUs, by NVSHMEM
//! ```

use ranks_examples::{prk, prk_synch_p2p, report};

fn main() -> report::Outcome<()> {
    prk::run("prk_synch_p2p", 1024, prk_synch_p2p::benchmark)
}
