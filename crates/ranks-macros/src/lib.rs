//! The derives `Pod`, `Zeroable` and `Pack` of `ranks` and its attribute `main`, which it
//! re-exports.
//!
//! ```
//! #[derive(Clone, Copy, ranks::Pod, ranks::Zeroable)]
//! #[repr(C)]
//! struct Particle {
//!     position: [f64; 3],
//!     charge: f64,
//! }
//!
//! fn pass_on(world: &ranks::Communicator, mine: &[Particle]) -> ranks::Result<Vec<Particle>> {
//!     let (next, before) = ((world.rank() + 1) % world.size(), (world.rank() + world.size() - 1) % world.size());
//!     let request = world.isend(mine.to_vec(), next, 0)?;
//!     let theirs = world.recv_vec(before, 0)?;
//!     request.wait()?;
//!     Ok(theirs.0)
//! }
//! ```
//!
//! The derives of bytemuck name that crate, which a program then depends on. These name `ranks`
//! alone.
#![deny(unsafe_code)]

mod pack;
mod program;

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// `Pod` for a struct without parameters whose `repr` is `C` or `transparent`, of fields that are
/// `Pod`, with no padding between them.
///
/// ```compile_fail,E0080
/// #[derive(Clone, Copy, ranks::Pod, ranks::Zeroable)]
/// #[repr(C)]
/// struct Padded {
///     small: u8,
///     large: u64, // seven bytes before it are uninitialised
/// }
/// ```
/// ```compile_fail,E0277
/// #[derive(Clone, Copy, ranks::Pod, ranks::Zeroable)]
/// #[repr(C)]
/// struct Flags {
///     set: bool, // a byte 2 would make an invalid value
/// }
/// ```
/// ```compile_fail
/// #[derive(Clone, Copy, ranks::Pod, ranks::Zeroable)]
/// struct Anyhow(u32, u32); // no repr
/// ```
/// ```compile_fail,E0080
/// // Lengths of arrays may depend on names, which mean the same here and in the derive.
/// struct __RanksTwin;
/// impl __RanksTwin { const N: usize = 1; }
/// trait Any { const N: usize = 2; }
/// impl<T: ?Sized> Any for T {}
/// #[derive(Clone, Copy, ranks::Pod, ranks::Zeroable)]
/// #[repr(C)]
/// struct Twice { a: [u8; __RanksTwin::N], b: u16 }
/// ```
/// ```compile_fail
/// #[derive(Clone, Copy, ranks::Pod, ranks::Zeroable)]
/// #[repr(transparent)]
/// struct Of<T>(T); // a parameter
/// ```
/// ```compile_fail
/// #[derive(Clone, Copy, ranks::Pod)]
/// #[repr(C)]
/// union Either { one: u8, other: u32 } // a union
/// ```
#[proc_macro_derive(Pod)]
pub fn pod(item: TokenStream) -> TokenStream {
    let item = match Item::of(item) {
        Some(item) if item.is_laid_out => item,
        _ => return refused("a struct without parameters whose repr is C or transparent"),
    };
    let sizes = item.of_each(|field| {
        format!(
            "::ranks::element::derive::size_of_pod(|whole: {}| whole.{field}) +",
            item.name
        )
    });
    item.implement(
        "::ranks::bytemuck::Pod",
        &format!(
            "::core::assert!({sizes} 0 == ::core::mem::size_of::<{}>(), \"there is padding between the fields, or after them\");",
            item.name
        ),
    )
}

/// `Zeroable` for a struct without parameters, of fields that are `Zeroable`.
///
/// ```compile_fail,E0277
/// #[derive(ranks::Zeroable)]
/// struct Borrowed(&'static u8); // no reference is zero
/// ```
#[proc_macro_derive(Zeroable)]
pub fn zeroable(item: TokenStream) -> TokenStream {
    let Some(item) = Item::of(item) else {
        return refused("a struct without parameters");
    };
    let checks = item.of_each(|field| {
        format!(
            "::ranks::element::derive::is_zeroable(|whole: {}| whole.{field});",
            item.name
        )
    });
    item.implement("::ranks::bytemuck::Zeroable", &checks)
}

