//! A C program that prints what one header says of each constant.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The question for a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// Its value.
    Number,
    /// The expansion of the macro, as text: the value is known only to the linker.
    Text,
}

/// The answers of `header` by name; a name that it does not declare has none.
///
/// Needs no library: nothing of one is used, only declared.
pub(crate) fn answers(
    header: &Path,
    constants: &[(String, Question)],
    expressions: &[&str],
) -> Result<BTreeMap<String, String>> {
    let folder = std::env::temp_dir().join(format!("ranks-abi-check-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let answers = compile(&folder, header, constants.to_vec(), expressions);
    // A leftover in the folder for temporary files costs nothing else.
    let _ = fs::remove_dir_all(&folder);
    answers
}

fn compile(
    folder: &Path,
    header: &Path,
    mut constants: Vec<(String, Question)>,
    expressions: &[&str],
) -> Result<BTreeMap<String, String>> {
    let (source, program) = (folder.join("probe.c"), folder.join("probe"));
    // A round for what is undeclared; constants that hide behind others need another.
    for _ in 0..4 {
        fs::write(&source, text(header, &constants, expressions)?)?;
        let include = header.parent().context("a header lies in a folder")?;
        let output = Command::new("cc")
            .env("LC_ALL", "C")
            .args(["-w", "-fmax-errors=0", "-I"])
            .arg(include)
            .arg("-o")
            .args([&program, &source])
            .output()
            .context("cc")?;
        if output.status.success() {
            let output = Command::new(&program).output()?;
            let text = String::from_utf8(output.stdout)?;
            let pairs = text.lines().filter_map(|line| line.split_once('='));
            return Ok(pairs
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect());
        }
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        let before = constants.len();
        constants.retain(|(name, _)| !is_undeclared(name, &complaint));
        if constants.len() == before {
            bail!(
                "the probe of {} does not compile:\n{complaint}",
                header.display()
            );
        }
    }
    bail!("the probe of {} does not compile", header.display())
}

/// Returns `true` if gcc or clang complains that it does not know `name`.
fn is_undeclared(name: &str, complaint: &str) -> bool {
    complaint.contains(&format!("'{name}' undeclared"))
        || complaint.contains(&format!("identifier '{name}'"))
}

fn text(header: &Path, constants: &[(String, Question)], expressions: &[&str]) -> Result<String> {
    let mut text = format!(
        "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include \"{}\"\n\
         #define TEXT_OF(x) #x\n#define TEXT(x) TEXT_OF(x)\n\nint main(void) {{\n",
        header.display()
    );
    for (name, question) in constants {
        match question {
            Question::Number => writeln!(
                text,
                "    printf(\"{name}=%lld\\n\", (long long)(intptr_t)({name}));"
            )?,
            Question::Text => {
                writeln!(
                    text,
                    "    (void)sizeof({name}); printf(\"{name}=%s\\n\", TEXT({name}));"
                )?;
            }
        }
    }
    for expression in expressions {
        writeln!(
            text,
            "    printf(\"{expression}=%lld\\n\", (long long)({expression}));"
        )?;
    }
    text.push_str("    return 0;\n}\n");
    Ok(text)
}
