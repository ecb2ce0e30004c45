//! `split_type`.

use super::*;

#[ranks_test::ranks(1, 2, 4)]
fn a_shared_split_is_the_node(world: Communicator) -> Result<()> {
    let node = world.split_type(SplitType::Shared, 0, &Info::new())?;
    let node = node.expect("every rank is on a node");
    let same = world.split_shared(0)?;
    assert_eq!((node.rank(), node.size()), (same.rank(), same.size()));
    let kind = (world.rank() == 0).then_some(SplitType::Shared);
    let first = world.split_type(kind, 0, &Info::new())?;
    assert_eq!(first.map(|first| first.size()), kind.map(|_| 1));
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn hardware_that_nobody_knows_is_no_part(world: Communicator) -> Result<()> {
    let info = Info::new().with("mpi_hw_resource_type", "no_such_hardware")?;
    for kind in [SplitType::HwGuided, SplitType::ResourceGuided] {
        match world.split_type(kind, 0, &info) {
            Ok(part) => assert!(part.is_none(), "{kind:?} {part:?}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotInLibrary, "{error}"),
        }
    }
    match world.split_type(SplitType::HwUnguided, 0, &Info::new()) {
        // A part of everybody would not be smaller.
        Ok(part) => assert!(part.is_none_or(|part| part.size() < world.size())),
        Err(error) => assert_eq!(error.kind(), ErrorKind::NotInLibrary, "{error}"),
    }
    ring(&world, 0)?;
    Ok(())
}
