//! Derived datatypes: made from shapes, committed once, cached, freed before MPI ends.
//!
//! The code does not rely on the extent that MPI gives to a datatype: distances are given in bytes,
//! so that neither the padding that MPI adds to structs nor a missing one moves an element.
//! Constructors that count in `int` are enough: larger counts are made of several, which every
//! library understands.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex};

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Aint, MPI_Datatype};

use super::error::check;
use crate::call::lock::lock;
use crate::data::datatype::Item;
use crate::data::layout::shape::Shape;
use crate::data::layout::{Element, Known};
use crate::result::{Error, ErrorKind, Result};

/// The description of a datatype, without its start.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Description {
    pub(crate) known: Arc<Known>,
    pub(crate) element: Element,
    pub(crate) items: Items,
    /// The start, and the extent, if other parts of the program are to use it.
    pub(crate) frame: Option<Frame>,
}

/// The bytes from the address that a datatype is used with to its first element, and to the next
/// one of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Frame {
    pub(crate) start: usize,
    pub(crate) extent: usize,
}

/// The form of the elements for the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Items {
    /// Primitives by their own types: for sends.
    Typed,
    /// As [`Typed`](Self::Typed), and packed by Open MPI: for messages to oneself (see `oneself`).
    Packed,
    /// Bytes: for receives, because a message that is no whole number of items ends the process on
    /// MPICH and its derivatives (see `recv`).
    Bytes,
}

impl Items {
    /// The datatype of such a primitive, and its size.
    pub(super) fn of(self, item: &Item) -> (MPI_Datatype, usize) {
        match self {
            Self::Typed | Self::Packed => (item.datatype(), item.width()),
            Self::Bytes => (sys::MPI_BYTE, 1),
        }
    }
}

/// A committed datatype. It stays committed while it has a holder and its session lives.
#[derive(Debug)]
pub(crate) struct Committed(pub(crate) MPI_Datatype);

/// The committed datatypes of a session.
///
/// Only the cache frees them, so that a holder need not know whether MPI still lives.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    kept: Mutex<Entries>,
    /// Duplicates of foreign datatypes that have no holder any more.
    retired: Mutex<Vec<MPI_Datatype>>,
}

#[derive(Debug, Default)]
struct Entries {
    now: u64,
    by_description: HashMap<Description, (Arc<Committed>, u64)>,
}

impl Cache {
    /// The number of datatypes without a holder that are kept.
    const LIMIT: usize = 256;

    /// The datatype of that description. MPI must be alive, and this thread may call it.
    pub(crate) fn get(&self, description: Description) -> Result<Arc<Committed>> {
        let mut kept = lock(&self.kept);
        kept.now += 1;
        let now = kept.now;
        if let Some((committed, used)) = kept.by_description.get_mut(&description) {
            *used = now;
            return Ok(Arc::clone(committed));
        }
        if kept.by_description.len() >= Self::LIMIT {
            kept.free_one()?;
        }
        let made = make(&description)?.commit()?;
        let committed = Arc::new(Committed(made));
        let entry = (Arc::clone(&committed), now);
        kept.by_description.insert(description, entry);
        Ok(committed)
    }

    /// Frees all of them. None may be in use any more.
    pub(crate) fn free(&self) -> Result<()> {
        let outcome = self.free_retired();
        let mut kept = lock(&self.kept);
        let kept = kept.by_description.drain();
        kept.map(|(_, (committed, _))| free(committed.0))
            .fold(outcome, Result::and)
    }

    /// Keeps the duplicate of a datatype until it can be freed.
    pub(crate) fn retire(&self, datatype: MPI_Datatype) {
        lock(&self.retired).push(datatype);
    }

    /// Frees the duplicates that have no holder any more. MPI must be alive, and this thread may
    /// call it.
    pub(crate) fn free_retired(&self) -> Result<()> {
        let retired = std::mem::take(&mut *lock(&self.retired));
        retired.into_iter().map(free).fold(Ok(()), Result::and)
    }
}

