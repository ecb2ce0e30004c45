//! An array is read by all threads of all ranks.

use ranks_comm::{Communicator, Result};
use ranks_rma_window::NodeShared;

use crate::{expect, fill_with};

#[ranks_test::ranks(1, 2)]
fn threads_read_while_others_let_go(world: Communicator) -> Result<()> {
    let array = NodeShared::from_root(&world, 0, 2000, fill_with(6))?;
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| expect(&array, 6, 2000));
        }
    });
    // The last handle goes on a thread of its own, at a time of its own.
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let array = array.clone();
            std::thread::spawn(move || expect(&array, 6, 2000))
        })
        .collect();
    drop(array);
    for thread in threads {
        thread.join().unwrap();
    }
    Ok(())
}
