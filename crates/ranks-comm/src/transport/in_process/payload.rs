//! The payload of a message: before it is sent, under way, and after it is matched.

use super::copied::Copied;
use super::lending::LentPart;
use super::mailbox::Envelope;
use crate::call::record::IN_PROCESS;
use crate::data::buffer::{Buffer, Memory};
use crate::data::element::Pod;
use crate::data::raw_slice::Element;
use crate::result::{Result, Status, error};

/// The bytes that are sent, and the type of their elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) element: Element,
}

impl<'a> Sent<'a> {
    pub(crate) fn of<T: Pod>(data: &'a [T]) -> Self {
        Self::with(bytemuck::cast_slice(data), Element::of::<T>())
    }

    /// The bytes of such elements.
    pub(crate) fn with(bytes: &'a [u8], element: Element) -> Self {
        Self { bytes, element }
    }
}

/// The bytes of a message under way.
#[derive(Debug)]
pub(crate) enum Payload {
    /// A copy of a few, with their number.
    Few([u8; FEW], u8),
    /// A copy.
    Copy(Copied),
    /// Memory of the sender, which waits until it is read. Collectives alone send that.
    Lent(LentPart),
}

/// The number of bytes that are copied without allocation.
const FEW: usize = 46;

impl Payload {
    /// Copies bytes.
    // Where it is not inlined the payload is written to its place in the envelope.
    #[inline(never)]
    pub(crate) fn copy(bytes: &[u8]) -> Self {
        let mut few = [0; FEW];
        match (few.get_mut(..bytes.len()), u8::try_from(bytes.len())) {
            (Some(start), Ok(length)) => {
                start.copy_from_slice(bytes);
                Self::Few(few, length)
            }
            _ => Self::Copy(Copied::new(bytes)),
        }
    }

    /// The bytes of a copy; none of what is lent.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Few(few, length) => &few[..usize::from(*length)],
            Self::Copy(bytes) => bytes,
            Self::Lent(_) => &[],
        }
    }

    pub(crate) fn into_vec(self) -> Vec<u8> {
        match self {
            Self::Copy(bytes) => bytes.into_vec(),
            other => other.bytes().to_vec(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Lent(part) => part.len(),
            copy => copy.bytes().len(),
        }
    }
}

impl Envelope {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.payload.bytes()
    }

    /// Checks that it may be received as elements of that type, of which there is room for
    /// `capacity`.
    pub(crate) fn fits(
        &self,
        operation: &'static str,
        element: Element,
        capacity: usize,
    ) -> Result<()> {
        let bytes = self.bytes().len();
        element
            .takes(operation, bytes, self.element)
            .and_then(|()| element.fits(operation, bytes, capacity, IN_PROCESS))
            .map_err(|error| error.of_message(&self.status()))
    }

    pub(crate) fn status(&self) -> Status {
        Status::local(self.source, self.tag, self.bytes().len())
    }

    /// Copies the message to the beginning of `buf`; too long a message leaves `buf` untouched.
    pub(crate) fn copy_into<T: Pod>(
        &self,
        operation: &'static str,
        buf: &mut [T],
    ) -> Result<Status> {
        self.fits(operation, Element::of::<T>(), buf.len())?;
        let payload = self.bytes();
        bytemuck::cast_slice_mut(buf)[..payload.len()].copy_from_slice(payload);
        Ok(self.status())
    }

    pub(crate) fn into_vec<T: Pod>(self, operation: &'static str) -> Result<(Vec<T>, Status)> {
        self.fits(operation, Element::of::<T>(), usize::MAX)?;
        let status = self.status();
        let payload = self.bytes();
        let mut values = vec![T::zeroed(); payload.len() / size_of::<T>()];
        bytemuck::cast_slice_mut::<T, u8>(&mut values).copy_from_slice(payload);
        Ok((values, status))
    }

    pub(crate) fn into_buffer<T: Pod>(
        self,
        operation: &'static str,
    ) -> Result<(Buffer<T>, Status)> {
        self.fits(operation, Element::of::<T>(), usize::MAX)?;
        let payload = self.bytes();
        let memory = Memory::of_bytes(payload.len() / size_of::<T>(), payload)
            .map_err(|reason| error::no_memory(operation, payload.len(), &reason))?;
        Ok((Buffer::filled(memory), self.status()))
    }
}
