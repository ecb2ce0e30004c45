//! Broadcast of a value that serde can serialise: what it takes in bytes, then the bytes.
//!
//! Every rank takes part in every step whatever goes wrong on it, so that an error on one rank
//! leaves none waiting.

use ranks_comm::backend::{from_bytes, to_bytes};
use ranks_comm::{Buffer, Communicator, Error, ErrorKind, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Collectives;
use crate::agreement::{CallSignature, all_ready};

const NAME: &str = "MPI_Bcast";

/// The number of bytes that are broadcast at once: what a rank without memory for all of it needs
/// to take part.
const PIECE: usize = 4 << 20;

/// The meaning of the `length` bytes that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// The value.
    Value,
    /// A text: the root has no value, and why.
    Failure,
}

pub(crate) fn bcast_value<V: Serialize + DeserializeOwned>(
    comm: &Communicator,
    value: Option<V>,
    root: usize,
) -> Result<V> {
    all_ready(comm, CallSignature::of(NAME).at(root), Ok(()))?;
    if comm.rank() == root {
        at_root(comm, value, root)
    } else {
        elsewhere(comm, root)
    }
}

fn at_root<V: Serialize>(comm: &Communicator, value: Option<V>, root: usize) -> Result<V> {
    let serialised = match value {
        Some(value) => to_bytes(NAME, &value).map(|bytes| (value, bytes)),
        None => Err(Error::new(
            ErrorKind::Argument,
            NAME,
            format_args!("rank {root} is the root and passed None; it must pass Some(value)"),
        )),
    };
    match serialised {
        Ok((value, mut bytes)) => {
            announce(comm, Follows::Value, bytes.len(), root)?;
            in_pieces(comm, &mut bytes, root)?;
            Ok(value)
        }
        Err(error) => {
            let mut text = error.to_string().into_bytes();
            announce(comm, Follows::Failure, text.len(), root)?;
            in_pieces(comm, &mut text, root)?;
            Err(error)
        }
    }
}

fn elsewhere<V: DeserializeOwned>(comm: &Communicator, root: usize) -> Result<V> {
    let mut header = [0u64; 2];
    comm.bcast(&mut header, root)?;
    let [failed, length] = header;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let mut bytes = match Buffer::<u8>::try_zeroed(length) {
        Ok(bytes) => bytes,
        Err(error) => {
            without_memory(comm, length, root)?;
            return Err(error);
        }
    };
    in_pieces(comm, &mut bytes, root)?;
    if failed == 0 {
        from_bytes(NAME, &bytes, || format!("the root, rank {root}"))
    } else {
        let why = String::from_utf8_lossy(&bytes);
        Err(Error::new(
            ErrorKind::Value,
            NAME,
            format_args!("the root, rank {root}, has no value to broadcast ({why})"),
        ))
    }
}

/// Tells every rank what comes.
fn announce(comm: &Communicator, follows: Follows, length: usize, root: usize) -> Result<()> {
    let mut header = [u64::from(follows == Follows::Failure), length as u64];
    comm.bcast(&mut header, root)
}

fn in_pieces(comm: &Communicator, bytes: &mut [u8], root: usize) -> Result<()> {
    bytes
        .chunks_mut(PIECE)
        .try_for_each(|piece| comm.bcast(piece, root))
}

/// Takes part in the broadcast of `length` bytes, and keeps none of them.
fn without_memory(comm: &Communicator, length: usize, root: usize) -> Result<()> {
    let mut scratch = Buffer::<u8>::try_zeroed(PIECE.min(length))?;
    let mut left = length;
    while left > 0 {
        let piece = left.min(PIECE);
        comm.bcast(&mut scratch[..piece], root)?;
        left -= piece;
    }
    Ok(())
}
