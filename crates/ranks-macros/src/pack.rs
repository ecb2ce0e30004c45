//! The derive `Pack`.
//!
//! Its output is safe code, so that a field which an attribute has changed in the meantime is an
//! error of the compiler at most.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

use crate::{Item, is_mark, parsed, words_of_repr};

/// An implementation of `Pack`; `None` for what is neither a struct without lifetimes nor an enum
/// without fields whose `repr` is an integer.
pub(crate) fn of(item: TokenStream) -> Option<TokenStream> {
    match Item::of(item.clone()) {
        Some(item) => of_struct(&item),
        None => of_enum(item),
    }
}

fn of_struct(item: &Item) -> Option<TokenStream> {
    let of_each = |text: &dyn Fn(usize, &str) -> String| -> Vec<TokenStream> {
        let names = item.fields.iter().map(|field| field.name.as_str());
        let texts = names.enumerate().map(|(number, name)| text(number, name));
        texts.map(|text| parsed(&text)).collect()
    };
    let types: Vec<TokenStream> = item
        .fields
        .iter()
        .map(|field| {
            let of_field = [
                parsed("<"),
                grouped(Delimiter::None, field.of_type.clone()),
                parsed("as ::ranks::element::Pack>::Packed"),
            ];
            of_field.into_iter().collect()
        })
        .collect();
    // Fields of what is laid out packed cannot be borrowed: of a copy, as std's derives do it.
    let field = if item.has_repr(&["packed"]) {
        |name: &str| format!("{{ self.{name} }}")
    } else {
        |name: &str| format!("self.{name}")
    };
    let packed = of_each(&|_, name| format!("::ranks::element::Pack::pack(&{})", field(name)));
    let parts = of_each(&|number, _| format!("part{number}"));
    let unpacked = of_each(&|number, name| {
        format!(
            "{name}: ::ranks::element::Pack::unpack(part{number}).map_err(|invalid| invalid.within(\".{name}\"))?,"
        )
    });
    let unpack = [
        parsed("let"),
        in_pairs(&parts, Pairs::OfValues),
        parsed("= packed; ::core::result::Result::Ok"),
        grouped(
            Delimiter::Parenthesis,
            parsed("Self")
                .into_iter()
                .chain(grouped(Delimiter::Brace, unpacked.into_iter().collect()))
                .collect(),
        ),
    ];
    Some(implementation(
        Head::of(item)?,
        in_pairs(&types, Pairs::OfTypes),
        in_pairs(&packed, Pairs::OfValues),
        unpack.into_iter().collect(),
    ))
}

fn of_enum(item: TokenStream) -> Option<TokenStream> {
    let mut integer = None;
    let mut tokens = item.into_iter();
    loop {
        match tokens.next()? {
            TokenTree::Ident(word) if word.to_string() == "enum" => break,
            attribute @ TokenTree::Group(_) => {
                let mut words = words_of_repr(attribute).into_iter();
                integer = integer.or_else(|| words.find(|word| word.starts_with(['u', 'i'])));
            }
            _ => {}
        }
    }
    let (integer, name) = (integer?, tokens.next()?.to_string());
    let Some(TokenTree::Group(variants)) = tokens.next() else {
        return None;
    };
    let variants: Vec<TokenTree> = variants.stream().into_iter().collect();
    let is_comma = |token: &TokenTree| is_mark(token, ',');
    let variants = variants.split(is_comma).filter(|tokens| !tokens.is_empty());
    let variants: Option<Vec<String>> = variants.map(variant).collect();
    let variants = variants.filter(|variants| !variants.is_empty())?;
    let of_each = |text: &dyn Fn(&str) -> String| -> String {
        variants.iter().map(|variant| text(variant)).collect()
    };
    let pack = of_each(&|variant| format!("Self::{variant} => Self::{variant} as {integer},"));
    let unpack = of_each(&|variant| {
        format!(
            "_ if packed == Self::{variant} as {integer} => ::core::result::Result::Ok(Self::{variant}),"
        )
    });
    Some(implementation(
        Head::named(&name),
        parsed(&integer),
        parsed(&format!("match self {{ {pack} }}")),
        parsed(&format!(
            "match packed {{ {unpack} _ => ::core::result::Result::Err(::ranks::element::Invalid::of::<Self>(packed)) }}"
        )),
    ))
}

