//! One-sided operations as the backends take them: what is the same for those that wait, those of a
//! scope, and those that own their memory.

use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;

use crate::backend::block::{Local, Offset};
use crate::backend::names::{GET, IGET, IPUT, Names, PUT, PUT_SIGNAL, SIGNAL_OP, strided};
use crate::backend::stream::StreamRef;
use crate::backend::{Order, Reuse, SignalOp, Strides};
use crate::call::check;
use crate::heap::arguments::part::{Near, Part};
use crate::stream::reach::Reach;

impl Reach<'_> {
    #[inline]
    pub(crate) fn put<D: Part, S: Near<Element = D::Element>>(
        &self,
        dest: &D,
        source: &S,
        pe: usize,
        order: Order<'_>,
        reuse: Reuse,
    ) -> Result<()> {
        match self.checked(PUT, dest, source, pe, order, reuse)? {
            Some((dest, source, bytes)) => self.backend.put(dest, source, bytes, pe, order, reuse),
            None => Ok(()),
        }
    }

    #[inline]
    pub(crate) fn get<D: Near, S: Part<Element = D::Element>>(
        &self,
        dest: &D,
        source: &S,
        pe: usize,
        order: Order<'_>,
        reuse: Reuse,
    ) -> Result<()> {
        match self.checked(GET, source, dest, pe, order, reuse)? {
            Some((source, dest, bytes)) => self.backend.get(dest, source, bytes, pe, order, reuse),
            None => Ok(()),
        }
    }

    /// Returns the places of the elements on the PE and here, and their size in bytes; `None` if
    /// there is none.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`]; [`ErrorKind::Length`].
    #[inline]
    pub(crate) fn checked<'m, F: Part, N: Near<Element = F::Element>>(
        &self,
        names: Names,
        far: &'m F,
        near: &'m N,
        pe: usize,
        order: Order<'_>,
        reuse: Reuse,
    ) -> Result<Option<(Offset<'m>, Local<'m>, usize)>> {
        let (there, here) = (far.count(), near.count());
        if there != here || pe >= self.n_pes {
            return Err(self.refused(names.of(order, reuse), pe, there, here));
        }
        let (Some(far), Some(near)) = (far.place(), near.local()) else {
            return Ok(None);
        };
        // Does not overflow: the elements lie in memory.
        Ok(Some((far, near, there * size_of::<F::Element>())))
    }

    pub(crate) fn iput<D: Part, S: Near<Element = D::Element>>(
        &self,
        dest: &D,
        source: &S,
        strides: Strides,
        count: usize,
        pe: usize,
        order: Order<'_>,
    ) -> Result<()> {
        let size = size_of::<D::Element>();
        let name = strided(IPUT, size, order)?;
        check::pe(name, pe, self.n_pes)?;
        fits(name, "the destination", dest.count(), strides.dest, count)?;
        fits(name, "the source", source.count(), strides.source, count)?;
        let (Some(dest), Some(source)) = (dest.place(), source.local()) else {
            return Ok(());
        };
        if count == 0 {
            return Ok(());
        }
        self.backend
            .iput(dest, source, strides, size, count, pe, order)
    }

    pub(crate) fn iget<D: Near, S: Part<Element = D::Element>>(
        &self,
        dest: &D,
        source: &S,
        strides: Strides,
        count: usize,
        pe: usize,
        order: Order<'_>,
    ) -> Result<()> {
        let size = size_of::<D::Element>();
        let name = strided(IGET, size, order)?;
        check::pe(name, pe, self.n_pes)?;
        fits(name, "the destination", dest.count(), strides.dest, count)?;
        fits(name, "the source", source.count(), strides.source, count)?;
        let (Some(dest), Some(source)) = (dest.local(), source.place()) else {
            return Ok(());
        };
        if count == 0 {
            return Ok(());
        }
        self.backend
            .iget(dest, source, strides, size, count, pe, order)
    }

    /// Without elements the signal is sent all the same.
    #[allow(clippy::too_many_arguments, reason = "those of the C function")]
    #[inline]
    pub(crate) fn put_signal<D: Part, S: Near<Element = D::Element>>(
        &self,
        dest: &D,
        source: &S,
        signal: Offset<'_>,
        value: u64,
        op: SignalOp,
        pe: usize,
        stream: StreamRef<'_>,
        reuse: Reuse,
    ) -> Result<()> {
        let (to, from) = (dest.count(), source.count());
        if to != from || pe >= self.n_pes {
            return Err(self.refused(PUT_SIGNAL.of(Order::On(stream), reuse), pe, to, from));
        }
        let (Some(dest), Some(source)) = (dest.place(), source.local()) else {
            return self.backend.signal_op(signal, value, op, pe, stream);
        };
        let bytes = to * size_of::<D::Element>();
        self.backend
            .put_signal(dest, source, bytes, signal, value, op, pe, stream, reuse)
    }

    pub(crate) fn signal_op(
        &self,
        signal: Offset<'_>,
        value: u64,
        op: SignalOp,
        pe: usize,
        stream: StreamRef<'_>,
    ) -> Result<()> {
        check::pe(SIGNAL_OP, pe, self.n_pes)?;
        self.backend.signal_op(signal, value, op, pe, stream)
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
