//! Reads C headers: declarations through bindgen, the constants that it drops through
//! [`crate::defines`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use syn::{Expr, FnArg, ForeignItem, Item, Lit, Pat, ReturnType, Type, UnOp};

use crate::defines;

/// The value of a constant in one header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// A plain integer.
    Int(i64),
    /// An integer cast to the C type that is named.
    Cast(String, i64),
    /// The address, or the contents, of a symbol that the library exports.
    Symbol(String),
}

/// One argument of a function.
#[derive(Debug)]
pub(crate) struct Argument {
    pub name: String,
    /// As Rust spells it: `*const c_void`, `MPI_Comm`, `c_int`.
    pub rust: String,
}

/// One function of the standard.
#[derive(Debug)]
pub(crate) struct Function {
    pub name: String,
    /// The prototype as the header has it, with what its comment says of deprecation.
    pub prototype: String,
    pub arguments: Vec<Argument>,
    pub result: String,
    pub variadic: bool,
}

/// One header, read.
#[derive(Debug)]
pub(crate) struct Header {
    pub functions: Vec<Function>,
    pub values: BTreeMap<String, Value>,
    /// Function types: name and the Rust type `unsafe extern "C" fn(...)`, or the name of another.
    pub callbacks: Vec<(String, String)>,
    /// Integer types of named enumerations.
    pub enumerations: BTreeSet<String>,
}

/// All headers that the generator needs.
#[derive(Debug)]
pub(crate) struct Headers {
    /// `mpi_abi.h` of MPICH 5.0.2, with the two functions that it lacks against the standard's own.
    pub canonical: Header,
    pub mpich: Header,
    /// Open MPI, newest first.
    pub openmpi: Vec<Header>,
    /// Functions declared by the headers of MPI 3.1, 4.0 and 4.1, in this order.
    pub versions: Vec<(&'static str, BTreeSet<String>)>,
}

/// Functions that the header of MPI 5.0 declares and the one that MPICH 5.0.2 ships does not.
const MISSING_IN_MPICH: &str = "
int MPI_Precv_init_c(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request);
int MPI_Psend_init_c(const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request);
";

impl Headers {
    /// Reads them below `folder`, where `cargo xtask codegen` has put them.
    pub(crate) fn read(folder: &Path) -> Result<Headers> {
        use_libclang(&folder.join("libclang-18.1.1/clang/native"))?;
        let native = |name: &str| Header::read(&folder.join(name).join("include/mpi.h"), "");
        let mut versions = Vec::new();
        for (version, name) in [
            ("3.1", "mpich-3.4.3"),
            ("4.0", "mpich-4.0.3"),
            ("4.1", "mpich-4.3.2"),
        ] {
            let names = native(name)?
                .functions
                .into_iter()
                .map(|function| function.name);
            versions.push((version, names.collect()));
        }
        Ok(Headers {
            canonical: Header::read(
                &folder.join("mpich-5.0.2/include/mpi_abi.h"),
                MISSING_IN_MPICH,
            )?,
            mpich: native("mpich-5.0.2")?,
            openmpi: vec![native("openmpi-5.0.11")?, native("openmpi-4.1.8")?],
            versions,
        })
    }

    /// The version of the standard that brought `function`; "3.1" stands for that or any before.
    pub(crate) fn since(&self, function: &str) -> &'static str {
        let found = self
            .versions
            .iter()
            .find(|(_, names)| names.contains(function));
        found.map_or("5.0", |(version, _)| version)
    }
}

/// Makes bindgen load the libclang in `folder`, not whichever the machine has.
pub(crate) fn use_libclang(folder: &Path) -> Result<()> {
    ensure!(
        folder.join("libclang.so").is_file(),
        "no libclang.so in {}",
        folder.display()
    );
    // SAFETY: the process has one thread as yet.
    unsafe { std::env::set_var("LIBCLANG_PATH", folder) };
    Ok(())
}

/// Bindgen for headers, which include those in some folders and the C compiler's own, such as the
/// `stddef.h` that the wheel of libclang lacks.
pub(crate) fn reader(headers: &str, include: &[&Path]) -> Result<bindgen::Builder> {
    let output = Command::new("cc")
        .arg("-print-file-name=include")
        .output()
        .context("cc")?;
    let of_compiler = String::from_utf8(output.stdout)?;
    let include = include
        .iter()
        .map(|folder| format!("-I{}", folder.display()));
    Ok(bindgen::Builder::default()
        .header_contents("all.h", headers)
        .clang_args(include)
        .clang_args(["-isystem", of_compiler.trim()])
        .default_enum_style(bindgen::EnumVariation::Consts)
        .prepend_enum_name(false)
        .layout_tests(false)
        .generate_comments(false)
        .formatter(bindgen::Formatter::None))
}

