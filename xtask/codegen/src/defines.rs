//! A parser for the `#define`s that bindgen drops: integers cast to a type, and names of symbols.
//!
//! It reads the text of a header, not what the preprocessor makes of it: a constant in a branch
//! that this build of the library has switched off is read too, since another build may have it.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use crate::headers::Value;

/// The constants `MPI_*` that `text` defines in a form that is understood.
pub(crate) fn parse(text: &str) -> Result<BTreeMap<String, Value>> {
    let mut bodies: BTreeMap<&str, Vec<Body>> = BTreeMap::new();
    for line in text.lines() {
        let Some((name, rest)) = definition(line) else {
            continue;
        };
        let Some(body) = body(&tokens(rest)) else {
            continue;
        };
        let known = bodies.entry(name).or_default();
        if !known.contains(&body) {
            known.push(body);
        }
    }
    let mut values = BTreeMap::new();
    // What the header takes back is a help for itself, not a constant.
    let undefined = |name: &str| {
        text.lines().any(|line| {
            line.strip_prefix("#undef")
                .is_some_and(|rest| rest.trim() == name)
        })
    };
    for (name, known) in &bodies {
        if undefined(name) {
            continue;
        }
        if let Some(value) = resolve(name, &bodies) {
            ensure!(known.len() == 1, "{name} is defined in two ways: {known:?}");
            values.insert((*name).to_owned(), value);
        }
    }
    Ok(values)
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Body {
    Value(Value),
    /// The name of another macro, or of a symbol if no such macro exists.
    Name(String),
}

/// The name and the rest of a line `#define MPI_X ...`, unless the macro takes arguments.
fn definition(line: &str) -> Option<(&str, &str)> {
    let rest = line
        .trim_start()
        .strip_prefix('#')?
        .trim_start()
        .strip_prefix("define")?
        .trim_start();
    let end = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    let plain = name.starts_with("MPI_") && !rest.starts_with('(');
    plain.then(|| (name, rest.split("/*").next().unwrap_or_default()))
}

fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            tokens.push(std::mem::take(&mut word));
        }
        if !c.is_whitespace() {
            tokens.push(c.to_string());
        }
    }
    tokens
}

/// Understands `5`, `-5`, `(x)`, `(T)x`, `(T **)x`, `NULL`, a name,
/// `OMPI_PREDEFINED_GLOBAL(T, symbol)`.
fn body(tokens: &[String]) -> Option<Body> {
    let words: Vec<&str> = tokens.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["OMPI_PREDEFINED_GLOBAL", "(", _, ",", symbol, ")"] => {
            Some(Body::Value(Value::Symbol((*symbol).to_owned())))
        }
        ["-", number] => Some(Body::Value(Value::Int(-literal(number)?))),
        ["NULL"] => Some(Body::Value(Value::Int(0))),
        [word] if word.starts_with(|c: char| c.is_ascii_digit()) => {
            Some(Body::Value(Value::Int(literal(word)?)))
        }
        [word] => Some(Body::Name((*word).to_owned())),
        ["(", .., ")"] if closing(&words) == Some(words.len() - 1) => {
            body(&tokens[1..tokens.len() - 1])
        }
        ["(", ..] => {
            let end = closing(&words)?;
            let ty = words[1..end].concat();
            match body(&tokens[end + 1..])? {
                Body::Value(Value::Int(value) | Value::Cast(_, value)) => {
                    Some(Body::Value(Value::Cast(ty, value)))
                }
                other => Some(other),
            }
        }
        _ => None,
    }
}

/// The position of the parenthesis that closes the first.
fn closing(words: &[&str]) -> Option<usize> {
    let mut depth = 0;
    for (at, word) in words.iter().enumerate() {
        match *word {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

fn literal(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn resolve(name: &str, bodies: &BTreeMap<&str, Vec<Body>>) -> Option<Value> {
    match bodies.get(name)?.first()? {
        Body::Value(value) => Some(value.clone()),
        Body::Name(other) if bodies.contains_key(other.as_str()) => resolve(other, bodies),
        // A symbol of the library, or a macro whose integer bindgen knows: bindgen's value comes
        // first.
        Body::Name(other) => Some(Value::Symbol(other.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, name: &str) -> Option<Value> {
        parse(text).unwrap().remove(name)
    }

    #[test]
    fn handles_of_all_three_families_are_understood() {
        let cast = |value| Some(Value::Cast("MPI_Comm".to_owned(), value));
        assert_eq!(
            value("#define MPI_A ((MPI_Comm)0x00000101)", "MPI_A"),
            cast(0x101)
        );
        assert_eq!(
            value("#define MPI_A (MPI_Comm)(0x58000001) /* x */", "MPI_A"),
            cast(0x5800_0001)
        );
        let global = "#define MPI_A OMPI_PREDEFINED_GLOBAL( MPI_Comm, ompi_mpi_comm_world)";
        assert_eq!(
            value(global, "MPI_A"),
            Some(Value::Symbol("ompi_mpi_comm_world".to_owned()))
        );
    }

    #[test]
    fn pointers_keep_their_type_and_sign() {
        assert_eq!(
            value("#define MPI_A (void *) -1", "MPI_A"),
            Some(Value::Cast("void*".to_owned(), -1))
        );
        assert_eq!(
            value("#define MPI_A ((char***)0)", "MPI_A"),
            Some(Value::Cast("char***".to_owned(), 0))
        );
        assert_eq!(
            value("#define MPI_A ((MPI_T_enum) NULL)", "MPI_A"),
            Some(Value::Cast("MPI_T_enum".to_owned(), 0))
        );
    }

    #[test]
    fn names_are_followed_to_a_value_or_a_symbol() {
        let text = "#define MPI_A MPI_B\n#define MPI_B ((MPI_Op)3)\n#define MPI_C ((F *)MPI_D)\n#define MPI_D MPIR_Dup_fn";
        assert_eq!(
            value(text, "MPI_A"),
            Some(Value::Cast("MPI_Op".to_owned(), 3))
        );
        assert_eq!(
            value(text, "MPI_C"),
            Some(Value::Symbol("MPIR_Dup_fn".to_owned()))
        );
    }

    #[test]
    fn macros_with_arguments_and_other_text_are_left_out() {
        assert_eq!(value("#define MPI_A(x) (x)", "MPI_A"), None);
        assert_eq!(
            value("#define MPI_A (static_cast<MPI_Status *> (0))", "MPI_A"),
            None
        );
        assert_eq!(value("#  define MPI_A \"%ld\"", "MPI_A"), None);
        assert_eq!(value("#define OTHER 1", "OTHER"), None);
    }

    #[test]
    fn what_is_undefined_again_is_no_constant() {
        assert_eq!(
            value("#define MPI_A intptr_t\n#undef  MPI_A", "MPI_A"),
            None
        );
    }

    #[test]
    fn two_values_for_one_name_are_an_error() {
        assert!(parse("#define MPI_A ((MPI_Op)3)\n#define MPI_A ((MPI_Op)4)").is_err());
        assert!(parse("#define MPI_A ((MPI_Op)3)\n#define MPI_A ((MPI_Op)3)").is_ok());
    }
}
