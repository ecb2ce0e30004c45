//! Arguments of one call, after they were proven to fit the operation.

pub(crate) mod blocks;
pub(crate) mod call;
pub(crate) mod crossing;
pub(crate) mod kept;
pub(crate) mod layouts;
pub(crate) mod lengths;
pub(crate) mod neighbors;
pub(crate) mod proven;
pub(crate) mod reducing;
pub(crate) mod root;
pub(crate) mod transfer;
pub(crate) mod varying;