impl Entries {
    /// Frees the least recently used one that has no holder.
    fn free_one(&mut self) -> Result<()> {
        let idle = self
            .by_description
            .iter()
            .filter(|(_, (committed, _))| Arc::strong_count(committed) == 1)
            .min_by_key(|(_, (_, used))| *used)
            .map(|(description, _)| description.clone());
        match idle.and_then(|idle| self.by_description.remove(&idle)) {
            Some((committed, _)) => free(committed.0),
            None => Ok(()),
        }
    }
}

/// A committed datatype of so many bytes, which Open MPI packs (see `oneself`). MPI must be alive,
/// and this thread may call it.
pub(crate) fn packed(bytes: usize) -> Result<MPI_Datatype> {
    let bytes = repeat(bytes, 1, &Made::predefined(sys::MPI_BYTE))?;
    placed_twice(&bytes)?.commit()
}

/// Frees a committed or duplicated datatype. MPI must be alive, this thread may call it, and it is
/// not in use any more.
pub(crate) fn free(mut datatype: MPI_Datatype) -> Result<()> {
    // SAFETY: who made it has let go of it and frees it once; MPI is alive.
    let code = unsafe { sys::MPI_Type_free(&raw mut datatype) };
    check(code, "MPI_Type_free")
}

fn make(description: &Description) -> Result<Made> {
    let one = One::of(&description.element, description.items)?;
    let made = match description.known.shape() {
        Some(shape) => one.shape(shape),
        None => one.run(0),
    }?;
    let made = match description.items {
        Items::Packed => placed_twice(&made)?,
        Items::Typed | Items::Bytes => made,
    };
    match description.frame {
        Some(frame) => {
            let placed = hindexed(&[1], &[address(frame.start)?], &made)?;
            resized(&placed, address(frame.extent)?)
        }
        None => Ok(made),
    }
}

/// A datatype under construction; it is freed when those built on it have been made.
struct Made {
    datatype: MPI_Datatype,
    predefined: bool,
}

impl Made {
    fn predefined(datatype: MPI_Datatype) -> Self {
        Self {
            datatype,
            predefined: true,
        }
    }

    /// The result of a constructor called `operation`.
    fn new(code: c_int, operation: &'static str, datatype: MPI_Datatype) -> Result<Self> {
        check(code, operation)?;
        Ok(Self {
            datatype,
            predefined: false,
        })
    }

    fn commit(mut self) -> Result<MPI_Datatype> {
        // SAFETY: made by a constructor; `run`, `repeat` and `structure` never end with a
        // predefined one.
        let code = unsafe { sys::MPI_Type_commit(&raw mut self.datatype) };
        check(code, "MPI_Type_commit")?;
        // From here on it is the cache's.
        self.predefined = true;
        Ok(self.datatype)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.predefined {
            // SAFETY: made by a constructor and freed once; what is built on it lives on by itself
            // (MPI 5.0 §5.1.9).
            unsafe { sys::MPI_Type_free(&raw mut self.datatype) };
        }
    }
}

/// One element: so many contiguous items of a predefined datatype, or a datatype with gaps.
struct One {
    datatype: Made,
    items: usize,
    /// The size of one item, or of the element if it has gaps; the next one lies that far behind.
    size: usize,
}

impl One {
    fn of(element: &Element, items: Items) -> Result<Self> {
        match element {
            Element::Whole { size, item } => {
                let (datatype, width) = items.of(item);
                Ok(Self {
                    datatype: Made::predefined(datatype),
                    items: size / width,
                    size: width,
                })
            }
            Element::Fields { size, fields, .. } => {
                let mut parts = Vec::with_capacity(fields.len());
                for field in fields.iter().filter(|field| field.bytes > 0) {
                    let (datatype, width) = items.of(&field.item);
                    let of = Made::predefined(datatype);
                    parts.push((field.offset, repeat(field.bytes / width, width, &of)?));
                }
                Ok(Self {
                    datatype: structure(&parts)?,
                    items: 1,
                    size: *size,
                })
            }
        }
    }

