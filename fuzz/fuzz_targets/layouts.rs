//! Layouts of any numbers, and what is packed through them.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use ranks_comm::ErrorKind;
use ranks_comm::layout::{Layout, Order};

#[derive(Debug, Arbitrary)]
struct Input {
    layout: Make,
    data: Vec<u32>,
    packed: Vec<u8>,
    position: Number,
}

#[derive(Debug, Arbitrary)]
enum Number {
    Small(u8),
    Any(usize),
}

#[derive(Debug, Arbitrary)]
enum Make {
    Contiguous(Number),
    Vector(Number, Number, Number),
    Indexed(Vec<(Number, Number)>),
    IndexedBlock(Number, Vec<Number>),
    Concat(Vec<(Number, Make)>),
    At(Box<Make>, Number),
    Repeat(Box<Make>, Number),
    RepeatEvery(Box<Make>, Number, Number),
    Resized(Box<Make>, Number),
    Subarray(Vec<[u8; 3]>, bool),
}

/// Copies of more elements say nothing new.
const MOST: usize = 1 << 12;

fuzz_target!(|input: Input| {
    let layout = input.layout.made();
    let _ = (layout.extent(), layout.true_extent());
    let length = input.data.len();
    let view = match layout.of(&input.data) {
        Ok(view) => view,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Length);
            return;
        }
    };
    let elements = view.elements();
    assert_eq!(elements, layout.elements());
    assert!(elements == 0 || layout.true_extent().end <= length);
    if elements > MOST {
        return;
    }
    let mut packed = Vec::new();
    view.pack_external(&mut packed)
        .expect("there is memory for it");
    assert_eq!((packed.len(), view.bytes()), (4 * elements, 4 * elements));
    let big: Vec<u8> = view
        .to_vec()
        .iter()
        .flat_map(|one| one.to_be_bytes())
        .collect();
    assert_eq!(packed, big);

    let mut copy = vec![0; length];
    if let Ok(mut into) = layout.of_mut(&mut copy) {
        let mut position = 0;
        into.unpack_external(&packed, &mut position)
            .expect("all of it is there");
        assert_eq!(position, packed.len());
        let copied = layout.of(&copy).expect("it is as long as the other");
        assert_eq!(copied.to_vec(), view.to_vec());
    } else {
        assert!(!layout.is_disjoint());
    }

    // Whatever comes, from wherever: all of it, or nothing.
    let mut any = vec![7; length];
    if let Ok(mut into) = layout.of_mut(&mut any) {
        let first = input.position.number();
        let mut position = first;
        let end = first.checked_add(4 * elements);
        match into.unpack_external(&input.packed, &mut position) {
            Ok(()) => assert!(end == Some(position) && position <= input.packed.len()),
            Err(error) => {
                assert_eq!((error.kind(), position), (ErrorKind::Length, first));
                assert!(end.is_none_or(|end| end > input.packed.len()));
                assert!(any.iter().all(|one| *one == 7));
            }
        }
    }
});

impl Number {
    fn number(&self) -> usize {
        match self {
            Number::Small(number) => usize::from(*number),
            Number::Any(number) => *number,
        }
    }
}

impl Make {
    fn made(&self) -> Layout {
        match self {
            Make::Contiguous(count) => Layout::contiguous(count.number()),
            Make::Vector(count, length, stride) => {
                Layout::vector(count.number(), length.number(), stride.number())
            }
            Make::Indexed(blocks) => {
                let blocks = blocks.iter().map(|(at, many)| (at.number(), many.number()));
                Layout::indexed(&blocks.collect::<Vec<_>>())
            }
            Make::IndexedBlock(length, starts) => {
                let starts: Vec<usize> = starts.iter().map(Number::number).collect();
                Layout::indexed_block(length.number(), &starts)
            }
            Make::Concat(parts) => {
                let parts = parts.iter().map(|(at, part)| (at.number(), part.made()));
                Layout::concat(&parts.collect::<Vec<_>>())
            }
            Make::At(layout, offset) => layout.made().at(offset.number()),
            Make::Repeat(layout, count) => layout.made().repeat(count.number()),
            Make::RepeatEvery(layout, count, stride) => {
                layout.made().repeat_every(count.number(), stride.number())
            }
            Make::Resized(layout, extent) => layout.made().resized(extent.number()),
            Make::Subarray(dimensions, last_first) => {
                let all = |place: usize| dimensions.iter().map(move |one| usize::from(one[place]));
                let sizes: Vec<usize> = all(0).collect();
                let lengths: Vec<usize> = all(1).collect();
                let starts: Vec<usize> = all(2).collect();
                let order = if *last_first {
                    Order::C
                } else {
                    Order::Fortran
                };
                Layout::subarray(&sizes, &lengths, &starts, order)
                    .unwrap_or_else(|_| Layout::contiguous(0))
            }
        }
    }
}
