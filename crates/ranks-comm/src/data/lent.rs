//! Elements whose address an operation keeps while they are lent to the program between its starts.
//!
//! A library gets the address of a buffer when an operation is prepared, and uses it from each
//! start until completion; in between the elements are the program's. By the rules of aliasing a
//! pointer becomes invalid when its elements are used through another one that is not derived from
//! it, such as a new slice of the buffer. Therefore, until the operation is freed:
//!
//! * The buffer itself is not used. There is one pointer to its elements, a [`Lent`]. Slices for
//!   the program and addresses for operations are derived from it, and each is out of use when the
//!   next is made.
//! * Where the pointer may only read and the program writes, a new one of the buffer takes its
//!   place.
//! * The provenance of the pointer is exposed. A library in C keeps an address only, and may use
//!   through it whatever is exposed and valid at the time ([`std::ptr::with_exposed_provenance`]):
//!   this pointer, also if it has replaced the one whose address was passed.
#![allow(unsafe_code)]

use std::slice;

use crate::data::element::Pod;
use crate::data::owned::RecvBuffer;
use crate::data::raw_slice::RawSlice;

/// The pointer to the elements of a buffer, and their number.
#[derive(Debug, Clone, Copy)]
pub struct Lent {
    pub(crate) span: RawSlice,
    length: usize,
}

impl Lent {
    /// A pointer that only reads.
    #[must_use]
    pub fn to_read<T: Pod>(data: &[T]) -> Self {
        // SAFETY: who writes has to promise that the pointer does (`as_mut_slice`), and operations
        // that receive get one `to_write`.
        Self::of(unsafe { RawSlice::to_read(data) }, data.len())
    }

    /// A pointer that reads and writes.
    ///
    /// # Safety
    /// As long as this or a copy of it is used, the elements stay in place and every use of them
    /// goes through it.
    pub unsafe fn to_write<T: Pod>(data: &mut [T]) -> Self {
        let length = data.len();
        // SAFETY: by this function's contract.
        Self::of(unsafe { RawSlice::of(data) }, length)
    }

    fn of(span: RawSlice, length: usize) -> Self {
        span.start().expose_provenance();
        Self { span, length }
    }

    /// Part `index`, of parts of so many bytes each.
    pub(crate) fn part<T>(self, index: usize, bytes: usize) -> Self {
        let span = self.span.part(index * bytes, bytes);
        let length = bytes / size_of::<T>().max(1);
        Self { span, length }
    }

    /// The elements.
    ///
    /// # Safety
    /// They are of this type, and for as long as the slice is used they stay in place and do not
    /// change.
    #[must_use]
    pub unsafe fn as_slice<'a, T>(self) -> &'a [T] {
        // SAFETY: it was made of such a slice, which is in place, by this function's contract.
        unsafe { slice::from_raw_parts(self.span.start().cast_const().cast(), self.length) }
    }

    /// The elements, mutably.
    ///
    /// # Safety
    /// They are of this type and the pointer [writes](Self::to_write); for as long as the slice is
    /// used they stay in place and nothing else uses them.
    #[must_use]
    pub unsafe fn as_mut_slice<'a, T>(self) -> &'a mut [T] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.span.start().cast(), self.length) }
    }

    /// Replaces the pointer by a new one of `buffer`, which writes, and lends the elements through
    /// it.
    ///
    /// # Safety
    /// This is of the elements of `buffer`; nothing else uses them while the slice is used, and no
    /// copy of this is used later.
    pub(crate) unsafe fn lend_mut<'a, B: RecvBuffer>(
        &mut self,
        buffer: &'a mut B,
    ) -> &'a mut [B::Element] {
        // SAFETY: by this function's contract, and that of whoever has made this.
        *self = unsafe { Self::to_write(buffer.as_mut_slice()) };
        // SAFETY: made of elements of that type in the line before.
        unsafe { self.as_mut_slice() }
    }
}

/// The elements that a persistent operation works on.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    /// The buffer that is sent; empty if there is one buffer, or none.
    pub send: Lent,
    /// The only buffer, or the one that is received into.
    pub buffer: Lent,
}

impl Places {
    /// The places of one buffer.
    pub(crate) fn one(buffer: Lent) -> Self {
        let send = Lent::to_read::<u8>(&[]);
        Self { send, buffer }
    }
}

/// A model of a library in C: it uses addresses alone. Under miri the tests fail if it may not.
#[cfg(test)]
mod tests {
    use std::ptr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::communicator::Communicator;
    use crate::data::buffer::Buffer;
    use crate::data::owned::SendBuffer;
    use crate::data::raw_slice::OpInfo;
    use crate::op::persistent::Persistent;
    use crate::result::Result;
    use crate::runtime::Runtime;
    use crate::transport::backend::StartedOp;

    const LENGTH: usize = 4;
    const ROUNDS: u32 = 4;

    /// The address that the library gets when an operation is prepared.
    fn address(elements: &mut [u32]) -> usize {
        elements.as_mut_ptr().expose_provenance()
    }

    /// The work of the library in an operation.
    fn copies(from: usize, to: usize) {
        let from = ptr::with_exposed_provenance::<u32>(from);
        let to = ptr::with_exposed_provenance_mut(to);
        // SAFETY: both have so many elements, which are its own from the start to completion.
        unsafe { ptr::copy_nonoverlapping(from, to, LENGTH) };
    }

    fn alone(test: impl FnOnce(&Communicator) -> Result<()>) {
        let runtime = Runtime::builder().backend(crate::Backend::InProcess);
        let runtime = runtime.ranks(1).init().unwrap();
        test(&runtime.world()).unwrap();
    }

