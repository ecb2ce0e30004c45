//! Windows to which memory is attached while they live.

use ranks_collectives::Collectives;
use ranks_collectives::ops::Sum;
use ranks_comm::{Communicator, ErrorKind, Result};
use ranks_rma_window::{DynamicWindow, LockKind};

#[ranks_test::ranks(1, 2, 3, 4)]
fn vectors_of_different_types_are_accessed_under_locks(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let mut window = DynamicWindow::create(&world)?;
    let bytes = window.attach(vec![1u8; 3])?;
    let numbers = window.attach(vec![0.5; 2 + rank])?;
    assert_eq!(numbers.len_of(right), 2 + right);
    let passive = window.passive()?;
    let locked = passive.lock(LockKind::Exclusive, right)?;
    locked.on(&bytes)?.put(&[rank as u8], right, 2)?;
    let mut got = vec![0.0; numbers.len_of(right)];
    locked
        .on(&numbers)?
        .scope(|ops| ops.get(&mut got, right, 0))?;
    assert!(got.iter().all(|&got| got == 0.5), "{got:?}");
    let there = locked.on(&numbers)?;
    let last = numbers.len_of(right) - 1;
    there.put(&[rank as f64], right, last)?;
    let beyond = there.put(&[0.0], right, last + 1).unwrap_err();
    drop(there);
    assert_eq!(beyond.kind(), ErrorKind::Length);
    locked.unlock()?;
    let mut window = passive.close()?;
    assert_eq!(window.detach(bytes)?, [1, 1, left as u8]);
    let mut expected = vec![0.5; 2 + rank];
    expected[1 + rank] = left as f64;
    assert_eq!(window.detach(numbers)?, expected);
    window.free()
}