/// `Pack` for a struct without parameters, of fields that are `Pack`, and for an enum without fields
/// whose `repr` is an integer.
///
/// ```
/// #[derive(Debug, Clone, PartialEq, ranks::Pack)]
/// #[repr(u8)]
/// enum Wall {
///     Open,
///     Closed = 7,
/// }
///
/// #[derive(Debug, Clone, PartialEq, ranks::Pack)]
/// struct Cell {
///     walls: [Wall; 6],
///     value: f64,
///     is_alive: bool,
/// }
/// ```
/// ```compile_fail,E0277
/// #[derive(ranks::Pack)]
/// struct Named {
///     name: String, // not of a fixed number of bytes
/// }
/// ```
/// ```compile_fail,E0277
/// #[derive(Clone, Copy)]
/// struct Inner(bool);
/// #[derive(ranks::Pack)]
/// struct Outer(Inner); // derives nothing
/// ```
/// ```compile_fail
/// #[derive(ranks::Pack)]
/// enum Wall { Open, Closed } // no repr: how long is one?
/// ```
/// ```compile_fail
/// #[derive(ranks::Pack)]
/// #[repr(u8)]
/// enum Wall { Open, Closed(f64) } // a field
/// ```
/// ```compile_fail
/// #[derive(ranks::Pack)]
/// struct Of<T>(T); // a parameter
/// ```
/// ```compile_fail
/// #[derive(Clone, Copy, ranks::Pack)]
/// #[repr(C)]
/// union Either { one: u8, other: u32 } // a union
/// ```
/// ```compile_fail,E0277
/// #[derive(Clone, Copy, ranks::Pack)]
/// struct Flag(bool);
/// fn send(world: &ranks::Communicator) {
///     world.send(&[Flag(true)], 0, 0).unwrap(); // not packed
/// }
/// ```
#[proc_macro_derive(Pack)]
pub fn pack(item: TokenStream) -> TokenStream {
    pack::of(item).unwrap_or_else(|| {
        refused(
            "a struct without parameters, or an enum without fields whose repr is an integer such as u8,",
        )
    })
}

/// Makes a program of a function that takes the world: the closure of `ranks::run`, and the value
/// or the error that `main` returns.
///
/// ```
/// use ranks::prelude::*;
///
/// #[ranks::main]
/// fn main(world: Communicator) -> Result<()> {
///     let sum = world.allreduce_one(world.rank() + 1, Sum)?;
///     assert_eq!(sum, world.size() * (world.size() + 1) / 2);
///     Ok(())
/// }
/// ```
///
/// The error may be of any type that a closure of `ranks::run` may return. A function that returns
/// nothing makes a `main` that returns `ranks::Result<()>`.
///
/// ```
/// #[ranks::main]
/// fn main(world: ranks::Communicator) {
///     assert!(world.rank() < world.size());
/// }
/// ```
/// ```compile_fail
/// #[ranks::main]
/// fn main() {} // no communicator
/// ```
/// ```compile_fail
/// #[ranks::main]
/// async fn main(world: ranks::Communicator) {} // async: which executor?
/// ```
/// ```compile_fail
/// #[ranks::main(4)] // the number of ranks is the launcher's
/// fn main(world: ranks::Communicator) {}
/// ```
#[proc_macro_attribute]
pub fn main(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if !arguments.is_empty() {
        return refused("an attribute without arguments");
    }
    match program::of(item) {
        Some(program) => program,
        None => refused("a function `main` that takes a `Communicator` and is not async"),
    }
}

/// A struct that a derive is for.
struct Item {
    name: String,
    fields: Vec<Field>,
    /// `true` if its `repr` says how its fields lie.
    is_laid_out: bool,
}

struct Field {
    /// Or its number.
    name: String,
    of_type: TokenStream,
}

impl Item {
    /// `None` for what has parameters, or is no struct.
    fn of(item: TokenStream) -> Option<Self> {
        let mut is_laid_out = false;
        let mut tokens = item.into_iter();
        loop {
            match tokens.next()? {
                TokenTree::Punct(hash) if hash.as_char() == '#' => {
                    is_laid_out |= says_how_fields_lie(tokens.next()?);
                }
                TokenTree::Ident(word) if word.to_string() == "struct" => break,
                TokenTree::Ident(word) if word.to_string() == "pub" => {}
                // Behind `pub`.
                TokenTree::Group(_) => {}
                _ => return None,
            }
        }
        let name = tokens.next()?.to_string();
        let fields = match tokens.next()? {
            TokenTree::Group(list) => fields(&list),
            TokenTree::Punct(end) if end.as_char() == ';' => Vec::new(),
            _ => return None,
        };
        Some(Self {
            name,
            fields,
            is_laid_out,
        })
    }

