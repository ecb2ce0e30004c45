//! Data-parallel SGD: each rank has some of the samples, and gradients are summed over ranks while
//! the next ones are computed.
//!
//! All numbers that are added are small multiples of powers of two, so that no sum is rounded: the
//! weights are the same to the last bit for any number of ranks, in whichever order they add.

use std::ops::Range;

use ranks::nccl::{NcclCommunicator, NcclOptions, RawNccl};
use ranks::prelude::*;
use ranks::raw::{RawCollectives, RawComm, RawOptions};

use crate::report::{Outcome, Report, timed};

mod device;
mod host;

use device::DeviceBuckets;
use host::HostBuckets;

const SAMPLES: usize = 64;
const STEPS: usize = 3;
/// The weights are of two inputs and a constant.
const WEIGHTS: usize = 3;
const RATE: f64 = 1.0 / 65536.0;
/// The result, whoever computes it.
pub const EXACT: [f64; WEIGHTS] = [
    0.08739232332283109,
    -0.08145176964666234,
    0.014542849567476424,
];

/// Memory for the gradients of the weights, a bucket each, in which they are summed over ranks.
trait Buckets {
    /// Puts what this rank has into a bucket, and begins to sum it. All ranks do so in the same
    /// order.
    fn ready(&mut self, bucket: usize, gradient: f64) -> Outcome<()>;

    /// Waits for all that was begun: the sums.
    fn summed(&mut self) -> Outcome<[f64; WEIGHTS]>;
}

/// Trains on hosts, over MPI or in process.
///
/// # Errors
/// Errors of the communication.
pub fn on_hosts(world: &Communicator) -> Outcome<Report> {
    let comm = RawComm::new(world, RawOptions::new())?;
    let mut buckets = HostBuckets::new(&comm);
    let (weights, seconds) = timed(world, || Ok(train(&comm, &mut buckets)))?;
    Ok(report(&weights?, &comm, seconds))
}

/// Trains with gradients on GPUs, over NCCL: the ranks of a node take its devices in turn.
///
/// # Errors
/// If there is no NCCL, no driver, or no GPU; what they report.
pub fn on_gpus(world: &Communicator) -> Outcome<Report> {
    let device = world.split_shared(0)?.rank();
    let comm = NcclCommunicator::new(world, device, &NcclOptions::new())?;
    let (weights, seconds) = timed(world, || Ok(over_nccl(comm)))?;
    let (weights, comm) = weights?;
    Ok(report(&weights, &comm, seconds))
}

/// Trains over a communicator of NCCL.
///
/// # Errors
/// Errors of NCCL and of the driver.
pub fn over_nccl(comm: NcclCommunicator) -> Outcome<([f64; WEIGHTS], RawNccl)> {
    let context = comm.context().clone();
    let comm = RawNccl::new(comm)?;
    let mut buckets = DeviceBuckets::new(&comm, &context)?;
    let weights = train(&comm, &mut buckets)?;
    drop(buckets);
    Ok((weights, comm))
}

/// The program itself, which does not know where its ranks and its gradients are.
fn train(comm: &dyn RawCollectives, buckets: &mut dyn Buckets) -> Outcome<[f64; WEIGHTS]> {
    let mine = Blocks::even(SAMPLES, comm.size()).range(comm.rank());
    let mut weights = [0.0; WEIGHTS];
    for _ in 0..STEPS {
        // Backwards, as layers are gone through: each bucket is on its way while the next is
        // computed.
        for bucket in (0..WEIGHTS).rev() {
            buckets.ready(bucket, gradient(&weights, bucket, mine.clone()))?;
        }
        for (weight, sum) in weights.iter_mut().zip(buckets.summed()?) {
            *weight -= RATE * sum;
        }
    }
    Ok(weights)
}

/// The derivative of half the squared error on some samples by one weight.
fn gradient(weights: &[f64; WEIGHTS], by: usize, samples: Range<usize>) -> f64 {
    samples
        .map(|sample| {
            let inputs = inputs(sample);
            let predicted: f64 = inputs.iter().zip(weights).map(|(x, w)| x * w).sum();
            let observed = 3.0 * inputs[0] - 2.0 * inputs[1] + 5.0;
            inputs[by] * (predicted - observed)
        })
        .sum()
}

fn inputs(sample: usize) -> [f64; WEIGHTS] {
    let first = (7 * sample % 11) as f64 - 5.0;
    let second = (5 * sample % 13) as f64 - 6.0;
    [first, second, 1.0]
}

fn report(weights: &[f64; WEIGHTS], comm: &dyn RawCollectives, seconds: f64) -> Report {
    let verified = weights.map(f64::to_bits) == EXACT.map(f64::to_bits);
    let title = format!("SGD on {SAMPLES} samples, {STEPS} steps");
    Report::new(title, format!("steps={STEPS}"), verified, seconds)
        .with("summed by", comm.backend())
        .with("weights", format_args!("{weights:?}"))
}
