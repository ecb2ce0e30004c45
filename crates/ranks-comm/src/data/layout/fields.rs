//! Selected fields of structs.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use ranks_launch::Count;

use crate::data::datatype::{Item, TypeOf};
use crate::data::element::Pod;
use crate::data::layout::shape::follow_each_other;
use crate::result::{Error, ErrorKind, Result};

const OPERATION: &str = "MPI_Type_create_struct";

/// A field of a struct: offset and type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Field {
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    pub(crate) item: Item,
}

impl Field {
    /// A field of type `F`, `offset` bytes into the struct, as [`offset_of!`](std::mem::offset_of)
    /// gives it.
    #[must_use]
    pub fn at<F: Pod>(offset: usize) -> Self {
        Self::array::<F>(offset, 1)
    }

    /// A field of type `[F; count]`, whose elements keep their type in the message.
    #[must_use]
    pub fn array<F: Pod>(offset: usize, count: usize) -> Self {
        Self {
            offset,
            // Too many for any struct; `Fields::new` refuses it.
            bytes: size_of::<F>().saturating_mul(count),
            item: TypeOf::<F>::item(),
        }
    }
}

/// The fields of a struct `T` that are transferred, in order.
///
/// Other fields are not sent, and a receive leaves them alone. A wrong offset or type is not
/// unsound, only wrong: any bytes are a value of a [`Pod`].
///
/// ```
/// use std::mem::offset_of;
/// use bytemuck::{Pod, Zeroable};
/// use ranks::layout::{Field, Fields, View};
///
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// #[repr(C, packed)]
/// struct Particle { kind: u8, position: [f64; 3], scratch: u64 }
///
/// # fn main() -> ranks::Result<()> {
/// let moves = Fields::<Particle>::new([
///     Field::at::<u8>(offset_of!(Particle, kind)),
///     Field::array::<f64>(offset_of!(Particle, position), 3),
/// ])?;
/// let particles = [Particle { kind: 1, position: [0.5; 3], scratch: 7 }; 10];
/// assert_eq!(View::whole(&particles).fields(&moves)?.bytes(), 10 * 25);
/// # Ok(())
/// # }
/// ```
///
/// The distance between elements is always `size_of`, for packed and for aligned structs.
///
/// MPI 5.0 §5.1.2 (`MPI_Type_create_struct`, resized to the size of the struct).
#[doc(alias = "MPI_Type_create_struct")]
pub struct Fields<T> {
    pub(crate) fields: Arc<[Field]>,
    bytes: usize,
    disjoint: bool,
    of: PhantomData<fn(T) -> T>,
}

impl<T: Pod> Fields<T> {
    /// These fields, in this order.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if one of them reaches beyond the end of a `T`.
    pub fn new(fields: impl IntoIterator<Item = Field>) -> Result<Self> {
        let fields: Arc<[Field]> = fields.into_iter().collect();
        let mut bytes = 0usize;
        for (number, field) in fields.iter().enumerate() {
            let size = size_of::<T>();
            let end = field.offset.checked_add(field.bytes);
            if end.is_none_or(|end| end > size) {
                let why = format_args!(
                    "field {number} is {} from byte {} on, but {} has {size}",
                    Count(field.bytes, "byte"),
                    field.offset,
                    std::any::type_name::<T>()
                );
                return Err(Error::new(ErrorKind::Length, OPERATION, why));
            }
            bytes = bytes.saturating_add(field.bytes);
        }
        Ok(Self {
            disjoint: is_disjoint(&fields),
            fields,
            bytes,
            of: PhantomData,
        })
    }

    /// The same fields of a `T` that is itself a field of another struct, `offset` bytes into it;
    /// for nested structs.
    pub fn at(&self, offset: usize) -> impl Iterator<Item = Field> {
        self.fields.iter().map(move |field| Field {
            offset: field.offset.saturating_add(offset),
            ..*field
        })
    }

    /// The number of bytes of each element that are transferred.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_disjoint(&self) -> bool {
        self.disjoint
    }
}

fn is_disjoint(fields: &[Field]) -> bool {
    let fields = fields.iter().filter(|field| field.bytes > 0);
    let mut ranges: Vec<_> = fields.map(|field| (field.offset, field.bytes)).collect();
    ranges.sort_unstable();
    follow_each_other(&ranges)
}

impl<T> Clone for Fields<T> {
    fn clone(&self) -> Self {
        Self {
            fields: Arc::clone(&self.fields),
            of: PhantomData,
            ..*self
        }
    }
}

impl<T> fmt::Debug for Fields<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.fields.iter()).finish()
    }
}

/// The part of an element that is transferred.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Element {
    /// All `size` bytes of it.
    Whole { size: usize, item: Item },
    /// Some fields of the `size` bytes.
    Fields {
        size: usize,
        bytes: usize,
        fields: Arc<[Field]>,
    },
}

impl Element {
    pub(crate) fn whole<T: Pod>() -> Self {
        Self::Whole {
            size: size_of::<T>(),
            item: TypeOf::<T>::item(),
        }
    }

    pub(crate) fn of_fields<T: Pod>(fields: &Fields<T>) -> Self {
        Self::Fields {
            size: size_of::<T>(),
            bytes: fields.bytes,
            fields: Arc::clone(&fields.fields),
        }
    }

    /// The distance between elements.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Whole { size, .. } | Self::Fields { size, .. } => *size,
        }
    }

    /// The number of bytes of each that are transferred.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Whole { size, .. } => *size,
            Self::Fields { bytes, .. } => *bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stay_inside_of_the_struct() {
        assert!(Fields::<[u8; 9]>::new([Field::at::<u64>(1)]).is_ok());
        for field in [
            Field::at::<u64>(2),
            Field::at::<u8>(usize::MAX),
            Field::array::<u64>(0, 2),
            Field::array::<u64>(0, usize::MAX),
        ] {
            let error = Fields::<[u8; 9]>::new([field]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Length, "{error}");
        }
        let inner = Fields::<[u8; 4]>::new([Field::at::<u16>(2)]).unwrap();
        assert!(Fields::<[u8; 9]>::new(inner.at(usize::MAX)).is_err());
        assert_eq!(inner.at(3).next(), Some(Field::at::<u16>(5)));
    }

    #[test]
    fn overlapping_fields_are_found() {
        let fields = |fields: &[Field]| Fields::<[u8; 9]>::new(fields.iter().copied()).unwrap();
        let apart = fields(&[Field::at::<u64>(1), Field::at::<u8>(0), Field::at::<()>(4)]);
        assert!(apart.is_disjoint());
        assert_eq!(apart.bytes(), 9);
        assert!(!fields(&[Field::at::<u32>(1), Field::at::<u32>(4)]).is_disjoint());
    }
}
