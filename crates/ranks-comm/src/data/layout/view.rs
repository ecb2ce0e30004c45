//! Views: slices with a selection of their elements, checked once.

use std::fmt;

use ranks_launch::Count;

use crate::data::element::Pod;
use crate::data::layout::{Element, Fields, Layout};
use crate::result::{Error, ErrorKind, Result, error};

const OPERATION: &str = "a layout";

/// The elements of a slice that a layout selects, to be sent.
pub struct View<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) taken: Taken,
}

/// The elements of a slice that a layout selects, to be received into; none of them twice.
pub struct ViewMut<'a, T> {
    pub(crate) data: &'a mut [T],
    pub(crate) taken: Taken,
}

/// A selection of a slice. In a [`View`] or [`ViewMut`] all of it is inside of the slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) layout: Layout,
    pub(crate) element: Element,
}

impl Layout {
    /// The selected elements of `data`, to be sent.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if the layout reaches beyond the end of `data`, or selects more than
    /// memory can hold.
    pub fn of<'a, T: Pod>(&self, data: &'a [T]) -> Result<View<'a, T>> {
        let taken = Taken::inside(self, Element::whole::<T>(), data.len())?;
        Ok(View { data, taken })
    }

    /// The selected elements of `data`, to be received into.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if the layout reaches beyond the end of `data`;
    /// [`ErrorKind::Argument`] if it selects an element twice.
    pub fn of_mut<'a, T: Pod>(&self, data: &'a mut [T]) -> Result<ViewMut<'a, T>> {
        let taken = Taken::inside(self, Element::whole::<T>(), data.len())?;
        // Elements of no size lie anywhere, and may be too many to be checked.
        if taken.bytes() > 0 && !self.is_disjoint() {
            return Err(twice("an element"));
        }
        Ok(ViewMut { data, taken })
    }

    /// Checks a slice of so many elements of `T` as [`of`](Self::of) does, without the slice.
    #[doc(hidden)]
    pub fn fits<T: Pod>(&self, length: usize) -> Result<()> {
        Taken::inside(self, Element::whole::<T>(), length).map(drop)
    }
}

impl<'a, T: Pod> View<'a, T> {
    /// All of `data`.
    #[must_use]
    pub fn whole(data: &'a [T]) -> Self {
        let taken = Taken::whole::<T>(data.len());
        Self { data, taken }
    }

    /// Selects these fields of each element only.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if overlapping fields make more bytes than memory can hold.
    pub fn fields(self, fields: &Fields<T>) -> Result<Self> {
        let (data, taken) = (self.data, self.taken);
        let taken = Taken::inside(&taken.layout, Element::of_fields(fields), data.len())?;
        Ok(Self { data, taken })
    }

    /// The number of selected elements.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.taken.layout.elements()
    }

    /// The number of selected bytes.
    ///
    /// MPI 5.0 §5.1.5 (`MPI_Type_size`).
    #[doc(alias = "MPI_Type_size")]
    #[doc(alias = "MPI_Type_size_c")]
    #[doc(alias = "MPI_Type_size_x")]
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.taken.bytes()
    }

    /// A copy of the selected elements; whole ones, also of a view of [fields](Self::fields).
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        let mut values = Vec::new();
        if let Some(shape) = self.taken.layout.known().shape() {
            shape.for_each_run(self.taken.layout.start(), &mut |start, length| {
                values.extend_from_slice(&self.data[start..start + length]);
                true
            });
        }
        values
    }
}

impl<'a, T: Pod> ViewMut<'a, T> {
    /// All of `data`.
    #[must_use]
    pub fn whole(data: &'a mut [T]) -> Self {
        let taken = Taken::whole::<T>(data.len());
        Self { data, taken }
    }

    /// Selects these fields of each element only; the others are left alone.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if fields overlap.
    pub fn fields(self, fields: &Fields<T>) -> Result<Self> {
        if !fields.is_disjoint() {
            return Err(twice("a byte of each element"));
        }
        let (data, taken) = (self.data, self.taken);
        let taken = Taken::inside(&taken.layout, Element::of_fields(fields), data.len())?;
        Ok(Self { data, taken })
    }

    /// The number of elements that may arrive.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.taken.layout.elements()
    }

    /// The number of bytes that may arrive.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.taken.bytes()
    }
}

impl Taken {
    fn whole<T: Pod>(length: usize) -> Self {
        Self {
            layout: Layout::contiguous(length),
            element: Element::whole::<T>(),
        }
    }

