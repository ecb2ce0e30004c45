//! What observers are told of NCCL's calls.

use std::fs;

use ranks_collectives::Collectives;
use ranks_collectives::ops::Sum;
use ranks_comm::{Backend, Communicator, Error, Result, Runtime};
use ranks_cuda::Stream;
use ranks_nccl::{NcclCommunicator, NcclId};

use crate::launched::{is_inside, together};
use crate::support::options;

/// Runs it on so many ranks; `told` gets the cells of an operation's line of the statistics.
fn observed(
    name: &str,
    ranks: usize,
    body: impl Fn(Communicator) -> Result<()> + Send + Sync,
    told: impl Fn(&dyn Fn(&str) -> Vec<String>),
) {
    let test = format!("observed::{name}");
    let file = std::env::temp_dir().join(format!("ranks-nccl-{name}-{}", std::process::id()));
    let file = if is_inside() {
        std::env::var_os("RANKS_STATS").unwrap().into()
    } else {
        file
    };
    together(&test, &[&[("RANKS_STATS", file.to_str().unwrap())]], |_| {
        let runtime = Runtime::builder().backend(Backend::InProcess).ranks(ranks);
        runtime.run(&body).unwrap();
        let report = fs::read_to_string(&file).unwrap();
        told(&|operation| {
            let line = report.lines().find(|line| line.starts_with(operation));
            let line = line.unwrap_or_else(|| panic!("no line of {operation}:\n{report}"));
            line.split_whitespace().map(ToOwned::to_owned).collect()
        });
        fs::remove_file(&file).unwrap();
    });
}

#[test]
fn calls_are_counted_as_those_of_mpi_are() {
    let body = |world: Communicator| {
        let comm = NcclCommunicator::new(&world, world.rank(), &options())?;
        let stream = comm.context().stream().map_err(of_driver)?;
        let ours = comm.context().alloc::<f32>(100).map_err(of_driver)?;
        let ours = comm.allreduce_in_place(ours, Sum, &stream)?.wait()?;
        let ours = comm.bcast(ours, 1, &stream)?.wait()?;
        assert!(comm.bcast(ours, 2, &stream).is_err());
        comm.synchronize(&stream)?;
        stream.synchronize().map_err(of_driver)?;
        comm.finalize()
    };
    observed("calls_are_counted_as_those_of_mpi_are", 2, body, |cells| {
        // Communicator, ranks, calls, bytes.
        assert_eq!(cells("ncclAllReduce")[1..6], ["NCCL", "2", "2", "800", "B"]);
        assert_eq!(cells("ncclBroadcast")[1..6], ["NCCL", "2", "2", "800", "B"]);
        assert_eq!(cells("ncclCommInitRankConfig")[1..4], ["NCCL", "2", "2"]);
        assert_eq!(cells("cuStreamQuery")[1..4], ["NCCL", "2", "2"]);
        assert_eq!(cells("ncclCommFinalize")[1..4], ["NCCL", "2", "2"]);
    });
}

#[test]
fn ranks_that_join_are_counted_as_those_that_grow_are() {
    let body = |world: Communicator| {
        let is_new = world.rank() == 2;
        let part = world.split(Some(i32::from(is_new)), 0)?.unwrap();
        let mut id = [0_u8; NcclId::LEN];
        let old = if is_new {
            None
        } else {
            Some(NcclCommunicator::new(&part, world.rank(), &options())?)
        };
        let made = old.as_ref().filter(|_| world.rank() == 0);
        let made = made.map(NcclCommunicator::growth_id).transpose()?;
        if let Some(made) = made {
            id = made.to_bytes();
        }
        world.bcast(&mut id, 0)?;
        let grown = match &old {
            Some(old) => old.grow(3, made)?,
            None => NcclCommunicator::join(NcclId::from_bytes(&id)?, 2, 3, 2, &options())?,
        };
        grown.finalize()
    };
    let name = "ranks_that_join_are_counted_as_those_that_grow_are";
    observed(name, 3, body, |cells| {
        assert_eq!(cells("ncclCommGrow")[1..4], ["NCCL", "3", "3"]);
    });
}

fn of_driver(error: ranks_cuda::Error) -> Error {
    panic!("{error}")
}
