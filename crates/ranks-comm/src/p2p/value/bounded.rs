//! A reader of postcard's format with bounds on the depth of nesting and on the number of elements,
//! so that no bytes exhaust the stack or spin.
//!
//! Numbers, text and bytes are left to postcard. Values that hold others are read here, since only
//! the reader can count them.

use std::fmt::Display;

use postcard::de_flavors::Slice;
use serde::Deserialize;
use serde::de::value::U32Deserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};

/// The largest depth of nested values.
pub(super) const DEPTH: usize = 128;

/// The bytes that nested values have together at most while they are decoded: they are on the
/// stack, several times in programs that are not optimised.
const ON_STACK: usize = 128 << 10;

/// The number of elements without bytes that collections may have.
pub(super) const EMPTY_ELEMENTS: usize = 1 << 16;

/// The reason why bytes are not a value.
#[derive(Debug, thiserror::Error)]
pub(super) enum Malformed {
    #[error(transparent)]
    Format(#[from] postcard::Error),
    /// The type's own words.
    #[error("{0}")]
    Refused(String),
    #[error(
        "more than {DEPTH} values are nested in each other; send what is deeper in a flat form, such as a Vec"
    )]
    Deep,
    #[error(
        "values nested in each other take more than {ON_STACK} bytes of the stack; put large parts of the type into a Vec"
    )]
    Large,
    #[error(
        "collections have more elements than the message has bytes, and {EMPTY_ELEMENTS} more; send a number in their place"
    )]
    Many,
}

impl de::Error for Malformed {
    fn custom<T: Display>(text: T) -> Self {
        Self::Refused(text.to_string())
    }
}

/// Decodes the value at the start of `bytes`, and returns the rest.
pub(super) fn read<V: DeserializeOwned>(bytes: &[u8]) -> Result<(V, &[u8]), Malformed> {
    let mut bounded = Bounded {
        inner: postcard::Deserializer::from_bytes(bytes),
        depth: DEPTH,
        on_stack: ON_STACK,
        elements: bytes.len().saturating_add(EMPTY_ELEMENTS),
    };
    let value = V::deserialize(&mut bounded)?;
    Ok((value, bounded.inner.finalize()?))
}

/// A deserializer, and the remainder of its bounds.
struct Bounded<'de> {
    inner: postcard::Deserializer<'de, Slice<'de>>,
    depth: usize,
    on_stack: usize,
    elements: usize,
}

impl<'de> Bounded<'de> {
    /// Decodes a value with `make`, which may decode others within it.
    fn nested<V>(
        &mut self,
        make: impl FnOnce(&mut Self) -> Result<V, Malformed>,
    ) -> Result<V, Malformed> {
        let (depth, on_stack) = (self.depth, self.on_stack);
        self.depth = depth.checked_sub(1).ok_or(Malformed::Deep)?;
        self.on_stack = on_stack
            .checked_sub(size_of::<V>())
            .ok_or(Malformed::Large)?;
        let made = make(self);
        (self.depth, self.on_stack) = (depth, on_stack);
        made
    }

    /// Reads the number of elements, if so many are allowed.
    fn length(&mut self) -> Result<usize, Malformed> {
        let length = u64::deserialize(&mut self.inner)?;
        let length = usize::try_from(length).map_err(|_| Malformed::Many)?;
        self.elements = self.elements.checked_sub(length).ok_or(Malformed::Many)?;
        Ok(length)
    }

    fn sequence<V: Visitor<'de>>(
        &mut self,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.nested(|bounded| visitor.visit_seq(Elements { bounded, left }))
    }
}

/// Methods for values that hold no others, which are postcard's.
macro_rules! left_to_postcard {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
            Ok(self.inner.$method(visitor)?)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Bounded<'de> {
    type Error = Malformed;

    left_to_postcard! {
        deserialize_any deserialize_bool
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char
        deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf
        deserialize_unit deserialize_identifier deserialize_ignored_any
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        match u8::deserialize(&mut self.inner)? {
            0 => visitor.visit_none(),
            1 => self.nested(|bounded| visitor.visit_some(bounded)),
            _ => Err(postcard::Error::DeserializeBadOption.into()),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.nested(|bounded| visitor.visit_newtype_struct(bounded))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        let length = self.length()?;
        self.sequence(length, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.sequence(length, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.sequence(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        let left = self.length()?;
        self.nested(|bounded| visitor.visit_map(Elements { bounded, left }))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.sequence(fields.len(), visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.nested(|bounded| visitor.visit_enum(bounded))
    }
}

/// The elements of a sequence or the entries of a map that have not been read.
struct Elements<'a, 'de> {
    bounded: &'a mut Bounded<'de>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Malformed;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Malformed> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        seed.deserialize(&mut *self.bounded).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'de> MapAccess<'de> for Elements<'_, 'de> {
    type Error = Malformed;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Malformed> {
        self.next_element_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Malformed> {
        seed.deserialize(&mut *self.bounded)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'de> EnumAccess<'de> for &mut Bounded<'de> {
    type Error = Malformed;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Malformed> {
        let number = u32::deserialize(&mut self.inner)?;
        let number: U32Deserializer<Malformed> = number.into_deserializer();
        Ok((seed.deserialize(number)?, self))
    }
}

impl<'de> VariantAccess<'de> for &mut Bounded<'de> {
    type Error = Malformed;

    fn unit_variant(self) -> Result<(), Malformed> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Malformed> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.sequence(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.sequence(fields.len(), visitor)
    }
}
