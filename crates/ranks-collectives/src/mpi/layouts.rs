//! All to all, of what layouts take: each part by its derived datatype and its place.

use std::ffi::{c_int, c_void};
use std::fmt::Debug;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{Keep, MpiComm as Comm, Portion, StartedOp, check_collective};
use ranks_comm::layout::Layout;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Aint, MPI_Count, MPI_Datatype, native};

use super::begun::begin_large;
use super::functions::is_in_library;
use super::pointer::{standard_recv_pointer, standard_send_pointer};
use crate::arguments::layouts::Pattern;
use crate::in_flight::stable::Stable;

/// The parts of a slice in the order in which the library has them. The datatypes are there as long
/// as this lives.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) counts: Vec<c_int>,
    pub(super) places: Vec<MPI_Aint>,
    pub(super) types: Vec<MPI_Datatype>,
    _portions: Vec<Portion>,
}

impl Parts {
    /// The datatypes as calls read them that go on after they have returned.
    pub(super) fn words(&self) -> native::Datatypes {
        // SAFETY: the library is loaded, as there are datatypes of it.
        unsafe { native::Datatypes::new(&self.types) }
    }

    /// # Errors
    /// Errors of the library about the datatypes.
    pub(super) fn of<'l, T: Pod>(
        comm: &Comm,
        layouts: impl Iterator<Item = &'l Layout>,
    ) -> Result<Self> {
        let portions: Vec<Portion> = layouts
            .map(|layout| comm.portion::<T>(layout))
            .collect::<Result<_>>()?;
        let place = |portion: &Portion| MPI_Aint::try_from(portion.offset).unwrap_or(0);
        Ok(Self {
            counts: portions.iter().map(|portion| portion.count).collect(),
            places: portions.iter().map(place).collect(),
            types: portions.iter().map(|portion| portion.datatype).collect(),
            _portions: portions,
        })
    }

    /// The places as `MPI_Alltoallw` takes them, if an `int` can say them.
    pub(super) fn near(&self) -> Option<Vec<c_int>> {
        let int = |place: &MPI_Aint| c_int::try_from(*place).ok();
        self.places.iter().map(int).collect()
    }

    /// The beginning of a part that is the only one, which is from there on. Open MPI 4.1 and 5.0
    /// take the place of the only one for a number of items, and write behind the slice
    /// (`coll_self_alltoallw.c`).
    pub(super) fn begin(&mut self) -> MPI_Aint {
        match &mut self.places[..] {
            [only] => std::mem::take(only),
            _ => 0,
        }
    }

    pub(super) fn wide_counts(&self) -> Vec<MPI_Count> {
        self.counts.iter().map(|&count| count.into()).collect()
    }
}

/// Memory that the library reads until the operation is complete: counts, places and datatypes of
/// what is sent and of what is received.
#[derive(Debug)]
pub(super) struct Sides<F> {
    pub(super) sent: Parts,
    pub(super) received: Parts,
    /// The datatypes of both, as the library reads them.
    pub(super) types: [native::Datatypes; 2],
    pub(super) form: F,
}

/// Numbers in the form of the function that is called: those among neighbours need nothing.
#[derive(Debug)]
enum Reach {
    /// Places that an `int` can say.
    Near([Vec<c_int>; 2]),
    /// Counts for places that it cannot.
    Far([Vec<MPI_Count>; 2]),
}

impl<F> Sides<F> {
    /// The counts of what is sent and of what is received.
    pub(super) fn counts(&self) -> [&Vec<c_int>; 2] {
        [&self.sent.counts, &self.received.counts]
    }

    /// Their places.
    pub(super) fn places(&self) -> [&Vec<MPI_Aint>; 2] {
        [&self.sent.places, &self.received.places]
    }
}

impl<F: Send + Debug> Keep for Sides<F> {
    fn ended(&mut self, _: &'static str) -> Result<()> {
        Ok(())
    }
}

impl Sides<Reach> {
    /// Those of all ranks, and where places count from.
    fn of<T: Pod>(
        comm: &Comm,
        pattern: Pattern<'_, T>,
    ) -> Result<(*const c_void, *mut c_void, Box<Self>)> {
        let ((send, here), (recv, there)) = (pattern.send, pattern.recv);
        let mut sent = Parts::of::<T>(comm, here.layouts().iter())?;
        let mut received = Parts::of::<T>(comm, there.layouts().iter())?;
        let from = standard_send_pointer(Some(send)).wrapping_byte_offset(sent.begin());
        let to = standard_recv_pointer(Some(recv)).wrapping_byte_offset(received.begin());
        let form = match (sent.near(), received.near()) {
            (Some(here), Some(there)) => Reach::Near([here, there]),
            _ => Reach::Far([sent.wide_counts(), received.wide_counts()]),
        };
        let types = [sent.words(), received.words()];
        let sides = Self {
            sent,
            received,
            types,
            form,
        };
        Ok((from, to, Box::new(sides)))
    }
}

