//! The parts of a slice that belong to each rank, where they are no blocks: columns, faces,
//! anything that a layout takes.

use bytemuck::Pod;
use ranks_comm::layout::Layout;
use ranks_comm::{Error, ErrorKind, Result};

use crate::arguments::call::Call;
use crate::arguments::lengths::Holders;

/// A [`Layout`] for each rank or neighbour: what of a slice is sent to it or comes from it.
///
/// Made once and used as often as the same parts travel: whether they overlap is found out once.
///
/// ```
/// use ranks::collectives::Layouts;
/// use ranks::layout::Layout;
///
/// // Of a matrix of 4 rows and 6 columns, two columns for each of three ranks.
/// let columns = Layout::vector(4, 2, 6);
/// let layouts = Layouts::new((0..3).map(|rank| columns.at(2 * rank)));
/// assert_eq!(layouts.counts(), [8, 8, 8]);
/// ```
#[derive(Debug, Clone)]
pub struct Layouts {
    each: Vec<Layout>,
    counts: Vec<usize>,
    /// All of them: where they end, and whether they overlap.
    whole: Layout,
}

impl Layouts {
    /// These layouts, in the order of ranks or neighbours. Local.
    #[must_use]
    pub fn new(each: impl IntoIterator<Item = Layout>) -> Self {
        let each: Vec<Layout> = each.into_iter().collect();
        let placed: Vec<(usize, Layout)> = each.iter().map(|layout| (0, layout.clone())).collect();
        Self {
            counts: each.iter().map(Layout::elements).collect(),
            whole: Layout::concat(&placed),
            each,
        }
    }

    /// The number of layouts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.each.len()
    }

    /// Returns `true` if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// The number of elements that each layout takes.
    #[must_use]
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// The layouts.
    #[must_use]
    pub fn layouts(&self) -> &[Layout] {
        &self.each
    }

    /// # Errors
    /// [`ErrorKind::Length`] if there is not a layout for each of them.
    fn must_be_for(&self, operation: &'static str, holders: Holders, name: &str) -> Result<()> {
        if self.len() == holders.count {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Length,
            operation,
            format_args!(
                "there are {} layouts of {name} for {} {noun}s; each {noun} has one",
                self.len(),
                holders.count,
                noun = holders.name
            ),
        ))
    }
}

/// Slices and the layouts of what travels, after they were proven to fit each other: all layouts
/// lie in their slice, and those that are received into have no element in common.
pub(crate) struct Pattern<'a, T> {
    pub(crate) operation: &'static str,
    pub(crate) send: (&'a [T], &'a Layouts),
    pub(crate) recv: (&'a mut [T], &'a Layouts),
}

impl<'a, T: Pod> Pattern<'a, T> {
    /// # Errors
    /// [`ErrorKind::Length`] or [`ErrorKind::Argument`] if it is not so.
    pub(crate) fn inside(
        operation: &'static str,
        (dests, (send, here)): (Holders, (&'a [T], &'a Layouts)),
        (sources, (recv, there)): (Holders, (&'a mut [T], &'a Layouts)),
    ) -> Result<Self> {
        here.must_be_for(operation, dests, "send")?;
        there.must_be_for(operation, sources, "recv")?;
        let of = |slice: &'static str| {
            move |error: Error| Error::new(error.kind(), operation, error.of(slice))
        };
        here.whole.of(send).map_err(of("send"))?;
        there.whole.of_mut(recv).map_err(of("recv"))?;
        Ok(Self {
            operation,
            send: (send, here),
            recv: (recv, there),
        })
    }

    /// The same for all ranks, where what this one sends to itself is as long as where it goes.
    pub(crate) fn among_all(
        call: Call<'_>,
        send: (&'a [T], &'a Layouts),
        recv: (&'a mut [T], &'a Layouts),
    ) -> Result<Self> {
        let all = Holders::from(call.comm);
        let pattern = Self::inside(call.operation, (all, send), (all, recv))?;
        let own = |layouts: &Layouts| layouts.counts().get(call.comm.rank()).copied();
        if own(pattern.send.1) != own(pattern.recv.1) {
            return Err(Error::new(
                ErrorKind::Length,
                call.operation,
                "the layout of send and that of recv for this rank itself take different numbers of elements",
            ));
        }
        Ok(pattern)
    }
}
