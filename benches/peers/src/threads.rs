//! By channels between two threads and by a pool of two: `threads PEER OPERATION BYTES CALLS …`,
//! where the peer is `mpsc`, `crossbeam`, `rayon` or `rayon-twice`.
//!
//! A channel carries vectors. To have what a message has, whose slices remain the caller's, the
//! sender copies into a vector and the receiver copies out of it; `pingpong_moved` hands one vector
//! back and forth without a copy.

#![allow(
    clippy::unwrap_used,
    reason = "a program that ends is left out of the comparison"
)]

use std::sync::mpsc;
use std::thread;

use rayon::prelude::*;

mod timing;
use timing::Row;

type Message = Vec<f64>;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let peer = arguments.next().unwrap_or_default();
    for row in timing::rows(arguments) {
        let microseconds = match peer.as_str() {
            "mpsc" => {
                let (there, back) = (mpsc::channel(), mpsc::channel());
                pair([(there.0, back.1), (back.0, there.1)], &row)
            }
            "crossbeam" => {
                let (there, back) = (
                    crossbeam_channel::unbounded(),
                    crossbeam_channel::unbounded(),
                );
                pair([(there.0, back.1), (back.0, there.1)], &row)
            }
            "rayon" => pool(&row, false),
            "rayon-twice" => pool(&row, true),
            _ => panic!("no peer is named {peer}"),
        };
        if let Some(microseconds) = microseconds {
            row.show(microseconds);
        }
    }
}

/// An end of a pair of channels.
trait End: Send {
    fn send(&self, message: Message);
    fn recv(&self) -> Message;
}

impl End for (mpsc::Sender<Message>, mpsc::Receiver<Message>) {
    fn send(&self, message: Message) {
        self.0.send(message).unwrap();
    }
    fn recv(&self) -> Message {
        self.1.recv().unwrap()
    }
}

impl End
    for (
        crossbeam_channel::Sender<Message>,
        crossbeam_channel::Receiver<Message>,
    )
{
    fn send(&self, message: Message) {
        self.0.send(message).unwrap();
    }
    fn recv(&self) -> Message {
        self.1.recv().unwrap()
    }
}

/// The time of thread 0.
fn pair<E: End>(ends: [E; 2], row: &Row) -> Option<f64> {
    let [first, second] = ends;
    thread::scope(|scope| {
        scope.spawn(move || measure(1, &second, row));
        measure(0, &first, row)
    })
}

fn measure(me: usize, end: &impl End, row: &Row) -> Option<f64> {
    let n = row.len();
    let (send, mut recv) = (vec![1f64; n], vec![1f64; n]);
    Some(match row.operation.as_str() {
        "pingpong" => {
            let time = row.time(|calls| {
                for _ in 0..calls {
                    if me == 0 {
                        end.send(send.clone());
                    }
                    recv.copy_from_slice(&end.recv());
                    if me == 1 {
                        end.send(send.clone());
                    }
                }
            });
            time / 2.0
        }
        "pingpong_moved" => {
            let mut mine = Some(send).filter(|_| me == 0);
            let time = row.time(|calls| {
                for _ in 0..calls {
                    if let Some(message) = mine.take() {
                        end.send(message);
                        mine = Some(end.recv());
                    } else {
                        end.send(end.recv());
                    }
                }
            });
            time / 2.0
        }
        "bw" => row.time(|calls| {
            for _ in 0..calls {
                if me == 0 {
                    (0..row.window()).for_each(|_| end.send(send.clone()));
                    end.recv();
                } else {
                    (0..row.window()).for_each(|_| recv.copy_from_slice(&end.recv()));
                    end.send(Vec::new());
                }
            }
        }),
        "msgrate" => row.time(|calls| {
            for _ in 0..calls {
                (0..32).for_each(|_| end.send(send.clone()));
                (0..32).for_each(|_| recv.copy_from_slice(&end.recv()));
            }
        }),
        "allreduce" => row.time(|calls| {
            for _ in 0..calls {
                end.send(send.clone());
                let other = end.recv();
                for ((sum, mine), other) in recv.iter_mut().zip(&send).zip(&other) {
                    *sum = mine + other;
                }
            }
        }),
        _ => return None,
    })
}

/// The sum of two slices by a pool of two threads, which all of them see then; `twice`: each of two
/// owners gets it in a slice of its own, as ranks do.
fn pool(row: &Row, twice: bool) -> Option<f64> {
    if row.operation != "allreduce" {
        return None;
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let n = row.len();
    let (one, other) = (vec![1f64; n], vec![1f64; n]);
    let [mut sum, mut copy] = [vec![1f64; n], vec![1f64; if twice { n } else { 0 }]];
    Some(pool.install(|| {
        row.time(|calls| {
            for _ in 0..calls {
                let terms = one.par_iter().zip(&other).with_min_len(8192);
                if twice {
                    let sums = sum.par_iter_mut().zip(&mut copy);
                    sums.zip(terms).for_each(|((sum, copy), (one, other))| {
                        *sum = one + other;
                        *copy = *sum;
                    });
                } else {
                    sum.par_iter_mut()
                        .zip(terms)
                        .for_each(|(sum, (one, other))| *sum = one + other);
                }
            }
        })
    }))
}
