//! The attribute `main`.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

use crate::parsed;

/// `main` without parameters, with the function within it; `None` if that is no such function.
pub(crate) fn of(function: TokenStream) -> Option<TokenStream> {
    let tokens: Vec<TokenTree> = function.clone().into_iter().collect();
    let is = |token: &TokenTree, word: &str| token.to_string() == word;
    let begin = tokens.iter().position(|token| is(token, "fn"))?;
    let is_async = tokens[..begin].iter().any(|token| is(token, "async"));
    let [
        _,
        name,
        TokenTree::Group(parameters),
        returned @ ..,
        TokenTree::Group(_),
    ] = &tokens[begin..]
    else {
        return None;
    };
    let takes_one =
        parameters.delimiter() == Delimiter::Parenthesis && !parameters.stream().is_empty();
    if is_async || !is(name, "main") || !takes_one {
        return None;
    }
    let (returned, run) = match returned {
        [] => (
            parsed("-> ::ranks::Result<()>"),
            "::ranks::run(|world| { main(world); ::core::result::Result::Ok::<(), ::ranks::Error>(()) })",
        ),
        returned => (returned.iter().cloned().collect(), "::ranks::run(main)"),
    };
    let body = function.into_iter().chain(parsed(run)).collect();
    let mut program = parsed("fn main()");
    program.extend(returned);
    program.extend([TokenTree::from(Group::new(Delimiter::Brace, body))]);
    Some(program)
}