#[ranks_test::ranks(1, 2, 3)]
fn a_counter_loses_nothing(world: Communicator) -> Result<()> {
    let mut window = DynamicWindow::create(&world)?;
    let counter = window.attach(vec![0u64; usize::from(world.rank() == 0)])?;
    let passive = window.passive()?;
    let locked = passive.lock_all()?;
    let mut seen = Vec::new();
    for _ in 0..20 {
        seen.push(locked.on(&counter)?.fetch_and_op(1, Sum, 0, 0)?);
    }
    assert!(seen.is_sorted());
    locked.unlock()?;
    let mut window = passive.close()?;
    let counter = window.detach(counter)?;
    if world.rank() == 0 {
        assert_eq!(counter, [20 * world.size() as u64]);
    }
    window.free()
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn steps_go_to_several_vectors(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let mut window = DynamicWindow::create(&world)?;
    for round in 0..3u32 {
        let first = window.attach(vec![0u32; 2])?;
        let second = window.attach(vec![[0i16; 3]; 4])?;
        let mut fenced = window.fence()?;
        let (one, other) = ([rank as u32 + round], [[rank as i16; 3]; 2]);
        let mut back = [[9; 3]];
        fenced.step(|ops| {
            ops.on(&first)?.put(&one, right, 1)?;
            ops.on(&second)?.put(&other, right, 2)
        })?;
        fenced.step(|ops| ops.on(&second)?.get(&mut back, right, 3))?;
        assert_eq!(back, [[rank as i16; 3]]);
        fenced.fence()?;
        window = fenced.close()?;
        assert_eq!(window.detach(first)?, [0, left as u32 + round]);
        assert_eq!(window.detach(second)?[3], [left as i16; 3]);
    }
    window.free()
}

#[ranks_test::ranks(1, 2)]
fn what_is_attached_elsewhere_is_refused(world: Communicator) -> Result<()> {
    let mut one = DynamicWindow::create(&world)?;
    let mut other = DynamicWindow::create(&world)?;
    let here = one.attach(vec![1u8])?;
    let there = other.attach(vec![2u8])?;
    let passive = one.passive()?;
    let locked = passive.lock(LockKind::Shared, 0)?;
    assert_eq!(locked.on(&there).unwrap_err().kind(), ErrorKind::Argument);
    assert!(locked.on(&here).is_ok());
    locked.unlock()?;
    let mut fenced = other.fence()?;
    let refused = fenced.step(|ops| ops.on(&here).map(drop)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Argument);
    let mut other = fenced.close()?;
    assert_eq!(other.detach(here).unwrap_err().kind(), ErrorKind::Argument);
    // Freed with what is attached to it.
    other.free()?;
    passive.close()?.free()
}

#[ranks_test::ranks(2, 3)]
fn ranks_that_do_different_things_are_told(world: Communicator) -> Result<()> {
    let mut window = DynamicWindow::create(&world)?;
    let different = match world.rank() {
        0 => window.attach(vec![0u32]).unwrap_err(),
        _ => window.attach(vec![0.0f32]).unwrap_err(),
    };
    assert_eq!(different.kind(), ErrorKind::Mismatch, "{different}");
    let first = window.attach(vec![1u16])?;
    let second = window.attach(vec![2u16])?;
    let detached = window.detach(if world.rank() == 0 { first } else { second });
    assert_eq!(detached.unwrap_err().kind(), ErrorKind::Mismatch);
    let third = window.attach(vec![3u16])?;
    let different = match world.rank() {
        0 => window.detach(third).map(drop),
        _ => window.attach(vec![4u16]).map(drop),
    };
    // The first was told as MPI_Allgather of 1 [u64; 4].
    let text = different.unwrap_err().to_string();
    assert!(text.contains("rank 0 calls MPI_Win_detach"), "{text}");
    assert!(text.contains(" MPI_Win_attach"), "{text}");
    world.barrier()?;
    // It goes when something else is made, with what is attached to it.
    drop(window);
    world.dup()?.free()
}

/// Open MPI attaches so many vectors only, and keeps its lock when it refuses one: whoever attached
/// or detached then waited for ever.
#[ranks_test::ranks(2, 3, mpi_only)]
fn after_an_attach_that_failed_a_window_can_be_freed(world: Communicator) -> Result<()> {
    const MANY: usize = 400;
    let mut window = DynamicWindow::create(&world)?;
    let mut attached = Vec::new();
    let failed = loop {
        match window.attach(vec![0u64; attached.len() + 1]) {
            Ok(vector) => attached.push(vector),
            Err(error) => break error,
        }
        if attached.len() == MANY {
            // It attaches as many as one likes.
            return window.free();
        }
    };
    let kinds = [ErrorKind::Library, ErrorKind::PeerFailed];
    assert!(kinds.contains(&failed.kind()), "{failed}");
    let says_what_to_do = failed.to_string().contains("attach fewer");
    assert_eq!(
        says_what_to_do,
        failed.kind() == ErrorKind::Library,
        "{failed}"
    );
    let last = attached.pop().unwrap();
    let refused = [
        window.attach(vec![1u8]).map(drop),
        window.detach(last).map(drop),
        window.attach(vec![1u8]).map(drop),
    ];
    for error in refused.map(Result::unwrap_err) {
        assert_eq!(error.kind(), ErrorKind::Library, "{error}");
        assert!(error.to_string().contains("make a new one"), "{error}");
    }
    window.free()?;
    let mut window = DynamicWindow::create(&world)?;
    let again = window.attach(vec![3u8])?;
    assert_eq!(window.detach(again)?, [3]);
    window.free()
}

/// Release builds read the words of one call as those of another one.
#[ranks_test::ranks(2, 3)]
fn what_changes_the_memory_of_a_window_is_compared_with_what_changes_its_state(
    world: Communicator,
) -> Result<()> {
    for detach in [false, true] {
        for other in ["MPI_Win_fence", "Window::passive", "MPI_Win_free"] {
            let mut window = DynamicWindow::create(&world)?;
            let vector = window.attach(vec![0.5])?;
            let outcome = match (world.rank(), detach, other) {
                (0, false, _) => window.attach(vec![1u64]).map(drop),
                (0, true, _) => window.detach(vector).map(drop),
                (.., "MPI_Win_fence") => window.fence().map(drop),
                (.., "Window::passive") => window.passive().map(drop),
                _ => window.free(),
            };
            let error = outcome.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
            let text = error.to_string();
            let first = if detach {
                "MPI_Win_detach"
            } else {
                "MPI_Win_attach"
            };
            assert!(text.contains(&format!("rank 0 calls {first}; ")), "{text}");
            assert!(
                text.contains(&format!(" {other}")) && !text.contains("u8"),
                "{text}"
            );
        }
    }
    Ok(())
}
