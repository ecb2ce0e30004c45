//! The C names of the calls.

use ranks_comm::{Error, ErrorKind, Result};

use super::reduction_names;
use super::{Direction, Movement, Order, Point, Reuse};

pub(crate) const INIT: &str = "nvshmemx_hostlib_init_attr";
pub(crate) const FINALIZE: &str = "nvshmemx_hostlib_finalize";

pub(crate) const ALLOC: &str = "nvshmem_malloc";
pub(crate) const FREE: &str = "nvshmem_free";
pub(crate) const READ: &str = "cuMemcpyDtoH_v2";
pub(crate) const WRITE: &str = "cuMemcpyHtoDAsync_v2";
pub(crate) const FILL: &str = "cuMemsetD8Async";

pub(crate) const REGISTER: &str = "nvshmemx_buffer_register";
pub(crate) const UNREGISTER: &str = "nvshmemx_buffer_unregister";
pub(crate) const REGISTER_SYMMETRIC: &str = "nvshmemx_buffer_register_symmetric";

pub(crate) const TEAM_DESTROY: &str = "nvshmem_team_destroy";
pub(crate) const TEAM_SPLIT_STRIDED: &str = "nvshmem_team_split_strided";
pub(crate) const TEAM_SPLIT_2D: &str = "nvshmem_team_split_2d";
pub(crate) const TEAM_UNIQUE_ID: &str = "nvshmemx_team_get_uniqueid";
pub(crate) const TEAM_INIT: &str = "nvshmemx_team_init";

/// The C names of an operation in its forms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names {
    now: &'static str,
    now_nbi: &'static str,
    stream: &'static str,
    stream_nbi: &'static str,
}

const PUT: Names = Names {
    now: "nvshmem_putmem",
    now_nbi: "nvshmem_putmem_nbi",
    stream: "nvshmemx_putmem_on_stream",
    stream_nbi: "nvshmemx_putmem_nbi_on_stream",
};

const GET: Names = Names {
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
const IPUT: [[&str; 2]; 5] = [
    ["nvshmem_iput8", "nvshmemx_iput8_on_stream"],
    ["nvshmem_iput16", "nvshmemx_iput16_on_stream"],
    ["nvshmem_iput32", "nvshmemx_iput32_on_stream"],
    ["nvshmem_iput64", "nvshmemx_iput64_on_stream"],
    ["nvshmem_iput128", "nvshmemx_iput128_on_stream"],
];

const IGET: [[&str; 2]; 5] = [
    ["nvshmem_iget8", "nvshmemx_iget8_on_stream"],
    ["nvshmem_iget16", "nvshmemx_iget16_on_stream"],
    ["nvshmem_iget32", "nvshmemx_iget32_on_stream"],
    ["nvshmem_iget64", "nvshmemx_iget64_on_stream"],
    ["nvshmem_iget128", "nvshmemx_iget128_on_stream"],
];

pub(crate) const SIGNAL_OP: &str = "nvshmemx_signal_op_on_stream";
pub(crate) const SIGNAL_WAIT: &str = "nvshmemx_signal_wait_until_on_stream";
pub(crate) const SIGNAL_FETCH: &str = "nvshmem_signal_fetch";

impl Order<'_> {
    /// The name of a call that is done when it returns, or of the one that enqueues the same.
    pub(crate) const fn of(self, [now, on_stream]: [&'static str; 2]) -> &'static str {
        match self {
            Order::Now => now,
            Order::On(_) => on_stream,
        }
    }
}

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

impl Direction {
    pub(crate) const fn name(self, order: Order<'_>, reuse: Reuse) -> &'static str {
        match self {
            Self::Put => PUT.of(order, reuse),
            Self::Get => GET.of(order, reuse),
        }
    }

    /// The C name for elements of so many bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if there is none.
    pub(crate) fn strided_name(self, size: usize, order: Order<'_>) -> Result<&'static str> {
        let names = match self {
            Self::Put => IPUT,
            Self::Get => IGET,
        };
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
        Ok(order.of(names[at]))
    }
}

impl Point {
    /// The C function that does it.
    pub(crate) const fn name(self, order: Order<'_>) -> &'static str {
        order.of(match self {
            Self::Fence => ["nvshmem_fence"; 2],
            Self::Quiet => ["nvshmem_quiet", "nvshmemx_quiet_on_stream"],
            Self::Flush => ["nvshmemx_flush", "nvshmemx_flush_on_stream"],
            Self::BarrierAll => ["nvshmem_barrier_all", "nvshmemx_barrier_all_on_stream"],
            Self::SyncAll => ["nvshmem_sync_all", "nvshmemx_sync_all_on_stream"],
        })
    }
}

impl Movement {
    /// The C function that does it.
    pub(crate) fn name(self, order: Order<'_>) -> &'static str {
        order.of(match self {
            Self::Barrier => ["nvshmem_barrier", "nvshmemx_barrier_on_stream"],
            Self::Sync => ["nvshmem_team_sync", "nvshmemx_team_sync_on_stream"],
            Self::Broadcast(_) => ["nvshmem_broadcastmem", "nvshmemx_broadcastmem_on_stream"],
            Self::Fcollect => ["nvshmem_fcollectmem", "nvshmemx_fcollectmem_on_stream"],
            Self::Alltoall => ["nvshmem_alltoallmem", "nvshmemx_alltoallmem_on_stream"],
            Self::Reduce(kind, op) => reduction_names::reduce(kind, op),
            Self::Reducescatter(kind, op) => reduction_names::reducescatter(kind, op),
        })
    }
}
