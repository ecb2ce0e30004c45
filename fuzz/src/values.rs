//! Values read from the input of the target `values`.

use std::collections::{BTreeMap, HashMap};

use ranks_collectives::fuzzing::{answers, topology};
use ranks_collectives::topology::Topology;
use ranks_comm::ErrorKind;
use ranks_comm::backend::{from_bytes, to_bytes};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::messages;

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

/// Reads the value that bytes are, of the type that the first of them tells, and writes it again;
/// `false` if it is none.
pub fn check(bytes: &[u8]) -> bool {
    let Some((kind, bytes)) = bytes.split_first() else {
        return false;
    };
    match kind % 8 {
        0 => value::<Deep>(bytes),
        1 => value::<BTreeMap<u64, Vec<String>>>(bytes),
        2 => value::<(u8, i128, String, Option<Box<[f32]>>)>(bytes),
        3 => value::<Vec<Vec<Vec<u64>>>>(bytes),
        4 => {
            let topology = value_of::<Topology>(bytes);
            topology.is_some_and(|topology| !topology.to_string().is_empty())
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
            all == messages.len()
        }
    }
}

fn value<V: Serialize + DeserializeOwned>(bytes: &[u8]) -> bool {
    value_of::<V>(bytes).is_some()
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

#[cfg(test)]
mod tests {
    /// Those that are refused at the first byte lead to nothing that is behind it.
    #[test]
    fn each_seed_is_a_value() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/seeds/values");
        for seed in std::fs::read_dir(folder).unwrap() {
            let seed = seed.unwrap().path();
            let bytes = std::fs::read(&seed).unwrap();
            assert!(super::check(&bytes), "{}", seed.display());
        }
    }
}
