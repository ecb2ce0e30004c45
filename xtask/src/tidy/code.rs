//! Rust source with what is no code made blank, so that words are found where they mean something.

use std::iter::Peekable;
use std::str::Chars;

/// The parts of code to make blank.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blank {
    Comments,
    CommentsAndStrings,
}

/// `source` with spaces in place of what is made blank; lines keep their numbers.
pub(crate) fn strip(source: &str, blank: Blank) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source.chars().peekable();
    let mut previous = ' ';
    while let Some(c) = rest.next() {
        let start = out.len();
        match (c, rest.peek()) {
            ('/', Some('/')) => while rest.next_if(|&c| c != '\n').is_some() {},
            ('/', Some('*')) => block_comment(&mut rest, &mut out),
            ('"', _) => string(&mut rest, &mut out, blank),
            ('r', Some('"' | '#')) if !is_word(previous) || "bc".contains(previous) => {
                out.push('r');
                raw_string(&mut rest, &mut out, blank);
            }
            ('\'', _) => character(&mut rest, &mut out, blank),
            _ => out.push(c),
        }
        previous = if out.len() > start { c } else { ' ' };
    }
    out
}

/// The lines of `strip`, with their numbers from 1.
pub(crate) fn lines(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.lines()
        .enumerate()
        .map(|(number, line)| (number + 1, line))
}

/// The identifiers of a line.
pub(crate) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c| !is_word(c)).filter(|word| !word.is_empty())
}

/// The part of a source before its tests, which may do anything.
pub(crate) fn before_tests(code: &str) -> &str {
    code.split("\nmod tests {").next().unwrap_or_default()
}

/// The length of what `text` begins with, from the first such bracket to the one that closes it.
pub(crate) fn bracketed(text: &str, [open, close]: [char; 2]) -> Option<usize> {
    let mut depth = 0;
    for (index, c) in text.match_indices([open, close]) {
        depth += if c.starts_with(open) { 1 } else { -1 };
        if depth == 0 {
            return Some(index + 1);
        }
    }
    None
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// From behind the first `/`; comments nest.
fn block_comment(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    let mut depth = 0;
    let mut previous = '/';
    for c in rest.by_ref() {
        match (previous, c) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                keep_lines(c, out);
                previous = c;
                continue;
            }
        }
        if depth == 0 {
            break;
        }
        previous = ' ';
    }
    out.push(' ');
}

/// From behind the opening quote.
fn string(rest: &mut Peekable<Chars<'_>>, out: &mut String, blank: Blank) {
    out.push('"');
    while let Some(c) = rest.next() {
        match c {
            '"' => break,
            '\\' => {
                inside(c, out, blank);
                if let Some(escaped) = rest.next() {
                    inside(escaped, out, blank);
                }
            }
            _ => inside(c, out, blank),
        }
    }
    out.push('"');
}

/// From behind the `r`; a raw identifier (`r#type`) is left alone.
fn raw_string(rest: &mut Peekable<Chars<'_>>, out: &mut String, blank: Blank) {
    let mut hashes = 0;
    while rest.next_if_eq(&'#').is_some() {
        hashes += 1;
        out.push('#');
    }
    if rest.next_if_eq(&'"').is_none() {
        return;
    }
    out.push('"');
    while let Some(c) = rest.next() {
        if c != '"' {
            inside(c, out, blank);
            continue;
        }
        let mut found = 0;
        while found < hashes && rest.next_if_eq(&'#').is_some() {
            found += 1;
        }
        if found == hashes {
            break;
        }
        inside('"', out, blank);
        (0..found).for_each(|_| inside('#', out, blank));
    }
    out.push('"');
    (0..hashes).for_each(|_| out.push('#'));
}

/// From behind an apostrophe: a character, or the name of a lifetime.
fn character(rest: &mut Peekable<Chars<'_>>, out: &mut String, blank: Blank) {
    out.push('\'');
    let mut ahead = rest.clone();
    let is_character = match ahead.next() {
        Some('\\') => true,
        Some(_) => ahead.next() == Some('\''),
        None => false,
    };
    if !is_character {
        return;
    }
    if let Some(first) = rest.next() {
        inside(first, out, blank);
        if first == '\\'
            && let Some(escaped) = rest.next()
        {
            inside(escaped, out, blank);
        }
    }
    for c in rest.by_ref() {
        if c == '\'' {
            break;
        }
        inside(c, out, blank);
    }
    out.push('\'');
}

fn inside(c: char, out: &mut String, blank: Blank) {
    match blank {
        Blank::Comments => out.push(c),
        Blank::CommentsAndStrings => keep_lines(c, out),
    }
}

fn keep_lines(c: char, out: &mut String) {
    out.push(if c == '\n' { '\n' } else { ' ' });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(source: &str) -> String {
        strip(source, Blank::CommentsAndStrings)
    }

    #[test]
    fn comments_and_strings_are_blank_and_code_stays() {
        assert_eq!(code("a(); // dlopen\nb"), "a(); \nb");
        assert_eq!(
            code("a /* x /* y */ dlopen\n */ b").trim_end(),
            code("a /* x /* y */ dlopen\n */ b").trim_end()
        );
        assert!(!code("a /* x /* y */ dlopen\n */ b").contains("dlopen"));
        assert!(code("a /* x /* y */ dlopen\n */ b").ends_with('b'));
        assert!(!code("f(\"dlopen \\\" dlopen\"); g").contains("dlopen"));
        assert!(code("f(\"dlopen \\\" dlopen\"); g").ends_with("; g"));
        assert!(!code("r#\"dlopen \" dlopen\"# + x").contains("dlopen"));
        assert!(code("r#\"dlopen \" dlopen\"# + x").ends_with("+ x"));
        assert!(!code("br\"dlopen\\\"; x").contains("dlopen"));
    }

    #[test]
    fn only_comments_are_blank_if_asked() {
        assert_eq!(
            strip("x(\"MPI // y\") // z", Blank::Comments),
            "x(\"MPI // y\") "
        );
    }

    #[test]
    fn characters_and_lifetimes_are_told_apart() {
        assert_eq!(
            code("fn f<'a>(x: &'a str) -> u8 { b'\"' } dlopen"),
            "fn f<'a>(x: &'a str) -> u8 { b' ' } dlopen"
        );
        assert!(code("'\\'' ; '\\u{1F600}'; '/' '/' x").ends_with('x'));
        assert_eq!(code("r#type for_ x"), "r#type for_ x");
    }

    #[test]
    fn lines_keep_their_numbers() {
        let source = "a\n\"x\ny\"\n/* \n */ b";
        let found = lines(&code(source))
            .find(|(_, line)| line.contains('b'))
            .map(|(number, _)| number);
        assert_eq!(found, Some(5));
        assert_eq!(words("a::b_c(d)").collect::<Vec<_>>(), ["a", "b_c", "d"]);
    }
}