    fn of_each(&self, text: impl Fn(&str) -> String) -> String {
        self.fields.iter().map(|field| text(&field.name)).collect()
    }

    /// The implementation, with `checks` of the fields as the compiler has them: an attribute may
    /// have changed them since the derive saw them, and a pattern that lacks one is an error. There
    /// is no name here that a field could mean by its type.
    fn implement(&self, trait_name: &str, checks: &str) -> TokenStream {
        let (name, all) = (&self.name, self.of_each(|field| format!("{field}: _,")));
        parsed(&format!(
            "const _: () = {{ const _: fn({name}) = |{name} {{ {all} }}| {{}}; {checks} unsafe impl {trait_name} for {name} {{}} }};"
        ))
    }
}

/// `true` for `repr(C)` and `repr(transparent)`, of an attribute in its brackets.
fn says_how_fields_lie(attribute: TokenTree) -> bool {
    let TokenTree::Group(attribute) = attribute else {
        return false;
    };
    let mut tokens = attribute.stream().into_iter();
    let is_repr = tokens.next().is_some_and(|word| word.to_string() == "repr");
    let Some(TokenTree::Group(how)) = tokens.next().filter(|_| is_repr) else {
        return false;
    };
    how.stream()
        .into_iter()
        .any(|word| ["C", "transparent"].contains(&word.to_string().as_str()))
}

fn fields(list: &Group) -> Vec<Field> {
    let is_named = list.delimiter() == Delimiter::Brace;
    let is_colon =
        |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ':');
    let field = |(number, tokens): (usize, Vec<TokenTree>)| {
        let (name, of_type) = if is_named {
            // Attributes and visibilities before it have theirs in groups.
            let colon = tokens.iter().position(is_colon)?;
            (tokens.get(colon.checked_sub(1)?)?.to_string(), colon + 1)
        } else {
            (number.to_string(), type_without_name(&tokens))
        };
        let of_type = tokens.into_iter().skip(of_type).collect();
        Some(Field { name, of_type })
    };
    let fields = split(list.stream()).into_iter().enumerate();
    fields.filter_map(field).collect()
}

/// The place at which the type of a field begins, behind its attributes and its visibility.
fn type_without_name(field: &[TokenTree]) -> usize {
    let is = |at: usize, text: &str| field.get(at).is_some_and(|token| token.to_string() == text);
    let mut at = 0;
    while is(at, "#") {
        at += 2;
    }
    if !is(at, "pub") {
        return at;
    }
    let of_visibility = |group: &Group| {
        let word = group.stream().into_iter().next();
        word.is_some_and(|word| {
            ["crate", "self", "super", "in"].contains(&word.to_string().as_str())
        })
    };
    match field.get(at + 1) {
        Some(TokenTree::Group(group)) if of_visibility(group) => at + 2,
        _ => at + 1,
    }
}

/// The fields, split at the commas between them: not at those between parameters of a type.
fn split(fields: TokenStream) -> Vec<Vec<TokenTree>> {
    let (mut split, mut depth, mut before) = (vec![Vec::new()], 0, ' ');
    for token in fields {
        let mark = match &token {
            TokenTree::Punct(mark) => mark.as_char(),
            _ => ' ',
        };
        match mark {
            ',' if depth == 0 => split.push(Vec::new()),
            _ => split
                .last_mut()
                .into_iter()
                .for_each(|field| field.push(token.clone())),
        }
        match mark {
            '<' => depth += 1,
            // That of `->` ends none.
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        before = mark;
    }
    split.retain(|field| !field.is_empty());
    split
}

fn refused(needed: &str) -> TokenStream {
    parsed(&format!(
        "::core::compile_error!(\"{needed} is needed here\");"
    ))
}

fn parsed(text: &str) -> TokenStream {
    text.parse().unwrap_or_default()
}
