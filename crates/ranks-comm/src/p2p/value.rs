//! Values of any type that serde can serialise, as messages of bytes (feature `serde`).
//!
//! The bytes are in postcard's format: compact, the same on every machine, and without names or
//! types. So both sides must use the same type; otherwise the bytes may decode as a value of the
//! other type. A type whose form depends on names or on itself is an error, of the sender or of the
//! receiver: serde's `untagged`, `tag`, `flatten`, and a field that `skip_serializing_if` leaves
//! out.

mod bounded;
mod sender;

use std::any::type_name;
use std::fmt::Display;

use ranks_launch::Count;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::communicator::Communicator;
use crate::data::buffer::Buffer;
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::p2p::message::Message;
use crate::result::{Error, ErrorKind, Result, Status};

impl Communicator {
    /// Sends `value` as a message of bytes, as [`send`](Self::send) does.
    ///
    /// ```
    /// # fn example(world: &ranks::Communicator) -> ranks::Result<()> {
    /// let settings = ("heat", vec![(0.5, true)]);
    /// world.send_value(&settings, 1, 7)?;
    /// let (received, _) = world.recv_value::<(String, Vec<(f64, bool)>)>(0, 7)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Value`] if the value's type refuses to be serialised, if a field is skipped, or
    /// if it is nested deeper, or has more elements without bytes, than
    /// [`recv_value`](Self::recv_value) reads: nothing is sent then. Otherwise as
    /// [`send`](Self::send).
    ///
    /// MPI 5.0 §3.2.1 (`MPI_Send`).
    pub fn send_value<V: Serialize + ?Sized>(
        &self,
        value: &V,
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        self.send(&to_bytes("MPI_Send", value)?, dest, tag)
    }

    /// Receives a message of any length, and decodes a value from its bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Value`] if the bytes are not a value of this type: the message is lost then.
    /// From [`Source::Null`] come no bytes, which are a value of few types. Otherwise as
    /// [`recv_vec`](Self::recv_vec).
    ///
    /// No bytes overflow the stack or loop for ever: a value is nested 128 deep at most, such as a
    /// list whose elements are in boxes of each other, nested values take 128 KiB at most, and
    /// there are 65 536 elements at most that take no bytes, such as `()`. Malformed bytes take no
    /// more memory than the type's own `Deserialize` reserves; that of the standard library's
    /// collections reserves a megabyte at most before elements arrive.
    ///
    /// MPI 5.0 §3.8.2 (`MPI_Mprobe` and `MPI_Mrecv`).
    pub fn recv_value<V: DeserializeOwned>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(V, Status)> {
        received(self.recv_buffer(source, tag)?)
    }
}

impl Message {
    /// Receives the message and decodes a value from its bytes.
    ///
    /// # Errors
    /// As [`Communicator::recv_value`].
    ///
    /// MPI 5.0 §3.8.3 (`MPI_Mrecv`).
    pub fn recv_value<V: DeserializeOwned>(self) -> Result<(V, Status)> {
        received(self.recv_buffer()?)
    }
}

fn received<V: DeserializeOwned>((bytes, status): (Buffer<u8>, Status)) -> Result<(V, Status)> {
    let value = from_bytes("MPI_Mrecv", &bytes, || {
        match (status.source(), status.tag()) {
            (Some(rank), Some(tag)) => format!("rank {rank} with tag {tag}"),
            _ => "MPI_PROC_NULL, which sends no value,".to_owned(),
        }
    })?;
    Ok((value, status))
}

/// Encodes `value`, for `operation`.
///
/// # Errors
/// [`ErrorKind::Value`] if its type refuses.
#[doc(hidden)]
pub fn to_bytes<V: Serialize + ?Sized>(operation: &'static str, value: &V) -> Result<Vec<u8>> {
    sender::write(value).map_err(|reason| {
        let detail = format_args!("the {} cannot be serialised: {reason}", type_name::<V>());
        Error::new(ErrorKind::Value, operation, detail).with_source(reason)
    })
}

