//! What observers are told of the calls of a symmetric heap.

use std::fs;

use ranks_collectives::ops::Sum;
use ranks_comm::{Backend, Runtime};
use ranks_nvshmem::{HeapBackend, Nvshmem, NvshmemOptions};

use crate::launched::{is_inside, together};

#[test]
fn calls_are_counted_as_those_of_mpi_are() {
    let test = "observed::calls_are_counted_as_those_of_mpi_are";
    let file = std::env::temp_dir().join(format!("ranks-heap-observed-{}", std::process::id()));
    let file = if is_inside() {
        std::env::var_os("RANKS_STATS").unwrap().into()
    } else {
        file
    };
    together(test, &[&[("RANKS_STATS", file.to_str().unwrap())]], |_| {
        let runtime = Runtime::builder().backend(Backend::InProcess).ranks(2);
        let ran = runtime.run(|world| {
            let options = NvshmemOptions::new().backend(HeapBackend::InProcess);
            let pe = Nvshmem::init(&world, &options)?;
            let mine = pe.alloc::<u64>(10)?;
            let mut sum = pe.alloc::<u64>(10)?;
            let mut sevens = pe.alloc::<u64>(10)?;
            sevens.copy_from_host(&[7; 10])?;
            pe.put(&mine, &sevens, 1 - pe.my_pe())?;
            pe.barrier_all()?;
            pe.world().reduce(&mut sum, &mine, Sum)?;
            assert_eq!(sum.to_vec()?, [14; 10]);
            drop((mine, sum, sevens));
            pe.finalize()
        });
        ran.unwrap();
        let report = fs::read_to_string(&file).unwrap();
        let cells = |operation: &str| -> Vec<String> {
            let line = report.lines().find(|line| line.starts_with(operation));
            let line = line.unwrap_or_else(|| panic!("no line of {operation}:\n{report}"));
            line.split_whitespace().map(ToOwned::to_owned).collect()
        };
        // Communicator, ranks, calls, bytes.
        let put = &cells("nvshmem_putmem ")[1..6];
        assert_eq!(put, ["NVSHMEM", "2", "2", "160", "B"]);
        let reduced = &cells("nvshmem_uint64_sum_reduce")[1..6];
        assert_eq!(reduced, ["NVSHMEM", "2", "2", "160", "B"]);
        assert_eq!(cells("nvshmem_malloc")[1..4], ["NVSHMEM", "2", "6"]);
        assert_eq!(cells("nvshmem_barrier_all")[1..4], ["NVSHMEM", "2", "2"]);
        fs::remove_file(&file).unwrap();
    });
}
