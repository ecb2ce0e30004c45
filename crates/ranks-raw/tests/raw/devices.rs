//! Addresses in the memory of a GPU: that of the driver's double, which no program can read or
//! write itself.

use ranks_comm::backend::Backend;
use ranks_comm::{Communicator, ErrorKind, Result};
use ranks_cuda::Cuda;
use ranks_raw::{Dtype, RawCollectives, RawComm, RawOp, RawOptions};
use raw_conformance::{Block, CASES, DeviceMemory, HostMemory, Memory, USABLE};

/// The double, which cargo builds beside this program.
fn driver() -> Cuda {
    let here = std::env::current_exe().expect("this program is a file");
    let file = here.with_file_name("libcuda_double.so");
    // SAFETY: nothing happens when the double is loaded, and its functions do what the driver's do.
    unsafe { Cuda::open(file) }.expect("the double is beside this program")
}

fn memory(cuda: Cuda) -> DeviceMemory {
    let device = cuda.device(0).expect("the double has devices");
    DeviceMemory(device.context().expect("they have contexts"))
}

fn block(memory: &dyn Memory, bytes: &[u8]) -> Box<dyn Block> {
    let block = memory.allocate(bytes.len()).expect("there is memory");
    block.write(bytes).expect("it can be written");
    block
}

#[ranks_test::ranks(2)]
fn all_cases_pass_on_a_device(world: Communicator) -> Result<()> {
    let cuda = driver();
    let options = RawOptions::new().cuda(cuda).stage_device_memory(true);
    let comm = RawComm::new(&world, options)?;
    assert!(comm.takes().device && comm.takes().host);
    for case in &CASES[..USABLE] {
        let outcome = (case.run)(&comm, &memory(cuda));
        assert_eq!(outcome, Ok(()), "{}", case.name);
    }
    Ok(())
}

/// A header comes from the host and goes to the host, its data from one device to another, on one
/// communicator.
#[ranks_test::ranks(2)]
fn both_kinds_of_memory_on_one_communicator(world: Communicator) -> Result<()> {
    let cuda = driver();
    let comm = RawComm::new(
        &world,
        RawOptions::new().cuda(cuda).stage_device_memory(true),
    )?;
    let device = memory(cuda);
    let filled = |rank: usize| [u8::from(rank == 1) + 1; 64];
    let (mine, theirs) = (filled(world.rank()), filled(1 - world.rank()));
    let peer = 1 - world.rank();
    let (header, data) = (block(&HostMemory, &mine), block(&device, &mine));
    let (header_room, data_room) = (block(&HostMemory, &[0; 64]), block(&device, &[0; 64]));
    for (tag, sent, room) in [(0, &header, &header_room), (1, &data, &data_room)] {
        // SAFETY: the blocks are that long, and live until `sync` has returned.
        unsafe { comm.send(sent.address(), 64, Dtype::U8, peer, tag) }?;
        // SAFETY: as above.
        unsafe { comm.recv(room.address(), 64, Dtype::U8, peer, tag) }?;
    }
    comm.sync()?;
    assert_eq!(header_room.read(), Ok(theirs.to_vec()));
    assert_eq!(data_room.read(), Ok(theirs.to_vec()));
    Ok(())
}

/// Where it was not asked for, an address of a device is refused, and what to do is said.
#[ranks_test::ranks(1, 2)]
fn an_address_of_a_device_is_refused_unless_asked_for(world: Communicator) -> Result<()> {
    let cuda = driver();
    let comm = RawComm::new(&world, RawOptions::new().cuda(cuda))?;
    assert!(!comm.takes().device);
    let data = block(&memory(cuda), &[0; 16]);
    // SAFETY: the block is that long, and an operation that is refused is not begun.
    let refused =
        unsafe { comm.allreduce(data.address(), data.address(), 4, Dtype::F32, RawOp::Sum) };
    let error = refused.expect_err("nothing was asked for");
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().contains("stage_device_memory"), "{error}");
    comm.barrier()
}

/// Elements that are combined or divided by functions of ours are copied, also where a library is
/// given addresses of devices: this one cannot read what is behind them. With Open MPI all that are
/// combined are.
#[ranks_test::ranks(1, 2, 3)]
fn memory_of_a_device_was_looked_at_by_operations_of_ours(world: Communicator) -> Result<()> {
    if matches!(world.backend(), Backend::Mpi(_)) {
        // SAFETY: this process is one rank, and runs this test alone.
        unsafe { std::env::set_var("RANKS_GPU_AWARE", "1") };
    }
    let cuda = driver();
    let options = RawOptions::new().cuda(cuda).stage_device_memory(true);
    // SAFETY: the blocks are kept until `sync` has returned `Ok`, or the test has failed.
    let comm = RawComm::new(&world, unsafe { options.direct() })?;
    let memory = memory(cuda);
    let sums_of_halves: [u16; 4] = [0, 0x3c00, 0x4000, 0x4200];
    let sum = sums_of_halves[world.size()].to_le_bytes();
    let (half, one) = (sums_of_halves[1].to_le_bytes(), 1.0_f64.to_le_bytes());
    let mut reductions = vec![
        (Dtype::F16, RawOp::Sum, &half[..], &sum[..]),
        (Dtype::F64, RawOp::Avg, &one, &one),
    ];
    if ranks_mpi_sys::loaded().is_some_and(ranks_mpi_sys::Loaded::is_openmpi) {
        reductions.push((Dtype::F64, RawOp::Max, &one, &one));
    }
    for (dtype, op, mine, expected) in reductions {
        if !comm.supports(op, dtype) {
            continue;
        }
        let (from, to) = (block(&memory, mine), block(&memory, &vec![0; mine.len()]));
        // SAFETY: as above; there is an element on each side.
        unsafe { comm.allreduce(from.address(), to.address(), 1, dtype, op) }?;
        comm.sync()?;
        assert_eq!(to.read(), Ok(expected.to_vec()), "{dtype:?} {op:?}");
    }
    Ok(())
}