/// Decodes a value from all of `bytes`; `origin` names their sender.
///
/// # Errors
/// [`ErrorKind::Value`] if they are not one.
#[doc(hidden)]
pub fn from_bytes<V: DeserializeOwned, O: Display>(
    operation: &'static str,
    bytes: &[u8],
    origin: impl FnOnce() -> O,
) -> Result<V> {
    let (length, element) = (Count(bytes.len(), "byte"), type_name::<V>());
    match bounded::read(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => {
            let (left, origin) = (rest.len(), origin());
            let why = format_args!(
                "left over after a {element}: {left} of the {length} from {origin}; receive the type that was sent"
            );
            Err(Error::new(ErrorKind::Value, operation, why))
        }
        Err(reason) => {
            let origin = origin();
            let why = format_args!(
                "a message of {length} from {origin} is no {element}: {reason}; receive the type that was sent, one that serde neither \
                 tags inside, nor leaves untagged, nor flattens"
            );
            Err(Error::new(ErrorKind::Value, operation, why).with_source(reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use serde::Deserialize;

    use super::*;

    fn back<V: DeserializeOwned>(bytes: &[u8]) -> Result<V> {
        from_bytes("MPI_Mrecv", bytes, || "rank 3")
    }

    #[test]
    fn what_is_made_of_the_bytes_is_what_they_were_made_of() {
        let value = BTreeMap::from([("a".to_owned(), Some(-1.5)), (String::new(), None)]);
        let bytes = to_bytes("MPI_Send", &value).unwrap();
        assert_eq!(
            back::<BTreeMap<String, Option<f64>>>(&bytes).unwrap(),
            value
        );
        let bytes = to_bytes("MPI_Send", "unsized").unwrap();
        assert_eq!(back::<String>(&bytes).unwrap(), "unsized");
    }

    #[test]
    fn a_field_that_was_skipped_made_another_value_of_the_rest() {
        #[derive(serde::Serialize)]
        struct Sparse {
            #[serde(skip_serializing_if = "Option::is_none")]
            first: Option<u8>,
            second: Option<u8>,
        }
        let of = |first| Sparse {
            first,
            second: Some(2),
        };
        assert_eq!(
            back::<(Option<u8>, Option<u8>)>(&to_bytes("MPI_Send", &of(Some(1))).unwrap()).unwrap(),
            (Some(1), Some(2))
        );
        let error = to_bytes("MPI_Send", &of(None)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Value);
        assert!(
            error.to_string().contains("its field `first` is skipped"),
            "{error}"
        );
    }

    #[test]
    fn bytes_that_are_left_over_are_an_error() {
        let error = back::<u8>(&[1, 2, 3]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Value);
        assert_eq!(
            error.to_string(),
            "MPI_Mrecv: left over after a u8: 2 of the 3 bytes from rank 3; receive the type that was sent"
        );
    }

    #[test]
    fn lengths_that_lie_are_errors_and_take_no_memory() {
        // A length of 2⁶⁴ − 1, and nothing behind it.
        let mut lie = [0xff; 10];
        lie[9] = 1;
        assert_eq!(back::<Vec<u64>>(&lie).unwrap_err().kind(), ErrorKind::Value);
        assert_eq!(back::<String>(&lie).unwrap_err().kind(), ErrorKind::Value);
        let map = back::<BTreeMap<u64, Vec<String>>>(&lie);
        assert_eq!(map.unwrap_err().kind(), ErrorKind::Value);
        // Longer than any number.
        assert!(back::<u64>(&[0xff; 11]).is_err());
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum List {
        Nil,
        Cons(Box<List>),
    }

    #[derive(Debug, Deserialize)]
    struct Large(
        #[expect(dead_code, reason = "it only has to be large")] [[f64; 32]; 8],
        #[expect(dead_code, reason = "it only has to be deep")] Option<Box<Large>>,
    );

    #[derive(Debug, Deserialize)]
    struct Endless(#[expect(dead_code, reason = "nobody can make one")] Box<Endless>);

    #[test]
    fn a_message_cannot_overflow_the_stack() {
        let deep = |depth: usize| [vec![1; depth], vec![0]].concat();
        let long = (0..100).fold(List::Nil, |list, _| List::Cons(Box::new(list)));
        assert_eq!(to_bytes("MPI_Send", &long).unwrap(), deep(100));
        assert_eq!(back::<List>(&deep(100)).unwrap(), long);
        for depth in [1_000_000, 128] {
            let error = back::<List>(&deep(depth)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Value);
            assert!(
                error.to_string().contains("more than 128 values"),
                "{error}"
            );
        }
        // No bytes at all.
        assert!(back::<Endless>(&[]).is_err());
        let large = [vec![0; 8 * 32 * 8], vec![1]].concat();
        let error = back::<Large>(&large.repeat(100)).unwrap_err();
        assert!(error.to_string().contains("of the stack"), "{error}");
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Nested {
        Unit,
        Newtype(Box<Nested>),
        Tuple(u8, Box<Nested>),
        Struct { within: Option<Box<Nested>> },
        Some(Option<Wrapped>),
        Map(BTreeMap<u8, Nested>),
        Many(Vec<Nested>, [Box<Nested>; 1], Text),
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Wrapped(Box<Nested>);

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Text(String, Option<()>, (i8, f64));

    fn wrap(form: usize, inner: Nested) -> Nested {
        let text = || Text("x".to_owned(), Some(()), (-1, 0.5));
        match form {
            0 => Nested::Newtype(Box::new(inner)),
            1 => Nested::Tuple(7, Box::new(inner)),
            2 => Nested::Struct {
                within: Some(Box::new(inner)),
            },
            3 => Nested::Some(Some(Wrapped(Box::new(inner)))),
            4 => Nested::Map(BTreeMap::from([(1, inner)])),
            5 => Nested::Many(vec![inner], [Box::new(Nested::Unit)], text()),
            _ => Nested::Many(Vec::new(), [Box::new(inner)], text()),
        }
    }

    #[test]
    fn a_value_too_deep_for_its_receiver_was_sent() {
        for form in 0..7 {
            let (mut sent, mut refused) = (0, 0);
            for depth in 0..130 {
                let value = (0..depth).fold(Nested::Unit, |inner, _| wrap(form, inner));
                let plain = postcard::to_stdvec(&value).unwrap();
                match to_bytes("MPI_Send", &value) {
                    Ok(bytes) => {
                        sent += 1;
                        assert_eq!(bytes, plain);
                        assert_eq!(back::<Nested>(&bytes).unwrap(), value);
                    }
                    Err(error) => {
                        refused += 1;
                        assert_eq!(error.kind(), ErrorKind::Value);
                        let text = error.to_string();
                        assert!(text.contains("more than 128 values"), "{text}");
                        let error = back::<Nested>(&plain).unwrap_err().to_string();
                        assert!(error.contains("more than 128 values"), "{error}");
                    }
                }
            }
            assert!(sent > 20 && refused > 0, "form {form}: {sent}, {refused}");
        }
    }

    #[test]
    fn elements_too_many_for_their_receiver_were_sent() {
        let error = to_bytes("MPI_Send", &vec![(); 70_000]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Value);
        assert!(error.to_string().contains("more elements than"), "{error}");
        let error = to_bytes("MPI_Send", &vec![vec![(); 60_000]; 3]).unwrap_err();
        assert!(error.to_string().contains("more elements than"), "{error}");
    }

    #[test]
    fn elements_more_than_memory_has_bytes_were_counted_one_by_one() {
        let (done, is_done) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(to_bytes("MPI_Send", [(); usize::MAX].as_slice())));
        let refused = is_done.recv_timeout(Duration::from_secs(60)).unwrap();
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Value);
        assert!(error.to_string().contains("more elements than"), "{error}");
    }

    #[test]
    fn elements_that_take_no_bytes_cannot_spin() {
        let empty = vec![(); 60_000];
        let bytes = to_bytes("MPI_Send", &empty).unwrap();
        assert_eq!(back::<Vec<()>>(&bytes).unwrap(), empty);
        let many = to_bytes("MPI_Send", &(1u64 << 60)).unwrap();
        for error in [
            back::<Vec<()>>(&many).unwrap_err(),
            back::<std::collections::HashMap<(), [(); 3]>>(&many).unwrap_err(),
            // Each of them few enough.
            back::<Vec<Vec<()>>>(&[vec![3], bytes.repeat(3)].concat()).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Value);
            assert!(error.to_string().contains("more elements than"), "{error}");
        }
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error() {
        type Deep = Vec<(
            Option<String>,
            char,
            BTreeMap<u8, f64>,
            Result<bool, [i16; 3]>,
        )>;
        let good: Deep = vec![
            (
                Some("x".into()),
                'ä',
                BTreeMap::from([(1, 2.0)]),
                Err([1, 2, 3])
            );
            3
        ];
        let bytes = to_bytes("MPI_Send", &good).unwrap();
        for cut in 0..bytes.len() {
            assert!(back::<Deep>(&bytes[..cut]).is_err());
        }
        for at in 0..bytes.len() {
            for flip in 1..=255 {
                let mut wrong = bytes.clone();
                wrong[at] ^= flip;
                if let Err(error) = back::<Deep>(&wrong) {
                    assert_eq!(error.kind(), ErrorKind::Value);
                }
            }
        }
    }
}
