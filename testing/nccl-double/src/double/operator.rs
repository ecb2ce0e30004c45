//! Operators of reductions: those of the library, and those that multiply before they add.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use super::arithmetic::Dtype;
use super::comm::Comm;
use super::failure::{Failure, Outcome};
use super::lock;

/// The factor of an operator that multiplies before it adds: its bytes, or where they are on the
/// device when it runs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Factor {
    Known([u8; 8]),
    OnDevice(u64),
}

/// An operator of a communicator, for one type of elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PreMulSum {
    pub(crate) dtype: Dtype,
    pub(crate) factor: Factor,
}

/// What a reduction makes of its elements.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operator {
    Sum,
    Prod,
    Max,
    Min,
    Avg,
    PreMulSum(Factor),
}

impl Operator {
    /// `ncclRedOp_t`, all operators of users alike.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Sum => 0,
            Self::Prod => 1,
            Self::Max => 2,
            Self::Min => 3,
            Self::Avg => 4,
            Self::PreMulSum(_) => 5,
        }
    }

    /// The operator of a number, on this communicator and for this type.
    pub(crate) fn of(comm: &Comm, number: c_int, dtype: Dtype) -> Outcome<Self> {
        Ok(match number {
            0 => Self::Sum,
            1 => Self::Prod,
            2 => Self::Max,
            3 => Self::Min,
            4 => Self::Avg,
            5.. => {
                let found = lock(&comm.operators).get(&number).copied();
                let Some(operator) = found else {
                    return Err(Failure::argument(format!(
                        "reduction operation {number} unknown to this communicator"
                    )));
                };
                if operator.dtype != dtype {
                    return Err(Failure::argument(format!(
                        "Datatype mismatch: {dtype:?} is reduced with an operator for {:?}",
                        operator.dtype
                    )));
                }
                Self::PreMulSum(operator.factor)
            }
            _ => {
                return Err(Failure::argument(format!(
                    "invalid reduction operation {number}"
                )));
            }
        })
    }
}

/// The number of operators of users.
pub(crate) static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Makes an operator. No number is given twice, so that one of another communicator is known as
/// such.
pub(crate) fn create(comm: &Comm, operator: PreMulSum) -> c_int {
    static NEXT: AtomicI32 = AtomicI32::new(5);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    lock(&comm.operators).insert(number, operator);
    LIVE.fetch_add(1, Ordering::Relaxed);
    number
}

/// Lets go of an operator.
pub(crate) fn destroy(comm: &Comm, number: c_int) -> Outcome {
    if (0..5).contains(&number) {
        return Err(Failure::argument(format!(
            "operator {number} is a NCCL builtin, which is not destroyed"
        )));
    }
    let removed = lock(&comm.operators).remove(&number);
    if removed.is_none() {
        return Err(Failure::argument(format!(
            "reduction operation {number} unknown to this communicator"
        )));
    }
    LIVE.fetch_sub(1, Ordering::Relaxed);
    Ok(())
}

/// Lets go of all of them.
pub(crate) fn destroy_all(operators: &mut HashMap<c_int, PreMulSum>) {
    LIVE.fetch_sub(operators.len(), Ordering::Relaxed);
    operators.clear();
}
