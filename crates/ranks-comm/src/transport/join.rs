//! Operators that join the words of all ranks.

/// The operator that joins the words of all ranks.
#[derive(Debug, Clone, Copy)]
pub enum Join {
    /// The bits that all have.
    And,
    /// The bits that any has.
    Or,
    /// The least.
    Min,
    /// The sum, modulo 2⁶⁴.
    Sum,
}

impl Join {
    pub(crate) fn of(self, one: u64, other: u64) -> u64 {
        match self {
            Self::And => one & other,
            Self::Or => one | other,
            Self::Min => one.min(other),
            Self::Sum => one.wrapping_add(other),
        }
    }
}
