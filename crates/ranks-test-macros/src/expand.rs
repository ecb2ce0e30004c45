//! The function and its module of tests.

use proc_macro::{LexError, Span, TokenStream};

use crate::Mistake;
use crate::arguments::{Arguments, Backends, Level};
use crate::function::Function;

/// Writes the function as it was, and beside it the module with a test a number of ranks.
pub(crate) fn expand(arguments: &Arguments, function: &Function) -> Result<TokenStream, Mistake> {
    let tests: String = arguments
        .ranks
        .iter()
        .map(|&ranks| test(arguments, function, ranks))
        .collect();
    let module = format!(
        "#[cfg(test)] {cfg} mod {name} {{ {tests} }}",
        cfg = function.cfg.concat(),
        name = function.name,
    );
    let lex = |error: LexError| Mistake::new(Span::call_site(), error.to_string());
    let mut tokens: TokenStream = "#[cfg(test)]".parse().map_err(lex)?;
    tokens.extend(function.tokens.clone());
    tokens.extend(module.parse::<TokenStream>().map_err(lex)?);
    Ok(tokens)
}

/// One test: its name says the number of ranks and what a driver must know before it runs it.
fn test(arguments: &Arguments, function: &Function, ranks: usize) -> String {
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
    let body = match function.is_async {
        false => format!("super::{}", function.name),
        true => format!(
            "|world| ::ranks_test::__private::block_on(super::{}(world))",
            function.name
        ),
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
                {body},
            )
        }}",
        threads = arguments.threads.variant(),
    )
}
