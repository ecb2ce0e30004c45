//! One crate opens libraries; one folder knows how the families of ABIs differ.

use super::code::{self, Blank, strip, words};
use super::finding::Finding;
use super::metadata::Metadata;
use super::tree::{Tree, is_generated};

/// The crate that opens libraries.
const OPENER: &str = "ranks-load";
/// The folder that knows the families.
const FAMILIES: &str = "crates/ranks-mpi-sys/src/abi/";
const OPENING: [&str; 8] = [
    "libloading",
    "dlopen",
    "dlmopen",
    "dlsym",
    "dlvsym",
    "dlclose",
    "dladdr",
    "LoadLibraryA",
];

pub(super) fn check(tree: &Tree, metadata: &Metadata) -> Vec<Finding> {
    let mut findings = in_files(tree);
    for package in metadata.members().filter(|package| package.name != OPENER) {
        if package
            .dependencies
            .iter()
            .any(|dependency| dependency.name == "libloading")
        {
            let what = format!("{} depends on libloading", package.name);
            findings.push(Finding::new(
                "Cargo.toml",
                0,
                what,
                "depend on ranks-load and open the library through it",
            ));
        }
    }
    findings
}

fn in_files(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let sources = tree.rust().zip(tree.code());
    for ((path, text), (_, code)) in sources.filter(|((path, _), _)| !path.starts_with("xtask/")) {
        let may_open = path.starts_with("crates/ranks-load/");
        let may_know =
            path.starts_with(FAMILIES) || is_generated(path) || !path.starts_with("crates/");
        let with_strings = strip(text, Blank::Comments);
        for ((line, code), (_, with_strings)) in code::lines(code).zip(code::lines(&with_strings)) {
            if let Some(word) = words(code).find(|word| !may_open && OPENING.contains(word)) {
                let fix = "open libraries and look up symbols with ranks-load";
                findings.push(Finding::new(
                    path,
                    line,
                    format!("`{word}` outside of {OPENER}"),
                    fix,
                ));
            }
            if let Some(word) = words(with_strings).find(|word| !may_know && is_of_a_family(word)) {
                let fix = format!("move what depends on a family's ABI to {FAMILIES}");
                findings.push(Finding::new(
                    path,
                    line,
                    format!("`{word}` belongs to one family of MPIs"),
                    fix,
                ));
            }
        }
    }
    findings
}

/// Returns `true` if a word is a symbol of Open MPI's or of MPICH's, or a handle as the latter
/// numbers them. A setting of MPICH's is none.
fn is_of_a_family(word: &str) -> bool {
    let of_mpich = word.starts_with("MPIR_") && !word.starts_with("MPIR_CVAR_");
    word.starts_with("ompi_mpi_") || of_mpich || is_mpich_handle(word)
}

/// MPICH's predefined handles and null handles: eight hexadecimal digits, the kind of the object in
/// the first two.
fn is_mpich_handle(word: &str) -> bool {
    const KINDS: [&str; 19] = [
        "04", "08", "0c", "14", "18", "1c", "20", "24", "2c", "38", "44", "48", "4c", "54", "58",
        "5c", "8c", "94", "cc",
    ];
    let Some(digits) = word.strip_prefix("0x") else {
        return false;
    };
    let digits: String = digits
        .chars()
        .filter(|&c| c != '_')
        .collect::<String>()
        .to_ascii_lowercase();
    let (Some(kind), Some(number)) = (digits.get(..2), digits.get(2..)) else {
        return false;
    };
    digits.len() == 8 && number.starts_with("00") && KINDS.contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_is_found_outside_of_its_crate_only() {
        let opens = "use libloading::Library;\n";
        assert_eq!(
            in_files(&Tree::of(&[("crates/ranks-load/src/library.rs", opens)])),
            []
        );
        let found = in_files(&Tree::of(&[("crates/ranks-comm/src/lib.rs", opens)]));
        assert_eq!(found.len(), 1);
        let by_hand = "\nunsafe { libc::dlsym(h, name) };\n";
        assert_eq!(
            in_files(&Tree::of(&[("crates/ranks-comm/src/lib.rs", by_hand)]))[0].line,
            2
        );
        let text = "// dlopen\nlet error = \"dlopen failed\";\n";
        assert_eq!(
            in_files(&Tree::of(&[("crates/ranks-comm/src/lib.rs", text)])),
            []
        );
    }

    #[test]
    fn families_are_known_in_one_folder() {
        for knows in [
            "const C: u32 = 0x4400_0000;\n",
            "let s = c\"ompi_mpi_comm_world\";\n",
        ] {
            assert_eq!(
                in_files(&Tree::of(&[(
                    "crates/ranks-mpi-sys/src/abi/mpich.rs",
                    knows
                )])),
                []
            );
            assert_eq!(
                in_files(&Tree::of(&[(
                    "crates/ranks-mpi-sys/src/load/mod.rs",
                    knows
                )]))
                .len(),
                1,
                "{knows}"
            );
        }
        let harmless = "const H: u32 = 0x811c_9dc5; const M: u32 = 0x4400; // 0x44000000\n";
        assert_eq!(
            in_files(&Tree::of(&[(
                "crates/ranks-mpi-sys/src/load/mod.rs",
                harmless
            )])),
            []
        );
    }

    #[test]
    fn a_dependency_on_libloading_is_found() {
        let json = |name: &str| {
            format!(
                "{{\"packages\":[{{\"id\":\"a\",\"name\":\"{name}\",\"links\":null,\"targets\":[],\
                 \"dependencies\":[{{\"name\":\"libloading\",\"kind\":null}}]}}],\"workspace_members\":[\"a\"]}}"
            )
        };
        let tree = Tree::default();
        assert_eq!(
            check(&tree, &Metadata::of(&json("ranks-load")).unwrap()),
            []
        );
        assert_eq!(
            check(&tree, &Metadata::of(&json("ranks-comm")).unwrap()).len(),
            1
        );
    }
}
