//! Reductions that are known at run time only.

/// The operation of a reduction on the elements of all ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum RawOp {
    /// The sum; integers wrap.
    Sum,
    /// The product; integers wrap.
    Prod,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The sum divided by the number of ranks.
    Avg,
    /// The sum of what each rank has, multiplied by this rank's factor before.
    PreMulSum(f64),
    /// Bitwise and.
    Band,
    /// Bitwise or.
    Bor,
    /// Bitwise exclusive or.
    Bxor,
}
