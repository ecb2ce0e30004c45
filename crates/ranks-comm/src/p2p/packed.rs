//! Messages of values that are no plain data.

use std::any::type_name;

use crate::communicator::Communicator;
use crate::data::element::pack::{Pack, arrived};
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::result::{Error, ErrorKind, Result, Status, parts_of};

impl Communicator {
    /// Sends `values`, [packed](Pack::pack_all), as [`send`](Self::send) does. The compiler refuses
    /// those that take no bytes.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    ///
    /// MPI 5.0 §3.2.1 (`MPI_Send`).
    pub fn send_packed<T: Pack>(
        &self,
        values: &[T],
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        self.send(&T::pack_all(values), dest, tag)
    }

    /// Receives a message of any number of values that were sent packed.
    ///
    /// Values are moved over the stack as they are unpacked: those of some hundred kilobytes each
    /// are better sent as vectors of their parts.
    ///
    /// ```
    /// # fn f(world: &ranks::Communicator) -> ranks::Result<()> {
    /// let last = world.size() - 1;
    /// if world.rank() == 0 {
    ///     world.send_packed(&[(true, 0.5), (false, 1.5)], last, 7)?;
    /// }
    /// if world.rank() == last {
    ///     let (flagged, _) = world.recv_packed::<(bool, f64)>(0, 7)?;
    ///     assert_eq!(flagged, [(true, 0.5), (false, 1.5)]);
    /// }
    /// # Ok(())
    /// # }
    /// # ranks::run(|world| f(&world)).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Value`] if one is no value of this type: the message
    /// is lost then. Otherwise as [`recv_vec`](Self::recv_vec).
    ///
    /// MPI 5.0 §3.8.2 (`MPI_Mprobe` and `MPI_Mrecv`).
    pub fn recv_packed<T: Pack>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(Vec<T>, Status)> {
        let received = self.recv_buffer::<T::Packed>(source, tag);
        let (packed, status) = received.map_err(of_packed::<T>)?;
        // From nobody come no values.
        let source = status.source().unwrap_or_default();
        Ok((arrived("MPI_Mrecv", &packed, source)?, status))
    }
}

/// The error, which names `T` in the place of what it is packed into.
fn of_packed<T: Pack>(error: Error) -> Error {
    if error.kind() != ErrorKind::Type {
        return error;
    }
    let packed = parts_of(type_name::<T::Packed>());
    let named = format!("packed {}", type_name::<T>());
    let text = error.to_string().replacen(&*packed, &named, 1);
    Error::with_text(error.kind(), error.operation(), text)
}
