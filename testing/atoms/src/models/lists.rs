//! Lists of what is dropped while a device works on it.

use std::thread;

use super::shared;
use crate::driver::counted_list::CountedList;

/// An entry is counted before it can be taken out, so that there are never fewer than none. Fails
/// if `push` counts it when it is in the list.
pub(super) fn an_entry_is_counted_before_it_is_taken() {
    let it = shared(CountedList::default());
    let other = it.clone();
    let other = thread::spawn(move || other.push(1));
    let taken = it.take(|_| true).len();
    assert!(taken <= 1 && it.len() <= 1);
    other.join().unwrap();
    assert_eq!((it.len(), it.take(|_| true).len()), (1 - taken, 1 - taken));
    assert_eq!(it.len(), 0);
}
