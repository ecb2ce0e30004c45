//! Large-count calls on libraries that count in `int`.
//!
//! If a library has no `MPI_…_c`, the function of the same name without the suffix carries the call
//! out: as it is if every count fits, else with one element of a derived datatype that stands for
//! all the elements (MPI 5.0 §5.1). Arrays of counts and reductions, which take no derived
//! datatypes, are not emulated, nor are several counts of one datatype, such as those of a vector:
//! the call answers that the function is not in the library.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use crate::function::absent_code;
use crate::types::*;
use crate::{MPI_DATATYPE_NULL, MPI_SUCCESS};

/// Places for counts that the library writes, and where they belong.
///
/// They stand apart from the rest, which is borrowed anew with each argument: the library still has
/// their addresses then.
pub(crate) type Written = [(Cell<c_int>, Cell<*mut MPI_Count>); 4];

/// None as yet.
pub(crate) const fn nothing_written() -> Written {
    [const { (Cell::new(0), Cell::new(ptr::null_mut())) }; 4]
}

/// Arguments of one call on their way from `MPI_Count` to `int`.
pub(crate) struct Shrink<'a> {
    name: &'static str,
    /// A count that does not fit, until the datatype that belongs to it comes by.
    pending: Option<MPI_Count>,
    /// Counts since the last datatype.
    counts: usize,
    /// Datatypes that stand for many elements; freed after the call.
    made: [MPI_Datatype; 2],
    written: &'a Written,
    refusal: Option<c_int>,
}

impl<'a> Shrink<'a> {
    pub(crate) fn new(name: &'static str, written: &'a Written) -> Self {
        Shrink {
            name,
            pending: None,
            counts: 0,
            made: [MPI_DATATYPE_NULL; 2],
            written,
            refusal: None,
        }
    }

    /// The argument of the function that counts in `int`.
    pub(crate) fn argument<T: Shrinks<U>, U>(&mut self, argument: T) -> U {
        argument.shrink(self)
    }

    /// The reason why the call cannot be carried out, as a return code.
    #[inline(never)]
    pub(crate) fn refusal(&mut self) -> Option<c_int> {
        if self.pending.is_some() {
            self.refuse();
        }
        if self.refusal.is_some() {
            self.free();
        }
        self.refusal
    }

    /// Ends the call: hands out what was written and frees what was made.
    #[inline(never)]
    pub(crate) fn finish(&mut self, code: c_int) -> c_int {
        for (value, place) in self.written {
            let place = place.get();
            if !place.is_null() {
                // SAFETY: the caller of MPI gave this place for a count to be written.
                unsafe { place.write(value.get().into()) };
            }
        }
        self.free();
        code
    }

    fn refuse(&mut self) {
        self.refusal = Some(absent_code(self.name));
    }

    fn free(&mut self) {
        for made in &mut self.made {
            if *made != MPI_DATATYPE_NULL {
                // SAFETY: made by `many`, and freed once: the handle becomes the null handle.
                unsafe { crate::MPI_Type_free(made) };
            }
        }
    }
}

