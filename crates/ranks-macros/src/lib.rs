//! The derives `Pod` and `Zeroable` of `ranks`, which re-exports them.
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
//! The derives of bytemuck name that crate, which a program then depends on. These name `ranks` alone, and leave all that is to be proven to
//! bytemuck's: they have it derive the trait for a struct of the same fields and the same `repr`, which lies the same way in memory.
#![deny(unsafe_code)]

use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

/// `Pod` for a struct without parameters whose `repr` is `C` or `transparent`, of fields that are `Pod`, with no padding between them.
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
/// ```compile_fail
/// #[derive(Clone, Copy, ranks::Pod, ranks::Zeroable)]
/// #[repr(transparent)]
/// struct Of<T>(T); // a parameter
/// ```
#[proc_macro_derive(Pod)]
pub fn pod(item: TokenStream) -> TokenStream {
    const ALL: [&str; 4] = [
        "::core::clone::Clone",
        "::core::marker::Copy",
        "::ranks::bytemuck::Zeroable",
        "::ranks::bytemuck::Pod",
    ];
    derived(item, &ALL)
}

/// `Zeroable` for a struct or union without parameters, of fields that are `Zeroable`.
///
/// ```compile_fail,E0277
/// #[derive(ranks::Zeroable)]
/// struct Borrowed(&'static u8); // no reference is zero
/// ```
#[proc_macro_derive(Zeroable)]
pub fn zeroable(item: TokenStream) -> TokenStream {
    derived(item, &["::ranks::bytemuck::Zeroable"])
}

/// The name of the type that bytemuck sees.
const TWIN: &str = "__RanksTwin";

/// The last of `traits` for the type that `item` is, if bytemuck derives all of them for one that lies the same way in memory.
fn derived(item: TokenStream, traits: &[&str]) -> TokenStream {
    let Some(item) = Item::of(item) else {
        return parsed(
            "::core::compile_error!(\"a struct or union without parameters is needed here\");",
        );
    };
    let wanted = traits.last().copied().unwrap_or_default();
    let mut inside = parsed(&format!(
        "#[derive({})] #[bytemuck(crate = \"::ranks::bytemuck\")] #[allow(dead_code)]",
        traits.join(", ")
    ));
    inside.extend(item.twin);
    // Sound where the twin is: it has the same fields and the same `repr`, without which bytemuck derives no `Pod`; a zeroed
    // value is one of each field, however they lie.
    inside.extend(parsed(&format!("unsafe impl {wanted} for")));
    inside.extend([
        TokenTree::from(item.name.clone()),
        braced(TokenStream::new()),
    ]);
    if wanted.ends_with("Pod") {
        // An attribute may change the fields after a derive has seen them.
        inside.extend(parsed(&format!(
            "const _: () = ::core::assert!(::core::mem::size_of::<{}>() == ::core::mem::size_of::<{TWIN}>());",
            item.name
        )));
    }
    let mut all = parsed("const _: () =");
    all.extend([braced(inside)]);
    all.extend(parsed(";"));
    all
}

/// The item that a derive is for.
struct Item {
    name: Ident,
    /// The same under another name: its `repr`, the keyword, its fields without their attributes.
    twin: TokenStream,
}

impl Item {
    /// `None` for what has parameters, or is no struct or union.
    fn of(item: TokenStream) -> Option<Item> {
        let mut twin = TokenStream::new();
        let mut tokens = item.into_iter();
        let keyword = loop {
            match tokens.next()? {
                TokenTree::Punct(hash) if hash.as_char() == '#' => {
                    let TokenTree::Group(attribute) = tokens.next()? else {
                        return None;
                    };
                    if is_repr(&attribute) {
                        twin.extend([TokenTree::from(hash), attribute.into()]);
                    }
                }
                TokenTree::Ident(word) => match word.to_string().as_str() {
                    "struct" | "union" => break word,
                    "enum" => return None,
                    _ => {}
                },
                _ => {}
            }
        };
        let TokenTree::Ident(name) = tokens.next()? else {
            return None;
        };
        let other = Ident::new(TWIN, Span::call_site());
        twin.extend([TokenTree::from(keyword), other.into()]);
        for token in tokens {
            match token {
                TokenTree::Punct(mark) if mark.as_char() == '<' => return None,
                TokenTree::Group(fields) => {
                    let mut bare =
                        Group::new(fields.delimiter(), without_attributes(fields.stream()));
                    bare.set_span(fields.span());
                    twin.extend([TokenTree::from(bare)]);
                }
                other => twin.extend([other]),
            }
        }
        Some(Item { name, twin })
    }
}

fn is_repr(attribute: &Group) -> bool {
    let first = attribute.stream().into_iter().next();
    matches!(first, Some(TokenTree::Ident(name)) if name.to_string() == "repr")
}

fn without_attributes(fields: TokenStream) -> TokenStream {
    let mut bare = TokenStream::new();
    let mut tokens = fields.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            // What is behind it in brackets.
            TokenTree::Punct(mark) if mark.as_char() == '#' => drop(tokens.next()),
            other => bare.extend([other]),
        }
    }
    bare
}

fn braced(tokens: TokenStream) -> TokenTree {
    Group::new(Delimiter::Brace, tokens).into()
}

fn parsed(text: &str) -> TokenStream {
    text.parse().unwrap_or_default()
}
