use std::collections::BTreeMap;

use ranks_collectives::Collectives;
use ranks_comm::{Communicator, ErrorKind};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::long;

/// A value, at the root only.
fn of_root<V>(world: &Communicator, root: usize, value: V) -> Option<V> {
    (world.rank() == root).then_some(value)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_value_arrives_from_every_root(world: Communicator) {
    for root in 0..world.size() {
        let value = BTreeMap::from([
            (format!("of rank {root}"), vec![Some(root as f64), None]),
            (String::new(), vec![]),
        ]);
        let got = world.bcast_value(of_root(&world, root, value.clone()), root);
        assert_eq!(got.unwrap(), value);
        // Nothing at all; all ranks may pass something.
        world.bcast_value(Some(()), root).unwrap();
    }
    // What goes in several pieces.
    let root = world.size() - 1;
    let text = |rank: usize| rank.to_string().repeat(long(9 << 20));
    let got = world.bcast_value(Some(text(world.rank())), root).unwrap();
    assert_eq!(got, text(root));
}

/// Refuses to be serialised, or to be made of bytes.
#[derive(Debug)]
struct Refuses {
    to_go: bool,
}

impl Serialize for Refuses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.to_go {
            return Err(serde::ser::Error::custom("not today"));
        }
        serializer.serialize_u8(7)
    }
}

impl<'de> Deserialize<'de> for Refuses {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("not here"))
    }
}

/// What every rank is told when the root has no value; afterwards all still agree on what comes
/// next.
fn fails_everywhere<V: Serialize + DeserializeOwned>(
    world: &Communicator,
    value: Option<V>,
    at_root: ErrorKind,
    text: &str,
) {
    let root = world.size() - 1;
    let error = world.bcast_value(value, root).err().unwrap();
    let expected = if world.rank() == root {
        at_root
    } else {
        ErrorKind::Value
    };
    assert_eq!(error.kind(), expected, "{error}");
    assert!(error.to_string().contains(text), "{error}");
    let next = world.bcast_value(of_root(world, root, 5), root);
    assert_eq!(next.unwrap(), 5);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_root_without_a_value_is_an_error_on_every_rank(world: Communicator) {
    fails_everywhere(&world, None::<u8>, ErrorKind::Argument, "passed None");
    let refuses = Some(Refuses { to_go: true });
    fails_everywhere(&world, refuses, ErrorKind::Value, "Refuses");
}

#[ranks_test::ranks(1, 2, 3)]
fn bytes_that_are_no_value_are_an_error_where_they_arrive(world: Communicator) {
    let got = world.bcast_value(of_root(&world, 0, Refuses { to_go: false }), 0);
    match world.rank() {
        0 => assert!(!got.unwrap().to_go),
        _ => assert_eq!(got.err().unwrap().kind(), ErrorKind::Value),
    }
    world.barrier().unwrap();
}

#[ranks_test::ranks(1, 2)]
fn a_value_of_a_root_that_does_not_exist_is_refused(world: Communicator) {
    let error = world.bcast_value(Some(1u8), world.size()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Root);
}
