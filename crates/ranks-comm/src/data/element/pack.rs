//! Values that are no plain data, as plain data: their parts one after the other, without padding.
#![allow(unsafe_code)]

use std::any::type_name;
use std::error::Error as StdError;
use std::fmt;

use bytemuck::{Pod, Zeroable};

use crate::result::{Error, ErrorKind};

/// Values of which the parts are sent, packed, and checked where they arrive.
///
/// `bool`, `char`, numbers, arrays, tuples of up to eight, and what derives it (`ranks::Pack`):
/// structs with or without padding, and enums without fields. [`Packed`](Self::Packed) is plain
/// data, which every operation takes.
///
/// ```
/// use ranks::prelude::*;
/// use ranks::Pack;
///
/// #[derive(Debug, Clone, PartialEq, Pack)]
/// struct Cell {
///     is_alive: bool,
///     value: f64,
/// }
///
/// fn main() -> ranks::Result<()> {
///     ranks::run(|world| {
///         let mine = [Cell { is_alive: true, value: world.rank() as f64 }];
///         let packed = world.allgatherv(&Cell::pack_all(&mine))?;
///         for (rank, block) in packed.iter_blocks().enumerate() {
///             let theirs = Cell::unpack_all(block, rank)?;
///             assert_eq!(theirs[0].value, rank as f64);
///         }
///         Ok(())
///     })
/// }
/// ```
///
/// Messages between two ranks have
/// [`send_packed`](crate::Communicator::send_packed) and
/// [`recv_packed`](crate::Communicator::recv_packed), collectives `bcast_packed` and its kin.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be packed",
    label = "neither a number, `bool` or `char`, nor an array, a tuple, or a type that derives `Pack`",
    note = "`#[derive(ranks::Pack)]` is for structs and for enums without fields"
)]
pub trait Pack: Sized {
    /// The plain data that is sent for it.
    type Packed: Pod;

    /// The parts of the value. Padding between them is neither read nor sent.
    fn pack(&self) -> Self::Packed;

    /// The value of these parts.
    ///
    /// # Errors
    /// [`Invalid`] if one of them is no value of its type.
    fn unpack(packed: Self::Packed) -> Result<Self, Invalid>;

    /// The parts of each value.
    #[must_use]
    fn pack_all(values: &[Self]) -> Vec<Self::Packed> {
        values.iter().map(Self::pack).collect()
    }

    /// The values of what has arrived from the rank `source`.
    ///
    /// # Errors
    /// [`ErrorKind::Value`], which names the rank, the element, the field and what has arrived for
    /// it.
    fn unpack_all(packed: &[Self::Packed], source: usize) -> crate::Result<Vec<Self>> {
        arrived("MPI_Unpack", packed, source)
    }
}

/// As [`Pack::unpack_all`], of what `operation` has received.
///
/// # Errors
/// As [`Pack::unpack_all`].
pub fn arrived<T: Pack>(
    operation: &'static str,
    packed: &[T::Packed],
    source: usize,
) -> crate::Result<Vec<T>> {
    let refuse = |at: usize, invalid: Invalid| {
        let text = format_args!(
            "element {at} from rank {source} is no {}: {invalid}; receive the type that was sent",
            type_name::<T>()
        );
        Error::new(ErrorKind::Value, operation, text).with_source(invalid)
    };
    let values = packed.iter().enumerate();
    values
        .map(|(at, &packed)| T::unpack(packed).map_err(|invalid| refuse(at, invalid)))
        .collect()
}

/// A part that has arrived and is no value of its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// Its place, such as `.walls[2].is_open`; empty for the value itself.
    path: String,
    arrived: String,
    wanted: &'static str,
}

impl Invalid {
    /// `arrived` is no value of the type `T`.
    #[must_use]
    pub fn of<T>(arrived: impl fmt::Display) -> Self {
        Self {
            path: String::new(),
            arrived: arrived.to_string(),
            wanted: type_name::<T>(),
        }
    }

    /// The same, of a part: `.name` of a struct, `.0` of a tuple, `[0]` of an array.
    #[must_use]
    pub fn within(mut self, part: impl fmt::Display) -> Self {
        self.path = format!("{part}{}", self.path);
        self
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            arrived,
            wanted,
        } = self;
        match path.trim_start_matches('.') {
            "" => write!(f, "{arrived} is no {wanted}"),
            path => write!(f, "its `{path}` is {arrived}, which is no {wanted}"),
        }
    }
}

impl StdError for Invalid {}

/// Two packed values, one behind the other.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[repr(C, packed)]
pub struct Pair<A, B>(pub A, pub B);

// SAFETY: zeroed bytes are a value of both, by the bounds, and there is nothing else in it.
unsafe impl<A: Zeroable, B: Zeroable> Zeroable for Pair<A, B> {}

// SAFETY: both are plain data, by the bounds, and `repr(C, packed)` leaves no padding.
unsafe impl<A: Pod, B: Pod> Pod for Pair<A, B> {}

macro_rules! as_they_are {
    ($($number:ty,)*) => {$(
        impl Pack for $number {
            type Packed = Self;

            fn pack(&self) -> Self {
                *self
            }

            fn unpack(packed: Self) -> Result<Self, Invalid> {
                Ok(packed)
            }
        }
    )*};
}

as_they_are! { u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64, (), }

impl Pack for bool {
    type Packed = u8;

    fn pack(&self) -> u8 {
        u8::from(*self)
    }

