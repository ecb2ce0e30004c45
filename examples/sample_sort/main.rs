//! Sample sort: 10⁷ keys, divided among the ranks, in order afterwards.
//!
//! ```text
//! RANKS_NP=4 sample_sort              # four ranks in this process
//! mpiexec -n 4 sample_sort 100000000  # four processes, 10⁸ keys
//! ```

use ranks_examples::{report, sample_sort};

fn main() -> report::Outcome<()> {
    let keys = match std::env::args().nth(1) {
        Some(number) => number.parse()?,
        None => 10_000_000,
    };
    ranks::run(|world| sample_sort::benchmark(&world, keys)?.conclude("sample_sort", &world))
}
