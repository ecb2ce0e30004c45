//! Output of jobs, labelled by launchers and told apart again.
#![no_main]

use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use ranks_launch::fuzzing::{told_apart, told_apart_in_pieces};

#[derive(Debug, Arbitrary)]
struct Input {
    launcher: u8,
    ranks: u8,
    stream: Stream,
    /// How long the pieces are in which it comes.
    cuts: Vec<u8>,
}

#[derive(Debug, Arbitrary)]
enum Stream {
    /// Any bytes.
    Any(Vec<u8>),
    /// Lines of what ranks wrote, each with its label.
    Labelled(Vec<Vec<(u8, Vec<u8>)>>),
}

type Written = BTreeMap<Option<usize>, Vec<u8>>;

fuzz_target!(|input: Input| {
    let launcher = usize::from(input.launcher % 5);
    let ranks = usize::from(input.ranks).max(1);
    let (stream, expected) = match input.stream {
        Stream::Any(bytes) => (bytes, None),
        Stream::Labelled(lines) => {
            let (stream, written) = labelled(launcher, ranks, &lines);
            (stream, Some(written))
        }
    };

    let whole = joined(told_apart_in_pieces(launcher, ranks, &[&stream]));
    assert!(whole.values().map(Vec::len).sum::<usize>() <= stream.len());
    assert!(whole.keys().flatten().all(|rank| *rank < ranks));
    let pieces = cut(&stream, &input.cuts);
    assert_eq!(
        whole,
        joined(told_apart_in_pieces(launcher, ranks, &pieces))
    );
    if let Some(expected) = expected {
        assert_eq!(whole, expected);
    }

    let (output, own) = told_apart(launcher, ranks, &stream, b"");
    let text = |writer| {
        let bytes = whole.get(&writer).map_or(&[][..], Vec::as_slice);
        String::from_utf8_lossy(bytes).into_owned()
    };
    if launcher > 0 {
        assert_eq!(own.stdout, text(None));
        for one in &output {
            assert_eq!(one.stdout, text(Some(one.rank)));
        }
    }
});

fn joined(told: Vec<(Option<usize>, Vec<u8>)>) -> Written {
    let mut written = Written::new();
    for (writer, text) in told {
        written.entry(writer).or_default().extend(text);
    }
    written
}

fn cut<'a>(mut stream: &'a [u8], cuts: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for length in cuts {
        let (piece, rest) = stream.split_at(stream.len().min(usize::from(*length)));
        pieces.push(piece);
        stream = rest;
    }
    pieces.push(stream);
    pieces
}

/// What a launcher makes of it, and who wrote what.
fn labelled(launcher: usize, ranks: usize, lines: &[Vec<(u8, Vec<u8>)>]) -> (Vec<u8>, Written) {
    let (mut stream, mut written) = (Vec::new(), Written::new());
    for line in lines {
        // Slurm labels lines, and nothing within them.
        let most = if launcher == 4 { 1 } else { line.len() };
        for (place, (rank, text)) in line.iter().take(most).enumerate() {
            let rank = usize::from(*rank) % ranks;
            // What looks like a label is one.
            let mut text = text.clone();
            text.retain(|byte| !b"\n<]".contains(byte));
            if place + 1 == most {
                text.push(b'\n');
            }
            let label = match launcher {
                0 => String::new(),
                1 => format!("<ranks:rank:{rank}>"),
                2 => format!("[1,{rank}]<stdout>:"),
                3 => format!("[prterun-n0-79@1,{rank}]<stderr>: "),
                _ => format!("{rank:>3}: "),
            };
            stream.extend(label.as_bytes());
            stream.extend(&text);
            let writer = (launcher > 0).then_some(rank);
            if !text.is_empty() {
                written.entry(writer).or_default().extend(text);
            }
        }
    }
    (stream, written)
}
