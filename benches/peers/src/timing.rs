//! The protocol that every peer follows.
//!
//! `PEER OPERATION BYTES CALLS …` measures row by row, on two ranks. Rank 0 prints a line
//! `OPERATION,BYTES,MICROSECONDS` for each; a row that the peer has no operation for, it leaves
//! out. A row is CALLS calls in blocks, after a warm-up; its time is that of a call in the median
//! block. `BENCH_THREADS=multiple` asks for `MPI_THREAD_MULTIPLE`, else it is
//! `MPI_THREAD_SINGLE`.
//!
//! | operation | a call |
//! |---|---|
//! | `pingpong` | a blocking message there and back; half of its time |
//! | `relay` | the same, of one buffer: what is sent is what arrived before; half of its time |
//! | `pingpong_moved` | in process, a vector that is handed there and back without a copy; half of its time |
//! | `bw` | 64 nonblocking messages one way (16 above 64 KiB), completed together, and an answer of a byte |
//! | `msgrate` | 32 nonblocking messages each way, completed together |
//! | `allreduce`, `iallreduce` | the sum of `f64`; blocking, and nonblocking with its wait |
//! | `allgatherv` | the `f64` of each rank to both |
//! | `put_flush` | rank 0 puts `f64` to rank 1 and flushes |
//! | `fetch_op` | rank 0 adds to an `i64` of rank 1, and flushes |
#![allow(dead_code, reason = "each program takes what it needs")]

use std::time::Instant;

const BLOCKS: usize = 20;

/// A row to measure.
pub(crate) struct Row {
    pub(crate) operation: String,
    pub(crate) bytes: usize,
    calls: usize,
}

impl Row {
    /// The number of `f64`.
    pub(crate) fn len(&self) -> usize {
        self.bytes / 8
    }

    /// The number of messages of `bw`.
    pub(crate) fn window(&self) -> usize {
        if self.bytes <= 65536 { 64 } else { 16 }
    }

    /// Microseconds of a call; `calls(n)` makes n of them.
    pub(crate) fn time(&self, mut calls: impl FnMut(usize)) -> f64 {
        calls((self.calls / 10).max(1));
        let each = (self.calls / BLOCKS).max(1);
        let mut blocks = [0.0; BLOCKS];
        for block in &mut blocks {
            let start = Instant::now();
            calls(each);
            *block = start.elapsed().as_secs_f64() * 1e6 / each as f64;
        }
        blocks.sort_by(f64::total_cmp);
        (blocks[BLOCKS / 2 - 1] + blocks[BLOCKS / 2]) / 2.0
    }

    /// Microseconds of a message one way, of those that rank 0 sends and gets back; `buffers` are
    /// what `send` and `recv` work on.
    pub(crate) fn there_and_back<B>(
        &self,
        rank: usize,
        buffers: &mut B,
        send: impl Fn(&mut B),
        recv: impl Fn(&mut B),
    ) -> f64 {
        let time = self.time(|calls| {
            for _ in 0..calls {
                if rank == 0 {
                    send(buffers);
                    recv(buffers);
                } else {
                    recv(buffers);
                    send(buffers);
                }
            }
        });
        time / 2.0
    }

    #[allow(clippy::print_stdout, reason = "the protocol")]
    pub(crate) fn show(&self, microseconds: f64) {
        println!("{},{},{microseconds:.4}", self.operation, self.bytes);
    }
}

/// The rows that arguments ask for.
pub(crate) fn rows(arguments: impl Iterator<Item = String>) -> Vec<Row> {
    let arguments: Vec<String> = arguments.collect();
    let number = |text: &str| text.parse().expect("BYTES and CALLS are numbers");
    let row = |row: &[String]| Row {
        operation: row[0].clone(),
        bytes: number(&row[1]),
        calls: number(&row[2]),
    };
    arguments.chunks_exact(3).map(row).collect()
}

pub(crate) fn wants_multiple() -> bool {
    std::env::var("BENCH_THREADS").is_ok_and(|level| level == "multiple")
}
