//! Clocks, names, versions.

use super::*;

#[ranks_test::ranks(1, 2, 3)]
fn rsmpi_simple(world: Communicator) {
    assert!(world.rank() < world.size());
}

#[ranks_test::ranks(1, 2)]
fn rsmpi_time(world: Communicator) -> Result<()> {
    let tick = world.wtick()?;
    assert!(tick > 0.0 && tick < 1.0, "{tick}");
    let (first, second) = (world.wtime()?, world.wtime()?);
    assert!(first >= 0.0 && second >= first, "{first} {second}");
    while world.wtime()? == first {}
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn rsmpi_env_inq(world: Communicator) -> Result<()> {
    if let Some((major, _)) = world.standard() {
        assert!((3..=9).contains(&major));
    }
    assert!(!world.library_version().is_empty());
    assert!(!world.library_version().contains('\0'));
    let name = world.processor_name()?;
    assert!(!name.is_empty() && !name.contains('\0'), "{name:?}");
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn rsmpi_comm_name(world: Communicator) -> Result<()> {
    // The communicator of a test is a duplicate of the world.
    let runtime = Runtime::builder().ranks(1).init()?;
    assert_eq!(runtime.world().name()?, "MPI_COMM_WORLD");
    let comm = world.dup()?;
    comm.set_name("Bob")?;
    assert_eq!(comm.name()?, "Bob");
    assert_ne!(world.name()?, "Bob");
    Ok(())
}

#[ranks_test::ranks(1, 2, threads = serialized)]
fn rsmpi_init_with_threading(world: Communicator) -> Result<()> {
    let levels = [
        ThreadLevel::Single,
        ThreadLevel::Funneled,
        ThreadLevel::Serialized,
        ThreadLevel::Multiple,
    ];
    assert!(levels.is_sorted());
    ring(&world, 0)?;
    Ok(())
}
