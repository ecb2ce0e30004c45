//! A minimal writer of JSON.
//!
//! Not serde_json's, because with that crate numbers could be compared with its values too in every
//! program that uses ranks: a `vec == []` would no longer have an inferred type.

use std::fmt::{Display, Write as _};

/// An object that is being written.
#[derive(Debug, Default)]
pub(super) struct Object(String);

impl Object {
    /// Adds a number, or another value that is written as it is displayed.
    pub(super) fn plain(&mut self, name: &str, value: impl Display) -> &mut Self {
        self.name(name);
        push(&mut self.0, &value);
        self
    }

    /// Adds a number if there is one.
    pub(super) fn plain_if(&mut self, name: &str, value: Option<impl Display>) -> &mut Self {
        match value {
            Some(value) => self.plain(name, value),
            None => self,
        }
    }

    /// Adds a text.
    pub(super) fn text(&mut self, name: &str, text: &str) -> &mut Self {
        self.name(name);
        quoted(&mut self.0, text);
        self
    }

    /// Adds a text if there is one.
    pub(super) fn text_if(&mut self, name: &str, text: Option<&str>) -> &mut Self {
        match text {
            Some(text) => self.text(name, text),
            None => self,
        }
    }

    /// Adds a list of numbers, or of objects that are complete.
    pub(super) fn list<T: Display>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
    ) -> &mut Self {
        self.name(name);
        self.0.push('[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.0.push(',');
            }
            push(&mut self.0, &item);
        }
        self.0.push(']');
        self
    }

    /// The object, complete.
    pub(super) fn end(&mut self) -> String {
        format!("{{{}}}", std::mem::take(&mut self.0))
    }

    fn name(&mut self, name: &str) {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        quoted(&mut self.0, name);
        self.0.push(':');
    }
}

/// Appends a value. Writing to a string does not fail.
fn push(json: &mut String, value: &dyn Display) {
    let _ = write!(json, "{value}");
}

fn quoted(json: &mut String, text: &str) {
    json.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => json.extend(['\\', character]),
            control if control < ' ' => push(json, &format_args!("\\u{:04x}", u32::from(control))),
            other => json.push(other),
        }
    }
    json.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_and_lists_have_commas() {
        let inner = Object::default().text("a \"b\"\\", "é\n").end();
        let outer = Object::default()
            .plain("number", 1.5)
            .plain_if("none", None::<u8>)
            .list("objects", [inner.as_str(), "{}"])
            .list("empty", [0u8; 0])
            .end();
        assert_eq!(
            outer,
            r#"{"number":1.5,"objects":[{"a \"b\"\\":"é\u000a"},{}],"empty":[]}"#
        );
    }
}
