//! The attributes `#[case(…)]`: the arguments of a test behind its communicator.

use proc_macro::{Group, Span, TokenStream, TokenTree};

use crate::Mistake;
use crate::arguments::split_at_commas;

/// One set of arguments.
pub(crate) struct Case {
    /// The name of its module: that in `#[case::name(…)]`, or `case_1` and so on.
    pub(crate) name: String,
    pub(crate) arguments: Group,
}

const HELP: &str = "expected #[case(…)] or #[case::name(…)] with the arguments that follow the \
                    communicator";

impl Case {
    /// Reads what is inside the brackets of the `number`th.
    pub(crate) fn parse(inside: &[TokenTree], number: usize) -> Result<Case, Mistake> {
        let (name, arguments) = match inside {
            [_, TokenTree::Group(arguments)] => (format!("case_{number}"), arguments),
            [
                _,
                TokenTree::Punct(_),
                TokenTree::Punct(_),
                TokenTree::Ident(name),
                TokenTree::Group(arguments),
            ] => (name.to_string(), arguments),
            _ => {
                let place = inside.first().map_or_else(Span::call_site, TokenTree::span);
                return Err(Mistake::new(place, HELP));
            }
        };
        Ok(Case {
            name,
            arguments: arguments.clone(),
        })
    }
}

/// Refuses cases that have not as many arguments as there are parameters behind the communicator.
pub(crate) fn check(cases: &[Case], parameters: &Group) -> Result<(), Mistake> {
    let wanted = parts(parameters.stream()) - 1;
    if cases.is_empty() && wanted > 0 {
        return Err(Mistake::new(
            parameters.span(),
            "a test with parameters behind its communicator needs arguments for them: #[case(…)]",
        ));
    }
    for case in cases {
        let stream = case.arguments.stream();
        // The compiler counts where closures and types may have commas of their own.
        let is_plain = !stream.clone().into_iter().any(|token| {
            matches!(&token, TokenTree::Punct(sign) if matches!(sign.as_char(), '|' | '<' | '>'))
        });
        let given = parts(stream);
        if is_plain && given != wanted {
            let text = format!(
                "arguments in this case: {given}; parameters behind the communicator: {wanted}"
            );
            return Err(Mistake::new(case.arguments.span(), text));
        }
    }
    Ok(())
}

/// The number of parts between commas, without those within `<…>`.
fn parts(tokens: TokenStream) -> usize {
    let (mut depth, mut before) = (0, ' ');
    let outside = tokens.into_iter().filter(|token| {
        let sign = match token {
            TokenTree::Punct(sign) => sign.as_char(),
            _ => ' ',
        };
        match sign {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        before = sign;
        depth == 0
    });
    split_at_commas(outside.collect()).len()
}
