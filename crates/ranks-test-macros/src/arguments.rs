//! The arguments in the brackets: `#[ranks(1, 2, 4, threads = funneled, timeout = 30, mpi_only)]`.

use proc_macro::{Span, TokenStream, TokenTree};

use crate::{Mistake, plain};

/// The backends on which a test makes sense.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backends {
    Everywhere,
    MpiOnly,
    InProcessOnly,
}

/// The arguments of the attribute, checked.
pub(crate) struct Arguments {
    pub(crate) ranks: Vec<usize>,
    /// The name of the level as it is written, and of the variant of `ThreadLevel`.
    pub(crate) threads: Level,
    /// The time limit in seconds.
    pub(crate) timeout: Option<u64>,
    pub(crate) backends: Backends,
}

/// A thread level of MPI.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Single,
    Funneled,
    Serialized,
    Multiple,
}

impl Level {
    const ALL: [Level; 4] = [
        Level::Single,
        Level::Funneled,
        Level::Serialized,
        Level::Multiple,
    ];

    /// The name, as it is written in the attribute and in the names of tests.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Single => "single",
            Level::Funneled => "funneled",
            Level::Serialized => "serialized",
            Level::Multiple => "multiple",
        }
    }

    /// The variant of `ThreadLevel`.
    pub(crate) fn variant(self) -> &'static str {
        match self {
            Level::Single => "Single",
            Level::Funneled => "Funneled",
            Level::Serialized => "Serialized",
            Level::Multiple => "Multiple",
        }
    }
}

const HELP: &str = "expected numbers of ranks, then options: \
                    #[ranks(1, 2, 4, threads = funneled, timeout = 30, mpi_only)]";

/// Reads the arguments.
pub(crate) fn parse(tokens: TokenStream) -> Result<Arguments, Mistake> {
    let mut arguments = Arguments {
        ranks: Vec::new(),
        threads: Level::Multiple,
        timeout: None,
        backends: Backends::Everywhere,
    };
    for argument in split_at_commas(tokens.into_iter().map(plain).collect()) {
        match argument.as_slice() {
            [TokenTree::Literal(number)] => {
                let ranks = integer(&number.to_string())
                    .filter(|&n| n > 0)
                    .and_then(|n| usize::try_from(n).ok())
                    .ok_or_else(|| {
                        Mistake::new(number.span(), "a number of ranks is a positive integer")
                    })?;
                if arguments.ranks.contains(&ranks) {
                    return Err(Mistake::new(
                        number.span(),
                        "this number of ranks stands twice",
                    ));
                }
                arguments.ranks.push(ranks);
            }
            [TokenTree::Ident(word)] => {
                let backends = match word.to_string().as_str() {
                    "mpi_only" => Backends::MpiOnly,
                    "in_process_only" => Backends::InProcessOnly,
                    _ => return Err(Mistake::new(word.span(), HELP)),
                };
                if arguments.backends != Backends::Everywhere {
                    return Err(Mistake::new(
                        word.span(),
                        "one of mpi_only and in_process_only, and once",
                    ));
                }
                arguments.backends = backends;
            }
            [TokenTree::Ident(key), TokenTree::Punct(equals), value] if equals.as_char() == '=' => {
                let text = value.to_string();
                match key.to_string().as_str() {
                    "threads" => {
                        arguments.threads = Level::ALL
                            .into_iter()
                            .find(|level| level.name() == text)
                            .ok_or_else(|| {
                                Mistake::new(
                                    value.span(),
                                    "threads is single, funneled, serialized or multiple",
                                )
                            })?;
                    }
                    "timeout" => {
                        arguments.timeout =
                            Some(integer(&text).filter(|&n| n > 0).ok_or_else(|| {
                                Mistake::new(
                                    value.span(),
                                    "timeout is a positive number of seconds",
                                )
                            })?);
                    }
                    _ => return Err(Mistake::new(key.span(), HELP)),
                }
            }
            [first, ..] => return Err(Mistake::new(first.span(), HELP)),
            [] => return Err(Mistake::new(Span::call_site(), HELP)),
        }
    }
    if arguments.ranks.is_empty() {
        return Err(Mistake::new(Span::call_site(), HELP));
    }
    Ok(arguments)
}

/// The arguments between commas; a comma at the end is allowed.
pub(crate) fn split_at_commas(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut parts = Vec::new();
    let mut part = Vec::new();
    for token in tokens {
        match &token {
            TokenTree::Punct(comma) if comma.as_char() == ',' => {
                parts.push(std::mem::take(&mut part));
            }
            _ => part.push(token),
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// An unsuffixed decimal integer, `1_000` included.
fn integer(text: &str) -> Option<u64> {
    text.replace('_', "").parse().ok()
}