impl Header {
    fn read(path: &Path, more: &str) -> Result<Header> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let folder = path.parent().context("a header lies in a folder")?;
        let headers = format!("#include \"{}\"\n{more}", path.display());
        let rust = reader(&headers, &[folder])?
            .allowlist_item("MPI_.*")
            // MPICH's enumerations have names of its own; their constants are the standard's.
            .allowlist_type("MPIR_.*")
            .default_macro_constant_type(bindgen::MacroTypeVariation::Signed)
            .generate()
            .with_context(|| path.display().to_string())?
            .to_string();
        let mut header = Header::from_rust(&rust, &format!("{text}{more}"))?;
        header.values.retain(|name, _| name.starts_with("MPI_"));
        Ok(header)
    }

    /// From bindgen's output and the text of the header itself.
    fn from_rust(rust: &str, text: &str) -> Result<Header> {
        let mut header = Header {
            functions: Vec::new(),
            values: BTreeMap::new(),
            callbacks: Vec::new(),
            enumerations: BTreeSet::new(),
        };
        for item in syn::parse_file(rust)?.items {
            match item {
                Item::Const(item) => {
                    if let Some(value) = integer(&item.expr) {
                        header
                            .values
                            .insert(item.ident.to_string(), Value::Int(value));
                    }
                }
                Item::Type(item) => header.add_type(&item.ident.to_string(), &item.ty)?,
                Item::ForeignMod(block) => {
                    for item in block.items {
                        header.add_foreign(item, text)?;
                    }
                }
                _ => {}
            }
        }
        for (name, value) in defines::parse(text)? {
            header.values.entry(name).or_insert(value);
        }
        header.functions.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(header)
    }

    fn add_type(&mut self, name: &str, ty: &Type) -> Result<()> {
        let rust = rust_type(ty)?;
        if let Some(function) = rust.strip_prefix("Option<unsafe extern \"C\" fn") {
            let function = function.strip_suffix('>').context("Option<..>")?;
            self.callbacks
                .push((name.to_owned(), format!("unsafe extern \"C\" fn{function}")));
        } else if self.callbacks.iter().any(|(callback, _)| *callback == rust) {
            self.callbacks.push((name.to_owned(), rust));
        } else if name.starts_with("MPI_") && (rust == "c_uint" || rust == "c_int") {
            self.enumerations.insert(name.to_owned());
        }
        Ok(())
    }

    fn add_foreign(&mut self, item: ForeignItem, text: &str) -> Result<()> {
        match item {
            ForeignItem::Static(item) => {
                let name = item.ident.to_string();
                self.values.insert(name.clone(), Value::Symbol(name));
            }
            ForeignItem::Fn(item) => {
                let name = item.sig.ident.to_string();
                let mut arguments = Vec::new();
                for argument in &item.sig.inputs {
                    let FnArg::Typed(argument) = argument else {
                        bail!("{name} takes self")
                    };
                    let Pat::Ident(pattern) = &*argument.pat else {
                        bail!("{name}: unnamed argument")
                    };
                    arguments.push(Argument {
                        name: pattern.ident.to_string(),
                        rust: rust_type(&argument.ty)?,
                    });
                }
                let result = match &item.sig.output {
                    ReturnType::Default => "()".to_owned(),
                    ReturnType::Type(_, ty) => rust_type(ty)?,
                };
                let variadic = item.sig.variadic.is_some();
                let prototype = prototype(&name, text);
                self.functions.push(Function {
                    name,
                    prototype,
                    arguments,
                    result,
                    variadic,
                });
            }
            _ => {}
        }
        Ok(())
    }
}

/// The line of `text` that declares `name`, or nothing where a header spreads it over several.
fn prototype(name: &str, text: &str) -> String {
    let call = format!(" {name}(");
    let line = text
        .lines()
        .find(|line| line.contains(&call) && line.contains(");") && !line.starts_with('#'));
    line.unwrap_or_default().trim().to_owned()
}

fn integer(expression: &Expr) -> Option<i64> {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(value) => value.base10_parse().ok(),
            _ => None,
        },
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            integer(&unary.expr).map(|value| -value)
        }
        _ => None,
    }
}

/// A type of bindgen's output, spelt as the generated files spell it: without paths.
fn rust_type(ty: &Type) -> Result<String> {
    Ok(match ty {
        Type::Ptr(pointer) => {
            let mutability = if pointer.mutability.is_some() {
                "mut"
            } else {
                "const"
            };
            format!("*{mutability} {}", rust_type(&pointer.elem)?)
        }
        Type::Path(path) => {
            let last = path.path.segments.last().context("a path has segments")?;
            let name = last.ident.to_string();
            match &last.arguments {
                syn::PathArguments::AngleBracketed(arguments) => {
                    let Some(syn::GenericArgument::Type(inner)) = arguments.args.first() else {
                        bail!("{name} with an argument that is no type");
                    };
                    format!("{name}<{}>", rust_type(inner)?)
                }
                _ if name == "f64" => "c_double".to_owned(),
                _ => name,
            }
        }
        Type::Array(array) => {
            let Some(length) = integer(&array.len) else {
                bail!("an array of unknown length")
            };
            format!("[{}; {length}]", rust_type(&array.elem)?)
        }
        Type::BareFn(function) => {
            let mut arguments = Vec::new();
            for argument in &function.inputs {
                let ty = rust_type(&argument.ty)?;
                let name = argument
                    .name
                    .as_ref()
                    .map(|(name, _)| format!("{name}: "))
                    .unwrap_or_default();
                arguments.push(format!("{name}{ty}"));
            }
            if function.variadic.is_some() {
                arguments.push("...".to_owned());
            }
            let result = match &function.output {
                ReturnType::Default => String::new(),
                ReturnType::Type(_, ty) => format!(" -> {}", rust_type(ty)?),
            };
            format!("unsafe extern \"C\" fn({}){result}", arguments.join(", "))
        }
        Type::Tuple(tuple) if tuple.elems.is_empty() => "()".to_owned(),
        other => bail!("cannot spell {}", quote::quote!(#other)),
    })
}
