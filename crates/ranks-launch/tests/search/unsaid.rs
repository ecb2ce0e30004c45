//! The libraries taken where `RANKS_MPI` does not name one, and paths that lead elsewhere from each
//! folder.

use std::path::Path;

use ranks_launch::{ConfigError, Preference};

use super::{ELF, Scratch, Variables, files, search, under_hydra, under_open_mpi};

/// `RANKS_BACKEND=mpi` and the report followed the linker, and `ranks run` followed `PATH`.
#[test]
fn path_and_the_linker_named_different_libraries() {
    let scratch = Scratch::new(
        "places",
        &[
            ("mpich/bin/mpiexec", b"#!"),
            ("mpich/lib/libmpi.so.12", ELF),
            ("openmpi/bin/mpiexec", b"#!"),
            ("openmpi/lib/libmpi.so.40", b"\x7fELFo"),
            ("system/bin/mpiexec.openmpi", b"#!"),
            ("system/lib/libmpich.so.12", b"\x7fELFs"),
            ("system/lib/libmpi.so.40", b"\x7fELFt"),
            ("wrapper/bin/mpiexec", b"#!"),
            ("other/lib/libmpi.so.12", b"\x7fELFx"),
        ],
    );
    let link = scratch.path("system/bin/mpiexec");
    std::os::unix::fs::symlink("mpiexec.openmpi", link).unwrap();
    let bin = |names: &[&str]| {
        let folders: Vec<String> = names
            .iter()
            .map(|name| scratch.path(&format!("{name}/bin")))
            .collect();
        ("PATH", folders.join(":"))
    };
    let lib = |names: &[&str]| {
        let folders: Vec<String> = names
            .iter()
            .map(|name| scratch.path(&format!("{name}/lib")))
            .collect();
        ("LD_LIBRARY_PATH", folders.join(":"))
    };
    let prefix = |variable, name: &str| (variable, scratch.path(name));
    let under = |mut launcher: Variables, more: Variables| {
        launcher.extend(more);
        launcher
    };
    let rows: [(&str, Variables, &str); 15] = [
        ("nothing", vec![], "libmpi.so.12"),
        (
            "PATH",
            vec![bin(&["openmpi", "mpich"])],
            "openmpi/lib/libmpi.so.40",
        ),
        (
            "PATH",
            vec![bin(&["mpich", "openmpi"])],
            "mpich/lib/libmpi.so.12",
        ),
        // Of a prefix that several share, it is the library of the family that the launcher is of.
        (
            "a system",
            vec![bin(&["system", "mpich"])],
            "system/lib/libmpi.so.40",
        ),
        // Programs are started by the first launcher: that of a scheduler says nothing of
        // libraries.
        (
            "no MPI's mpiexec",
            vec![bin(&["wrapper", "openmpi"])],
            "libmpi.so.12",
        ),
        (
            "LD_LIBRARY_PATH",
            vec![lib(&["openmpi", "mpich"])],
            "openmpi/lib/libmpi.so.40",
        ),
        (
            "a library that is named, and the launcher of the system",
            vec![lib(&["mpich"]), bin(&["system"])],
            "mpich/lib/libmpi.so.12",
        ),
        (
            "MPI_HOME",
            vec![
                prefix("MPI_HOME", "other"),
                lib(&["mpich"]),
                bin(&["openmpi"]),
            ],
            "other/lib/libmpi.so.12",
        ),
        (
            "RANKS_MPI",
            vec![
                prefix("RANKS_MPI", "openmpi"),
                prefix("MPI_HOME", "other"),
                lib(&["mpich"]),
                bin(&["mpich"]),
            ],
            "openmpi/lib/libmpi.so.40",
        ),
        (
            "a family",
            vec![
                ("RANKS_MPI", "openmpi".into()),
                bin(&["mpich"]),
                lib(&["openmpi"]),
            ],
            "openmpi/lib/libmpi.so.40",
        ),
        // MPICH is no Intel MPI, though its library bears the same name.
        (
            "another family",
            vec![("RANKS_MPI", "intel".into()), bin(&["mpich"])],
            "libmpi.so.12",
        ),
        (
            "under Hydra",
            under(under_hydra(), vec![bin(&["mpich"]), lib(&["openmpi"])]),
            "mpich/lib/libmpi.so.12",
        ),
        (
            "under Hydra, with Open MPI in PATH",
            under(under_hydra(), vec![bin(&["openmpi"])]),
            "libmpi.so.12",
        ),
        (
            "under Open MPI's mpiexec",
            under(under_open_mpi(), vec![bin(&["mpich"]), lib(&["mpich"])]),
            "libmpi.so.40",
        ),
        (
            "what the launcher says",
            under(
                under_open_mpi(),
                vec![
                    prefix("OMPI_LIBDIR_LOC", "openmpi/lib"),
                    bin(&["system"]),
                    lib(&["system"]),
                ],
            ),
            "openmpi/lib/libmpi.so.40",
        ),
    ];
    for (row, variables, expected) in rows {
        let list = search(&variables, None, Preference::Native, &[]).unwrap();
        let expected = if expected.contains('/') {
            scratch.path(expected)
        } else {
            expected.to_owned()
        };
        assert_eq!(list[0].0, expected, "{row}: {list:?}");
    }
    let list = search(&vec![bin(&["openmpi"])], None, Preference::Native, &[]).unwrap();
    let launcher = scratch.path("openmpi/bin/mpiexec");
    assert_eq!(list[0].1, format!("the first mpiexec in PATH, {launcher}"));
    // The launcher above comes before all that is guessed.
    let above = scratch.path("other/bin/hydra_pmi_proxy");
    let variables = under(under_hydra(), vec![bin(&["mpich"]), lib(&["mpich"])]);
    let list = search(&variables, Some(&above), Preference::Native, &[]).unwrap();
    assert_eq!(list[0].0, scratch.path("other/lib/libmpi.so.12"));
}

