//! Info objects.

use super::*;

#[ranks_test::ranks(1, 2, 3)]
fn a_communicator_takes_hints(world: Communicator) -> Result<()> {
    let info = Info::new()
        .with("mpi_assert_allow_overtaking", "false")?
        .with("ranks_test_unknown", "what ever")?;
    let comm = world.dup_with_info(&info)?;
    assert_eq!(comm.compare(&world)?, Comparison::Congruent);
    for (key, value) in comm.info()?.iter() {
        assert!(!key.is_empty(), "{key:?}: {value:?}");
        if let Some(given) = info.get(key) {
            assert_eq!(value, given);
        }
    }
    comm.set_info(&Info::new().with("mpi_assert_no_any_source", "false")?)?;
    comm.set_info(&Info::new())?;
    ring(&comm, 1)?;
    comm.free()
}

/// Its error did not say which of them.
#[ranks_test::ranks(1, 2)]
fn a_key_or_a_value_that_is_too_long_is_named(world: Communicator) -> Result<()> {
    let (long, longer) = ("key ".repeat(50), "value ".repeat(100));
    for (key, value) in [(long.trim(), "v"), ("key", longer.trim())] {
        let info = Info::new().with(key, value)?;
        // Open MPI takes neither.
        if let Err(error) = world.dup_with_info(&info) {
            let text = error.to_string();
            let of = format!("a key of {} bytes ({}", key.len(), &key[..3]);
            let with = format!("with a value of {}", value.len());
            assert!(text.contains(&of) && text.contains(&with), "{text}");
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn keys_that_are_too_long_for_the_library_are_an_error(world: Communicator) -> Result<()> {
    let comm = world.dup()?;
    let longest = Info::new().with(&"k".repeat(255), &"v".repeat(1023))?;
    if let Err(error) = comm.set_info(&longest) {
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    }
    ring(&comm, 1)?;
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn the_environment_is_an_info(world: Communicator) -> Result<()> {
    for (key, value) in Info::env(&world)?.iter() {
        assert!(!key.contains('\0') && !value.contains('\0'));
        if key == "maxprocs" {
            assert!(
                value.parse::<usize>().is_ok_and(|most| most >= 1),
                "{value}"
            );
        }
    }
    match Info::hw_resources(&world) {
        Ok(info) => assert!(info.iter().all(|(_, value)| !value.is_empty())),
        Err(error) => assert_eq!(error.kind(), ErrorKind::NotInLibrary, "{error}"),
    }
    Ok(())
}