pub(crate) fn blocking<T: Pod>(comm: &Comm, pattern: Pattern<'_, T>) -> Result<()> {
    let ((send, here), (recv, there)) = (pattern.send, pattern.recv);
    let mut sent = Parts::of::<T>(comm, here.layouts().iter())?;
    let mut received = Parts::of::<T>(comm, there.layouts().iter())?;
    let from = standard_send_pointer(Some(send)).wrapping_byte_offset(sent.begin());
    let to = standard_recv_pointer(Some(recv)).wrapping_byte_offset(received.begin());
    let (Some(send_places), Some(recv_places)) = (sent.near(), received.near()) else {
        let (send_counts, recv_counts) = (sent.wide_counts(), received.wide_counts());
        // SAFETY: what each part takes lies in its slice, and the parts of `recv` have no element
        // in common, as `Pattern` has proven; there is one for each rank, `from` and `to` being
        // where places count from.
        let code = unsafe {
            sys::MPI_Alltoallw_c(
                from,
                send_counts.as_ptr(),
                sent.places.as_ptr(),
                sent.types.as_ptr(),
                to,
                recv_counts.as_ptr(),
                received.places.as_ptr(),
                received.types.as_ptr(),
                comm.canonical,
            )
        };
        return check_collective(code, "MPI_Alltoallw_c");
    };
    // SAFETY: what each part takes lies in its slice, and the parts of `recv` have no element in
    // common, as `Pattern` has proven; there is one for each rank, `from` and `to` being where
    // places count from.
    let code = unsafe {
        sys::MPI_Alltoallw(
            from,
            sent.counts.as_ptr(),
            send_places.as_ptr(),
            sent.types.as_ptr(),
            to,
            received.counts.as_ptr(),
            recv_places.as_ptr(),
            received.types.as_ptr(),
            comm.canonical,
        )
    };
    check_collective(code, "MPI_Alltoallw")
}

/// Starts or prepares an operation on layouts by the C function of that name, with `sides` that are
/// kept, counts and places of what is sent and of what is received, and where places count from.
/// What a persistent one takes besides comes last.
macro_rules! begin_layouts {
    ($function:ident, $comm:expr, $sides:expr, $counts:expr, $places:expr, $from:expr, $to:expr $(, $info:expr)?) => {{
        let [send_counts, recv_counts] = $counts.map(|counts| counts.as_ptr());
        let [send_places, recv_places] = $places.map(|places| places.as_ptr());
        let [send_types, recv_types] = $sides.types.each_ref().map(|types| types.as_ptr());
        let (from, to) = ($from, $to);
        begin_large(stringify!($function), Some($sides), |request| {
            // SAFETY: what each part takes lies in its slice, and the parts of what is received
            // have no element in common, as `Pattern` and `Trade` have proven; there is one for
            // each rank or neighbour, `from` and `to` being where places count from; slices and
            // arrays last, as `Stable` says and the sides do.
            unsafe {
                sys::$function(
                    from, send_counts, send_places, send_types, to, recv_counts, recv_places, recv_types, $comm.canonical,
                    $($info,)? request,
                )
            }
        })
    }};
}
pub(super) use begin_layouts;

pub(crate) fn nonblocking<T: Pod>(
    comm: &Comm,
    pattern: Stable<Pattern<'_, T>>,
) -> Result<StartedOp> {
    let (from, to, sides) = Sides::of(comm, pattern.into_inner())?;
    match &sides.form {
        Reach::Near(places) => {
            let places = places.each_ref();
            begin_layouts!(
                MPI_Ialltoallw,
                comm,
                sides,
                sides.counts(),
                places,
                from,
                to
            )
        }
        Reach::Far(counts) => {
            let counts = counts.each_ref();
            begin_layouts!(
                MPI_Ialltoallw_c,
                comm,
                sides,
                counts,
                sides.places(),
                from,
                to
            )
        }
    }
}

pub(crate) fn init<T: Pod>(
    comm: &Comm,
    pattern: Stable<Pattern<'_, T>>,
) -> Result<Option<StartedOp>> {
    if !is_in_library("MPI_Alltoallw_init") {
        return Ok(None);
    }
    let (from, to, sides) = Sides::of(comm, pattern.into_inner())?;
    let info = sys::MPI_INFO_NULL;
    match &sides.form {
        Reach::Near(places) => {
            let places = places.each_ref();
            begin_layouts!(
                MPI_Alltoallw_init,
                comm,
                sides,
                sides.counts(),
                places,
                from,
                to,
                info
            )
        }
        Reach::Far(counts) => {
            let counts = counts.each_ref();
            begin_layouts!(
                MPI_Alltoallw_init_c,
                comm,
                sides,
                counts,
                sides.places(),
                from,
                to,
                info
            )
        }
    }
    .map(Some)
}
