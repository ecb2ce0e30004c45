//! Types that derive `ranks::Pod` in a crate that depends on `ranks` alone.
#![forbid(unsafe_code)]

use ranks::prelude::*;

/// Of fields that all have docs, visibilities and attributes.
#[derive(Debug, Clone, Copy, PartialEq, ranks::Pod, ranks::Zeroable)]
#[repr(C)]
pub struct Particle {
    /// Its place.
    pub position: [f64; 3],
    pub(crate) charge: f32,
    #[allow(dead_code)]
    kind: u32,
}

/// One in another.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Wrapped(pub Particle);

/// Without alignment there is no padding.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, packed)]
pub struct Packed(u8, u64);

/// A type of which another one is a part.
pub trait Holds {
    /// That one.
    type Part;
}

impl Holds for u8 {
    type Part = u32;
}

/// Of types with commas, and one that begins with a bracket.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Qualified(
    pub <u8 as Holds>::Part,
    pub std::marker::PhantomData<fn(u8) -> Result<u8, u16>>,
    pub(crate) u32,
);

/// Nothing at all.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Unit;

/// A struct that may be zero, and is no plain data.
#[derive(Debug, Zeroable)]
pub struct Flags {
    /// One of them.
    pub set: bool,
    /// A number.
    pub number: Option<Box<u8>>,
}

/// Sends `mine` to the rank itself; whether it came as it was.
///
/// # Errors
/// Errors of the library.
pub fn comes_back(world: &Communicator, mine: Wrapped) -> Result<bool> {
    let request = world.isend(vec![mine], world.rank(), 0)?;
    let mut came = [Wrapped::zeroed()];
    world.recv(&mut came, world.rank(), 0)?;
    request.wait()?;
    Ok(came == [mine])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

    use ranks::bytemuck::bytes_of;

    use super::*;

    #[test]
    fn what_is_derived_needed_a_bytemuck_of_ones_own() {
        let particle = Particle {
            position: [1.0, 2.0, 3.0],
            charge: -1.0,
            kind: 7,
        };
        ranks::run(|world| {
            assert!(comes_back(&world, Wrapped(particle))?);
            Ok::<_, Error>(())
        })
        .unwrap();
        assert_eq!(bytes_of(&particle).len(), 32);
        assert_eq!(
            bytes_of(&Packed(1, u64::from_ne_bytes([2; 8]))),
            [1, 2, 2, 2, 2, 2, 2, 2, 2]
        );
        assert_eq!(bytes_of(&Unit), []);
        assert_eq!(bytes_of(&Qualified::zeroed()), [0; 8]);
        let flags = Flags::zeroed();
        assert!(!flags.set && flags.number.is_none());
    }
}
