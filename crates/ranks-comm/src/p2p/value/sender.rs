//! A writer of postcard's format, with the bounds of the reader: a value that no receiver would
//! read is refused by the sender.
//!
//! Numbers, text and bytes are left to postcard, and so are the numbers of elements. Values that
//! hold others are written here, since only the writer can count them. Each counts as one where the
//! reader counts it (`bounded.rs`).

use std::fmt::Display;

use postcard::ser_flavors::StdVec;
use serde::ser::{
    self, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::bounded::{DEPTH, EMPTY_ELEMENTS};

/// The reason why a value cannot be sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unsendable {
    #[error(transparent)]
    Format(#[from] postcard::Error),
    /// The type's own words.
    #[error("{0}")]
    Refused(String),
    #[error(
        "more than {DEPTH} values are nested in each other, which no receiver reads; send what is deeper in a flat form, such as a Vec"
    )]
    Deep,
    #[error(
        "collections have more elements than the message has bytes, and {EMPTY_ELEMENTS} more, which no receiver reads; send a number in \
         their place"
    )]
    Many,
    #[error(
        "its field `{0}` is skipped, and values travel without the names of their fields: a receiver would take the next one for it; send \
         every field"
    )]
    Skipped(&'static str),
}

impl ser::Error for Unsendable {
    fn custom<T: Display>(text: T) -> Self {
        Self::Refused(text.to_string())
    }
}

type Postcard = postcard::Serializer<StdVec>;

/// Encodes `value`.
pub(super) fn write<V: Serialize + ?Sized>(value: &V) -> Result<Vec<u8>, Unsendable> {
    let mut state = State {
        inner: Postcard {
            output: StdVec::new(),
        },
        elements: 0,
    };
    value.serialize(Bounded {
        state: &mut state,
        depth: DEPTH,
    })?;
    let bytes = postcard::ser_flavors::Flavor::finalize(state.inner.output)?;
    if state.elements > bytes.len().saturating_add(EMPTY_ELEMENTS) {
        return Err(Unsendable::Many);
    }
    Ok(bytes)
}

struct State {
    inner: Postcard,
    /// The number of elements of all collections together.
    elements: usize,
}

/// A serializer, and the depth that is left.
struct Bounded<'a> {
    state: &'a mut State,
    depth: usize,
}

impl<'a> Bounded<'a> {
    /// The serializer for values within this one.
    fn within(self) -> Result<Self, Unsendable> {
        let depth = self.depth.checked_sub(1).ok_or(Unsendable::Deep)?;
        Ok(Self { depth, ..self })
    }

    /// The serializer for a variant of an enum, which counts itself.
    fn variant(self, number: u32) -> Result<Self, Unsendable> {
        let bounded = self.within()?;
        bounded.state.inner.serialize_u32(number)?;
        Ok(bounded)
    }

    fn one<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Unsendable> {
        value.serialize(Bounded {
            state: self.state,
            depth: self.depth,
        })
    }
}

/// Methods for values that hold no others, which are postcard's.
macro_rules! left_to_postcard {
    ($($method:ident: $value:ty)*) => {$(
        fn $method(self, value: $value) -> Result<(), Unsendable> {
            Ok(self.state.inner.$method(value)?)
        }
    )*};
}

impl<'a> Serializer for Bounded<'a> {
    type Ok = ();
    type Error = Unsendable;
    type SerializeSeq = Bounded<'a>;
    type SerializeTuple = Bounded<'a>;
    type SerializeTupleStruct = Bounded<'a>;
    type SerializeTupleVariant = Bounded<'a>;
    type SerializeMap = Bounded<'a>;
    type SerializeStruct = Bounded<'a>;
    type SerializeStructVariant = Bounded<'a>;

    left_to_postcard! {
        serialize_bool: bool
        serialize_i8: i8 serialize_i16: i16 serialize_i32: i32 serialize_i64: i64 serialize_i128: i128
        serialize_u8: u8 serialize_u16: u16 serialize_u32: u32 serialize_u64: u64 serialize_u128: u128
        serialize_f32: f32 serialize_f64: f64 serialize_char: char
        serialize_str: &str serialize_bytes: &[u8] serialize_unit_struct: &'static str
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Unsendable> {
        Ok(self.state.inner.collect_str(value)?)
    }

    fn serialize_unit(self) -> Result<(), Unsendable> {
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Unsendable> {
        Ok(self.state.inner.serialize_none()?)
    }

    fn serialize_some<V: Serialize + ?Sized>(self, value: &V) -> Result<(), Unsendable> {
        let bounded = self.within()?;
        bounded.state.inner.serialize_u8(1)?;
        value.serialize(bounded)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        number: u32,
        _: &'static str,
    ) -> Result<(), Unsendable> {
        self.variant(number).map(drop)
    }

    fn serialize_newtype_struct<V: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &V,
    ) -> Result<(), Unsendable> {
        value.serialize(self.within()?)
    }

    fn serialize_newtype_variant<V: Serialize + ?Sized>(
        self,
        _: &'static str,
        number: u32,
        _: &'static str,
        value: &V,
    ) -> Result<(), Unsendable> {
        value.serialize(self.variant(number)?)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self, Unsendable> {
        let bounded = self.within()?;
        let state = &mut *bounded.state;
        state.inner.serialize_seq(length)?;
        state.elements = state.elements.saturating_add(length.unwrap_or(0));
        // No memory holds as many bytes, and each element is a call.
        isize::try_from(state.elements).map_err(|_| Unsendable::Many)?;
        Ok(bounded)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Unsendable> {
        self.within()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Unsendable> {
        self.within()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        number: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Unsendable> {
        self.variant(number)?.within()
    }

    /// The format has no difference between a map and a sequence of as many entries.
    fn serialize_map(self, length: Option<usize>) -> Result<Self, Unsendable> {
        self.serialize_seq(length)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Unsendable> {
        self.within()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        number: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Unsendable> {
        self.variant(number)?.within()
    }
}

/// Implementations that write one value after the other.
macro_rules! one_by_one {
    ($($of:ident::$($method:ident($($name:ty)?))and+;)*) => {$(
        impl $of for Bounded<'_> {
            type Ok = ();
            type Error = Unsendable;

            $(
                fn $method<V: Serialize + ?Sized>(&mut self, $(_: $name,)? value: &V) -> Result<(), Unsendable> {
                    self.one(value)
                }

                $(fn skip_field(&mut self, field: $name) -> Result<(), Unsendable> {
                    Err(Unsendable::Skipped(field))
                })?
            )+

            fn end(self) -> Result<(), Unsendable> {
                Ok(())
            }
        }
    )*};
}

one_by_one! {
    SerializeSeq::serialize_element();
    SerializeTuple::serialize_element();
    SerializeTupleStruct::serialize_field();
    SerializeTupleVariant::serialize_field();
    SerializeMap::serialize_key() and serialize_value();
    SerializeStruct::serialize_field(&'static str);
    SerializeStructVariant::serialize_field(&'static str);
}
