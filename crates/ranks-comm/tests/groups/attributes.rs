//! Attributes of the program and of the library.

use super::*;

/// Counts its live instances.
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
    let odd =
        AttributeKey::copied_by(|value: &Arc<u8>| (**value % 2 == 1).then(|| Arc::clone(value)));
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
