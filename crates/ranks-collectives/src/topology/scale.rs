//! The places of ranks of large worlds, as docs/scale.md has them.

use super::{Answer, Carrier, Cpu, CpuSet, Host, Most, Topology};

/// Ranks of a host, each with a core of two threads.
const HERE: usize = 100;

fn host() -> Host {
    let mut host = Host::detect();
    host.name = "nid000001".to_owned();
    host.kernel = "0c4a2b7e-8a0f-4b6f-9f4e-2f1a5b0d7c11".to_owned();
    host.container = "4026531836".to_owned();
    host.processors.allowed = (0..2).collect();
    host.processors.numa_nodes.clear();
    host.processors.cpus = (0..2 * HERE).map(cpu).collect();
    host.memory = 256 << 30;
    (host.memory_limit, host.cpu_limit) = (None, None);
    host.gpus.clear();
    host
}

/// One of another crate, as ranks tell it.
fn cpu(number: usize) -> Cpu {
    let fields = (
        number,
        number / 2 * 2,
        Some(0_usize),
        Some(0_usize),
        Some(0_usize),
    );
    postcard::from_bytes(&postcard::to_stdvec(&fields).unwrap()).unwrap()
}

/// The numbers that all have of ranks, and the bytes that they gather.
fn told(ranks: usize) -> (Vec<[u64; 2]>, Vec<Vec<u8>>) {
    let host = host();
    let keys = (0..ranks).map(|rank| [1 + (rank / HERE) as u64, 1]);
    let bytes = |rank: usize| {
        let here = rank % HERE;
        let answer = Answer {
            process: u32::MAX,
            allowed: (2 * here..2 * here + 2).collect::<CpuSet>(),
            visible_gpus: None,
            most: Most {
                cores: 1,
                ..Most::default()
            },
            host: (here == 0).then(|| host.clone()),
            library: (rank == 0).then(Carrier::default),
            allocation: None,
        };
        postcard::to_stdvec(&answer).unwrap()
    };
    (keys.collect(), (0..ranks).map(bytes).collect())
}

#[test]
fn places_take_some_bytes_a_rank_and_hosts_are_told_once() {
    let (_, answers) = told(HERE);
    let lengths: Vec<usize> = answers.iter().map(Vec::len).collect();
    assert!(
        lengths[0] <= 2500 && lengths[1..].iter().all(|bytes| *bytes <= 32),
        "{lengths:?}"
    );
    ranks_scale::row(
        "the places of ranks, on hosts of 100",
        (512, 64 << 10),
        told,
        |_, (keys, answers)| {
            let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
            Topology::of(1, keys, &answers)
        },
    );
}
