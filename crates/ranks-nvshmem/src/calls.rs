//! One-sided operations as the backends take them: what is the same for those that wait, those of a
//! scope, and those that own their memory.

use ranks_comm::{Error, ErrorKind, Result};

use crate::backend::{Order, Reuse, SignalOp, Strides};
use crate::block::{Local, Place};
use crate::check;
use crate::reach::Reach;
use crate::stream::StreamRef;
use crate::symmetric::part::{Near, Part};

/// The C names of an operation in its forms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names {
    now: &'static str,
    now_nbi: &'static str,
    stream: &'static str,
    stream_nbi: &'static str,
}

pub(crate) const PUT: Names = Names {
    now: "nvshmem_putmem",
    now_nbi: "nvshmem_putmem_nbi",
    stream: "nvshmemx_putmem_on_stream",
    stream_nbi: "nvshmemx_putmem_nbi_on_stream",
};

pub(crate) const GET: Names = Names {
    now: "nvshmem_getmem",
    now_nbi: "nvshmem_getmem_nbi",
    stream: "nvshmemx_getmem_on_stream",
    stream_nbi: "nvshmemx_getmem_nbi_on_stream",
};

pub(crate) const PUT_SIGNAL: Names = Names {
    now: "nvshmemx_putmem_signal_on_stream",
    now_nbi: "nvshmemx_putmem_signal_nbi_on_stream",
    stream: "nvshmemx_putmem_signal_on_stream",
    stream_nbi: "nvshmemx_putmem_signal_nbi_on_stream",
};

/// By the bits of an element.
pub(crate) const IPUT: [[&str; 2]; 5] = [
    ["nvshmem_iput8", "nvshmemx_iput8_on_stream"],
    ["nvshmem_iput16", "nvshmemx_iput16_on_stream"],
    ["nvshmem_iput32", "nvshmemx_iput32_on_stream"],
    ["nvshmem_iput64", "nvshmemx_iput64_on_stream"],
    ["nvshmem_iput128", "nvshmemx_iput128_on_stream"],
];

pub(crate) const IGET: [[&str; 2]; 5] = [
    ["nvshmem_iget8", "nvshmemx_iget8_on_stream"],
    ["nvshmem_iget16", "nvshmemx_iget16_on_stream"],
    ["nvshmem_iget32", "nvshmemx_iget32_on_stream"],
    ["nvshmem_iget64", "nvshmemx_iget64_on_stream"],
    ["nvshmem_iget128", "nvshmemx_iget128_on_stream"],
];

pub(crate) const SIGNAL_OP: &str = "nvshmemx_signal_op_on_stream";
pub(crate) const SIGNAL_WAIT: &str = "nvshmemx_signal_wait_until_on_stream";
pub(crate) const SIGNAL_FETCH: &str = "nvshmem_signal_fetch";

impl Names {
    pub(crate) const fn of(self, order: Order<'_>, reuse: Reuse) -> &'static str {
        match (order, reuse) {
            (Order::Now, Reuse::After) => self.now,
            (Order::Now, Reuse::AfterQuiet) => self.now_nbi,
            (Order::On(_), Reuse::After) => self.stream,
            (Order::On(_), Reuse::AfterQuiet) => self.stream_nbi,
        }
    }
}

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
    ) -> Result<Option<(Place<'m>, Local<'m>, usize)>> {
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
        signal: Place<'_>,
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
        signal: Place<'_>,
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

/// The C name for elements of so many bytes.
///
/// # Errors
/// [`ErrorKind::Argument`] if there is none.
pub(crate) fn strided(
    names: [[&'static str; 2]; 5],
    size: usize,
    order: Order<'_>,
) -> Result<&'static str> {
    let at = match size {
        1 => 0,
        2 => 1,
        4 => 2,
        8 => 3,
        16 => 4,
        _ => {
            let text = format_args!(
                "elements of {size} bytes have no strides: they may have 1, 2, 4, 8 or 16; put them one by one, or as such"
            );
            return Err(Error::new(ErrorKind::Argument, names[0][0], text));
        }
    };
    let [now, stream] = names[at];
    Ok(match order {
        Order::Now => now,
        Order::On(_) => stream,
    })
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
        "{count} elements with a stride of {stride} do not fit into {what}, which has {len}"
    );
    Err(Error::new(ErrorKind::Length, name, text))
}
