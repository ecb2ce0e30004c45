//! By ranks, over MPI or in process.

#![allow(
    clippy::unwrap_used,
    reason = "a program that ends is left out of the comparison"
)]

use std::hint::black_box;

use ranks::prelude::*;
use ranks::{Runtime, ThreadLevel};

mod timing;
use timing::Row;

fn main() -> ranks::Result<()> {
    let multiple = timing::wants_multiple();
    let level = if multiple {
        ThreadLevel::Multiple
    } else {
        ThreadLevel::Single
    };
    Runtime::builder().thread_level(level).run(|world| {
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
    })
}

fn measure(world: &Communicator, row: &Row) -> Result<Option<f64>> {
    let me = world.rank();
    let peer = 1 - me;
    let (n, bytes) = (row.len(), row.bytes);
    Ok(Some(match row.operation.as_str() {
        "pingpong" => {
            let mut buffers = (vec![1u8; bytes], vec![1u8; bytes]);
            row.there_and_back(
                me,
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
                me,
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
                    let window = world.scope(|requests| {
                        for message in data.chunks_exact_mut(bytes) {
                            if me == 0 {
                                requests.isend(&*message, peer, 1)?;
                            } else {
                                requests.irecv(message, peer, 1)?;
                            }
                        }
                        Ok::<(), Error>(())
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
                    let exchange = world.scope(|requests| {
                        for message in recv.chunks_exact_mut(bytes) {
                            requests.irecv(message, peer, 1)?;
                        }
                        for message in send.chunks_exact(bytes) {
                            requests.isend(message, peer, 1)?;
                        }
                        Ok::<(), Error>(())
                    });
                    exchange.unwrap();
                }
            })
        }
        "allreduce" => {
            let (send, mut recv) = (vec![1f64; n], vec![1f64; n]);
            row.time(|calls| {
                for _ in 0..calls {
                    world.allreduce(&send, &mut recv, Sum).unwrap();
                }
            })
        }
        "iallreduce" => {
            let (send, mut recv) = (vec![1f64; n], vec![1f64; n]);
            row.time(|calls| {
                for _ in 0..calls {
                    let sum = world
                        .scope(|requests| requests.iallreduce(&send, &mut recv, Sum).map(|_| ()));
                    sum.unwrap();
                }
            })
        }
        "allgatherv" => {
            let blocks = Blocks::from_counts(&[n, n])?;
            let (send, mut recv) = (vec![1f64; n], vec![1f64; 2 * n]);
            row.time(|calls| {
                for _ in 0..calls {
                    world.allgatherv_into(&send, &mut recv, &blocks).unwrap();
                }
            })
        }
        "put_flush" => {
            let send = vec![1f64; n];
            let window = Window::<f64>::allocate(world, n)?.passive()?;
            let epoch = window.lock_all()?;
            let mut time = 0.0;
            if me == 0 {
                time = row.time(|calls| {
                    for _ in 0..calls {
                        epoch.put(&send, 1, 0).unwrap();
                    }
                });
            }
            epoch.unlock()?;
            world.barrier()?;
            window.close()?.free()?;
            time
        }
        "fetch_op" => {
            let window = Window::<i64>::allocate(world, 1)?.passive()?;
            let epoch = window.lock_all()?;
            let mut time = 0.0;
            if me == 0 {
                time = row.time(|calls| {
                    for _ in 0..calls {
                        black_box(epoch.fetch_and_op(1i64, Sum, 1, 0).unwrap());
                    }
                });
            }
            epoch.unlock()?;
            world.barrier()?;
            window.close()?.free()?;
            time
        }
        _ => return Ok(None),
    }))
}
