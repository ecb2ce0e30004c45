//! Messages that are unpacked to selected elements when they are complete.

use crate::data::element::Pod;
use crate::data::layout::{Element, Layout, Taken};
use crate::data::raw_slice::{RawSlice, receive_of};
use crate::result::Result;
use crate::transport::completion::Completion;

/// The selected elements of memory that an operation may use while it is pending.
#[derive(Debug)]
pub struct Spread {
    pub(crate) span: RawSlice,
    pub(crate) taken: Taken,
}

impl Spread {
    /// The elements that `layout`, which fits it, selects in a span of elements of `T`.
    #[must_use]
    pub fn of<T: Pod>(span: RawSlice, layout: &Layout) -> Self {
        let (layout, element) = (layout.clone(), Element::whole::<T>());
        let taken = Taken { layout, element };
        Self { span, taken }
    }

    /// The number of bytes, without the gaps.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.taken.bytes()
    }

    /// Copies `payload` to the selected places, up to the end of the shorter one.
    pub fn fill(&self, payload: &[u8]) {
        let mut rest = payload;
        self.taken.for_each_range(&mut |start, length| {
            let (now, later) = rest.split_at(length.min(rest.len()));
            self.span.part(start, length).fill(now);
            rest = later;
            !rest.is_empty()
        });
    }
}

/// The destination that a complete message is unpacked to.
#[derive(Debug)]
pub(crate) struct Scatter {
    pub(crate) place: Spread,
    pub(crate) check: fn(&Taken, &'static str, usize, &str) -> Result<()>,
    pub(crate) library: &'static str,
}

impl Scatter {
    /// Unpacks a received message, if it fits.
    pub(crate) fn put(&self, landed: Completion) -> Result<Completion> {
        let operation = receive_of::<u8>().operation();
        let Some(room) = landed.room else {
            return Ok(landed);
        };
        let message = room.into_initialised::<u8>();
        (self.check)(&self.place.taken, operation, message.len(), self.library)
            .map_err(|error| error.of_message(&landed.status))?;
        self.place.fill(&message);
        Ok(Completion::plain(landed.status))
    }
}
