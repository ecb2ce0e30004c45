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

use std::iter::once;

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
        Some(item) if item.parameters.is_empty() && item.has_repr(&["C", "transparent"]) => item,
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
            "::core::assert!({sizes} 0 == ::core::mem::size_of::<{}>(), \"there is padding between the fields, or after them: `ranks::Pack` is for such structs\");",
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
    let Some(item) = Item::of(item).filter(|item| item.parameters.is_empty()) else {
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

/// `Pack` for a struct of fields that are `Pack`, and for an enum without fields whose `repr` is an
/// integer.
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
///
/// Parameters of a struct that are types have to be `Pack`; fields of one whose `repr` is `packed`
/// have to be `Copy`.
///
/// ```
/// #[derive(Debug, Clone, PartialEq, ranks::Pack)]
/// struct Line<T, const N: usize> {
///     cells: [T; N],
///     is_border: bool,
/// }
/// ```
/// ```compile_fail,E0277
/// #[derive(ranks::Pack)]
/// struct Of<T>(T);
/// fn send(world: &ranks::Communicator) {
///     world.send_packed(&[Of(String::new())], 0, 0).unwrap(); // its parameter is not packed
/// }
/// ```
/// ```compile_fail,E0507
/// struct Inner(u8);
/// impl ranks::Pack for Inner {
///     type Packed = u8;
///     fn pack(&self) -> u8 { self.0 }
///     fn unpack(packed: u8) -> Result<Self, ranks::element::Invalid> { Ok(Self(packed)) }
/// }
/// #[derive(ranks::Pack)]
/// #[repr(packed)]
/// struct Outer(Inner); // can be neither borrowed nor copied
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
/// struct Borrowed<'a>(&'a u8); // a lifetime: a pointer means nothing elsewhere
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
            "a struct without lifetimes, or an enum without fields whose repr is an integer such as u8,",
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
    /// Each without its default.
    parameters: Vec<TokenStream>,
    /// Behind `where`.
    conditions: TokenStream,
    fields: Vec<Field>,
    /// The words of its `repr`.
    repr: Vec<String>,
}

struct Field {
    /// Or its number.
    name: String,
    of_type: TokenStream,
}

impl Item {
    /// `None` for what is no struct.
    fn of(item: TokenStream) -> Option<Self> {
        let mut repr = Vec::new();
        let mut tokens = item.into_iter();
        loop {
            match tokens.next()? {
                TokenTree::Punct(hash) if hash.as_char() == '#' => {
                    repr.extend(words_of_repr(tokens.next()?));
                }
                TokenTree::Ident(word) if word.to_string() == "struct" => break,
                TokenTree::Ident(word) if word.to_string() == "pub" => {}
                // Behind `pub`.
                TokenTree::Group(_) => {}
                _ => return None,
            }
        }
        let name = tokens.next()?.to_string();
        let mut next = tokens.next()?;
        let mut parameters = Vec::new();
        if is_mark(&next, '<') {
            let from_here = with_depths(once(next).chain(tokens.by_ref())).skip(1);
            let within = from_here.take_while(|(depth, _)| *depth > 0);
            let within = within.map(|(_, token)| token).collect();
            parameters = split(within).into_iter().map(without_default).collect();
            next = tokens.next()?;
        }
        let mut conditions = Vec::new();
        let fields = loop {
            match next {
                // Conditions have groups of other delimiters.
                TokenTree::Group(list)
                    if conditions.is_empty() || list.delimiter() == Delimiter::Brace =>
                {
                    break fields(&list);
                }
                end if is_mark(&end, ';') => break Vec::new(),
                condition => conditions.push(condition),
            }
            next = tokens.next()?;
        };
        // Those of a tuple are behind it.
        conditions.extend(tokens.filter(|token| !is_mark(token, ';')));
        Some(Self {
            name,
            parameters,
            conditions: conditions.into_iter().skip(1).collect(),
            fields,
            repr,
        })
    }

    fn has_repr(&self, words: &[&str]) -> bool {
        self.repr.iter().any(|word| words.contains(&word.as_str()))
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

/// The words of a `repr`, of an attribute in its brackets; none of another one.
fn words_of_repr(attribute: TokenTree) -> Vec<String> {
    let TokenTree::Group(attribute) = attribute else {
        return Vec::new();
    };
    let mut tokens = attribute.stream().into_iter();
    let is_repr = tokens.next().is_some_and(|word| word.to_string() == "repr");
    match tokens.next() {
        Some(TokenTree::Group(how)) if is_repr => how
            .stream()
            .into_iter()
            .map(|word| word.to_string())
            .collect(),
        _ => Vec::new(),
    }
}

fn fields(list: &Group) -> Vec<Field> {
    let is_named = list.delimiter() == Delimiter::Brace;
    let is_colon = |token: &TokenTree| is_mark(token, ':');
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

/// Fields or parameters, split at the commas between them: not at those between parameters of a
/// type.
fn split(list: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut split = vec![Vec::new()];
    for (depth, token) in with_depths(list) {
        match split.last_mut() {
            Some(part) if depth > 0 || !is_mark(&token, ',') => part.push(token),
            _ => split.push(Vec::new()),
        }
    }
    split.retain(|part| !part.is_empty());
    split
}

/// A parameter, up to the `=` of its default.
fn without_default(parameter: Vec<TokenTree>) -> TokenStream {
    with_depths(parameter)
        .take_while(|(depth, token)| *depth > 0 || !is_mark(token, '='))
        .map(|(_, token)| token)
        .collect()
}

/// Each token with the number of angle brackets that it is within.
fn with_depths(
    tokens: impl IntoIterator<Item = TokenTree>,
) -> impl Iterator<Item = (i32, TokenTree)> {
    let (mut depth, mut is_arrow) = (0, false);
    tokens.into_iter().map(move |token| {
        // That of `->` ends none.
        depth -= i32::from(is_mark(&token, '>') && !is_arrow);
        let at = depth;
        depth += i32::from(is_mark(&token, '<'));
        is_arrow = is_mark(&token, '-');
        (at, token)
    })
}

fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn refused(needed: &str) -> TokenStream {
    parsed(&format!(
        "::core::compile_error!(\"{needed} is needed here\");"
    ))
}

fn parsed(text: &str) -> TokenStream {
    text.parse().unwrap_or_default()
}
