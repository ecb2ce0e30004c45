//! Types that derive `ranks::Pod` and `ranks::Pack` in a crate that depends on `ranks` alone.
#![forbid(unsafe_code)]

use ranks::Pack;
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

/// An enum with attributes, and discriminants that are no numbers of a text.
#[derive(Debug, Clone, Copy, PartialEq, Pack, Default)]
#[repr(u16)]
#[non_exhaustive]
pub enum Phase {
    /// The first.
    #[default]
    Solid,
    /// The next.
    Liquid = 1 << 9,
    #[allow(missing_docs)]
    Gas = Phase::LAST - 1,
}

impl Phase {
    const LAST: u16 = u16::MAX;
}

/// Of padding, a name that is a word of Rust, and no `Clone`.
#[derive(Debug, PartialEq, Pack)]
pub struct Sample {
    /// One of three.
    pub phase: Phase,
    pub(crate) r#type: char,
    #[allow(dead_code)]
    at: [(bool, f64); 2],
    within: Tuple,
}

/// Of types with commas, groups and visibilities.
#[derive(Debug, PartialEq, Pack)]
pub struct Tuple(
    #[allow(dead_code)] pub (bool, u16),
    pub(crate) <u8 as Holds>::Part,
    bool,
    pub [u8; 1 + 1],
);

/// Nothing, packed.
#[derive(Debug, PartialEq, Pack)]
pub struct Empty;

/// Of parameters with bounds, a default, and conditions.
#[derive(Debug, PartialEq, Pack)]
pub struct Line<T: Copy, const N: usize, U = bool>
where
    [T; N]: PartialEq,
    U: PartialEq,
{
    /// As many as the parameter says.
    pub cells: [T; N],
    pub(crate) end: Marked<U>,
}

/// Of a parameter, and conditions behind its fields.
#[derive(Debug, PartialEq, Pack)]
pub struct Marked<T>(pub bool, pub T)
where
    T: PartialEq;

/// Laid out without padding, so that its fields cannot be borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Pack)]
#[repr(C, packed)]
pub struct Tight<T: Copy> {
    is_set: bool,
    value: T,
}

macro_rules! with_a_field_of {
    ($field:ty) => {
        /// Of a type that a macro was told.
        #[derive(Debug, PartialEq, Pack)]
        pub struct Told {
            /// That.
            pub field: $field,
        }
    };
}

with_a_field_of!((bool, i64));

/// Of more fields than a type may be nested deep.
pub mod wide {
    macro_rules! wide {
        ($($name:ident)*) => {
            /// See the module.
            #[derive(Debug, Default, PartialEq, ranks::Pack)]
            #[allow(missing_docs)]
            pub struct Wide { $(pub $name: u8,)* }
        };
    }

    wide! {
        f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12 f13 f14 f15 f16 f17 f18 f19 f20 f21 f22 f23
        f24 f25 f26 f27 f28 f29 f30 f31 f32 f33 f34 f35 f36 f37 f38 f39 f40 f41 f42 f43 f44 f45
        f46 f47 f48 f49 f50 f51 f52 f53 f54 f55 f56 f57 f58 f59 f60 f61 f62 f63 f64 f65 f66 f67
        f68 f69 f70 f71 f72 f73 f74 f75 f76 f77 f78 f79 f80 f81 f82 f83 f84 f85 f86 f87 f88 f89
        f90 f91 f92 f93 f94 f95 f96 f97 f98 f99 f100 f101 f102 f103 f104 f105 f106 f107 f108
        f109 f110 f111 f112 f113 f114 f115 f116 f117 f118 f119 f120 f121 f122 f123 f124 f125
        f126 f127 f128 f129 f130 f131 f132 f133 f134 f135 f136 f137 f138 f139 f140 f141 f142
        f143 f144 f145 f146 f147 f148 f149
    }
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
    use ranks::element::Invalid;

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

    fn sample() -> Sample {
        Sample {
            phase: Phase::Gas,
            r#type: 'x',
            at: [(true, 0.5), (false, 1.5)],
            within: Tuple((true, 2), 3, false, [4, 5]),
        }
    }

    /// What is made of the bytes of `value`, the one at `place` replaced.
    fn with_byte<T: Pack>(value: &T, place: usize, byte: u8) -> Result<Vec<T>> {
        let mut packed = [value.pack()];
        ranks::bytemuck::bytes_of_mut(&mut packed[0])[place] = byte;
        T::unpack_all(&packed, 4)
    }

    #[test]
    fn what_is_packed_has_no_padding_and_comes_back() {
        assert_eq!(size_of_val(&sample().pack()), 2 + 4 + 2 * 9 + 3 + 4 + 1 + 2);
        assert_eq!(Sample::unpack(sample().pack()), Ok(sample()));
        assert_eq!(Empty::unpack(Empty.pack()), Ok(Empty));
        let told = Told { field: (true, -1) };
        assert_eq!(Told::unpack(told.pack()), Ok(told));
        let line = Line {
            cells: [(1u16, true); 3],
            end: Marked(false, 'ä'),
        };
        assert_eq!(size_of_val(&line.pack()), 3 * 3 + 1 + 4);
        assert_eq!(Line::unpack(line.pack()), Ok(line));
        let tight = Tight {
            is_set: true,
            value: 0.5,
        };
        assert_eq!(Tight::unpack(tight.pack()), Ok(tight));
        let wide = wide::Wide {
            f0: 1,
            f149: 2,
            ..Default::default()
        };
        assert_eq!(bytes_of(&wide.pack())[149], 2);
        assert_eq!(wide::Wide::unpack(wide.pack()), Ok(wide));
        for phase in [Phase::Solid, Phase::Liquid, Phase::Gas] {
            assert_eq!(phase.pack(), phase as u16);
            assert_eq!(Phase::unpack(phase as u16), Ok(phase));
        }
    }

    #[test]
    fn what_is_no_value_is_an_error_with_the_path_to_it() {
        let wrong: [(usize, &str); 4] = [
            (0, "its `phase` is "),
            (6, "its `at[0].0` is 2, which is no bool"),
            (24, "its `within.0.0` is 2, which is no bool"),
            (31, "its `within.2` is 2, which is no bool"),
        ];
        for (place, expected) in wrong {
            let error = with_byte(&sample(), place, 2).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Value);
            let text = error.to_string();
            assert!(text.contains(expected), "{text}");
            assert!(text.contains("element 0 from rank 4 is no "), "{text}");
        }
        let invalid: std::result::Result<_, Invalid> = Phase::unpack(7);
        assert_eq!(
            invalid.unwrap_err().to_string(),
            "7 is no ranks_derives::Phase"
        );
        // Any byte at any place: a value or an error, and nothing that is undefined.
        for place in 0..size_of_val(&sample().pack()) {
            for byte in 0..=255 {
                if let Ok(values) = with_byte(&sample(), place, byte) {
                    assert!(format!("{values:?}").contains("Sample"));
                }
            }
        }
    }
}
