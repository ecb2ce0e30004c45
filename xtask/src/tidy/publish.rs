//! Every published crate has what a registry and its readers want: a README, licences, addresses,
//! and pages that are built with all features. Addresses stand in one place.

use super::finding::Finding;
use super::metadata::Metadata;
use super::tree::{Tree, is_generated};

const ROOT: &str = "Cargo.toml";
const CITATION: &str = "CITATION.cff";
/// Keys that a crate takes from the workspace.
const INHERITED: [&str; 8] = [
    "edition",
    "license",
    "authors",
    "repository",
    "documentation",
    "include",
    "keywords",
    "rust-version",
];
/// The line that has the pages say which feature an item needs.
const DOC_CFG: &str = "#![cfg_attr(docsrs, feature(doc_cfg))]";
/// Hosts of registries, in pieces so that they are not found here.
const REGISTRIES: [[&str; 2]; 4] = [
    ["crates", ".io"],
    ["docs", ".rs"],
    ["lib", ".rs"],
    ["pypi", ".org"],
];

pub(super) fn check(tree: &Tree, metadata: &Metadata) -> Vec<Finding> {
    let published = metadata.members().filter(|package| package.is_published());
    let mut findings: Vec<Finding> = published
        .flat_map(|package| of_crate(tree, &package.name))
        .collect();
    findings.extend(addresses(tree));
    findings.extend(versions(tree));
    findings
}

/// What a crate lacks.
fn of_crate(tree: &Tree, name: &str) -> Vec<Finding> {
    let path = |file: &str| format!("crates/{name}/{file}");
    let manifest = path("Cargo.toml");
    let table = parsed(tree, &manifest);
    let package = table.get("package");
    let key = |key: &str| package.and_then(|package| package.get(key));
    let mut findings = Vec::new();
    let mut lack = |file: &str, what: String, fix: &str| {
        findings.push(Finding::new(file, 0, what, fix));
    };
    for inherited in INHERITED {
        let value = key(inherited).and_then(|value| value.get("workspace"));
        // numr needs a Rust of its own.
        let own = inherited == "rust-version" && key(inherited).is_some();
        if value.and_then(toml::Value::as_bool) != Some(true) && !own {
            let fix = format!("write {inherited}.workspace = true");
            lack(&manifest, format!("no {inherited} of the workspace"), &fix);
        }
    }
    if !is_of_release(key("version"), &parsed(tree, ROOT)) {
        let fix = "write version.workspace = true";
        lack(&manifest, "another version".to_owned(), fix);
    }
    let text = |name: &str| key(name).and_then(toml::Value::as_str);
    if text("description").is_none_or(str::is_empty) {
        lack(&manifest, "no description".to_owned(), "say what it is");
    }
    if text("readme") != Some("README.md") {
        let fix = "write readme = \"README.md\"";
        lack(&manifest, "no readme".to_owned(), fix);
    }
    let pages = key("metadata").and_then(|metadata| metadata.get("docs")?.get("rs"));
    let of_pages = |key: &str| pages.and_then(|pages| pages.get(key));
    let arguments = of_pages("rustdoc-args").and_then(toml::Value::as_array);
    let arguments = arguments.is_some_and(|list| list.iter().any(|a| a.as_str() == Some("docsrs")));
    let features = of_pages("all-features").and_then(toml::Value::as_bool) == Some(true);
    if !arguments || !features {
        let fix = "write all-features = true and rustdoc-args = [\"--cfg\", \"docsrs\"]";
        let what = "its pages are not built with all features and `--cfg docsrs`";
        lack(&manifest, what.to_owned(), fix);
    }
    let root = path("src/lib.rs");
    let is_told = |text: &str| text.lines().any(|line| line == DOC_CFG);
    if table.contains_key("features") && !tree.text(&root).is_some_and(is_told) {
        let what = "its pages do not say which feature an item needs";
        lack(&root, what.to_owned(), &format!("write {DOC_CFG}"));
    }
    let readme = tree.text(&path("README.md")).unwrap_or_default();
    if !readme.starts_with(&format!("# {name}\n")) {
        let what = format!("no README that begins with `# {name}`");
        lack(&path("README.md"), what, "say what it is and who picks it");
    }
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        if tree.text(&path(licence)) != tree.text(licence) {
            let fix = format!("link it to ../../{licence}");
            lack(&path(licence), "not the licence of the tree".into(), &fix);
        }
    }
    findings
}

/// Addresses that stand elsewhere than in the manifest of the workspace, and those of registries.
fn addresses(tree: &Tree) -> Vec<Finding> {
    let manifest = parsed(tree, ROOT);
    let package = manifest.get("workspace").and_then(|w| w.get("package"));
    let repository = package.and_then(|package| package.get("repository")?.as_str());
    let Some(repository) = repository else {
        let fix = "write repository = \"…\" in [workspace.package]";
        return vec![Finding::new(ROOT, 0, "no repository", fix)];
    };
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| !is_generated(path)) {
        if path != ROOT && text.contains(repository) {
            let what = "the address of the repository stands here as well";
            let fix = "link relative to the tree, or take it from CARGO_PKG_REPOSITORY";
            findings.push(Finding::new(path, 0, what, fix));
        }
        for host in REGISTRIES.map(|parts| parts.concat()) {
            if text.contains(&format!("://{host}")) {
                let what = format!("{host} is named");
                findings.push(Finding::new(path, 0, what, "name the package alone"));
            }
        }
    }
    findings
}

