//! One-sided operations as the backends take them: what is the same for those that wait, those of a
//! scope, and those that own their memory.

use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;

use crate::backend::names::{PUT_SIGNAL, SIGNAL_OP};
use crate::backend::stream::StreamRef;
use crate::backend::{Access, Direction, Order, Reuse, SignalUpdate, Strides};
use crate::call::check;
use crate::heap::arguments::part::{Near, Part};
use crate::stream::reach::Reach;

impl Reach<'_> {
    /// Puts the elements here to those of the PE, or gets these.
    #[inline]
    pub(crate) fn access<F: Part, N: Near<Element = F::Element>>(
        &self,
        direction: Direction,
        far: &F,
        near: &N,
        pe: usize,
        order: Order<'_>,
        reuse: Reuse,
    ) -> Result<()> {
        let name = direction.name(order, reuse);
        match self.checked(name, direction, far, near, pe)? {
            Some(access) => self.backend.access(access, order, reuse),
            None => Ok(()),
        }
    }

    /// The access; `None` if there are no bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`]; [`ErrorKind::Length`].
    #[inline]
    pub(crate) fn checked<'m, F: Part, N: Near<Element = F::Element>>(
        &self,
        name: &'static str,
        direction: Direction,
        far: &'m F,
        near: &'m N,
        pe: usize,
    ) -> Result<Option<Access<'m>>> {
        let (there, here) = (far.count(), near.count());
        if there != here || pe >= self.n_pes {
            return Err(self.refused(name, pe, there, here));
        }
        let (Some(far), Some(near)) = (far.place(), near.local()) else {
            return Ok(None);
        };
        Ok(Some(Access {
            direction,
            far,
            near,
            // Does not overflow: the elements lie in memory.
            bytes: there * size_of::<F::Element>(),
            pe,
        }))
    }

    /// As [`access`](Self::access), of `count` elements that are apart.
    #[allow(clippy::too_many_arguments, reason = "those of the C function")]
    pub(crate) fn access_strided<F: Part, N: Near<Element = F::Element>>(
        &self,
        direction: Direction,
        far: &F,
        near: &N,
        strides: Strides,
        count: usize,
        pe: usize,
        order: Order<'_>,
    ) -> Result<()> {
        let size = size_of::<F::Element>();
        let name = direction.strided_name(size, order)?;
        check::pe(name, pe, self.n_pes)?;
        let (dest, source) = match direction {
            Direction::Put => (far.count(), near.count()),
            Direction::Get => (near.count(), far.count()),
        };
        fits(name, "the destination", dest, strides.dest, count)?;
        fits(name, "the source", source, strides.source, count)?;
        let (Some(far), Some(near)) = (far.place(), near.local()) else {
            return Ok(());
        };
        if count == 0 {
            return Ok(());
        }
        let access = Access {
            direction,
            far,
            near,
            // Does not overflow, as above.
            bytes: count * size,
            pe,
        };
        self.backend.access_strided(access, strides, size, order)
    }

    /// Without elements the signal is sent all the same.
    #[inline]
    pub(crate) fn put_signal<D: Part, S: Near<Element = D::Element>>(
        &self,
        dest: &D,
        source: &S,
        signal: SignalUpdate<'_>,
        pe: usize,
        stream: StreamRef<'_>,
        reuse: Reuse,
    ) -> Result<()> {
        let name = PUT_SIGNAL.of(Order::On(stream), reuse);
        match self.checked(name, Direction::Put, dest, source, pe)? {
            Some(put) => self.backend.put_signal(put, signal, stream, reuse),
            None => self.backend.signal_op(signal, pe, stream),
        }
    }

    pub(crate) fn signal_op(
        &self,
        signal: SignalUpdate<'_>,
        pe: usize,
        stream: StreamRef<'_>,
    ) -> Result<()> {
        check::pe(SIGNAL_OP, pe, self.n_pes)?;
        self.backend.signal_op(signal, pe, stream)
    }

    /// The error for a wrong PE or wrong lengths.
    #[cold]
    fn refused(&self, name: &'static str, pe: usize, to: usize, from: usize) -> Error {
        let checked = check::pe(name, pe, self.n_pes);
        match checked.and_then(|()| check::same_length(name, to, from)) {
            Err(error) => error,
            Ok(()) => Error::new(ErrorKind::Argument, name, "it was refused"),
        }
    }
}

/// # Errors
/// [`ErrorKind::Length`] unless so many elements, each `stride` after the one before, lie among
/// `len`; [`ErrorKind::Argument`] for a stride of 0.
fn fits(name: &'static str, what: &str, len: usize, stride: usize, count: usize) -> Result<()> {
    if stride == 0 {
        let text =
            format_args!("the stride in {what} is 0; it is 1 where elements are side by side");
        return Err(Error::new(ErrorKind::Argument, name, text));
    }
    let Some(before) = count.checked_sub(1) else {
        return Ok(());
    };
    let last = before.checked_mul(stride);
    if last.is_some_and(|last| last < len && isize::try_from(last).is_ok()) {
        return Ok(());
    }
    let text = format_args!(
        "{} with a stride of {stride}: too many for {what}, which has {len}",
        Count(count, "element")
    );
    Err(Error::new(ErrorKind::Length, name, text))
}
