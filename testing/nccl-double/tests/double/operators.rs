//! Operators that multiply before they add.

use ranks_nccl_sys::*;

use crate::support::{Rank, alone, at, counted, threads};

const F32: ncclDataType_t = ncclFloat32;

fn allreduced(rank: &Rank, operator: ncclRedOp_t) -> (ncclResult_t, Vec<f32>) {
    let (comm, stream) = (rank.comm, rank.raw());
    let send = rank.memory(&[10_f32, 20.0]);
    let recv = rank.memory(&[0_f32; 2]);
    let code = nccl!(ncclAllReduce(
        at(&send),
        at(&recv),
        2,
        F32,
        operator,
        comm,
        stream
    ));
    rank.sync();
    (code, recv.to_vec().expect("memory"))
}

fn create(
    rank: &Rank,
    scalar: *mut std::ffi::c_void,
    dtype: ncclDataType_t,
    residence: ncclScalarResidence_t,
) -> ncclRedOp_t {
    let mut operator = -1;
    let (out, comm) = (&raw mut operator, rank.comm);
    assert_eq!(
        nccl!(ncclRedOpCreatePreMulSum(
            out, scalar, dtype, residence, comm
        )),
        0
    );
    assert!(operator >= 5);
    operator
}

#[test]
fn factors_are_read_at_once_on_the_host_and_late_on_the_device() {
    let _alone = alone();
    threads(2, |rank| {
        let mut factor = if rank.rank == 0 { 2_f32 } else { 0.5 };
        let host = create(
            &rank,
            (&raw mut factor).cast(),
            F32,
            ncclScalarHostImmediate,
        );
        factor = 99.0;
        let _ = factor;
        assert_eq!(allreduced(&rank, host), (0, vec![25.0, 50.0]));

        let mut there = rank.memory(&[0_f32]);
        let device = create(&rank, at(&there), F32, ncclScalarDevice);
        rank.context
            .copy_to_device(&[3_f32], &mut there)
            .expect("a copy");
        assert_eq!(allreduced(&rank, device), (0, vec![60.0, 120.0]));

        assert_eq!(nccl!(ncclRedOpDestroy(host, rank.comm)), 0);
        assert_eq!(
            nccl!(ncclRedOpDestroy(host, rank.comm)),
            ncclInvalidArgument
        );
        assert_eq!(
            nccl!(ncclRedOpDestroy(ncclSum, rank.comm)),
            ncclInvalidArgument
        );
        rank.destroy();
    });
}

#[test]
fn a_factor_on_the_host_that_is_called_the_devices_is_noticed() {
    let _alone = alone();
    threads(1, |rank| {
        let mut factor = 2_f32;
        let device = create(&rank, (&raw mut factor).cast(), F32, ncclScalarDevice);
        assert_eq!(allreduced(&rank, device).0, ncclUnhandledCudaError);
        rank.abort();
    });
}

#[test]
fn operators_are_of_one_communicator_and_one_type() {
    let _alone = alone();
    threads(1, |rank| {
        let mut factor = 2_f64;
        let scalar = (&raw mut factor).cast();
        let of_f64 = create(&rank, scalar, ncclFloat64, ncclScalarHostImmediate);
        assert_eq!(allreduced(&rank, of_f64).0, ncclInvalidArgument);
        let mut out = 0;
        let wrong = nccl!(ncclRedOpCreatePreMulSum(
            &raw mut out,
            scalar,
            F32,
            2,
            rank.comm
        ));
        assert_eq!(wrong, ncclInvalidArgument);
        threads(1, |other| {
            assert_eq!(allreduced(&other, of_f64).0, ncclInvalidArgument);
            assert_eq!(
                nccl!(ncclRedOpDestroy(of_f64, other.comm)),
                ncclInvalidArgument
            );
            other.destroy();
        });
        // What is left over goes with its communicator.
        let before = counted("live_operators");
        rank.destroy();
        assert_eq!(counted("live_operators"), before - 1);
    });
}
