//! Windows used from within a reduction with a function of the program's own: everything that could
//! wait there is an error.

use std::sync::Mutex;

use ranks_collectives::Collectives;
use ranks_collectives::ops::{Sum, UserOp};
use ranks_comm::{Communicator, ErrorKind, Layout, Result};
use ranks_rma_window::{DynamicWindow, LockKind, NodeShared, SharedWindow, Window};

/// Calls `within` from the operation of a local reduction, and from that of one of all ranks.
fn in_a_reduction(
    world: &Communicator,
    within: impl Fn() -> Vec<(&'static str, Result<()>)> + Sync,
) -> Result<()> {
    let seen = Mutex::new(Vec::new());
    let op = UserOp::commutative(|a: u64, b: u64| {
        let kinds = within()
            .into_iter()
            .map(|(name, outcome)| (name, outcome.map_err(|error| error.kind())));
        seen.lock().unwrap().extend(kinds);
        a + b
    });
    let mut sum = [1];
    world.reduce_local(&[1], &mut sum, op)?;
    assert_eq!(sum, [2]);
    world.allreduce(&[1], &mut sum, op)?;
    assert_eq!(sum, [world.size() as u64]);
    let seen = seen.into_inner().unwrap();
    assert!(!seen.is_empty());
    for (name, outcome) in seen {
        assert_eq!(outcome, Err(ErrorKind::WrongThread), "{name}");
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn what_a_lock_allows_is_refused_in_a_callback(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let right = (me + 1) % size;
    let window = Window::<u64>::allocate(&world, 4)?.passive()?;
    let other = Window::<u64>::allocate(&world, 4)?.passive()?;
    let locked = window.lock_all()?;
    let all = Layout::contiguous(1);
    in_a_reduction(&world, || {
        let (mut got, one) = ([0], [1]);
        vec![
            ("put", locked.put(&one, right, 0)),
            ("get", locked.get(&mut got, right, 0)),
            ("accumulate", locked.accumulate(&one, Sum, right, 0)),
            (
                "fetch_and_op",
                locked.fetch_and_op(1, Sum, right, 0).map(drop),
            ),
            (
                "compare_and_swap",
                locked.compare_and_swap(0, 1, right, 0).map(drop),
            ),
            ("flush", locked.flush(right)),
            ("flush_all", locked.flush_all()),
            ("flush_local", locked.flush_local(right)),
            ("flush_local_all", locked.flush_local_all()),
            ("sync", locked.sync()),
            ("scope", locked.scope(|ops| ops.put(&one, right, 0))),
            (
                "scope with a layout",
                locked.scope(|ops| ops.put_layout(&one, &all, right, &all)),
            ),
            ("lock", other.lock(LockKind::Exclusive, right).map(drop)),
            ("lock_all", other.lock_all().map(drop)),
        ]
    })?;
    locked.put(&[7], right, 0)?;
    locked.unlock()?;
    world.barrier()?;
    let window = window.close()?;
    assert_eq!(window.local(), [7, 0, 0, 0]);
    other.lock(LockKind::Shared, right)?.unlock()?;
    window.free()?;
    other.close()?.free().map(drop)
}

/// Once for each that a window may end with: what fails in a state is put aside.
#[ranks_test::ranks(1, 2, 3)]
fn what_all_ranks_do_with_a_window_is_refused_in_a_callback(world: Communicator) -> Result<()> {
    let right = (world.rank() + 1) % world.size();
    let window = || Window::<u64>::allocate(&world, 4);
    let fenced = Mutex::new(window()?.fence()?);
    let quiet = Mutex::new((0..10).map(|_| window()).collect::<Result<Vec<_>>>()?);
    let closed = Mutex::new(
        (0..2)
            .map(|_| window()?.fence())
            .collect::<Result<Vec<_>>>()?,
    );
    let passive = Mutex::new(
        (0..2)
            .map(|_| window()?.passive())
            .collect::<Result<Vec<_>>>()?,
    );
    let node = world.split_shared(0)?;
    let shared = Mutex::new(
        (0..2)
            .map(|_| SharedWindow::<u64>::allocate(&node, 4))
            .collect::<Result<Vec<_>>>()?,
    );
    let dynamic = Mutex::new(
        (0..2)
            .map(|_| DynamicWindow::create(&world))
            .collect::<Result<Vec<_>>>()?,
    );
    in_a_reduction(&world, || {
        let mut outcomes = vec![
            ("allocate", window().map(drop)),
            ("from_vec", Window::from_vec(&world, vec![1]).map(drop)),
            ("create_dynamic", DynamicWindow::create(&world).map(drop)),
            (
                "SharedWindow",
                SharedWindow::<u64>::allocate(&world, 4).map(drop),
            ),
            (
                "NodeShared",
                NodeShared::<u64>::from_root(&world, 0, 3, |all| all.fill(1)).map(drop),
            ),
        ];
        let mut fenced = fenced.lock().unwrap();
        outcomes.extend([
            ("step", fenced.step(|_| Ok(()))),
            ("fence", fenced.fence()),
            ("read", fenced.read(0, &mut [0])),
            ("write", fenced.write(0, &[1])),
        ]);
        let take = || quiet.lock().unwrap().pop();
        if let Some(window) = take() {
            outcomes.push(("fence of a window", window.fence().map(drop)));
        }
        if let Some(window) = take() {
            outcomes.push(("passive", window.passive().map(drop)));
        }
        if let Some(window) = take() {
            outcomes.push(("free", window.free().map(drop)));
        }
        if let Some(window) = take() {
            outcomes.push(("post", window.post(&[world.rank()]).map(drop)));
        }
        if let Some(mut window) = take().filter(|_| world.size() > 1) {
            outcomes.push(("start", window.start(&[right], |_| Ok(()))));
        }
        if let Some(fenced) = closed.lock().unwrap().pop() {
            outcomes.push(("close of fences", fenced.close().map(drop)));
        }
        if let Some(passive) = passive.lock().unwrap().pop() {
            outcomes.push(("close of locks", passive.close().map(drop)));
        }
        if let Some(shared) = shared.lock().unwrap().pop() {
            outcomes.push(("fence of shared memory", shared.fence().map(drop)));
        }
        if let Some(shared) = shared.lock().unwrap().pop() {
            outcomes.push(("free of shared memory", shared.free()));
        }
        if let Some(dynamic) = dynamic.lock().unwrap().pop() {
            outcomes.push(("fence of a dynamic window", dynamic.fence().map(drop)));
        }
        outcomes
    })?;
    // What was dropped there is put aside, and all is as before.
    let mut fenced = fenced.into_inner().unwrap();
    fenced.step(|ops| ops.put(&[5], right, 1))?;
    assert_eq!(fenced.close()?.local(), [0, 5, 0, 0]);
    world.barrier()
}
