//! What elements of reductions are computed as. Other doubles take this file as well.

/// A type that is computed with. Integers wrap around in their own width.
pub(crate) trait Number: Copy {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn least(self, other: Self) -> Self;
    fn most(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Number for $type {
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn least(self, other: Self) -> Self {
                self.min(other)
            }
            fn most(self, other: Self) -> Self {
                self.max(other)
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ty)*) => {$(
        impl Number for $type {
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn least(self, other: Self) -> Self {
                self.min(other)
            }
            fn most(self, other: Self) -> Self {
                self.max(other)
            }
        }
    )*};
}

integers!(i8 u8 i16 u16 i32 u32 i64 u64);
floats!(f32 f64);

/// An element of `SIZE` bytes of a block, as `read` makes it of them.
pub(crate) fn element<const SIZE: usize, N>(
    block: &[u8],
    place: usize,
    read: impl Fn([u8; SIZE]) -> N,
) -> Option<N> {
    let bytes = block.get(place * SIZE..(place + 1) * SIZE)?;
    Some(read(bytes.try_into().ok()?))
}
