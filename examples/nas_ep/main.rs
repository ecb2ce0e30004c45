//! NAS Parallel Benchmarks, kernel EP: 2²⁴ (class S) pairs of random numbers, the Gaussian ones counted.
//!
//! "Embarrassingly parallel": the ranks share out blocks of one random sequence and meet once, in two
//! `allreduce` calls at the end. Run it on threads, or on whatever MPI is there, with the same executable:
//!
//! ```text
//! RANKS_NP=4 nas_ep            # four ranks in this process
//! mpiexec -n 4 nas_ep A        # four processes, class A
//! ```
#![expect(clippy::print_stdout, reason = "a program that reports to its user")]

mod class;
mod random;
mod tally;

use std::env;
use std::error::Error;
use std::time::Instant;

use ranks::prelude::*;

use class::{Class, Verdict};
use random::Random;
use tally::Tally;

/// Pairs in a block, the unit of work.
const BLOCK: u64 = 1 << 16;

type Outcome<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let class = match env::args().nth(1) {
        Some(letter) => letter.parse()?,
        None => Class::S,
    };
    ranks::run(|world| benchmark(&world, class))
}

/// What every rank does.
fn benchmark(world: &Communicator, class: Class) -> Outcome<()> {
    world.barrier()?;
    let start = Instant::now();
    let tally = tally_all(world, 1 << (class.log2_pairs() - BLOCK.ilog2()))?;
    let seconds = start.elapsed().as_secs_f64();

    let verdict = class.verify(&tally);
    if world.rank() == 0 {
        report(world, class, &tally, verdict, seconds);
    }
    match verdict {
        Verdict::Differs => Err(format!("class {class:?} is not what was published").into()),
        Verdict::Agrees | Verdict::NoReference => Ok(()),
    }
}

/// Tallies `blocks` blocks of the sequence, dealt out to the ranks in turn.
///
/// What travels is the sums of each block rather than of each rank, added up in the order of the blocks
/// afterwards. So every digit of the result is the same on any number of ranks.
fn tally_all(world: &Communicator, blocks: usize) -> Result<Tally> {
    let mut my_sums = vec![0.0; 2 * blocks];
    let mut my_counts = [0; 10];
    for block in (world.rank()..blocks).step_by(world.size()) {
        let random = Random::starting_at(2 * BLOCK * block as u64);
        let tally = Tally::draw(random, BLOCK);
        my_sums[2 * block] = tally.sum_x;
        my_sums[2 * block + 1] = tally.sum_y;
        for (total, count) in my_counts.iter_mut().zip(tally.counts) {
            *total += count;
        }
    }

    let mut sums = vec![0.0; 2 * blocks];
    let mut counts = [0; 10];
    world.allreduce(&my_sums, &mut sums, Sum)?; // one rank's number and zeros: exact
    world.allreduce(&my_counts, &mut counts, Sum)?;
    Ok(Tally {
        sum_x: sums.iter().step_by(2).sum(),
        sum_y: sums.iter().skip(1).step_by(2).sum(),
        counts,
    })
}

fn report(world: &Communicator, class: Class, tally: &Tally, verdict: Verdict, seconds: f64) {
    let ranks = world.size();
    let library = world.library();
    println!(
        "NAS EP, class {class:?}: 2^{} pairs of random numbers",
        class.log2_pairs()
    );
    println!("  carried by  {library}, {ranks} ranks");
    println!("  sum of x    {:.15e}", tally.sum_x);
    println!("  sum of y    {:.15e}", tally.sum_y);
    println!("  pairs       {}", tally.pairs());
    for (ring, count) in tally.counts.iter().enumerate() {
        println!("  ring {ring}      {count}");
    }
    println!("  {}", verdict.sentence());
    println!(
        "result nas_ep class={class:?} ranks={ranks} verified={verdict} seconds={seconds:.6} library={library}"
    );
}
