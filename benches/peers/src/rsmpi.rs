//! By rsmpi (the crate `mpi`), which has no windows.

#![allow(
    clippy::unwrap_used,
    reason = "a program that ends is left out of the comparison"
)]

use mpi::collective::SystemOperation;
use mpi::datatype::PartitionMut;
use mpi::request;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use mpi::{Count, Threading};

mod timing;
use timing::Row;

fn main() {
    let multiple = timing::wants_multiple();
    let level = if multiple {
        Threading::Multiple
    } else {
        Threading::Single
    };
    let (universe, _) = mpi::initialize_with_threading(level).expect("MPI was not initialised");
    let world = universe.world();
    for row in timing::rows(std::env::args().skip(1)) {
        world.barrier();
        let microseconds = measure(&world, &row);
        if world.rank() == 0
            && let Some(microseconds) = microseconds
        {
            row.show(microseconds);
        }
    }
}

fn measure(world: &SimpleCommunicator, row: &Row) -> Option<f64> {
    let me = world.rank();
    let peer = world.process_at_rank(1 - me);
    let (n, bytes) = (row.len(), row.bytes);
    let sum = SystemOperation::sum;
    Some(match row.operation.as_str() {
        "pingpong" => {
            let mut buffers = (vec![1u8; bytes], vec![1u8; bytes]);
            row.there_and_back(
                me as usize,
                &mut buffers,
                |b| {
                    peer.send_with_tag(&b.0[..], 1);
                },
                |b| {
                    peer.receive_into_with_tag(&mut b.1[..], 1);
                },
            )
        }
        "relay" => {
            let mut buffer = vec![1u8; bytes];
            row.there_and_back(
                me as usize,
                &mut buffer,
                |b| {
                    peer.send_with_tag(&b[..], 1);
                },
                |b| {
                    peer.receive_into_with_tag(&mut b[..], 1);
                },
            )
        }
        "bw" => {
            let mut data = vec![1u8; bytes * row.window()];
            let mut answer = 1u8;
            row.time(|calls| {
                for _ in 0..calls {
                    request::multiple_scope(row.window(), |scope, requests| {
                        for message in data.chunks_exact_mut(bytes) {
                            requests.add(if me == 0 {
                                peer.immediate_send_with_tag(scope, &*message, 1)
                            } else {
                                peer.immediate_receive_into_with_tag(scope, message, 1)
                            });
                        }
                        requests.wait_all(&mut Vec::new());
                    });
                    if me == 0 {
                        peer.receive_into_with_tag(&mut answer, 2);
                    } else {
                        peer.send_with_tag(&answer, 2);
                    }
                }
            })
        }
        "msgrate" => {
            let (send, mut recv) = (vec![1u8; bytes * 32], vec![1u8; bytes * 32]);
            row.time(|calls| {
                for _ in 0..calls {
                    request::multiple_scope(64, |scope, requests| {
                        for message in recv.chunks_exact_mut(bytes) {
                            requests.add(peer.immediate_receive_into_with_tag(scope, message, 1));
                        }
                        for message in send.chunks_exact(bytes) {
                            requests.add(peer.immediate_send_with_tag(scope, message, 1));
                        }
                        requests.wait_all(&mut Vec::new());
                    });
                }
            })
        }
        "allreduce" => {
            let (send, mut recv) = (vec![1f64; n], vec![1f64; n]);
            row.time(|calls| {
                for _ in 0..calls {
                    world.all_reduce_into(&send[..], &mut recv[..], sum());
                }
            })
        }
        "iallreduce" => {
            let (send, mut recv) = (vec![1f64; n], vec![1f64; n]);
            row.time(|calls| {
                for _ in 0..calls {
                    request::scope(|scope| {
                        let request =
                            world.immediate_all_reduce_into(scope, &send[..], &mut recv[..], sum());
                        request.wait_without_status();
                    });
                }
            })
        }
        "allgatherv" => {
            let count = Count::try_from(n).unwrap();
            let (counts, displacements) = ([count; 2], [0, count]);
            let (send, mut recv) = (vec![1f64; n], vec![1f64; 2 * n]);
            row.time(|calls| {
                for _ in 0..calls {
                    let mut parts =
                        PartitionMut::new(&mut recv[..], &counts[..], &displacements[..]);
                    world.all_gather_varcount_into(&send[..], &mut parts);
                }
            })
        }
        _ => return None,
    })
}
