//! The function and its module of tests.

use proc_macro::{Delimiter, Group, LexError, Span, TokenStream, TokenTree};

use crate::Mistake;
use crate::arguments::{Arguments, Backends, Level};
use crate::function::Function;

/// The word of [`test()`] in the place of a case's arguments.
const ARGUMENTS: &str = "__arguments";

/// Writes the function as it was, and beside it the module with a test a number of ranks, within a
/// module for each case if there are cases.
pub(crate) fn expand(arguments: &Arguments, function: &Function) -> Result<TokenStream, Mistake> {
    let tests = |parent: &str| -> String {
        let ranks = arguments.ranks.iter();
        ranks
            .map(|&ranks| test(arguments, function, parent, ranks))
            .collect()
    };
    let mut inside = TokenStream::new();
    for case in &function.cases {
        let module = format!(
            "mod {} {{ #[allow(unused_imports)] use super::super::*; {} }}",
            case.name,
            tests("super::super"),
        );
        inside.extend(filled(lexed(&module)?, &case.arguments.stream()));
    }
    if function.cases.is_empty() {
        inside = filled(lexed(&tests("super"))?, &TokenStream::new());
    }
    let cfg = function.cfg.concat();
    let mut tokens = lexed("#[cfg(test)]")?;
    tokens.extend(function.tokens.clone());
    tokens.extend(lexed(&format!("#[cfg(test)] {cfg} mod {}", function.name))?);
    tokens.extend([TokenTree::from(Group::new(Delimiter::Brace, inside))]);
    Ok(tokens)
}

fn lexed(text: &str) -> Result<TokenStream, Mistake> {
    text.parse()
        .map_err(|error: LexError| Mistake::new(Span::call_site(), error.to_string()))
}

/// The tokens with `arguments` in their place: as tokens, so that the compiler shows which of them
/// is wrong.
fn filled(tokens: TokenStream, arguments: &TokenStream) -> TokenStream {
    let mut all = TokenStream::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let inside = filled(group.stream(), arguments);
                all.extend([TokenTree::from(Group::new(group.delimiter(), inside))]);
            }
            TokenTree::Ident(word) if word.to_string() == ARGUMENTS => {
                all.extend(arguments.clone());
            }
            other => all.extend([other]),
        }
    }
    all
}

/// One test: its name says the number of ranks and what a driver must know before it runs it.
/// The function is in the module `parent`.
fn test(arguments: &Arguments, function: &Function, parent: &str, ranks: usize) -> String {
    let mut name = format!("np{ranks}");
    if arguments.threads != Level::Multiple {
        name = format!("{name}_{}", arguments.threads.name());
    }
    let mut ignore = function.ignore.clone().unwrap_or_default();
    match arguments.backends {
        Backends::Everywhere => {}
        Backends::InProcessOnly => name.push_str("_in_process"),
        Backends::MpiOnly if function.ignore.is_some() => name.push_str("_mpi_ignored"),
        Backends::MpiOnly => {
            name.push_str("_mpi");
            ignore = "#[ignore = \"needs an MPI\"]".to_owned();
        }
    }
    let backends = match arguments.backends {
        Backends::Everywhere => "Everywhere",
        Backends::MpiOnly => "MpiOnly",
        Backends::InProcessOnly => "InProcessOnly",
    };
    let timeout = match arguments.timeout {
        Some(seconds) => format!("::core::option::Option::Some({seconds})"),
        None => "::core::option::Option::None".to_owned(),
    };
    let should_panic = match &function.should_panic {
        None => "::core::option::Option::None".to_owned(),
        Some(None) => "::core::option::Option::Some(\"\")".to_owned(),
        Some(Some(text)) => format!("::core::option::Option::Some({text})"),
    };
    let call = format!("{parent}::{}(__world, {ARGUMENTS})", function.name);
    let call = match function.is_async {
        false => call,
        true => format!("::ranks_test::__private::block_on({call})"),
    };
    format!(
        "#[::core::prelude::v1::test] {ignore} fn {name}() {{
            ::ranks_test::__private::run(
                &::ranks_test::__private::Test {{
                    path: ::core::concat!(::core::module_path!(), \"::{name}\"),
                    ranks: {ranks},
                    threads: ::ranks_test::__private::ThreadLevel::{threads},
                    timeout: {timeout},
                    backends: ::ranks_test::__private::Backends::{backends},
                    should_panic: {should_panic},
                }},
                |__world| {call},
            )
        }}",
        threads = arguments.threads.variant(),
    )
}
