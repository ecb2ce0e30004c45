//! More than 2³¹ bytes, on any MPI. They take gigabytes, so they run when asked for.

use ranks_collectives::Hierarchy;
use ranks_comm::{Communicator, ErrorKind, Result};
use ranks_rma_window::{NodeBackend, NodeShared};

/// 2.5 GiB, in elements of one byte.
const HUGE: usize = (5 << 29) + 3;

/// One copy for two ranks, in each kind of memory; where there is too little the test says so, and
/// that all were told.
#[ranks_test::ranks(2, timeout = 300)]
#[ignore = "needs 3 GB of memory"]
fn an_array_of_more_than_an_int_counts(world: Communicator) -> Result<()> {
    for backend in [NodeBackend::MpiWindow, NodeBackend::Memfd] {
        let array = NodeShared::<u8>::builder(&world).backend(backend.clone());
        let array = array.from_root(1, HUGE, mark);
        match array {
            Err(error) if error.kind() == ErrorKind::Memory => {
                let text = format!("left out with {backend}: {error}\n");
                // Not of this rank alone: whoever reads the test's output is to see it.
                std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes()).unwrap();
            }
            array => {
                let array = array?;
                check(&array);
                array.free()?;
            }
        }
    }
    Ok(())
}

/// Two copies, one of them sent.
#[ranks_test::ranks(2, timeout = 300)]
#[ignore = "needs 6 GB of memory"]
fn an_array_of_more_than_an_int_counts_is_sent(world: Communicator) -> Result<()> {
    let nodes = Hierarchy::by_color(&world, world.rank() as i32)?;
    let array = NodeShared::on_nodes(&nodes).from_root(0, HUGE, mark)?;
    check(&array);
    Ok(())
}

/// Few pages are touched here: to fill them all takes seconds.
fn mark(out: &mut [u8]) {
    out[0] = 1;
    out[HUGE / 2] = 2;
    out[(1 << 31) + 1] = 3;
    out[HUGE - 1] = 4;
}

fn check(array: &[u8]) {
    let found = [0, 1, HUGE / 2, (1 << 31) + 1, HUGE - 1].map(|index| array[index]);
    assert_eq!(found, [1, 0, 2, 3, 4]);
}
