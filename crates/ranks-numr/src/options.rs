//! Options of a communicator.

use std::time::Duration;

use ranks_raw::RawOptions;

/// Options of a [`NumrCommunicator`](crate::NumrCommunicator). The same on all ranks.
#[derive(Debug, Clone)]
pub struct NumrOptions {
    pub(crate) raw: RawOptions,
    pub(crate) drop_limit: Duration,
    pub(crate) rank_order: bool,
    pub(crate) compare_calls: Option<bool>,
}

impl Default for NumrOptions {
    fn default() -> Self {
        Self {
            raw: RawOptions::new(),
            drop_limit: Duration::from_secs(5),
            rank_order: false,
            compare_calls: None,
        }
    }
}

impl NumrOptions {
    /// As described at each method.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Options of the communicator over MPI or in process that
    /// [`NumrCommunicator::over`](crate::NumrCommunicator::over) makes: its time limit, whether a
    /// thread looks after operations while the program computes, how much of what is sent is
    /// copied.
    #[must_use]
    pub fn raw(mut self, options: RawOptions) -> Self {
        self.raw = options;
        self
    }

    /// The time limit of a drop that waits for operations in flight; 5 seconds by default.
    #[must_use]
    pub fn drop_limit(mut self, limit: Duration) -> Self {
        self.drop_limit = limit;
        self
    }

    /// Makes reductions combine the elements of the ranks in the order of ranks, from 0 up, so that
    /// they repeat to the last bit on any library. 16-bit floating-point numbers are added as `f32`
    /// and rounded once; in `Min` and `Max` a number wins over a NaN.
    ///
    /// Such a reduction is complete when it returns, and moves the elements of all ranks to each.
    /// Off by default; not over NCCL.
    #[must_use]
    pub fn rank_order(mut self, yes: bool) -> Self {
        self.rank_order = yes;
        self
    }

    /// Makes ranks compare their collective calls before they make them: all get an error if those
    /// differ, or if one of them is refused (there that of the refusal), and the communicator stays
    /// usable.
    ///
    /// That is one exchange more a call. By default, ranks do what those of the
    /// [`Communicator`](ranks_comm::Communicator) do that they were made over
    /// ([`Checks`](ranks_comm::Checks): in builds with debug assertions), and compare nothing where
    /// they were made over anything else. Over NCCL nothing is compared.
    #[must_use]
    pub fn compare_calls(mut self, yes: bool) -> Self {
        self.compare_calls = Some(yes);
        self
    }
}
