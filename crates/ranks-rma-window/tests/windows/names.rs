//! Names of windows, and where they are shown.

use std::time::Duration;

use ranks_comm::{Backend, Communicator, ErrorKind, Result, Runtime};
use ranks_rma_window::{DynamicWindow, SharedWindow, Window};

#[ranks_test::ranks(1, 2, 3)]
fn a_name_stays_with_its_window_in_every_state(world: Communicator) -> Result<()> {
    let window = Window::<u32>::allocate(&world, 3)?;
    let other = Window::<u32>::allocate(&world, 3)?;
    assert_eq!(window.name(), "");
    // Each rank has a name of its own for it.
    let name = format!("halo of {}", world.rank());
    window.set_name(&name)?;
    assert_eq!((window.name(), other.name()), (name.clone(), String::new()));
    assert!(format!("{window:?}").contains(&name), "{window:?}");
    let fenced = window.fence()?;
    assert!(format!("{fenced:?}").contains(&name), "{fenced:?}");
    let passive = fenced.close()?.passive()?;
    assert!(format!("{passive:?}").contains(&name), "{passive:?}");
    let locked = passive.lock_all()?;
    assert!(format!("{locked:?}").contains(&name), "{locked:?}");
    locked.unlock()?;
    let exposed = passive.close()?.post(&[])?;
    assert!(format!("{exposed:?}").contains(&name), "{exposed:?}");
    let window = exposed.wait()?;
    window.set_name("")?;
    assert_eq!(window.name(), "");
    // Longer than a library has it, whose limit is in the middle of a letter.
    let long = format!("x{}", "ä".repeat(100));
    window.set_name(&long)?;
    assert_eq!(window.name(), long);
    let refused = window.set_name("a\0b").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Argument);
    let text = refused.to_string();
    assert!(text.starts_with("MPI_Win_set_name"), "{text}");
    assert_eq!(window.name(), long);
    window.free()?;
    other.free().map(drop)
}

#[ranks_test::ranks(1, 2, 3)]
fn a_name_stays_with_its_shared_window_in_every_phase(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    let writing = SharedWindow::<u32>::allocate(&node, 3)?;
    assert_eq!(writing.name(), "");
    writing.set_name("grid")?;
    let reading = writing.fence()?;
    assert_eq!(reading.name(), "grid");
    assert!(format!("{reading:?}").contains("\"grid\""), "{reading:?}");
    reading.set_name("old grid")?;
    let writing = reading.fence()?;
    assert_eq!(writing.name(), "old grid");
    let refused = writing.set_name("\0").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Argument);
    writing.free()
}

#[ranks_test::ranks(2, 3)]
fn a_name_stays_with_its_dynamic_window_in_every_state(world: Communicator) -> Result<()> {
    let window = DynamicWindow::create(&world)?;
    assert_eq!(window.name(), "");
    window.set_name("particles")?;
    let fenced = window.fence()?;
    assert!(format!("{fenced:?}").contains("particles"), "{fenced:?}");
    let passive = fenced.close()?.passive()?;
    assert!(format!("{passive:?}").contains("particles"), "{passive:?}");
    let locked = passive.lock_all()?;
    assert!(format!("{locked:?}").contains("particles"), "{locked:?}");
    locked.unlock()?;
    let window = passive.close()?;
    assert_eq!(window.name(), "particles");
    let refused = window.set_name("\0").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Argument);
    window.free()
}

/// The text of an error that says on which communicator an operation was late has the window's
/// name.
#[test]
fn what_is_late_on_a_window_says_its_name() {
    let limit = Duration::from_millis(100);
    let threads = Runtime::builder().backend(Backend::InProcess).ranks(2);
    let outcome = threads.run(|world| {
        let window = Window::<u8>::allocate(&world, 1)?;
        let shared = SharedWindow::<u8>::allocate(&world, 1)?;
        window.set_name("the queue")?;
        shared.set_name("the grid")?;
        if world.rank() == 1 {
            world.recv(&mut [0u8], 0, 0)?;
            assert_eq!((window.size(), shared.size()), (2, 2));
            return Ok(());
        }
        let late = world.within(limit, |_| Ok::<_, ranks_comm::Error>(window.fence()))?;
        let text = late.unwrap_err().to_string();
        assert!(text.contains("rank 0 of 2 of the queue"), "{text}");
        let late = world.within(limit, |_| Ok::<_, ranks_comm::Error>(shared.fence()))?;
        let text = late.unwrap_err().to_string();
        assert!(text.contains("rank 0 of 2 of the grid"), "{text}");
        world.send(&[1u8], 1, 0)
    });
    outcome.unwrap();
}
