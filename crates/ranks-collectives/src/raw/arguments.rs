//! What is looked at before an operation begins.

use std::ffi::c_void;

use ranks_comm::{Communicator, Error, ErrorKind, Result};

use super::Dtype;
use super::failure::Failing;
use super::options::RawOptions;
use super::place::{Kind, Side};

/// How many bytes so many elements of so many ranks are.
pub(super) fn bytes_of(
    name: &'static str,
    count: usize,
    dtype: Dtype,
    ranks: usize,
) -> Result<usize> {
    count
        .checked_mul(dtype.size())
        .and_then(|bytes| bytes.checked_mul(ranks))
        .filter(|bytes| isize::try_from(*bytes).is_ok())
        .ok_or_else(|| {
            Error::new(
                ErrorKind::Length,
                name,
                format_args!("{count} elements of {dtype:?}, for {ranks} ranks, are more than memory can hold"),
            )
        })
}

/// Memory at an address.
pub(super) fn side(
    name: &'static str,
    address: *const c_void,
    bytes: usize,
    _options: &RawOptions,
) -> Result<Side> {
    if bytes == 0 {
        return Ok(Side::NONE);
    }
    if address.is_null() {
        let text = format!("null for {bytes} bytes");
        return Err(Error::new(ErrorKind::Argument, name, text));
    }
    Ok(Side::new(address, bytes, Kind::Ordinary))
}

/// Whether memory of a GPU may be passed.
pub(super) fn takes_device(_options: &RawOptions) -> bool {
    false
}

/// A tag as MPI has it. The largest is used by the communicator itself.
pub(super) fn tag(name: &'static str, comm: &Communicator, tag: u32) -> Result<i32> {
    i32::try_from(tag)
        .ok()
        .filter(|number| *number < Failing::tag(comm))
        .ok_or_else(|| {
            let (library, last) = (comm.library(), Failing::tag(comm) - 1);
            let text = format!("tag {tag} is not usable; with {library} tags run from 0 to {last}");
            Error::new(ErrorKind::Tag, name, text)
        })
}

/// A color and a key as MPI has them.
pub(super) fn color(
    name: &'static str,
    color: Option<u32>,
    key: u32,
) -> Result<(Option<i32>, i32)> {
    let number = |what: &str, number: u32| {
        i32::try_from(number).map_err(|_| {
            let text = format!(
                "{what} {number} is not usable; it may be up to {}",
                i32::MAX
            );
            Error::new(ErrorKind::Argument, name, text)
        })
    };
    let key = number("key", key)?;
    Ok((color.map(|color| number("color", color)).transpose()?, key))
}