    /// The distance between elements.
    fn stride(&self) -> usize {
        self.items * self.size
    }

    fn shape(&self, shape: &Shape) -> Result<Made> {
        match shape {
            Shape::Run(length) => self.run(*length),
            Shape::Repeat { count, stride, of } => {
                let stride = stride * self.stride();
                match (&**of, self.datatype.predefined) {
                    (Shape::Run(length), true) => blocks(
                        *count,
                        length * self.items,
                        stride,
                        self.size,
                        &self.datatype,
                    ),
                    (of, _) => repeat(*count, stride, &self.shape(of)?),
                }
            }
            Shape::Parts(parts) => match self.indexed(parts)? {
                Some(made) => Ok(made),
                None => {
                    let parts = parts
                        .iter()
                        .map(|(start, part)| Ok((start * self.stride(), self.shape(part)?)));
                    structure(&parts.collect::<Result<Vec<_>>>()?)
                }
            },
        }
    }

    fn run(&self, length: usize) -> Result<Made> {
        repeat(length * self.items, self.size, &self.datatype)
    }

    /// Runs of a predefined datatype, if the parts are such, an `int` counts each, and no library
    /// takes them for one ([`seem_one`]).
    fn indexed(&self, parts: &[(usize, Shape)]) -> Result<Option<Made>> {
        if !self.datatype.predefined {
            return Ok(None);
        }
        let (mut lengths, mut places) = (Vec::new(), Vec::new());
        for (start, part) in parts {
            let Shape::Run(length) = part else {
                return Ok(None);
            };
            let Ok(length) = c_int::try_from(length * self.items) else {
                return Ok(None);
            };
            lengths.push(length);
            places.push(address(start * self.stride())?);
        }
        let mut pairs = lengths.iter().zip(places.iter().zip(places.iter().skip(1)));
        if pairs.any(|(&length, (place, next))| seem_one(length, next - place, self.size)) {
            return Ok(None);
        }
        hindexed(&lengths, &places, &self.datatype).map(Some)
    }
}

/// Returns `true` if Intel's MPI takes a block of so many items and one that overlaps it for one
/// block: that begins as many bytes behind as there are items, where it should be as many items.
fn seem_one(length: c_int, stride: MPI_Aint, width: usize) -> bool {
    stride == length as MPI_Aint && width > 1
}

/// `count` blocks of `length` items of `width` bytes each, `stride` bytes apart.
fn blocks(count: usize, length: usize, stride: usize, width: usize, of: &Made) -> Result<Made> {
    let bytes = address(stride)?;
    match (c_int::try_from(count), c_int::try_from(length)) {
        (Ok(count), Ok(length)) if !seem_one(length, bytes, width) => {
            hvector(count, length, bytes, of)
        }
        _ => repeat(count, stride, &repeat(length, width, of)?),
    }
}

/// `count` equal datatypes, `stride` bytes apart.
fn repeat(count: usize, stride: usize, of: &Made) -> Result<Made> {
    const CHUNK: c_int = 1 << 30;
    const LENGTH: usize = 1 << 30;
    const CHUNKS: usize = 1 << 20;
    if let Ok(count) = c_int::try_from(count)
        && (of.predefined || stride != 1)
    {
        return hvector(count, 1, address(stride)?, of);
    }
    // Blocks of one datatype, and no struct of two: MPICH 3.4.3 and Intel's MPI take a struct
    // apart, down to every run. Nor a vector of what is a byte apart (`seem_one`).
    let of = resized(of, address(stride)?)?;
    let (chunks, rest) = (count / LENGTH, count % LENGTH);
    if chunks > CHUNKS {
        let why =
            format_args!("the layout repeats {count} times, which is more than a message can hold");
        return Err(Error::new(
            ErrorKind::Length,
            "MPI_Type_create_hindexed",
            why,
        ));
    }
    let mut lengths = vec![CHUNK; chunks];
    lengths.extend(c_int::try_from(rest).ok().filter(|&rest| rest > 0));
    // All of it lies in one slice, so that no product overflows an address.
    let places = (0..lengths.len()).map(|chunk| address(chunk * LENGTH * stride));
    hindexed(&lengths, &places.collect::<Result<Vec<_>>>()?, &of)
}