/// Versions that are not the one of the workspace: of requirements of its own crates, and of the
/// file for citations.
fn versions(tree: &Tree) -> Vec<Finding> {
    let manifest = parsed(tree, ROOT);
    let workspace = manifest.get("workspace");
    let version =
        workspace.and_then(|workspace| workspace.get("package")?.get("version")?.as_str());
    let version = version.unwrap_or_default();
    let mut findings = Vec::new();
    let exactly = format!("={version}");
    let dependencies = workspace.and_then(|workspace| workspace.get("dependencies")?.as_table());
    for (name, dependency) in dependencies.into_iter().flatten() {
        let required = dependency.get("version").and_then(toml::Value::as_str);
        if dependency.get("path").is_some() && required != Some(&exactly) {
            let what = format!("another version of {name} than this one is required");
            let fix = format!("write version = \"{exactly}\"");
            findings.push(Finding::new(ROOT, 0, what, fix));
        }
    }
    let line = format!("version: {version}");
    let citation = tree.text(CITATION).unwrap_or_default();
    if !citation.lines().any(|said| said == line) {
        let fix = format!("write {line}");
        findings.push(Finding::new(
            CITATION,
            0,
            "not the version of the tree",
            fix,
        ));
    }
    findings
}

/// Returns `true` if a manifest has the version of the workspace, or names that one before a `+`.
fn is_of_release(version: Option<&toml::Value>, root: &toml::Table) -> bool {
    let ours = root
        .get("workspace")
        .and_then(|w| w.get("package")?.get("version")?.as_str());
    match version {
        Some(toml::Value::String(own)) => own.split('+').next() == ours,
        Some(other) => other.get("workspace").and_then(toml::Value::as_bool) == Some(true),
        None => false,
    }
}

fn parsed(tree: &Tree, path: &str) -> toml::Table {
    let text = tree.text(path).unwrap_or_default();
    toml::from_str(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = 'a'\nversion.workspace = true\ndescription = 'A.'\nreadme = 'README.md'\nedition.workspace = true\n\
        license.workspace = true\nauthors.workspace = true\nrepository.workspace = true\ndocumentation.workspace = true\n\
        include.workspace = true\nkeywords.workspace = true\nrust-version.workspace = true\n\
        [package.metadata.docs.rs]\nall-features = true\nrustdoc-args = ['--cfg', 'docsrs']\n[features]\nx = []\n";
    const README: &str = "# a\n\nA.\n";

    /// The findings in a crate with these files.
    fn found(manifest: &str, root: &str, readme: &str, licence: &str) -> usize {
        let tree = Tree::of(&[
            (ROOT, "[workspace.package]\nversion = '1.2.3'\n"),
            ("LICENSE-APACHE", "A"),
            ("LICENSE-MIT", "M"),
            ("crates/a/LICENSE-APACHE", "A"),
            ("crates/a/LICENSE-MIT", licence),
            ("crates/a/Cargo.toml", manifest),
            ("crates/a/src/lib.rs", root),
            ("crates/a/README.md", readme),
        ]);
        of_crate(&tree, "a").len()
    }

    #[test]
    fn what_a_crate_lacks_is_found() {
        let root = format!("//! A.\n{DOC_CFG}\n");
        assert_eq!(found(MANIFEST, &root, README, "M"), 0);
        for line in MANIFEST.lines().filter(|line| line.contains(" = ")) {
            let without = MANIFEST.replacen(&format!("{line}\n"), "", 1);
            let is_needed = !line.starts_with("name") && !line.starts_with("x = ");
            let findings = found(&without, &root, README, "M");
            assert_eq!(findings, usize::from(is_needed), "{line}");
        }
        assert_eq!(found(MANIFEST, "//! A.\n", README, "M"), 1);
        assert_eq!(found(MANIFEST, &root, "# b\n", "M"), 1);
        assert_eq!(found(MANIFEST, &root, README, "another"), 1);
        let version = |own: &str| {
            let own = MANIFEST.replace(
                "version.workspace = true\ndesc",
                &format!("version = '{own}'\ndesc"),
            );
            found(&own, &root, README, "M")
        };
        assert_eq!((version("1.2.3+mpi-5.0"), version("1.2.2+mpi-5.0")), (0, 1));
        let own_rust = MANIFEST.replace("rust-version.workspace = true", "rust-version = '2.0'");
        assert_eq!(found(&own_rust, &root, README, "M"), 0);
    }

    #[test]
    fn addresses_stand_in_one_place() {
        const ROOT_MANIFEST: &str = "[workspace.package]\nrepository = 'https://x.org/r'\n";
        let found = |text: &str| {
            let tree = Tree::of(&[(ROOT, ROOT_MANIFEST), ("a.md", text)]);
            addresses(&tree).len()
        };
        assert_eq!(found("[r](../r), https://x.org\n"), 0);
        assert_eq!(found("see https://x.org/r/issues\n"), 1);
        let host = REGISTRIES[0].concat();
        assert_eq!(found(&format!("https://{host}/crates/a\n")), 1);
        assert_eq!(found(&format!("`[patch.{host}]`\n")), 0);
        assert_eq!(addresses(&Tree::of(&[(ROOT, "[workspace]\n")])).len(), 1);
    }

    #[test]
    fn versions_are_those_of_the_workspace() {
        let found = |required: &str, cited: &str| {
            let manifest = format!(
                "[workspace.package]\nversion = '1.2.3'\n[workspace.dependencies]\n\
                 a = {{ path = 'a', version = '{required}' }}\nlibc = '0.2'\n"
            );
            let cited = format!("title: a\nversion: {cited}\n");
            versions(&Tree::of(&[(ROOT, &manifest), (CITATION, &cited)])).len()
        };
        assert_eq!(found("=1.2.3", "1.2.3"), 0);
        assert_eq!(found("1.2.3", "1.2.3"), 1);
        assert_eq!(found("=1.2.3", "1.2.2"), 1);
    }
}
