//! Sums that are rounded once.

use ranks_comm::{Communicator, Result};

use super::accumulator::{Accumulator, WORDS};
use crate::agreement::{CallSignature, all_ready};
use crate::arguments::transfer::Transfer;
use crate::mpi::functions::Allreduce;
use crate::operation::reductions;
use crate::ops::Sum;
use crate::ops::fractional::Fractional;

/// The number of accumulators that travel together.
const AT_ONCE: usize = 512;

/// Sums that do not depend on the order of what is added; from
/// [`Reproducible::exact`](crate::Reproducible::exact).
///
/// Numbers are added in a fixed-point number that is wide enough for all of them, and only the
/// result is rounded, to the number that is nearest to the true sum. So it has the same bits
/// whichever rank has which elements, in whichever order, and for any number of ranks.
///
/// A sum of zeros is `+0.0`. An infinity, or infinities of both signs, or a NaN make of it what
/// they make of any sum. Each of the two components of a complex number is summed for itself.
#[derive(Debug, Clone, Copy)]
pub struct Exact<'a> {
    pub(super) comm: &'a Communicator,
}

impl Exact<'_> {
    /// The sum of all elements of all ranks, however many each passes; zero if there are none.
    ///
    /// # Errors
    /// Errors of the library.
    pub fn sum<T: Fractional>(&self, mine: &[T]) -> Result<T> {
        const OPERATION: &str = "Exact::sum";
        all_ready(self.comm, CallSignature::moving::<T>(OPERATION), Ok(()))?;
        let mut sums = vec![Accumulator::ZERO; T::COMPONENTS];
        for number in mine {
            for (component, sum) in sums.iter_mut().enumerate() {
                sum.add(number.component(component));
            }
        }
        let mut whole = [T::zeroed()];
        self.add_up(sums, &mut whole)?;
        Ok(whole[0])
    }

    /// The sums of the `send` of all ranks, element by element, in `recv` of every rank.
    ///
    /// For each element that a plain [`allreduce`](crate::Collectives::allreduce) sends, this sends
    /// 568 bytes of each component.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if `send` and `recv` differ in length; otherwise
    /// what the library reports.
    pub fn allreduce<T: Fractional>(&self, send: &[T], recv: &mut [T]) -> Result<()> {
        const OPERATION: &str = "Exact::allreduce";
        let proven = Transfer::equal(OPERATION, send, recv);
        all_ready(self.comm, CallSignature::moving::<T>(OPERATION), proven)?;
        for (send, recv) in send.chunks(AT_ONCE).zip(recv.chunks_mut(AT_ONCE)) {
            let components = send
                .iter()
                .flat_map(|number| (0..T::COMPONENTS).map(|component| number.component(component)));
            let sums = components.map(|component| {
                let mut sum = Accumulator::ZERO;
                sum.add(component);
                sum
            });
            self.add_up(sums, recv)?;
        }
        Ok(())
    }

    /// The sums over all ranks of what each has for the components of the elements of `recv`.
    fn add_up<T: Fractional>(
        &self,
        sums: impl IntoIterator<Item = Accumulator>,
        recv: &mut [T],
    ) -> Result<()> {
        let mut words: Vec<i64> = sums.into_iter().flat_map(Accumulator::into_words).collect();
        reductions::reduce_in_place::<Allreduce, _, _>(self.comm, &mut words, Sum, ())?;
        let elements = words.chunks_exact(T::COMPONENTS * WORDS);
        for (element, words) in recv.iter_mut().zip(elements) {
            *element = T::rounded(|component, form| {
                Accumulator::from_words(&words[component * WORDS..]).round(form)
            });
        }
        Ok(())
    }
}
