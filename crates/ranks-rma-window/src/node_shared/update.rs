//! A part of an array is changed on all nodes together.
#![allow(unsafe_code)]

use std::ops::Range;

use bytemuck::Pod;
use ranks_collectives::Collectives;
use ranks_comm::backend::digest;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;

use super::fill::{outside, together};
use super::{NodeShared, all_alone};

const OPERATION: &str = "NodeShared::update";

impl<T: Pod> NodeShared<T> {
    /// Puts `data` of `root` into the elements `range` of every node's copy. Collective.
    ///
    /// No rank may have another handle of the array, and this one is borrowed: so nobody reads it
    /// at the time. All pass the same range and root; what the others pass for `data` does not
    /// matter.
    ///
    /// ```
    /// # use ranks::rma::NodeShared;
    /// # ranks::run(|world| {
    /// let mut table = NodeShared::from_root(&world, 0, 4, |out| out.fill(1.0))?;
    /// table.update(1..3, 0, &[5.0, 6.0])?;
    /// assert_eq!(*table, [1.0, 5.0, 6.0, 1.0]);
    /// # Ok::<(), ranks::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// A rank that still reads an element of its copy cannot call it:
    ///
    /// ```compile_fail,E0502
    /// # fn change(mut table: ranks::rma::NodeShared<f64>) -> ranks::Result<()> {
    /// let first = &table[0];
    /// table.update(0..1, 0, &[2.0])?;
    /// println!("{first}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The same on every rank, and nothing is changed: [`ErrorKind::Mismatch`] if ranks pass
    /// different ranges or roots, or call it on different arrays, [`ErrorKind::Argument`] if a rank
    /// has another handle of the array or the range is not in it, [`ErrorKind::Root`],
    /// [`ErrorKind::Length`] if `data` is not as long as the range.
    ///
    /// Any other error, such as [`ErrorKind::TimedOut`], leaves ranks apart, of which some may
    /// write to the array still. So this rank has lost it: the handle is that of an empty slice,
    /// and each later call on it is an error.
    pub fn update(&mut self, range: Range<usize>, root: usize, data: &[T]) -> Result<()> {
        let comm = self.nodes().whole().clone();
        let is_root = comm.rank() == root;
        let (having, length) = (self.0.having(), self.len());
        let call = digest([root, range.start, range.end].map(|word| word as u64));
        let told = [self.0.number(), call, data.len() as u64];
        // A rank that leaves before all are done must not be able to read what others write.
        let hidden = self.0.hide();
        let lengths = all_alone(&comm, OPERATION, having, told)?;
        let refused = lengths.and_then(|lengths| fits(&range, length, root, &lengths));
        if refused.is_err() {
            self.0.show(hidden);
            return refused;
        }
        // From here on no rank of any node has a reference to the elements.
        let whole = self.0.whole();
        let at = self.0.at() + range.start * size_of::<T>();
        let bytes = at..at + range.len() * size_of::<T>();
        // SAFETY: nobody has a reference to them, and one rank of a node at a time makes one: the
        // root before all meet in `together`, the leader after that.
        let elements = || unsafe { whole.elements_mut::<T>(at, range.len()) }.ok_or_else(outside);
        let written = if is_root {
            whole.unsealed(bytes.clone(), || {
                elements()?.copy_from_slice(data);
                Ok(())
            })
        } else {
            Ok(())
        };
        together(whole, written)?;
        let nodes = whole.nodes();
        let from = nodes.node_of(root).unwrap_or(0);
        let sent = match nodes.leaders().filter(|leaders| leaders.size() > 1) {
            None => Ok(()),
            // Also where it is already: MPICH 5.0.2 writes what it sends to the root's own buffer
            // again.
            Some(leaders) => whole.unsealed(bytes, || leaders.bcast(elements()?, from)),
        };
        together(whole, sent)?;
        self.0.show(hidden);
        Ok(())
    }
}

/// Checks that the root exists, and that the range is in the array and as long as the root's data:
/// facts that all ranks know.
fn fits(range: &Range<usize>, length: usize, root: usize, lengths: &[u64]) -> Result<()> {
    let (kind, why) = match lengths.get(root) {
        None => {
            let size = lengths.len();
            let why = format!("root {root} is not in this communicator of {size}");
            (ErrorKind::Root, why)
        }
        Some(_) if range.start > range.end || range.end > length => {
            let why = format!("elements {range:?} are not in an array of {length}");
            (ErrorKind::Argument, why)
        }
        Some(&data) if data != range.len() as u64 => {
            let (len, size) = (range.len(), lengths.len());
            let why = format!(
                "root {root} of {size} has {} for the {len} of {range:?}",
                Count(data, "element")
            );
            (ErrorKind::Length, why)
        }
        Some(_) => return Ok(()),
    };
    Err(Error::new(kind, OPERATION, why))
}
