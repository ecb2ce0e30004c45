//! The umbrella crate has no code of its own: it names what lies in the others.

use super::code::bracketed;
use super::finding::Finding;
use super::tree::Tree;

const FOLDER: &str = "crates/ranks/src/";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, code) in tree.code().filter(|(path, _)| path.starts_with(FOLDER)) {
        if let Err(offset) = only_names(code) {
            let line = code[..offset].lines().count().max(1);
            let fix = "keep `pub use` and modules of it, and move the rest to the crate whose concept it is";
            findings.push(Finding::new(path, line, "the umbrella has code", fix));
        }
    }
    findings
}

/// Whether there are only attributes, `pub use …;` and `pub mod … { … }` of the same; else where
/// there is more.
fn only_names(code: &str) -> Result<(), usize> {
    let mut depth = 0_usize;
    let mut rest = code;
    loop {
        rest = rest.trim_start();
        let here = code.len() - rest.len() + usize::from(!rest.is_empty());
        let skipped = if rest.is_empty() {
            return if depth == 0 { Ok(()) } else { Err(code.len()) };
        } else if rest.starts_with("#[") || rest.starts_with("#![") {
            bracketed(rest, ['[', ']'])
        } else if rest.starts_with('}') && depth > 0 {
            depth -= 1;
            Some(1)
        } else if rest.starts_with("pub use ") {
            rest.find(';').map(|end| end + 1)
        } else if let Some(module) = rest.strip_prefix("pub mod ") {
            depth += 1;
            let end = module
                .find(['{', ';'])
                .filter(|&end| module[end..].starts_with('{'));
            end.map(|end| "pub mod ".len() + end + 1)
        } else {
            None
        };
        rest = &rest[skipped.ok_or(here)?..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<Finding> {
        check(&Tree::of(&[("crates/ranks/src/lib.rs", text)]))
    }

    #[test]
    fn names_of_others_are_in_order() {
        let text = "//! Docs.\n#![deny(unsafe_code)]\n\npub use a::{\n    b,\n    c,\n};\n/// P.\n#[doc(inline)]\n\
                    pub mod prelude {\n    pub use crate::x::*;\n}\n";
        assert_eq!(found(text), []);
    }

    #[test]
    fn everything_else_is_found() {
        for code in [
            "pub fn f() {}",
            "pub mod m { fn f() {} }",
            "mod m;",
            "pub mod m;",
            "use a::b;",
            "impl X for Y {}",
            "pub use a",
        ] {
            let found = found(&format!("//! Docs.\n\n{code}\n"));
            assert_eq!((found.len(), found[0].line), (1, 3), "{code}");
        }
    }
}
