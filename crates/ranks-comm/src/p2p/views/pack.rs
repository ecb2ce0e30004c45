//! Packing values of several types into one message, and unpacking them.

use crate::communicator::Communicator;
use crate::data::element::Pod;
use crate::data::layout::{View, ViewMut, advance};
use crate::result::Result;

impl Communicator {
    /// The largest number of bytes that [`pack`](Self::pack) appends for this view.
    ///
    /// # Errors
    /// [`ErrorKind::Finalized`](crate::ErrorKind::Finalized),
    /// [`ErrorKind::WrongThread`](crate::ErrorKind::WrongThread), or what the library reports.
    ///
    /// MPI 5.0 §5.2 (`MPI_Pack_size`).
    #[doc(alias = "MPI_Pack_size")]
    #[doc(alias = "MPI_Pack_size_c")]
    pub fn pack_size<T: Pod>(&self, data: &View<'_, T>) -> Result<usize> {
        self.dispatch(
            "MPI_Pack_size",
            |comm| comm.pack_size(data),
            |_| Ok(data.bytes()),
        )
    }

    /// Packs the elements of the view: appends them to `packed`, which may then be sent as bytes to
    /// a rank of this communicator, and [unpacked](Self::unpack) there in the same order.
    ///
    /// ```
    /// use ranks::layout::{View, ViewMut};
    ///
    /// # fn main() -> ranks::Result<()> {
    /// # ranks::run(|world| {
    /// let mut packed = Vec::new();
    /// world.pack(&View::whole(&[3u32]), &mut packed)?;
    /// world.pack(&View::whole(&[0.5, 1.5, 2.5]), &mut packed)?;
    ///
    /// let (mut position, mut count) = (0, [0u32]);
    /// world.unpack(&packed, &mut position, &mut ViewMut::whole(&mut count))?;
    /// let mut values = vec![0.0; count[0] as usize];
    /// world.unpack(&packed, &mut position, &mut ViewMut::whole(&mut values))?;
    /// assert_eq!(values, [0.5, 1.5, 2.5]);
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Length`](crate::ErrorKind::Length) if there is no memory for it;
    /// [`ErrorKind::NotInLibrary`](crate::ErrorKind::NotInLibrary) if all that is packed is longer
    /// than an `int` counts and the library has no `MPI_Pack_c`; what the library reports.
    ///
    /// MPI 5.0 §5.2 (`MPI_Pack`).
    #[doc(alias = "MPI_Pack")]
    #[doc(alias = "MPI_Pack_c")]
    pub fn pack<T: Pod>(&self, data: &View<'_, T>, packed: &mut Vec<u8>) -> Result<()> {
        const OPERATION: &str = "MPI_Pack";
        self.dispatch_with(
            OPERATION,
            packed,
            |comm, packed| comm.pack(data, packed),
            |_, packed| data.gather(OPERATION, packed),
        )
    }

    /// Unpacks elements from `position` in `packed` on, and moves `position` behind them.
    ///
    /// # Errors
    /// [`ErrorKind::Length`](crate::ErrorKind::Length) if `packed` ends before all elements are
    /// there: nothing is written then, and `position` stays.
    /// [`ErrorKind::NotInLibrary`](crate::ErrorKind::NotInLibrary) as for [`pack`](Self::pack);
    /// what the library reports.
    ///
    /// MPI 5.0 §5.2 (`MPI_Unpack`).
    #[doc(alias = "MPI_Unpack")]
    #[doc(alias = "MPI_Unpack_c")]
    pub fn unpack<T: Pod>(
        &self,
        packed: &[u8],
        position: &mut usize,
        into: &mut ViewMut<'_, T>,
    ) -> Result<()> {
        const OPERATION: &str = "MPI_Unpack";
        let end = advance(OPERATION, packed.len(), *position, into.bytes())?;
        *position = self.dispatch_with(
            OPERATION,
            into,
            |comm, into| comm.unpack(packed, *position, into),
            |_, into| {
                into.scatter(&packed[*position..end]);
                Ok(end)
            },
        )?;
        Ok(())
    }
}