/// Its library came before Open MPI's own, since it bears a name that Open MPI may have too.
#[test]
fn the_standard_interface_of_another_family_is_the_last_under_a_launcher() {
    let scratch = Scratch::new(
        "standard",
        &[
            ("bin/mpiexec", b"#!"),
            ("lib/libmpi.so.12", ELF),
            ("lib/libmpi_abi.so.0", b"\x7fELFa"),
        ],
    );
    let guessed = |mut variables: Variables| {
        variables.push(("PATH", scratch.path("bin")));
        variables.push(("LD_LIBRARY_PATH", scratch.path("lib")));
        search(&variables, None, Preference::Native, &[]).unwrap()
    };
    let list = guessed(under_open_mpi());
    assert_eq!(
        files(&list)[..3],
        ["libmpi.so.40", "libmpi_abi.so.1", "libmpi_abi.so.0"]
    );
    let list = guessed(Variables::new());
    assert_eq!(list[1].0, scratch.path("lib/libmpi_abi.so.0"));
    let list = guessed(vec![("RANKS_MPI", "abi".into())]);
    assert_eq!(list[0].0, scratch.path("lib/libmpi_abi.so.0"));
}

/// A word was taken for a folder or a file where the rank happened to start.
#[test]
fn a_word_was_looked_up_in_the_current_folder() {
    let choose = |value: &str| {
        search(
            &vec![("RANKS_MPI", value.into())],
            None,
            Preference::Native,
            &[],
        )
    };
    // Tests start in the folder of the crate, which has these.
    for word in ["src", "Cargo.toml"] {
        assert!(Path::new(word).exists());
        let error = choose(word).unwrap_err();
        assert!(matches!(error, ConfigError::Unknown { .. }), "{error}");
    }
    // A library's name is the linker's, whatever lies here.
    let list = choose("libmpi.so.12").unwrap();
    assert_eq!(files(&list), ["libmpi.so.12"]);
}

/// An empty entry, as at the end of a list that was put together from an unset variable, is the
/// current folder to the dynamic linker.
#[test]
fn the_dynamic_linker_was_led_to_the_current_folder() {
    let scratch = Scratch::new("here", &[("libmpi.so.12", ELF), ("lib/libmpi.so.12", ELF)]);
    let depth = std::env::current_dir().unwrap().components().count();
    let relative = format!("{}{}", "../".repeat(depth), scratch.path(""));
    let absolute = scratch.path("lib");
    let path = |entries: &[&str]| ("LD_LIBRARY_PATH", entries.join(":"));
    let found = |path| search(&vec![path], None, Preference::Native, &[]).unwrap();
    let list = found(path(&["/nonexistent", &relative, ""]));
    assert!(!files(&list).contains(&"libmpi.so.12"), "{list:?}");
    assert!(files(&list).contains(&"libmpi.so.40"), "{list:?}");
    // The one that is found from the root comes first.
    let list = found(path(&[&absolute, &relative]));
    assert_eq!(list[0].0, scratch.path("lib/libmpi.so.12"));
    assert!(files(&list).contains(&"libmpi.so.12"), "{list:?}");

    let choose = |value: &str, path| {
        let list = vec![("RANKS_MPI", value.to_owned()), path];
        search(&list, None, Preference::Native, &[])
    };
    let error = choose("libmpi.so.12", path(&[&relative, &absolute])).unwrap_err();
    assert!(matches!(error, ConfigError::FromHere { .. }), "{error}");
    let list = choose("libmpi.so.12", path(&[&absolute, &relative])).unwrap();
    assert_eq!(files(&list), ["libmpi.so.12"]);
    let list = choose("mpich", path(&[&relative])).unwrap();
    assert!(!files(&list).contains(&"libmpi.so.12"), "{list:?}");
}

/// Each rank looked in the folder that it had started in.
#[test]
fn a_relative_path_was_another_file_for_each_rank() {
    let here = std::env::current_dir().unwrap();
    for (variable, value) in [
        ("RANKS_MPI", "src/lib.rs"),
        ("RANKS_MPI", "./src"),
        ("OMPI_LIBDIR_LOC", "lib"),
        ("OPAL_PREFIX", "openmpi"),
        ("MPI_HOME", "../mpi"),
        ("CRAY_MPICH_DIR", "mpich"),
    ] {
        let list = vec![(variable, value.to_owned())];
        let error = search(&list, None, Preference::Native, &[]).unwrap_err();
        assert!(matches!(error, ConfigError::Relative { .. }), "{error}");
        let absolute = std::path::absolute(value).unwrap();
        assert!(absolute.starts_with(&here) || value.starts_with(".."));
        let remedy = format!("from the root: {variable}={}", absolute.display());
        assert!(error.to_string().ends_with(&remedy), "{error}");
    }
    // The folder of installations, where a name leads to it.
    for choice in ["mpich", "openmpi-5.0.11"] {
        let list = vec![
            ("RANKS_MPI", choice.to_owned()),
            ("RANKS_MPI_DIR", "target/mpi".to_owned()),
        ];
        let error = search(&list, None, Preference::Native, &[]).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("RANKS_MPI_DIR=target/mpi is relative"),
            "{error}"
        );
    }
    // Of lists only the folders count that are the same from everywhere.
    let list = vec![
        ("PATH", "bin:.".to_owned()),
        ("LD_LIBRARY_PATH", "lib::.".to_owned()),
    ];
    let list = search(&list, None, Preference::Native, &[]).unwrap();
    assert_eq!(list[0].1, "the dynamic linker's search");
}
