//! What observers are told of NCCL's calls.

use std::fs;

use ranks_collectives::ops::Sum;
use ranks_comm::{Backend, Error, Runtime};
use ranks_cuda::Stream;
use ranks_nccl::NcclCommunicator;

use crate::launched::{is_inside, together};
use crate::support::options;

#[test]
fn calls_are_counted_as_those_of_mpi_are() {
    let test = "observed::calls_are_counted_as_those_of_mpi_are";
    let file = std::env::temp_dir().join(format!("ranks-nccl-observed-{}", std::process::id()));
    let file = if is_inside() {
        std::env::var_os("RANKS_STATS").unwrap().into()
    } else {
        file
    };
    together(test, &[&[("RANKS_STATS", file.to_str().unwrap())]], |_| {
        let runtime = Runtime::builder().backend(Backend::InProcess).ranks(2);
        let ran = runtime.run(|world| {
            let comm = NcclCommunicator::new(&world, world.rank(), &options())?;
            let stream = comm.context().stream().map_err(of_driver)?;
            let ours = comm.context().alloc::<f32>(100).map_err(of_driver)?;
            let ours = comm.allreduce_in_place(ours, Sum, &stream)?.wait()?;
            let ours = comm.bcast(ours, 1, &stream)?.wait()?;
            assert!(comm.bcast(ours, 2, &stream).is_err());
            comm.synchronize(&stream)?;
            stream.synchronize().map_err(of_driver)?;
            comm.finalize()
        });
        ran.unwrap();
        let report = fs::read_to_string(&file).unwrap();
        let cells = |operation: &str| -> Vec<String> {
            let line = report.lines().find(|line| line.starts_with(operation));
            let line = line.unwrap_or_else(|| panic!("no line of {operation}:\n{report}"));
            line.split_whitespace().map(ToOwned::to_owned).collect()
        };
        // Communicator, ranks, calls, bytes.
        assert_eq!(cells("ncclAllReduce")[1..6], ["NCCL", "2", "2", "800", "B"]);
        assert_eq!(cells("ncclBroadcast")[1..6], ["NCCL", "2", "2", "800", "B"]);
        assert_eq!(cells("ncclCommInitRankConfig")[1..4], ["NCCL", "2", "2"]);
        assert_eq!(cells("cuStreamQuery")[1..4], ["NCCL", "2", "2"]);
        assert_eq!(cells("ncclCommFinalize")[1..4], ["NCCL", "2", "2"]);
        fs::remove_file(&file).unwrap();
    });
}

fn of_driver(error: ranks_cuda::Error) -> Error {
    panic!("{error}")
}