/// The datatype with another extent; no other extent is relied on.
fn resized(of: &Made, extent: MPI_Aint) -> Result<Made> {
    let mut made = sys::MPI_DATATYPE_NULL;
    // SAFETY: the datatype is alive, and there is a place for the new one.
    let code = unsafe { sys::MPI_Type_create_resized(of.datatype, 0, extent, &raw mut made) };
    Made::new(code, "MPI_Type_create_resized", made)
}

/// The datatype, moved away and back: Open MPI then does not take it to be contiguous, whatever it
/// is.
fn placed_twice(of: &Made) -> Result<Made> {
    const AWAY: MPI_Aint = 16;
    hindexed(&[1], &[-AWAY], &hindexed(&[1], &[AWAY], of)?)
}

/// Blocks of one datatype, at these byte offsets.
fn hindexed(lengths: &[c_int], places: &[MPI_Aint], of: &Made) -> Result<Made> {
    let count = number(lengths.len().min(places.len()))?;
    let mut made = sys::MPI_DATATYPE_NULL;
    // SAFETY: two lists of `count`, a datatype that is alive, and a place for the new one.
    let code = unsafe {
        sys::MPI_Type_create_hindexed(
            count,
            lengths.as_ptr(),
            places.as_ptr(),
            of.datatype,
            &raw mut made,
        )
    };
    Made::new(code, "MPI_Type_create_hindexed", made)
}

fn hvector(count: c_int, length: c_int, stride: MPI_Aint, of: &Made) -> Result<Made> {
    let mut made = sys::MPI_DATATYPE_NULL;
    // SAFETY: counts are not negative, the datatype is alive, and there is a place for the new one.
    let code =
        unsafe { sys::MPI_Type_create_hvector(count, length, stride, of.datatype, &raw mut made) };
    Made::new(code, "MPI_Type_create_hvector", made)
}

/// One of each datatype, at these byte offsets.
fn structure(parts: &[(usize, Made)]) -> Result<Made> {
    let lengths = vec![1; parts.len()];
    let places = parts.iter().map(|(place, _)| address(*place));
    let places = places.collect::<Result<Vec<MPI_Aint>>>()?;
    let types: Vec<MPI_Datatype> = parts.iter().map(|(_, part)| part.datatype).collect();
    let count = number(parts.len())?;
    let mut made = sys::MPI_DATATYPE_NULL;
    // SAFETY: three lists of `count`, of datatypes that are alive, and a place for the new one.
    let code = unsafe {
        sys::MPI_Type_create_struct(
            count,
            lengths.as_ptr(),
            places.as_ptr(),
            types.as_ptr(),
            &raw mut made,
        )
    };
    Made::new(code, "MPI_Type_create_struct", made)
}

fn address(bytes: usize) -> Result<MPI_Aint> {
    MPI_Aint::try_from(bytes).map_err(|_| too_many(bytes, "bytes"))
}

fn number(parts: usize) -> Result<c_int> {
    c_int::try_from(parts).map_err(|_| too_many(parts, "blocks"))
}

#[cold]
fn too_many(number: usize, what: &str) -> Error {
    Error::new(
        ErrorKind::Argument,
        "MPI_Type_create_struct",
        format_args!("a layout of {number} {what} is more than MPI can count; use several layouts"),
    )
}
