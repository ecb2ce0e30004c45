//! Groups, hints, attributes, intercommunicators, and what a rank may ask of its surroundings.
//!
//! Tests that begin with `rsmpi_` do what the example program of rsmpi with that name does.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "numbers of ranks are small"
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use ranks_comm::{
    AttributeKey, Communicator, Comparison, ErrorKind, Info, Result, Runtime, SplitType,
    ThreadLevel,
};

/// All ranks of `comm` exchange a number in a ring: that of the rank before comes back.
fn ring(comm: &Communicator, number: usize) -> Result<usize> {
    let (rank, size) = (comm.rank(), comm.size());
    let mut got = [0usize];
    comm.sendrecv(
        &[number],
        (rank + 1) % size,
        0,
        &mut got,
        (rank + size - 1) % size,
        0,
    )?;
    Ok(got[0])
}

mod groups {
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
    fn rsmpi_duplicate(world: Communicator) -> Result<()> {
        let copy = world.dup()?;
        assert_eq!(world.compare(&copy)?, Comparison::Congruent);
        Ok(())
    }
}

mod kinds_of_split {
    use super::*;

    #[ranks_test::ranks(1, 2, 4)]
    fn a_shared_split_is_the_node(world: Communicator) -> Result<()> {
        let node = world.split_type(SplitType::Shared, 0, &Info::new())?;
        let node = node.expect("every rank is on a node");
        assert_eq!((node.rank(), node.size()), (world.rank(), world.size()));
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
}

mod hints {
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
}

mod attributes {
    use super::*;

    /// Counts how many of it live.
    struct Counted(Arc<AtomicUsize>, usize);

    impl Counted {
        fn new(alive: &Arc<AtomicUsize>, number: usize) -> Self {
            alive.fetch_add(1, Ordering::Relaxed);
            Self(Arc::clone(alive), number)
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    #[ranks_test::ranks(1, 2, 3)]
    fn rsmpi_attributes(world: Communicator) -> Result<()> {
        #[derive(Debug, PartialEq)]
        struct Mine(u32);
        let key = AttributeKey::<Mine>::copied_by(|mine| Some(Arc::new(Mine(mine.0))));
        let comm = world.dup()?;
        assert!(comm.attribute(&key).is_none());
        assert!(comm.set_attribute(&key, Mine(17)).is_none());
        let mine = comm.attribute(&key).expect("it was set");
        let copy = comm.dup()?;
        let theirs = copy.attribute(&key).expect("it was copied");
        assert_eq!((&*mine, &*theirs), (&Mine(17), &Mine(17)));
        assert!(!Arc::ptr_eq(&mine, &theirs));
        copy.set_attribute(&key, Mine(4));
        assert_eq!(comm.attribute(&key).as_deref(), Some(&Mine(17)));
        if let Some(size) = world.universe_size()? {
            assert!(size >= 1);
        }
        if let Some(number) = world.appnum()? {
            assert_eq!(number, 0, "one program was started");
        }
        Ok(())
    }

    /// rsmpi lets one handle replace a value while another one's reference to it lives.
    #[ranks_test::ranks(1, 2)]
    fn h4_attributes_of_two_handles_cannot_dangle(world: Communicator) -> Result<()> {
        let alive = Arc::new(AtomicUsize::new(0));
        let key = AttributeKey::<Vec<Counted>>::new();
        let comm = world.dup()?;
        let other = comm.clone();
        let many = |number| vec![Counted::new(&alive, number), Counted::new(&alive, number)];
        comm.set_attribute(&key, many(1));
        let held = other.attribute(&key).expect("both handles see it");
        let before = other.set_attribute(&key, many(2)).expect("it was there");
        assert!(Arc::ptr_eq(&held, &before));
        drop(before);
        assert_eq!((held[0].1, held[1].1), (1, 1));
        drop(held);
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (comm, key) = (comm.clone(), &key);
                scope.spawn(move || {
                    for _ in 0..200 {
                        if number % 2 == 0 {
                            comm.set_attribute(key, many(number));
                        } else if let Some(seen) = comm.attribute(key) {
                            assert_eq!(seen[0].1, seen[1].1);
                        }
                        if number == 0 {
                            comm.delete_attribute(key);
                        }
                    }
                });
            }
        });
        drop((comm, other));
        assert_eq!(alive.load(Ordering::Relaxed), 0);
        Ok(())
    }

    #[ranks_test::ranks(1, 2)]
    fn values_go_with_the_communicator(world: Communicator) -> Result<()> {
        let (key, kept) = (AttributeKey::<()>::new(), Arc::new(()));
        let comm = world.dup()?;
        comm.set_attribute(&key, Arc::clone(&kept));
        let other = comm.clone();
        drop(comm);
        assert_eq!(Arc::strong_count(&kept), 2);
        other.free()?;
        assert_eq!(Arc::strong_count(&kept), 1);
        Ok(())
    }

    #[ranks_test::ranks(1, 2)]
    fn keys_say_what_a_duplicate_gets(world: Communicator) -> Result<()> {
        let (none, shared) = (AttributeKey::<u8>::new(), AttributeKey::<u8>::shared());
        let odd = AttributeKey::copied_by(|value: &Arc<u8>| {
            (**value % 2 == 1).then(|| Arc::clone(value))
        });
        let comm = world.dup()?;
        comm.set_attribute(&none, 1);
        comm.set_attribute(&shared, 2);
        comm.set_attribute(&odd, 3);
        let copy = comm.dup_with_info(&Info::new())?;
        assert!(copy.attribute(&none).is_none());
        let (a, b) = (comm.attribute(&shared), copy.attribute(&shared));
        assert!(a.zip(b).is_some_and(|(a, b)| Arc::ptr_eq(&a, &b)));
        assert_eq!(copy.attribute(&odd).as_deref(), Some(&3));
        comm.set_attribute(&odd, 4);
        assert!(comm.dup()?.attribute(&odd).is_none());
        assert_eq!(comm.delete_attribute(&odd).as_deref(), Some(&4));
        assert!(comm.attribute(&odd).is_none());
        assert_eq!(copy.attribute(&odd).as_deref(), Some(&3));
        // A split is not a copy.
        let part = comm.split(Some(0), 0)?.expect("all have a color");
        assert!(part.attribute(&shared).is_none());
        Ok(())
    }

    #[ranks_test::ranks(1, 2, 3)]
    fn a_library_caches_its_own_communicator(world: Communicator) -> Result<()> {
        static PRIVATE: LazyLock<AttributeKey<Communicator>> = LazyLock::new(AttributeKey::new);
        fn exchange(comm: &Communicator) -> Result<usize> {
            let private = match comm.attribute(&PRIVATE) {
                Some(private) => private,
                None => {
                    let new = Arc::new(comm.dup()?);
                    comm.set_attribute(&PRIVATE, Arc::clone(&new));
                    new
                }
            };
            ring(&private, comm.rank())
        }
        let before = (world.rank() + world.size() - 1) % world.size();
        for _ in 0..3 {
            assert_eq!(exchange(&world)?, before);
        }
        let comm = world.dup()?;
        assert_eq!(exchange(&comm)?, before);
        Ok(())
    }

    #[ranks_test::ranks(1, 2)]
    fn the_library_has_attributes(world: Communicator) -> Result<()> {
        assert!(world.max_tag() >= 32_767);
        world.io()?;
        let comm = world.dup()?;
        assert_eq!(comm.wtime_is_global()?, world.wtime_is_global()?);
        assert_eq!(comm.universe_size()?, world.universe_size()?);
        Ok(())
    }
}

mod surroundings {
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
}