/// Conversion of one type of argument.
pub(crate) trait Shrinks<U> {
    fn shrink(self, call: &mut Shrink<'_>) -> U;
}

/// Types that are the same in both functions.
macro_rules! unchanged {
    ($($type:ty),* $(,)?) => {$(
        impl Shrinks<$type> for $type {
            fn shrink(self, _: &mut Shrink<'_>) -> $type {
                self
            }
        }
    )*};
}

unchanged! {
    c_int, MPI_Aint, MPI_Count, MPI_Comm, MPI_Win, MPI_Info, MPI_File, MPI_Session, MPI_Request,
    *const c_void, *mut c_void, *const c_char, *mut c_char, *const c_int, *mut c_int,
    *mut MPI_Request, *mut MPI_Status, *const MPI_Status, *mut MPI_Datatype, *mut MPI_Win,
    *mut MPI_Message, *mut *mut c_void, *const MPI_Aint, *mut MPI_Aint, *mut MPI_Count,
}

impl Shrinks<c_int> for MPI_Count {
    #[inline(never)]
    fn shrink(self, call: &mut Shrink<'_>) -> c_int {
        call.counts += 1;
        c_int::try_from(self).unwrap_or_else(|_| {
            call.pending = Some(self);
            1
        })
    }
}

impl Shrinks<MPI_Aint> for MPI_Count {
    #[inline(never)]
    fn shrink(self, call: &mut Shrink<'_>) -> MPI_Aint {
        MPI_Aint::try_from(self).unwrap_or_else(|_| {
            call.refuse();
            0
        })
    }
}

/// A datatype can stand for as many elements as one count says. Where several come before it (the
/// length and the stride of a vector's blocks, the room that is unpacked from) they are not all
/// numbers of it.
impl Shrinks<MPI_Datatype> for MPI_Datatype {
    #[inline(never)]
    fn shrink(self, call: &mut Shrink<'_>) -> MPI_Datatype {
        let counts = std::mem::take(&mut call.counts);
        let Some(count) = call.pending.take() else {
            return self;
        };
        if counts > 1 {
            call.refuse();
            return self;
        }
        let Some(free) = call.made.iter().position(|made| *made == MPI_DATATYPE_NULL) else {
            call.refuse();
            return self;
        };
        // SAFETY: the caller of MPI gave a datatype of its; it outlives the call.
        match unsafe { many(count, self) } {
            Ok(made) => {
                call.made[free] = made;
                made
            }
            Err(code) => {
                call.refusal = Some(code);
                self
            }
        }
    }
}

/// The unit of displacements in a window.
impl Shrinks<c_int> for MPI_Aint {
    #[inline(never)]
    fn shrink(self, call: &mut Shrink<'_>) -> c_int {
        c_int::try_from(self).unwrap_or_else(|_| {
            call.refuse();
            1
        })
    }
}

/// A reduction's operation applies to elements, not to a datatype that stands for many.
impl Shrinks<MPI_Op> for MPI_Op {
    #[inline(never)]
    fn shrink(self, call: &mut Shrink<'_>) -> MPI_Op {
        if call.made.iter().any(|made| *made != MPI_DATATYPE_NULL) {
            call.refuse();
        }
        self
    }
}

impl Shrinks<*mut c_int> for *mut MPI_Count {
    #[inline(never)]
    fn shrink(self, call: &mut Shrink<'_>) -> *mut c_int {
        let Some((value, place)) = call.written.iter().find(|free| free.1.get().is_null()) else {
            call.refuse();
            return ptr::null_mut();
        };
        place.set(self);
        // These begin at the position that they find there; elsewhere the place may hold nothing
        // yet.
        if matches!(call.name, "MPI_Pack_c" | "MPI_Unpack_c") {
            // SAFETY: the caller of MPI gave a position at this place.
            match c_int::try_from(unsafe { self.read() }) {
                Ok(position) => value.set(position),
                Err(_) => call.refusal = Some(absent_code(call.name)),
            }
        }
        value.as_ptr()
    }
}

impl Shrinks<*mut c_int> for *mut MPI_Aint {
    fn shrink(self, call: &mut Shrink<'_>) -> *mut c_int {
        const { assert!(size_of::<MPI_Aint>() == size_of::<MPI_Count>()) };
        self.cast::<MPI_Count>().shrink(call)
    }
}

impl Shrinks<*mut MPI_Aint> for *mut MPI_Count {
    fn shrink(self, _: &mut Shrink<'_>) -> *mut MPI_Aint {
        const { assert!(size_of::<MPI_Aint>() == size_of::<MPI_Count>()) };
        self.cast()
    }
}

impl Shrinks<*const c_int> for *const MPI_Count {
    fn shrink(self, call: &mut Shrink<'_>) -> *const c_int {
        call.refuse();
        ptr::null()
    }
}

impl Shrinks<*const c_int> for *const MPI_Aint {
    fn shrink(self, call: &mut Shrink<'_>) -> *const c_int {
        call.refuse();
        ptr::null()
    }
}

impl Shrinks<*const MPI_Aint> for *const MPI_Count {
    fn shrink(self, _: &mut Shrink<'_>) -> *const MPI_Aint {
        const { assert!(size_of::<MPI_Aint>() == size_of::<MPI_Count>()) };
        self.cast()
    }
}

/// A committed datatype that stands for `count` elements of `element`.
///
/// # Safety
/// MPI is initialised and `element` is a datatype of its.
unsafe fn many(count: MPI_Count, element: MPI_Datatype) -> Result<MPI_Datatype, c_int> {
    const BLOCK: c_int = c_int::MAX;
    let (blocks, rest) = (
        count / MPI_Count::from(BLOCK),
        count % MPI_Count::from(BLOCK),
    );
    let too_many = |_| absent_code("MPI_Type_contiguous_c");
    let blocks = c_int::try_from(blocks).map_err(too_many)?;
    let rest = c_int::try_from(rest).map_err(too_many)?;

    let (mut lower, mut extent) = (0, 0);
    // SAFETY: a datatype of the initialised MPI and two places.
    done(unsafe { crate::MPI_Type_get_extent(element, &raw mut lower, &raw mut extent) })?;
    let mut whole = MPI_DATATYPE_NULL;
    // SAFETY: a datatype of the initialised MPI and a place for the new one.
    done(unsafe { crate::MPI_Type_vector(blocks, BLOCK, BLOCK, element, &raw mut whole) })?;
    let mut last = MPI_DATATYPE_NULL;
    // SAFETY: as above.
    done(unsafe { crate::MPI_Type_contiguous(rest, element, &raw mut last) })?;

    let lengths = [1, 1];
    let places = [0, extent * blocks as isize * BLOCK as isize];
    let parts = [whole, last];
    let mut made = MPI_DATATYPE_NULL;
    // SAFETY: three arrays of two and a place for the new datatype.
    let code = unsafe {
        crate::MPI_Type_create_struct(
            2,
            lengths.as_ptr(),
            places.as_ptr(),
            parts.as_ptr(),
            &raw mut made,
        )
    };
    for mut part in parts {
        // SAFETY: made above; what is built on it lives on by itself (MPI 5.0 §5.1.9).
        unsafe { crate::MPI_Type_free(&raw mut part) };
    }
    done(code)?;
    // SAFETY: made just above.
    done(unsafe { crate::MPI_Type_commit(&raw mut made) })?;
    Ok(made)
}

fn done(code: c_int) -> Result<(), c_int> {
    if code == MPI_SUCCESS {
        Ok(())
    } else {
        Err(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of what `emulated` does. Under miri alone this failed.
    #[test]
    fn a_count_was_written_to_a_place_that_was_borrowed_anew() {
        let (mut elements, mut bytes): (MPI_Count, MPI_Count) = (-1, -1);
        let written = nothing_written();
        let mut shrink = Shrink::new("MPI_Get_elements_c", &written);
        let places: [*mut c_int; 2] = [
            shrink.argument(&raw mut elements),
            shrink.argument(&raw mut bytes),
        ];
        assert_eq!(shrink.refusal(), None);
        for (place, count) in places.into_iter().zip([7, 56]) {
            // SAFETY: as the library does: nobody has freed the place that it was given.
            unsafe { place.write(count) };
        }
        assert_eq!(shrink.finish(MPI_SUCCESS), MPI_SUCCESS);
        assert_eq!((elements, bytes), (7, 56));
    }
}
