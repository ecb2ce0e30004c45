//! Groups, and communicators made of them.

use super::*;

#[ranks_test::ranks(1, 2, 3, 4)]
fn ranges_make_communicators(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let backwards = world.group()?.range_include(&[(size - 1, 0, -1)])?;
    let comm = world.create(&backwards)?.expect("all ranks are in it");
    assert_eq!(comm.rank(), size - 1 - rank);
    assert_eq!(ring(&comm, rank)?, (rank + 1) % size);
    let odd = world.group()?.range_exclude(&[(0, size - 1, 2)])?;
    assert_eq!(odd.rank(), (rank % 2 == 1).then_some(rank / 2));
    let nobody = world.create(&odd.empty())?;
    assert!(nobody.is_none());
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_group(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let all = world.group()?;
    assert_eq!((all.size(), all.rank()), (size, Some(rank)));
    assert_eq!(all.compare(&world.group()?), Comparison::Identical);
    let odd_ranks: Vec<usize> = (0..size).filter(|rank| rank % 2 == 1).collect();
    let odd = all.include(&odd_ranks)?;
    let even = all.exclude(&odd_ranks)?;
    let is_odd = rank % 2 == 1;
    assert_eq!(odd.rank().is_some(), is_odd);
    assert_eq!(even.rank().is_some(), !is_odd);
    assert_eq!(odd.size() + even.size(), size);
    assert_eq!(odd.compare(&even), Comparison::Unequal);
    assert_eq!(
        even.translate(&[0], &all)?,
        [Some(0)],
        "rank 0 is even everywhere"
    );
    let union = odd.union(&even);
    let expected = if size == 1 {
        Comparison::Identical
    } else {
        Comparison::Similar
    };
    assert_eq!(union.compare(&all), expected);
    assert_eq!(
        odd.intersection(&even).compare(&all.empty()),
        Comparison::Identical
    );
    assert_eq!(all.difference(&odd).compare(&even), Comparison::Identical);
    assert_eq!(all.intersection(&odd).compare(&odd), Comparison::Identical);
    assert_eq!(all.empty().union(&odd).compare(&odd), Comparison::Identical);
    assert!(all.difference(&all).is_empty());
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn only_the_members_of_a_group_make_its_communicator(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let odd = world.group()?.range_include(&[(1, size - 1, 2)])?;
    if rank % 2 == 1 {
        let comm = world.create_group(&odd, 5)?.expect("it is a member");
        assert_eq!((comm.rank(), comm.size()), (rank / 2, size / 2));
        assert_eq!(ring(&comm, 7)?, 7);
        // Again while the first lives, and in another order.
        let last_first = odd.range_include(&[(odd.size() - 1, 0, -1)])?;
        let other = world.create_group(&last_first, 5)?.expect("it is a member");
        assert_eq!(other.rank(), odd.size() - 1 - rank / 2);
        ring(&other, 1)?;
        comm.free()?;
        ring(&other, 2)?;
    } else if rank == 0 {
        assert!(world.create_group(&odd, 5)?.is_none());
        assert!(world.create_group(&odd.empty(), 5)?.is_none());
    }
    let alone = world.group()?.include(&[rank])?;
    let own = world.create_group(&alone, 0)?.expect("it is the member");
    assert_eq!((own.rank(), own.size()), (0, 1));
    assert_eq!(ring(&own, rank)?, rank);
    let error = world.create_group(&alone, -1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tag);
    if size > 1 {
        let error = own.create_group(&world.group()?, 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Rank);
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, timeout = 120)]
fn thousands_of_dropped_communicators_of_groups_are_freed(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let without_last = world.group()?.range_include(&[(0, size / 2, 1)])?;
    let mut kept = Vec::new();
    if rank <= size / 2 {
        // MPICH has room for about two thousand at a time.
        for round in 0..if cfg!(miri) { 50 } else { 2500 } {
            let comm = world.create_group(&without_last, 1)?;
            if round % 100 == rank {
                kept.push(comm);
            }
            if round % 700 == 0 {
                kept.clear();
            }
        }
    }
    ring(&world, 1)?;
    Ok(())
}

#[ranks_test::ranks(2, 4)]
fn threads_make_communicators_of_one_group_under_tags(world: Communicator) -> Result<()> {
    let all = world.group()?;
    let other = world.dup()?;
    std::thread::scope(|scope| {
        let (world, all) = (&world, &all);
        let threads: Vec<_> = [(world, 1, 1usize), (&other, 2, 2)]
            .into_iter()
            .map(|(parent, tag, mine)| {
                scope.spawn(move || {
                    for round in 0..20 {
                        let comm = parent.create_group(all, tag)?;
                        let comm = comm.expect("all are members");
                        let number = 100 * round + mine;
                        assert_eq!(ring(&comm, number)?, number);
                    }
                    Ok(())
                })
            })
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("it does not panic"))
    })
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_split(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let is_odd = rank % 2 == 1;
    let part = world.split(Some(i32::from(is_odd)), 0)?;
    let part = part.expect("every rank has a color");
    let (odd, even) = (size / 2, size.div_ceil(2));
    assert_eq!(part.size(), if is_odd { odd } else { even });
    let only_even = world.split((!is_odd).then_some(0), 0)?;
    assert_eq!(only_even.is_some(), !is_odd);
    let evens = world.group()?.range_include(&[(0, size - 1, 2)])?;
    let collective = world.create(&evens)?;
    assert_eq!(
        collective.map(|comm| comm.size()),
        (!is_odd).then_some(even)
    );
    if !is_odd {
        let by_members = world.create_group(&evens, 0)?;
        assert_eq!(by_members.map(|comm| comm.size()), Some(even));
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_duplicate(world: Communicator) -> Result<()> {
    let copy = world.dup()?;
    assert_eq!(world.compare(&copy)?, Comparison::Congruent);
    Ok(())
}

/// MPICH waited for ever, Open MPI made communicators of different sizes.
#[ranks_test::ranks(2, 3)]
fn different_groups_are_an_error_of_all(world: Communicator) -> Result<()> {
    let group = world.group()?;
    let mine = group.range_include(&[(0, world.rank(), 1)])?;
    let error = world.create(&mine).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    let all = world.create(&group)?.expect("all ranks are in it");
    assert_eq!(all.size(), world.size());
    Ok(())
}