/// The type, with its parameters.
struct Head {
    /// As they are declared.
    parameters: TokenStream,
    of_type: TokenStream,
    conditions: TokenStream,
}

impl Head {
    fn named(name: &str) -> Self {
        Self {
            parameters: TokenStream::new(),
            of_type: parsed(name),
            conditions: TokenStream::new(),
        }
    }

    /// `None` if a parameter is a lifetime.
    fn of(item: &Item) -> Option<Self> {
        let mut head = Self::named(&item.name);
        let mut arguments = TokenStream::new();
        for parameter in &item.parameters {
            let mut tokens = parameter.clone().into_iter();
            let first = tokens.next().filter(|token| !is_mark(token, '\''))?;
            let name = if first.to_string() == "const" {
                tokens.next()?
            } else {
                let is_packed = parsed(&format!("{first}: ::ranks::element::Pack,"));
                head.conditions.extend(is_packed);
                first
            };
            arguments.extend([TokenStream::from(name), parsed(",")]);
            head.parameters.extend([parameter.clone(), parsed(",")]);
        }
        head.conditions.extend(item.conditions.clone());
        head.of_type.extend([parsed("<"), arguments, parsed(">")]);
        Some(head)
    }
}

fn implementation(
    head: Head,
    packed: TokenStream,
    pack: TokenStream,
    unpack: TokenStream,
) -> TokenStream {
    let items = [
        parsed("type Packed ="),
        packed,
        parsed("; fn pack(&self) -> Self::Packed"),
        grouped(Delimiter::Brace, pack),
        parsed(
            "fn unpack(packed: Self::Packed) -> ::core::result::Result<Self, ::ranks::element::Invalid>",
        ),
        grouped(Delimiter::Brace, unpack),
    ];
    let items = grouped(Delimiter::Brace, items.into_iter().collect());
    let all = [
        parsed("#[automatically_derived] impl<"),
        head.parameters,
        parsed("> ::ranks::element::Pack for"),
        head.of_type,
        parsed("where"),
        head.conditions,
        items,
    ];
    all.into_iter().collect()
}

#[derive(Clone, Copy)]
enum Pairs {
    OfTypes,
    /// Or of patterns.
    OfValues,
}

/// Pairs of pairs of `parts`: not a chain of them, which the compiler would find nested too deep.
fn in_pairs(parts: &[TokenStream], what: Pairs) -> TokenStream {
    let both = match parts {
        [] => {
            return parsed(match what {
                Pairs::OfTypes => "[u8; 0]",
                Pairs::OfValues => "[]",
            });
        }
        [part] => return part.clone(),
        parts => {
            let (first, second) = parts.split_at(parts.len() / 2);
            [in_pairs(first, what), parsed(","), in_pairs(second, what)]
        }
    };
    let both: TokenStream = both.into_iter().collect();
    let pair = parsed("::ranks::element::derive::Pair").into_iter();
    match what {
        Pairs::OfTypes => pair
            .chain(parsed("<"))
            .chain(both)
            .chain(parsed(">"))
            .collect(),
        Pairs::OfValues => pair.chain(grouped(Delimiter::Parenthesis, both)).collect(),
    }
}

fn grouped(delimiter: Delimiter, tokens: TokenStream) -> TokenStream {
    TokenTree::from(Group::new(delimiter, tokens)).into()
}

/// The name of a variant, with its attributes before and its discriminant behind it; `None` if it
/// has fields.
fn variant(tokens: &[TokenTree]) -> Option<String> {
    let is_attribute = |token: &&TokenTree| match token {
        TokenTree::Punct(hash) => hash.as_char() == '#',
        TokenTree::Group(_) => true,
        _ => false,
    };
    let mut tokens = tokens.iter().skip_while(is_attribute);
    let name = tokens.next()?.to_string();
    let has_fields = matches!(tokens.next(), Some(TokenTree::Group(_)));
    (!has_fields).then_some(name)
}
