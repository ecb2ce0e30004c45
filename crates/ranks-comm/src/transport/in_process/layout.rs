//! Messages of the elements that layouts select, as copies.

use super::comm::Comm;
use super::mailbox::Envelope;
use super::payload::Sent;
use crate::call::record::IN_PROCESS;
use crate::data::element::Pod;
use crate::data::layout::{View, ViewMut};
use crate::data::raw_slice::Element;
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::result::{Result, Status};
use crate::transport::mpi::SendMode;

impl Comm {
    pub(crate) fn send_view<T: Pod>(
        &self,
        mode: SendMode,
        data: &View<'_, T>,
        dest: Destination,
        tag: i32,
    ) -> Result<()> {
        if dest == Destination::Null {
            return Ok(());
        }
        let operation = mode.name();
        let mut payload = Vec::new();
        data.gather(operation, &mut payload)?;
        let sent = Sent::with(&payload, Element::of::<T>());
        match mode {
            SendMode::Synchronous => self.ssend(operation, sent, dest, tag),
            _ => self.send(sent, dest, tag),
        }
    }

    pub(crate) fn recv_view<T: Pod>(
        &self,
        operation: &'static str,
        buf: &mut ViewMut<'_, T>,
        source: Source,
        tag: Tag,
    ) -> Result<Status> {
        match self.mprobe(operation, source, tag)? {
            Some(message) => message.scatter_into(operation, buf),
            None => Ok(Status::null()),
        }
    }
}

impl Envelope {
    /// Unpacks the message into the elements that the view selects; too long a one leaves them
    /// untouched.
    pub(crate) fn scatter_into<T: Pod>(
        &self,
        operation: &'static str,
        buf: &mut ViewMut<'_, T>,
    ) -> Result<Status> {
        let payload = self.bytes();
        let bytes = payload.len();
        Element::of::<T>()
            .takes(operation, bytes, self.element)
            .and_then(|()| buf.taken.fits::<T>(operation, bytes, IN_PROCESS))
            .map_err(|error| error.of_message(&self.status()))?;
        buf.scatter(payload);
        Ok(self.status())
    }
}
