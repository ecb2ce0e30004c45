//! What users and packages name MPIs by: `RANKS_MPI` and other variables, version texts, linker
//! scripts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranks_fuzz::variables;
use ranks_launch::{Ancestor, Environment, Family, Preference, Search, fuzzing};

const FAMILIES: [Family; 4] = [Family::Mpich, Family::Intel, Family::Cray, Family::OpenMpi];

fuzz_target!(|text: &str| {
    let (variables, rest) = variables(text);
    let read = |name: &str| variables.get(name).map(|value| (*value).to_owned());
    let environment = Environment::from_vars(read);
    let search = Search {
        variables: &read,
        ancestor: read("ANCESTOR").map(|file| Ancestor {
            pid: 1,
            file: file.into(),
        }),
        preference: if variables.contains_key("NATIVE") {
            Preference::Native
        } else {
            Preference::StandardAbi
        },
        installations: &Vec::new,
    };
    let chosen = read("RANKS_MPI").filter(|name| !name.trim().is_empty());
    match search.candidates(&environment) {
        Ok(found) => {
            assert!(!found.is_empty());
            assert!(found.iter().all(|candidate| !candidate.why.is_empty()));
        }
        Err(error) => {
            let text = error.to_string();
            let named = chosen.is_some_and(|chosen| text.contains(chosen.trim()));
            assert!(named || text.contains(" is relative, "), "{text}");
        }
    }

    for text in [text, rest] {
        if let Ok(family) = text.parse::<Family>() {
            assert_eq!(family.word().parse(), Ok(family));
        }
        let _ = Family::from_version_text(text);
        for name in fuzzing::linker_script(text).into_iter().flatten() {
            assert!(name.to_str().is_some_and(|name| text.contains(name)));
        }
    }
    for family in FAMILIES {
        assert_eq!(family.word().parse(), Ok(family));
    }
    let names = || variables.keys().copied();
    let inherited = fuzzing::inherited(names());
    assert!(inherited.iter().all(|name| variables.contains_key(name)));
    // What is one rank's own is never handed on.
    assert_eq!(
        inherited.contains(&"PMI_RANK"),
        variables.contains_key("PMI_RANK")
    );
});
