//! Memory is refused on all ranks or on none.

use ranks_collectives::Collectives;
use ranks_comm::{Communicator, ErrorKind};
use ranks_rma_window::preflight;

#[ranks_test::ranks(1, 2, 3)]
fn what_there_is_is_not_refused(world: Communicator) {
    preflight::shared_memory(&world, 0).unwrap();
    preflight::shared_memory(&world, 1 << 12).unwrap();
    preflight::memory(&world, if world.rank() == 0 { 1 << 16 } else { 0 }).unwrap();
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn what_one_rank_cannot_have_is_refused_to_all_in_the_same_words(world: Communicator) {
    let last = world.size() - 1;
    let much = if world.rank() == last { 1 << 55 } else { 8 };
    for look in [preflight::shared_memory, preflight::memory] {
        let error = look(&world, much).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory);
        let text = error.to_string();
        assert!(text.contains("need 3602"), "{text}");
        let mut first = text.clone().into_bytes();
        world.bcast(&mut first, 0).unwrap();
        assert_eq!(String::from_utf8(first).unwrap(), text);
    }
}
