//! The order in which libraries are tried, on prefixes made for the purpose.

#![allow(clippy::unwrap_used, reason = "a test")]

mod unsaid;

use std::fs;
use std::path::{Path, PathBuf};

use ranks_launch::{Ancestor, ConfigError, Environment, Installation, Preference, Search};

/// A folder that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, files: &[(&str, &[u8])]) -> Scratch {
        let root =
            std::env::temp_dir().join(format!("ranks-launch-search-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        for (file, content) in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            // Unequal contents, so that no two are one file.
            fs::write(path, content).unwrap();
        }
        Scratch(root)
    }

    fn path(&self, file: &str) -> String {
        self.0.join(file).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const ELF: &[u8] = b"\x7fELF\x02\x01";
const SCRIPT: &[u8] = b"INPUT(libmpi.so.12)\n";

type Variables = Vec<(&'static str, String)>;

fn search(
    variables: &Variables,
    ancestor: Option<&str>,
    preference: Preference,
    installations: &[Installation],
) -> Result<Vec<(String, String)>, ConfigError> {
    let read = |name: &str| {
        variables
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.clone())
    };
    let search = Search {
        variables: &read,
        ancestor: ancestor.map(|file| Ancestor {
            pid: 7,
            file: file.into(),
        }),
        preference,
        installations: &|| installations.to_vec(),
    };
    let list = search.candidates(&Environment::from_vars(read))?;
    Ok(list
        .into_iter()
        .map(|found| (found.file.display().to_string(), found.why))
        .collect())
}

fn files(list: &[(String, String)]) -> Vec<&str> {
    list.iter().map(|(file, _)| file.as_str()).collect()
}

fn under_hydra() -> Variables {
    vec![
        ("PMI_RANK", "0".into()),
        ("PMI_SIZE", "2".into()),
        ("MPI_LOCALRANKID", "0".into()),
    ]
}

fn under_open_mpi() -> Variables {
    vec![
        ("OMPI_COMM_WORLD_RANK", "0".into()),
        ("OMPI_COMM_WORLD_SIZE", "2".into()),
    ]
}

#[test]
fn the_prefix_of_the_launcher_comes_before_the_linker_and_says_so() {
    let scratch = Scratch::new(
        "ancestor",
        &[
            ("bin/mpiexec.hydra", b"#!"),
            ("lib/libmpi.so.12", ELF),
            ("lib/libmpi.so", SCRIPT),
        ],
    );
    let launcher = scratch.path("bin/mpiexec.hydra");
    let list = search(&under_hydra(), Some(&launcher), Preference::Native, &[]).unwrap();
    assert_eq!(list[0].0, scratch.path("lib/libmpi.so.12"));
    assert!(
        list[0].1.contains(&launcher) && list[0].1.contains('7'),
        "{}",
        list[0].1
    );
    assert_eq!(
        list[1],
        ("libmpi.so.12".into(), "the dynamic linker's search".into())
    );
    // The linker script is no candidate, and a library of the other family is the last resort.
    let all = files(&list);
    assert!(!all.contains(&scratch.path("lib/libmpi.so").as_str()));
    assert_eq!(all.last(), Some(&"libmpi.so.40"));
}

#[test]
fn in_a_shared_folder_the_launcher_decides() {
    let scratch = Scratch::new(
        "shared",
        &[
            ("lib/libmpi.so.12", ELF),
            ("lib/libmpi.so.40", ELF),
            ("lib/libmpi_abi.so.1", ELF),
        ],
    );
    let home = |mut variables: Variables| {
        variables.push(("MPI_HOME", scratch.path("")));
        variables
    };
    let lib = |name: &str| scratch.path(&format!("lib/{name}"));
    let first = |list: Vec<(String, String)>, count: usize| {
        list.into_iter()
            .take(count)
            .map(|(file, _)| file)
            .collect::<Vec<_>>()
    };
    let hydra = search(&home(under_hydra()), None, Preference::Native, &[]).unwrap();
    assert_eq!(
        first(hydra, 2),
        [lib("libmpi.so.12"), lib("libmpi_abi.so.1")]
    );
    let open_mpi = search(&home(under_open_mpi()), None, Preference::Native, &[]).unwrap();
    assert_eq!(
        first(open_mpi, 2),
        [lib("libmpi.so.40"), lib("libmpi_abi.so.1")]
    );
    let standard = search(&home(under_hydra()), None, Preference::StandardAbi, &[]).unwrap();
    assert_eq!(
        first(standard, 2),
        [lib("libmpi_abi.so.1"), lib("libmpi.so.12")]
    );
    let alone = search(&home(Variables::new()), None, Preference::Native, &[]).unwrap();
    assert_eq!(
        first(alone, 3),
        [
            lib("libmpi.so.12"),
            lib("libmpi.so.40"),
            lib("libmpi_abi.so.1")
        ]
    );
}

#[test]
fn intel_stays_native() {
    let scratch = Scratch::new(
        "intel",
        &[
            ("lib/libmpi.so.12", ELF),
            ("lib/libmpi_abi.so.1", ELF),
            ("lib/libmpi_shm_heap_proxy.so", ELF),
        ],
    );
    let variables = vec![("I_MPI_ROOT", scratch.path(""))];
    let list = search(&variables, None, Preference::StandardAbi, &[]).unwrap();
    assert_eq!(list[0].0, scratch.path("lib/libmpi.so.12"));
}

#[test]
fn variables_in_their_order_and_one_that_leads_nowhere() {
    let scratch = Scratch::new(
        "order",
        &[
            ("a/libmpi.so.40", ELF),
            ("b/lib/libmpi.so.40", b"\x7fELFb"),
            ("c/lib64/libmpi.so.40", b"\x7fELFc"),
        ],
    );
    let mut variables = under_open_mpi();
    variables.extend([
        ("OMPI_LIBDIR_LOC", scratch.path("a")),
        ("OPAL_PREFIX", scratch.path("b")),
        ("MPI_HOME", scratch.path("c")),
        ("MPICH_DIR", scratch.path("gone")),
    ]);
    let list = search(&variables, None, Preference::Native, &[]).unwrap();
    assert_eq!(
        files(&list)[..4],
        [
            scratch.path("a/libmpi.so.40"),
            scratch.path("b/lib/libmpi.so.40"),
            scratch.path("c/lib64/libmpi.so.40"),
            scratch.path("gone/lib/libmpi.so.40")
        ]
    );
    assert_eq!(
        (list[1].1.as_str(), list[3].1.as_str()),
        ("$OPAL_PREFIX", "$MPICH_DIR")
    );
}

#[test]
fn cray_modules_lead_to_their_libraries() {
    let scratch = Scratch::new(
        "cray",
        &[
            ("lib/libmpi_gnu_123.so.12", ELF),
            ("lib/libmpich.so.12", b"\x7fELFm"),
        ],
    );
    let variables = vec![
        ("CRAY_MPICH_DIR", scratch.path("")),
        ("PALS_RANKID", "0".into()),
        ("PMI_SIZE", "2".into()),
    ];
    let list = search(&variables, None, Preference::Native, &[]).unwrap();
    assert_eq!(
        files(&list)[..2],
        [
            scratch.path("lib/libmpi_gnu_123.so.12"),
            scratch.path("lib/libmpich.so.12")
        ]
    );
}

#[test]
fn a_choice_decides_alone() {
    let scratch = Scratch::new(
        "choice",
        &[("lib/libmpi.so.12", ELF), ("lib64/libmpi.so.40", ELF)],
    );
    let choose = |value: String| {
        let mut variables = under_hydra();
        variables.push(("RANKS_MPI", value));
        variables.push(("MPI_HOME", scratch.path("")));
        search(&variables, None, Preference::Native, &[])
    };
    let file = scratch.path("lib64/libmpi.so.40");
    assert_eq!(
        choose(file.clone()).unwrap(),
        [(file.clone(), "$RANKS_MPI".into())]
    );
    assert_eq!(
        files(&choose(scratch.path("")).unwrap()),
        [scratch.path("lib/libmpi.so.12"), file.clone()]
    );
    let family = choose("openmpi".into()).unwrap();
    assert_eq!(files(&family), [file.as_str(), "libmpi.so.40"]);
    assert!(
        family[0].1.contains("$MPI_HOME") && family[0].1.contains("$RANKS_MPI=openmpi"),
        "{}",
        family[0].1
    );
    assert_eq!(
        files(&choose("libmpi.so.40".into()).unwrap()),
        ["libmpi.so.40"]
    );
    let standard = choose("abi".into()).unwrap();
    assert!(
        standard.iter().all(|(file, _)| file.contains("libmpi_abi")),
        "{standard:?}"
    );
}

#[test]
fn a_choice_that_cannot_be_followed_is_an_error_that_helps() {
    let scratch = Scratch::new(
        "wrong",
        &[
            ("lib/libmpi.so", SCRIPT),
            ("lib/libmpi.so.12", ELF),
            ("empty/lib/x", b""),
            ("lib/odd", b"\x00\x01\x02\x03"),
        ],
    );
    let choose = |value: &str| {
        let error = search(
            &vec![("RANKS_MPI", value.into())],
            None,
            Preference::Native,
            &[],
        )
        .unwrap_err();
        (error.to_string(), error)
    };
    let (text, error) = choose(&scratch.path("gone/libmpi.so.12"));
    assert!(
        matches!(error, ConfigError::NotThere { .. }) && text.contains("no such file"),
        "{text}"
    );
    let (text, error) = choose(&scratch.path("lib/libmpi.so"));
    assert!(matches!(error, ConfigError::NotALibrary { .. }), "{text}");
    assert!(
        text.contains("linker scripts")
            && text.contains("did you mean")
            && text.contains("libmpi.so.12"),
        "{text}"
    );
    let (text, _) = choose(&scratch.path("lib/odd"));
    assert!(text.contains("no library"), "{text}");
    let (text, error) = choose(&scratch.path("empty"));
    assert!(
        matches!(error, ConfigError::NoLibraryIn { .. }) && text.contains("empty/lib"),
        "{text}"
    );
    let (text, error) = choose("mpitch");
    assert!(
        matches!(error, ConfigError::Unknown { .. }) && text.contains("none is installed"),
        "{text}"
    );
}

#[test]
fn an_installation_is_chosen_by_name_and_family() {
    let scratch = Scratch::new(
        "named",
        &[
            ("mpich-5.0.2/bin/mpiexec", b"#!"),
            ("mpich-5.0.2/lib/libmpi.so.12", ELF),
            ("mpich-5.0.2/lib/libmpi_abi.so.1", ELF),
            // The name that 5.0.0 and 5.0.1 have for it.
            ("mpich-5.0.1/bin/mpiexec", b"#!"),
            ("mpich-5.0.1/lib/libmpi_abi.so.0", ELF),
            ("mpich-5.0.1/lib/libmpi.so.12", ELF),
        ],
    );
    let installations = Installation::below(&scratch.0);
    let choose = |value: &str| {
        search(
            &vec![("RANKS_MPI", value.into())],
            None,
            Preference::Native,
            &installations,
        )
    };
    let list = choose("mpich-5.0.2-abi").unwrap();
    assert_eq!(
        list,
        [(
            scratch.path("mpich-5.0.2/lib/libmpi_abi.so.1"),
            "$RANKS_MPI=mpich-5.0.2-abi".into()
        )]
    );
    let list = choose("mpich-5.0.1-abi").unwrap();
    assert_eq!(list[0].0, scratch.path("mpich-5.0.1/lib/libmpi_abi.so.0"));
    let list = choose("mpich").unwrap();
    let of_mpich = files(&list);
    for name in ["mpich-5.0.1", "mpich-5.0.2"] {
        let library = scratch.path(&format!("{name}/lib/libmpi.so.12"));
        assert!(of_mpich.contains(&library.as_str()), "{list:?}");
    }
    let error = choose("mpich-9").unwrap_err().to_string();
    let names = "mpich-5.0.1, mpich-5.0.1-abi, mpich-5.0.2, mpich-5.0.2-abi";
    assert!(error.contains(names), "{error}");
    assert!(Path::new(&scratch.path("mpich-5.0.2")).is_dir());
}
