//! The function under the attribute, taken apart as far as is needed.

use proc_macro::{Delimiter, Group, Span, TokenStream, TokenTree};

use crate::cases::{self, Case};
use crate::{Mistake, plain};

/// A test function.
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) is_async: bool,
    /// The attributes that belong to the tests: `#[ignore]`.
    pub(crate) ignore: Option<String>,
    /// `Some(None)` for a bare `#[should_panic]`, else the expected text as a literal.
    pub(crate) should_panic: Option<Option<String>>,
    /// The attributes `#[case(…)]`.
    pub(crate) cases: Vec<Case>,
    /// `#[cfg(…)]`, which both the function and its tests carry.
    pub(crate) cfg: Vec<String>,
    /// The function, without the attributes that went to the tests.
    pub(crate) tokens: TokenStream,
}

/// Takes the item apart.
pub(crate) fn parse(item: TokenStream) -> Result<Function, Mistake> {
    let mut ignore = None;
    let mut should_panic = None;
    let mut cases = Vec::new();
    let mut cfg = Vec::new();
    let mut kept = Vec::new();

    let mut rest = item.into_iter().peekable();
    while let Some(TokenTree::Punct(hash)) = rest.peek() {
        if hash.as_char() != '#' {
            break;
        }
        let hash = rest.next();
        let Some(TokenTree::Group(body)) = rest.next() else {
            break;
        };
        let inside: Vec<TokenTree> = body.stream().into_iter().collect();
        match inside.first().map(ToString::to_string).as_deref() {
            Some("ignore") => ignore = Some(format!("#{body}")),
            Some("case") => cases.push(Case::parse(&inside, cases.len() + 1)?),
            Some("should_panic") => should_panic = Some(expected(&inside)?),
            Some("test") => {
                return Err(Mistake::new(
                    body.span(),
                    "#[ranks] makes the tests itself: take #[test] away",
                ));
            }
            first => {
                if first == Some("cfg") {
                    cfg.push(format!("#{body}"));
                }
                kept.extend(hash);
                kept.push(TokenTree::Group(body));
            }
        }
    }

    let signature: Vec<TokenTree> = rest.collect();
    let (name, is_async, parameters) = head(&signature)?;
    cases::check(&cases, &parameters)?;
    kept.extend(signature);
    Ok(Function {
        name,
        is_async,
        ignore,
        should_panic,
        cases,
        cfg,
        tokens: kept.into_iter().collect(),
    })
}

/// The text in `should_panic(expected = "text")` or `should_panic = "text"`. What is neither is
/// refused: taken for a bare `should_panic`, it would let any panic pass.
fn expected(inside: &[TokenTree]) -> Result<Option<String>, Mistake> {
    let text = match inside {
        [_] => return Ok(None),
        [_, TokenTree::Group(group)] if group.delimiter() == Delimiter::Parenthesis => {
            match group.stream().into_iter().collect::<Vec<_>>().as_slice() {
                [TokenTree::Ident(word), equals, text] if word.to_string() == "expected" => {
                    literal(equals, text)
                }
                _ => None,
            }
        }
        [_, equals, text] => literal(equals, text),
        _ => None,
    };
    text.map(Some).ok_or_else(|| {
        Mistake::new(
            inside.first().map_or_else(Span::call_site, TokenTree::span),
            "expected should_panic or should_panic(expected = \"text\")",
        )
    })
}

/// The literal behind the sign `=`.
fn literal(equals: &TokenTree, text: &TokenTree) -> Option<String> {
    match (equals, plain(text.clone())) {
        (TokenTree::Punct(sign), TokenTree::Literal(text)) if sign.as_char() == '=' => {
            Some(text.to_string())
        }
        _ => None,
    }
}

/// The name that follows `fn`, if this is a function that a test can be made of, `true` if it is
/// async, and its parameters.
fn head(signature: &[TokenTree]) -> Result<(String, bool, Group), Mistake> {
    let start = signature
        .first()
        .map_or_else(Span::call_site, TokenTree::span);
    let place = signature
        .iter()
        .position(|token| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn"))
        .ok_or_else(|| Mistake::new(start, "#[ranks] stands on a function"))?;
    let mut is_async = false;
    for token in &signature[..place] {
        if let TokenTree::Ident(word) = token {
            match word.to_string().as_str() {
                "async" => is_async = true,
                refused @ ("unsafe" | "extern") => {
                    let text = format!("a test on ranks cannot be {refused}");
                    return Err(Mistake::new(word.span(), text));
                }
                _ => {}
            }
        }
    }
    let Some(TokenTree::Ident(name)) = signature.get(place + 1) else {
        return Err(Mistake::new(start, "#[ranks] stands on a function"));
    };
    match signature.get(place + 2) {
        Some(TokenTree::Group(parameters))
            if parameters.delimiter() == Delimiter::Parenthesis
                && !parameters.stream().is_empty() =>
        {
            Ok((name.to_string(), is_async, parameters.clone()))
        }
        Some(TokenTree::Group(parameters)) => Err(Mistake::new(
            parameters.span(),
            "a test on ranks takes its communicator: (world: Communicator)",
        )),
        _ => Err(Mistake::new(
            name.span(),
            "a test on ranks cannot be generic",
        )),
    }
}
