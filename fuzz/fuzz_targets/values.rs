//! Values that are made of the bytes of a message: of types as programs have them, and the topology
//! of a job.
#![no_main]

use std::collections::{BTreeMap, HashMap};

use libfuzzer_sys::fuzz_target;
use ranks_collectives::fuzzing::{answers, topology};
use ranks_collectives::topology::Topology;
use ranks_comm::ErrorKind;
use ranks_comm::backend::{from_bytes, to_bytes};
use ranks_fuzz::messages;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

type Deep = Vec<(
    Option<String>,
    char,
    BTreeMap<u8, f64>,
    Result<bool, [i16; 3]>,
)>;

/// Types that contain themselves, and elements that take no bytes.
#[derive(Serialize, Deserialize)]
enum List {
    Nil,
    Cons(Box<List>),
    Large(Box<Large>),
    Tree(Vec<List>),
    Map {
        lists: HashMap<(), List>,
        next: Option<Box<Wrapped>>,
    },
}

#[derive(Serialize, Deserialize)]
struct Wrapped(Box<List>);

#[derive(Serialize, Deserialize)]
struct Large([[f64; 32]; 8], Option<Box<List>>);

type Empty = Vec<(BTreeMap<(), [(); 32]>, Vec<Vec<()>>)>;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    match kind % 8 {
        0 => value::<Deep>(bytes),
        1 => value::<BTreeMap<u64, Vec<String>>>(bytes),
        2 => value::<(u8, i128, String, Option<Box<[f32]>>)>(bytes),
        3 => value::<Vec<Vec<Vec<u64>>>>(bytes),
        4 => {
            if let Some(topology) = value_of::<Topology>(bytes) {
                let _ = topology.to_string();
            }
        }
        6 => value::<List>(bytes),
        7 => value::<Empty>(bytes),
        _ => {
            let messages = messages(bytes);
            let all = answers(&messages);
            let rank = messages.len() / 2;
            let topology = topology(rank, &messages);
            assert_eq!(topology.ranks.len(), messages.len());
            let known = topology.ranks.iter().filter(|place| place.host.is_some());
            assert!(known.count() <= all);
            assert_eq!(topology.leaders().count(), topology.hosts.len());
            assert!(topology.recommended_threads() >= 1);
            assert!(!topology.to_string().is_empty());
            let bytes = to_bytes("x", &topology).expect("a topology can be written");
            assert_eq!(value_of::<Topology>(&bytes), Some(topology));
        }
    }
});

fn value<V: Serialize + DeserializeOwned>(bytes: &[u8]) {
    let _ = value_of::<V>(bytes);
}

fn value_of<V: Serialize + DeserializeOwned>(bytes: &[u8]) -> Option<V> {
    let value: V = match from_bytes("MPI_Mrecv", bytes, || "rank 3") {
        Ok(value) => value,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Value);
            assert!(error.to_string().contains("rank 3"));
            return None;
        }
    };
    let written = to_bytes("MPI_Send", &value).expect("what was read can be written");
    let again: V = from_bytes("MPI_Mrecv", &written, || "rank 3").expect("and read again");
    // Numbers that are none are equal to nothing, and their bytes are.
    assert_eq!(to_bytes("MPI_Send", &again).ok(), Some(written));
    Some(value)
}
