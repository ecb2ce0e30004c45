//! By ferrompi.

#![allow(
    clippy::unwrap_used,
    reason = "a program that ends is left out of the comparison"
)]

use ferrompi::{Communicator, Mpi, ReduceOp, Request, Result, ThreadLevel, Win};

mod timing;
use timing::Row;

fn main() -> Result<()> {
    let multiple = timing::wants_multiple();
    let level = if multiple {
        ThreadLevel::Multiple
    } else {
        ThreadLevel::Single
    };
    let mpi = Mpi::init_thread(level)?;
    let world = mpi.world();
    for row in timing::rows(std::env::args().skip(1)) {
        world.barrier()?;
        let microseconds = measure(&world, &row)?;
        world.barrier()?;
        if world.rank() == 0
            && let Some(microseconds) = microseconds
        {
            row.show(microseconds);
        }
    }
    Ok(())
}

fn measure(world: &Communicator, row: &Row) -> Result<Option<f64>> {
    let me = world.rank();
    let peer = 1 - me;
    let (n, bytes) = (row.len(), row.bytes);
    Ok(Some(match row.operation.as_str() {
        "pingpong" => {
            let mut buffers = (vec![1u8; bytes], vec![1u8; bytes]);
            row.there_and_back(
                me as usize,
                &mut buffers,
                |b| {
                    world.send(&b.0, peer, 1).unwrap();
                },
                |b| {
                    world.recv(&mut b.1, peer, 1).unwrap();
                },
            )
        }
        "relay" => {
            let mut buffer = vec![1u8; bytes];
            row.there_and_back(
                me as usize,
                &mut buffer,
                |b| {
                    world.send(b, peer, 1).unwrap();
                },
                |b| {
                    world.recv(b, peer, 1).unwrap();
                },
            )
        }
        "bw" => {
            let mut data = vec![1u8; bytes * row.window()];
            let mut answer = [1u8];
            row.time(|calls| {
                for _ in 0..calls {
                    let data = &mut data[..];
                    let window = ferrompi::scope(|scope| {
                        let mut requests = Vec::with_capacity(row.window());
                        for message in data.chunks_exact_mut(bytes) {
                            requests.push(if me == 0 {
                                world.isend(scope, message, peer, 1)?
                            } else {
                                world.irecv(scope, message, peer, 1)?
                            });
                        }
                        Request::wait_all(&mut requests)
                    });
                    window.unwrap();
                    if me == 0 {
                        world.recv(&mut answer, peer, 2).unwrap();
                    } else {
                        world.send(&answer, peer, 2).unwrap();
                    }
                }
            })
        }
        "msgrate" => {
            let (send, mut recv) = (vec![1u8; bytes * 32], vec![1u8; bytes * 32]);
            row.time(|calls| {
                for _ in 0..calls {
                    let (send, recv) = (&send, &mut recv);
                    let exchange = ferrompi::scope(move |scope| {
                        let mut requests = Vec::with_capacity(64);
                        for message in recv.chunks_exact_mut(bytes) {
                            requests.push(world.irecv(scope, message, peer, 1)?);
                        }
                        for message in send.chunks_exact(bytes) {
                            requests.push(world.isend(scope, message, peer, 1)?);
                        }
                        Request::wait_all(&mut requests)
                    });
                    exchange.unwrap();
                }
            })
        }
        "allreduce" => {
            let (send, mut recv) = (vec![1f64; n], vec![1f64; n]);
            row.time(|calls| {
                for _ in 0..calls {
                    world.allreduce(&send, &mut recv, ReduceOp::Sum).unwrap();
                }
            })
        }
        "iallreduce" => {
            let (send, mut recv) = (vec![1f64; n], vec![1f64; n]);
            row.time(|calls| {
                for _ in 0..calls {
                    let sum = ferrompi::scope(|scope| {
                        world
                            .iallreduce(scope, &send, &mut recv, ReduceOp::Sum)?
                            .wait()
                    });
                    sum.unwrap();
                }
            })
        }
        "allgatherv" => {
            let count = i32::try_from(n).unwrap();
            let (counts, displacements) = ([count; 2], [0, count]);
            let (send, mut recv) = (vec![1f64; n], vec![1f64; 2 * n]);
            row.time(|calls| {
                for _ in 0..calls {
                    world
                        .allgatherv(&send, &mut recv, &counts, &displacements)
                        .unwrap();
                }
            })
        }
        "put_flush" => {
            let send = vec![1f64; n];
            let mut window = Win::<f64>::allocate(world, n)?;
            window.lock_all(|epoch| {
                if me != 0 {
                    return Ok(0.0);
                }
                Ok(row.time(|calls| {
                    for _ in 0..calls {
                        epoch.put(&send, 1, 0).unwrap();
                        epoch.flush(1).unwrap();
                    }
                }))
            })?
        }
        "fetch_op" => {
            let mut window = Win::<i64>::allocate(world, 1)?;
            let (one, mut old) = (1i64, [0i64; 64]);
            if me != 0 {
                window.lock_all(|_| Ok(()))?;
                return Ok(Some(0.0));
            }
            // A result stays borrowed until its epoch ends: an epoch has 64 of them.
            row.time(|calls| {
                for left in (1..=calls).rev().step_by(64) {
                    let old = &mut old;
                    let epoch = window.lock_all(|epoch| {
                        for old in old.iter_mut().take(left) {
                            epoch.fetch_and_op(&one, old, 1, 0, ReduceOp::Sum)?;
                            epoch.flush(1)?;
                        }
                        Ok(())
                    });
                    epoch.unwrap();
                }
            })
        }
        _ => return Ok(None),
    }))
}
