//! The payload of a message: before it is sent, under way, and after it is matched.

use super::lending::LentPart;
use super::mailbox::Envelope;
use crate::call::record::IN_PROCESS;
use crate::data::buffer::{Buffer, Memory};
use crate::data::element::Pod;
use crate::data::raw_slice::Element;
use crate::result::status::whole;
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

    pub(crate) fn bytes(bytes: &'a [u8]) -> Self {
        Self::of(bytes)
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
    Copy(Vec<u8>),
    /// Memory of the sender, which waits until it is read. Collectives alone send that.
    Lent(LentPart),
}

/// The number of bytes that are copied without allocation.
const FEW: usize = 46;

impl Payload {
    pub(crate) fn copy(bytes: &[u8]) -> Self {
        let mut few = [0; FEW];
        match (few.get_mut(..bytes.len()), u8::try_from(bytes.len())) {
            (Some(start), Ok(length)) => {
                start.copy_from_slice(bytes);
                Self::Few(few, length)
            }
            _ => Self::Copy(bytes.to_vec()),
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
            Self::Copy(bytes) => bytes,
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

    /// Returns an error if it must not be received as elements of that type.
    pub(crate) fn is_for(&self, operation: &'static str, element: Element) -> Result<()> {
        element.takes(operation, self.bytes().len(), self.element)
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
        self.is_for(operation, Element::of::<T>())?;
        let payload = self.bytes();
        let into: &mut [u8] = bytemuck::cast_slice_mut(buf);
        let Some(into) = into.get_mut(..payload.len()) else {
            let (arrived, capacity) = (Some(payload.len()), buf.len());
            return Err(error::truncated(
                operation,
                arrived,
                capacity,
                size_of::<T>(),
                IN_PROCESS,
            ));
        };
        if whole::<T>(payload.len()).is_none() {
            return Err(Element::of::<T>().not_whole(operation, payload.len()));
        }
        into.copy_from_slice(payload);
        Ok(self.status())
    }

    pub(crate) fn into_vec<T: Pod>(self, operation: &'static str) -> Result<(Vec<T>, Status)> {
        self.is_for(operation, Element::of::<T>())?;
        let status = self.status();
        let payload = self.bytes();
        let Some(count) = whole::<T>(payload.len()) else {
            return Err(Element::of::<T>().not_whole(operation, payload.len()));
        };
        let mut values = vec![T::zeroed(); count];
        bytemuck::cast_slice_mut::<T, u8>(&mut values).copy_from_slice(payload);
        Ok((values, status))
    }

    pub(crate) fn into_buffer<T: Pod>(
        self,
        operation: &'static str,
    ) -> Result<(Buffer<T>, Status)> {
        self.is_for(operation, Element::of::<T>())?;
        let payload = self.bytes();
        let Some(count) = whole::<T>(payload.len()) else {
            return Err(Element::of::<T>().not_whole(operation, payload.len()));
        };
        let memory = Memory::of_bytes(count, payload)
            .map_err(|reason| error::no_memory(operation, payload.len(), &reason))?;
        Ok((Buffer::filled(memory), self.status()))
    }
}
