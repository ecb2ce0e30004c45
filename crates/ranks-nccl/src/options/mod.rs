//! The options of communicators.

use std::time::Duration;

use ranks_cuda::Cuda;
use ranks_nccl_sys::Nccl;

pub(crate) mod config;

/// The options with which a communicator of NCCL is made. All that is not set is left to the
/// library.
///
/// ```
/// use std::time::Duration;
/// use ranks::nccl::NcclOptions;
///
/// let options = NcclOptions::new().time_limit(Duration::from_secs(60)).max_ctas(8);
/// # drop(options);
/// ```
///
/// Settings are those of `ncclConfig_t`, each in the library from some release on. An older library
/// would ignore it in silence, so making a communicator with it is an `Err` of kind
/// [`NotInLibrary`](ranks_comm::ErrorKind::NotInLibrary) there.
#[doc(alias = "ncclConfig_t")]
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct NcclOptions {
    pub(super) nccl: Option<&'static Nccl>,
    pub(super) cuda: Option<Cuda>,
    pub(super) time_limit: Option<Duration>,
    pub(super) name: Option<String>,
    pub(super) net_name: Option<String>,
    pub(super) cta_policy: Option<CtaPolicy>,
    pub(super) numbers: Vec<(Number, i64)>,
}

/// The policy by which NCCL decides how many blocks of threads (CTAs) work on an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CtaPolicy {
    /// Speed.
    Default,
    /// To leave most of the GPU to others.
    Efficiency,
    /// To use none where copies can be made without.
    Zero,
}

/// A setting of the configuration that is a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    CgaClusterSize,
    MinCtas,
    MaxCtas,
    SplitShare,
    TrafficClass,
    Collnet,
    ShrinkShare,
    NvlsCtas,
    ChannelsPerNetPeer,
    NvlinkCentricScheduling,
    RmaContexts,
    MaxP2pPeers,
    RmaSignals,
}

impl NcclOptions {
    /// All left to the library, found by [`Nccl::load`], with the driver that [`Cuda::load`] finds;
    /// no time limit.
    pub fn new() -> Self {
        Self::default()
    }

    /// This library instead of the one that is found.
    pub fn library(mut self, nccl: &'static Nccl) -> Self {
        self.nccl = Some(nccl);
        self
    }

    /// This driver instead of the one that is found.
    pub fn cuda(mut self, cuda: Cuda) -> Self {
        self.cuda = Some(cuda);
        self
    }

    /// Sets the time that making a communicator, enqueueing, and waiting may take, each. After it
    /// the communicator is aborted.
    ///
    /// Communicators are nonblocking ones (`blocking = 0`), so that every call of the library
    /// returns, and there is no other kind: one that blocks waits for its peers within the library,
    /// which nothing ends, since `ncclCommAbort` frees a communicator under the call that is in it.
    /// So where `NCCL_COMM_BLOCKING` asks for these, in the environment or in a file of NCCL's
    /// settings, making one is an `Err` of kind [`Argument`](ranks_comm::ErrorKind::Argument).
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Sets the name of the communicator in the library's logs and in profilers. NCCL 2.27.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The network module to use, such as `Socket` or `IB`. NCCL 2.17.
    pub fn net_name(mut self, name: impl Into<String>) -> Self {
        self.net_name = Some(name.into());
        self
    }

    /// Sets the number of blocks of threads that work together as a cluster, on GPUs that have
    /// clusters. NCCL 2.17.
    pub fn cga_cluster_size(self, blocks: usize) -> Self {
        self.with(Number::CgaClusterSize, blocks)
    }

    /// Sets the least number of blocks of threads that work on an operation. NCCL 2.17.
    pub fn min_ctas(self, blocks: usize) -> Self {
        self.with(Number::MinCtas, blocks)
    }

    /// Sets the largest number of blocks of threads that work on an operation. NCCL 2.17.
    pub fn max_ctas(self, blocks: usize) -> Self {
        self.with(Number::MaxCtas, blocks)
    }

    /// Sets whether communicators that are [split](super::NcclCommunicator::split) from this one
    /// share its resources. They are aborted together then. NCCL 2.18.
    pub fn split_share(self, share: bool) -> Self {
        self.with(Number::SplitShare, usize::from(share))
    }

    /// The traffic class of packets on the network. NCCL 2.26.
    pub fn traffic_class(self, class: usize) -> Self {
        self.with(Number::TrafficClass, class)
    }

    /// Sets whether switches that reduce are used. NCCL 2.27.
    pub fn collnet(self, enable: bool) -> Self {
        self.with(Number::Collnet, usize::from(enable))
    }

    /// Sets the policy by which NCCL decides how much of the GPU to take. NCCL 2.27.
    pub fn cta_policy(mut self, policy: CtaPolicy) -> Self {
        self.cta_policy = Some(policy);
        self
    }

    /// Sets whether communicators that are [shrunk](super::NcclCommunicator::shrink) from this one
    /// share its resources. They are aborted together then. NCCL 2.27.
    pub fn shrink_share(self, share: bool) -> Self {
        self.with(Number::ShrinkShare, usize::from(share))
    }

    /// Sets the number of blocks of threads that work on an operation in NVLink switches. NCCL
    /// 2.27.
    pub fn nvls_ctas(self, blocks: usize) -> Self {
        self.with(Number::NvlsCtas, blocks)
    }

    /// Sets the number of channels to each peer on the network. NCCL 2.28.
    pub fn channels_per_net_peer(self, channels: usize) -> Self {
        self.with(Number::ChannelsPerNetPeer, channels)
    }

    /// Sets whether work is laid out round NVLink. NCCL 2.28.
    pub fn nvlink_centric_scheduling(self, enable: bool) -> Self {
        self.with(Number::NvlinkCentricScheduling, usize::from(enable))
    }

    /// Sets the number of contexts of one-sided operations. NCCL 2.29.
    pub fn rma_contexts(self, contexts: usize) -> Self {
        self.with(Number::RmaContexts, contexts)
    }

    /// Sets the largest number of peers that a rank exchanges with. NCCL 2.30.
    pub fn max_p2p_peers(self, peers: usize) -> Self {
        self.with(Number::MaxP2pPeers, peers)
    }

    /// Sets the number of signals of one-sided operations, for each peer. NCCL 2.31.
    pub fn rma_signals(self, signals: usize) -> Self {
        self.with(Number::RmaSignals, signals)
    }

    /// A later value takes the place of an earlier one.
    fn with(mut self, number: Number, value: usize) -> Self {
        self.numbers.retain(|(other, _)| *other != number);
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        self.numbers.push((number, value));
        self
    }

    /// The children that share resources.
    pub(super) fn sharing(&self) -> Sharing {
        let shares = |number: Number| self.numbers.contains(&(number, 1));
        Sharing {
            split: shares(Number::SplitShare),
            shrunk: shares(Number::ShrinkShare),
        }
    }
}

/// The children that share with their parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sharing {
    pub(crate) split: bool,
    pub(crate) shrunk: bool,
}
