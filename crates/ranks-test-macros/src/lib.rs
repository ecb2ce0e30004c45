//! The attribute `#[ranks(…)]` of `ranks-test`, which documents it and re-exports it.
//!
//! A test function becomes itself and a module of its own name that holds one `#[test]` for each
//! number of ranks: `#[ranks(1, 4)] fn rings(world: Communicator)` is listed by `cargo test` as
//! `rings::np1` and `rings::np4`; with cases as `rings::case_1::np1` and so on.
#![deny(unsafe_code)]

mod arguments;
mod cases;
mod expand;
mod function;

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Turns a function that takes a communicator into one test for each of the numbers of ranks.
///
/// See the documentation of `ranks-test`.
///
/// # Uses that are refused
///
/// No number of ranks, one that is not positive, or one twice:
///
/// ```compile_fail
/// #[ranks_test_macros::ranks()]
/// fn test(world: Communicator) {}
/// ```
/// ```compile_fail
/// #[ranks_test_macros::ranks(0)]
/// fn test(world: Communicator) {}
/// ```
/// ```compile_fail
/// #[ranks_test_macros::ranks(2, 2)]
/// fn test(world: Communicator) {}
/// ```
///
/// An unknown option, or an unknown thread level:
///
/// ```compile_fail
/// #[ranks_test_macros::ranks(2, retries = 3)]
/// fn test(world: Communicator) {}
/// ```
/// ```compile_fail
/// #[ranks_test_macros::ranks(2, threads = many)]
/// fn test(world: Communicator) {}
/// ```
///
/// A function that takes no communicator, or is generic or unsafe:
///
/// ```compile_fail
/// #[ranks_test_macros::ranks(2)]
/// fn test() {}
/// ```
/// ```compile_fail
/// #[ranks_test_macros::ranks(2)]
/// fn test<T>(world: T) {}
/// ```
/// ```compile_fail
/// #[ranks_test_macros::ranks(2)]
/// unsafe fn test(world: Communicator) {}
/// ```
///
/// A text that every panic is to have, written otherwise than as a literal:
///
/// ```compile_fail
/// #[ranks_test_macros::ranks(2)]
/// #[should_panic(expected = concat!("a", "b"))]
/// fn test(world: Communicator) {}
/// ```
/// ```compile_fail
/// #[ranks_test_macros::ranks(2)]
/// #[should_panic(expect = "ab")]
/// fn test(world: Communicator) {}
/// ```
///
/// Parameters behind the communicator without a case, a case without arguments, or with too few or
/// too many of them:
///
/// ```compile_fail
/// #[ranks_test_macros::ranks(2)]
/// fn test(world: Communicator, counts: BTreeMap<u8, u8>) {}
/// ```
/// ```compile_fail
/// #[ranks_test_macros::ranks(2)]
/// #[case::empty]
/// fn test(world: Communicator, n: usize) {}
/// ```
/// ```compile_fail
/// #[ranks_test_macros::ranks(2)]
/// #[case(1)]
/// fn test(world: Communicator, n: usize, text: &str) {}
/// ```
/// ```compile_fail
/// #[ranks_test_macros::ranks(2)]
/// #[case(1)]
/// #[case::two(1, (2, 3))]
/// fn test(world: Communicator, n: usize) {}
/// ```
///
/// The same functions without the mistakes are taken (they are compiled in tests only):
///
/// ```
/// #[ranks_test_macros::ranks(2, 3, threads = single, timeout = 1_000, mpi_only,)]
/// async fn test(world: Communicator) {}
///
/// #[ranks_test_macros::ranks(2)]
/// #[case(1, Box::new(|a, _| a), BTreeMap::<u8, u8>::new(),)]
/// #[case::two(2, Box::new(|_, b| b), BTreeMap::new())]
/// fn cases(
///     world: Communicator,
///     n: usize,
///     choose: Box<dyn Fn(u8, u8) -> u8>,
///     counts: BTreeMap<u8, u8>,
/// ) {
/// }
/// ```
#[proc_macro_attribute]
pub fn ranks(arguments: TokenStream, item: TokenStream) -> TokenStream {
    match arguments::parse(arguments).and_then(|arguments| {
        let function = function::parse(item.clone())?;
        expand::expand(&arguments, &function)
    }) {
        Ok(tokens) => tokens,
        Err(error) => {
            let mut tokens = error.into_tokens();
            tokens.extend(item);
            tokens
        }
    }
}

/// A token without the brackets that nobody sees, which a fragment of a `macro_rules!` comes in.
fn plain(token: TokenTree) -> TokenTree {
    match &token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            let mut inside = group.stream().into_iter();
            match (inside.next(), inside.next()) {
                (Some(one), None) => plain(one),
                _ => token,
            }
        }
        _ => token,
    }
}

/// A mistake in the use of the attribute, and where it is.
struct Mistake {
    span: Span,
    text: String,
}

impl Mistake {
    fn new(span: Span, text: impl Into<String>) -> Self {
        Self {
            span,
            text: text.into(),
        }
    }

    /// `::core::compile_error!("text");`, every token of it at the place of the mistake.
    fn into_tokens(self) -> TokenStream {
        let text = TokenTree::from(Literal::string(&self.text));
        let path = [
            TokenTree::from(Punct::new(':', Spacing::Joint)),
            Punct::new(':', Spacing::Alone).into(),
            Ident::new("core", self.span).into(),
            Punct::new(':', Spacing::Joint).into(),
            Punct::new(':', Spacing::Alone).into(),
            Ident::new("compile_error", self.span).into(),
            Punct::new('!', Spacing::Alone).into(),
            Group::new(Delimiter::Parenthesis, text.into()).into(),
            Punct::new(';', Spacing::Alone).into(),
        ];
        path.into_iter()
            .map(|mut token| {
                token.set_span(self.span);
                token
            })
            .collect()
    }
}