    fn zeros() -> Vec<u32> {
        vec![0; LENGTH]
    }

    fn leaked() -> &'static mut [u32] {
        Box::leak(Box::new([0; LENGTH]))
    }

    fn messages<S, R>(world: &Communicator, send: S, recv: R) -> Result<()>
    where
        S: RecvBuffer<Element = u32> + Send + 'static,
        R: RecvBuffer<Element = u32> + Send + 'static,
    {
        let mut sending = world.send_init(send, 0, 1)?;
        let mut receiving = world.recv_init(recv, 0, 1)?;
        let from = address(sending.buffer_mut());
        let to = address(receiving.buffer_mut());
        for round in 0..ROUNDS {
            if round != 2 {
                sending.buffer_mut().fill(round);
                receiving.buffer_mut().fill(7);
            }
            let sent = sending.buffer().to_vec();
            let (to_come, to_go) = (receiving.start()?, sending.start()?);
            copies(from, to);
            (receiving, _) = to_come.wait()?;
            (sending, _) = to_go.wait()?;
            assert_eq!(receiving.buffer(), sent);
        }
        assert_eq!(sending.free()?.as_slice(), receiving.free()?.as_slice());
        Ok(())
    }

    #[test]
    fn the_address_of_a_message_was_kept_while_its_buffer_was_lent() {
        alone(|world| {
            messages(world, zeros(), zeros())?;
            messages(world, zeros().into_boxed_slice(), Buffer::zeroed(LENGTH))?;
            messages(world, leaked(), leaked())
        });
    }

    #[test]
    fn the_address_of_partitions_was_kept_while_their_buffer_was_lent() {
        alone(|world| {
            let mut sending = world.psend_init(zeros(), 2, 0, 1)?;
            let mut receiving = world.precv_init(zeros().into_boxed_slice(), 2, 0, 1)?;
            let from = address(sending.buffer_mut());
            let to = address(receiving.buffer_mut());
            for round in 0..ROUNDS {
                if round != 2 {
                    sending.buffer_mut().fill(round);
                    receiving.buffer_mut().fill(7);
                }
                let (to_come, to_go) = (receiving.start()?, sending.start()?);
                let mut part = to_go.partition(1)?;
                part.fill(round + 100);
                part.ready()?;
                to_go.pready(0)?;
                copies(from, to);
                sending = to_go.wait()?;
                receiving = to_come.wait()?;
                assert_eq!(receiving.buffer(), sending.buffer());
                assert_eq!(receiving.buffer()[LENGTH - 1], round + 100);
            }
            Ok(())
        });
    }

    static ROLE: OpInfo = OpInfo::of("MPI_Allgather_init");

    /// An operation from one buffer to another, of which the library keeps addresses only.
    fn collective<S, R>(world: &Communicator, send: S, recv: R) -> Result<Persistent<(S, R)>>
    where
        S: SendBuffer<Element = u32> + Send + 'static,
        R: RecvBuffer<Element = u32> + Send + 'static,
    {
        let told = Arc::new([const { AtomicUsize::new(0) }; 2]);
        let kept = Arc::clone(&told);
        let prepare = move |(send, recv): &mut (S, R)| {
            let send = Lent::to_read(send.as_slice());
            // SAFETY: what is made below has the buffer, and uses its elements by way of this
            // alone.
            let buffer = unsafe { Lent::to_write(recv.as_mut_slice()) };
            // SAFETY: the elements of the buffer, of which nobody else knows yet.
            let from = unsafe { send.as_slice::<u32>() };
            told[0].store(from.as_ptr().expose_provenance(), Ordering::Relaxed);
            // SAFETY: as above.
            let to = unsafe { buffer.as_mut_slice() };
            told[1].store(address(to), Ordering::Relaxed);
            Ok((Places { send, buffer }, None))
        };
        let again = move |_: &Communicator, _| {
            let [from, to] = [&kept[0], &kept[1]].map(|one| one.load(Ordering::Relaxed));
            copies(from, to);
            Ok(StartedOp::Over)
        };
        // SAFETY: it works on these places alone, which are the elements of a `SendBuffer` and of a
        // `RecvBuffer`.
        unsafe { Persistent::prepared(world, &ROLE, (send, recv), prepare, Box::new(again)) }
    }

    fn collectives<S, R>(world: &Communicator, send: S, recv: R) -> Result<()>
    where
        S: RecvBuffer<Element = u32> + Send + 'static,
        R: RecvBuffer<Element = u32> + Send + 'static,
    {
        let mut request = collective(world, send, recv)?;
        for round in 0..ROUNDS {
            if round != 2 {
                request.send_mut().fill(round);
                request.recv_mut().fill(7);
            }
            (request, _) = request.start()?.wait()?;
            assert_eq!(request.recv(), request.send());
        }
        let (send, recv) = request.free()?;
        assert_eq!(send.as_slice(), recv.as_slice());
        Ok(())
    }

    #[test]
    fn the_addresses_of_a_collective_were_kept_while_its_buffers_were_lent() {
        alone(|world| {
            collectives(world, zeros(), zeros())?;
            collectives(world, Buffer::zeroed(LENGTH), zeros().into_boxed_slice())?;
            collectives(world, leaked(), leaked())?;
            let shared = Arc::<[u32]>::from(zeros());
            let mut request = collective(world, Arc::clone(&shared), vec![7; LENGTH])?;
            for _ in 0..ROUNDS {
                (request, _) = request.start()?.wait()?;
                assert_eq!(request.recv(), &*shared);
                request.recv_mut().fill(7);
            }
            Ok(())
        });
    }
}