    /// Selects with the layout, if it fits a slice of `length` elements.
    fn inside(layout: &Layout, element: Element, length: usize) -> Result<Self> {
        let refuse = |why: fmt::Arguments<'_>| Err(Error::new(ErrorKind::Length, OPERATION, why));
        if layout.is_too_large() {
            let length = Count(length, "element");
            return refuse(format_args!(
                "the layout reaches beyond what memory can hold, the slice has {length}"
            ));
        }
        let (elements, width) = (layout.elements(), element.bytes());
        let needed = layout.true_extent().end;
        if elements > 0 && needed > length {
            let needed = Count(needed, "element");
            return refuse(format_args!(
                "the layout needs a slice of {needed}, but this one has {length}"
            ));
        }
        let bytes = elements.checked_mul(width);
        if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return refuse(format_args!(
                "{elements} elements of {width} bytes are more than memory can hold"
            ));
        }
        let layout = layout.clone();
        Ok(Self { layout, element })
    }

    /// Checks that a message of `bytes` bytes is a whole number of selected elements, and no longer
    /// than all of them.
    pub(crate) fn fits<T>(
        &self,
        operation: &'static str,
        bytes: usize,
        library: &str,
    ) -> Result<()> {
        if bytes > self.bytes() {
            let (arrived, capacity) = (Some(bytes), self.layout.elements());
            let width = self.element.bytes();
            return Err(error::truncated(
                operation, arrived, capacity, width, library,
            ));
        }
        self.check_whole::<T>(operation, bytes)
    }

    /// Checks that `bytes` bytes are a whole number of selected elements.
    pub(crate) fn check_whole<T>(&self, operation: &'static str, bytes: usize) -> Result<()> {
        let width = self.element.bytes();
        if bytes.checked_rem(width).unwrap_or(bytes) == 0 {
            return Ok(());
        }
        let name = std::any::type_name::<T>();
        Err(match self.element {
            Element::Whole { .. } => error::not_whole(operation, bytes, width, name),
            Element::Fields { .. } => {
                error::not_whole(operation, bytes, width, &format!("fields of {name}"))
            }
        })
    }

    /// The number of selected bytes.
    pub(crate) fn bytes(&self) -> usize {
        // Checked by `inside`; a slice holds no more either.
        self.layout.elements() * self.element.bytes()
    }
}

#[cold]
fn twice(what: &str) -> Error {
    let why = format_args!(
        "a layout that is received into must not take {what} twice; use one whose blocks do not overlap"
    );
    Error::new(ErrorKind::Argument, OPERATION, why)
}

impl<T> fmt::Debug for View<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug("View", self.data.len(), &self.taken, f)
    }
}

impl<T> fmt::Debug for ViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug("ViewMut", self.data.len(), &self.taken, f)
    }
}

fn debug(name: &str, length: usize, taken: &Taken, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.debug_struct(name)
        .field("length", &length)
        .field("elements", &taken.layout.elements())
        .field("bytes", &taken.bytes())
        .finish_non_exhaustive()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::layout::Field;

    #[test]
    fn what_reaches_beyond_the_slice_is_refused_with_both_lengths() {
        let layout = Layout::vector(3, 2, 4).at(1);
        let text = layout.of(&[0u8; 10]).unwrap_err().to_string();
        assert!(text.contains("11") && text.contains("10"), "{text}");
        assert_eq!(layout.of(&[0u8; 11]).unwrap().bytes(), 6);
        assert_eq!(layout.of_mut(&mut [0u64; 11]).unwrap().bytes(), 48);
        assert_eq!(
            layout.of_mut(&mut [0u64; 10]).unwrap_err().kind(),
            ErrorKind::Length
        );
        // Nothing reaches nowhere.
        assert_eq!(
            Layout::contiguous(0).at(7).of(&[0u8; 2]).unwrap().bytes(),
            0
        );
    }

    #[test]
    fn a_receive_takes_nothing_twice() {
        let overlapping = Layout::vector(3, 3, 2);
        assert_eq!(overlapping.of(&[1u8; 7]).unwrap().elements(), 9);
        let error = overlapping.of_mut(&mut [0u8; 7]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        let fields = [Field::at::<u32>(0), Field::at::<u32>(2)];
        let fields = Fields::<u64>::new(fields).unwrap();
        assert!(View::whole(&[0u64]).fields(&fields).is_ok());
        let error = ViewMut::whole(&mut [0u64]).fields(&fields).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    }

    #[test]
    fn more_than_memory_is_refused() {
        let again = Layout::contiguous(1).repeat_every(usize::MAX, 0);
        assert_eq!(again.of(&[0u8]).unwrap_err().kind(), ErrorKind::Length);
        let again = Layout::contiguous(1).repeat_every(usize::MAX / 8, 0);
        assert_eq!(again.of(&[0u64]).unwrap_err().kind(), ErrorKind::Length);
        assert_eq!(again.of(&[()]).unwrap().bytes(), 0);
    }

    #[test]
    fn elements_of_no_size_may_be_as_many_as_they_like() {
        let mut data = [(); usize::MAX];
        let layout = Layout::vector(usize::MAX / 2, 1, 2);
        assert_eq!(layout.of_mut(&mut data).unwrap().bytes(), 0);
        let interleaved = Layout::vector(usize::MAX / 4, 1, 2).repeat_every(2, 1);
        assert_eq!(interleaved.of_mut(&mut data).unwrap().bytes(), 0);
    }
}