    fn unpack(packed: u8) -> Result<Self, Invalid> {
        match packed {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Invalid::of::<Self>(other)),
        }
    }
}

impl Pack for char {
    type Packed = u32;

    fn pack(&self) -> u32 {
        u32::from(*self)
    }

    fn unpack(packed: u32) -> Result<Self, Invalid> {
        char::from_u32(packed).ok_or_else(|| Invalid::of::<Self>(format_args!("{packed:#x}")))
    }
}

impl<T: Pack, const N: usize> Pack for [T; N] {
    type Packed = [T::Packed; N];

    fn pack(&self) -> Self::Packed {
        self.each_ref().map(T::pack)
    }

    fn unpack(packed: Self::Packed) -> Result<Self, Invalid> {
        let (mut at, mut first_invalid) = (0, None);
        let values = packed.map(|part| {
            let value = T::unpack(part).map_err(|invalid| {
                first_invalid.get_or_insert_with(|| invalid.within(format_args!("[{at}]")));
            });
            at += 1;
            value.ok()
        });
        match first_invalid {
            Some(invalid) => Err(invalid),
            None => Ok(values.map(|value| value.expect("none of them was invalid"))),
        }
    }
}

/// The tuple of these names, each of which is a type, a variable and, behind it, a number.
macro_rules! tuples {
    (packed $last:ident) => { $last::Packed };
    (packed $first:ident $($more:ident)+) => { Pair<$first::Packed, tuples!(packed $($more)+)> };
    (pack $last:ident) => { $last.pack() };
    (pack $first:ident $($more:ident)+) => { Pair($first.pack(), tuples!(pack $($more)+)) };
    (parts $last:ident) => { $last };
    (parts $first:ident $($more:ident)+) => { Pair($first, tuples!(parts $($more)+)) };
    ($(($($name:ident $part:literal)+))*) => {$(
        #[allow(non_snake_case, reason = "a variable has the name of its type")]
        impl<$($name: Pack),+> Pack for ($($name,)+) {
            type Packed = tuples!(packed $($name)+);

            fn pack(&self) -> Self::Packed {
                let ($($name,)+) = self;
                tuples!(pack $($name)+)
            }

            fn unpack(packed: Self::Packed) -> Result<Self, Invalid> {
                let tuples!(parts $($name)+) = packed;
                Ok(($($name::unpack($name).map_err(|invalid| invalid.within($part))?,)+))
            }
        }
    )*};
}

tuples! {
    (A ".0")
    (A ".0" B ".1")
    (A ".0" B ".1" C ".2")
    (A ".0" B ".1" C ".2" D ".3")
    (A ".0" B ".1" C ".2" D ".3" E ".4")
    (A ".0" B ".1" C ".2" D ".3" E ".4" F ".5")
    (A ".0" B ".1" C ".2" D ".3" E ".4" F ".5" G ".6")
    (A ".0" B ".1" C ".2" D ".3" E ".4" F ".5" G ".6" H ".7")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

    use super::*;
    use crate::result::parts_of;

    type Value = ([(bool, u64); 3], char, (), i16);

    #[test]
    fn what_was_packed_is_what_is_unpacked_and_takes_no_more_bytes() {
        let value: Value = ([(true, 1), (false, u64::MAX), (true, 3)], 'ä', (), -2);
        let packed = value.pack();
        assert_eq!(size_of_val(&packed), 3 * (1 + 8) + 4 + 2);
        assert_eq!(Value::unpack(packed), Ok(value));
    }

    #[test]
    fn names_of_what_is_packed_were_of_an_inner_type() {
        assert_eq!(parts_of("heat::Of<[u8; 2]>"), "heat::Of<[u8; 2]>");
        let name = type_name::<<Value as Pack>::Packed>();
        assert_eq!(parts_of(name), "([(u8, u64); 3], u32, (), i16)");
        let name = type_name::<[<((bool, char), f64) as Pack>::Packed; 2]>();
        assert_eq!(parts_of(name), "[(u8, u32, f64); 2]");
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error_that_names_the_part() {
        let mut bytes = [0u8; 33];
        bytes[9] = 2;
        let arrived = |bytes: &[u8; 33]| {
            let packed: <Value as Pack>::Packed = bytemuck::pod_read_unaligned(bytes);
            Value::unpack_all(&[packed], 5).map_err(|error| (error.kind(), error.to_string()))
        };
        let (kind, text) = arrived(&bytes).unwrap_err();
        assert_eq!(kind, ErrorKind::Value);
        assert!(
            text.starts_with("MPI_Unpack: element 0 from rank 5 is no (["),
            "{text}"
        );
        assert!(
            text.contains("its `0[1].0` is 2, which is no bool; receive"),
            "{text}"
        );
        bytes[9] = 1;
        bytes[27..31].copy_from_slice(&0xd800u32.to_ne_bytes());
        let (_, text) = arrived(&bytes).unwrap_err();
        assert!(
            text.contains("its `1` is 0xd800, which is no char"),
            "{text}"
        );
        bytes[27..31].copy_from_slice(&0x10_ffffu32.to_ne_bytes());
        assert_eq!(arrived(&bytes).unwrap()[0].1, '\u{10ffff}');
        let (_, text) = bool::unpack_all(&[1, 255], 0)
            .map_err(|error| (error.kind(), error.to_string()))
            .unwrap_err();
        assert!(
            text.contains("element 1 from rank 0 is no bool: 255 is no bool;"),
            "{text}"
        );
    }
}
