//! Every operation that changes what is there, on words, by every call: one of them, and as many as
//! Open MPI hands to the network one by one; in memory of the library's, and in a vector.

use ranks_collectives::Integer;
use ranks_collectives::ops::{Band, Bor, Bxor, Land, Lor, Lxor, Max, Min, Prod, Sum};
use ranks_comm::{Communicator, ErrorKind, Result};
use ranks_rma_window::LockKind::Exclusive;
use ranks_rma_window::{Change, Replace, Window};

const MANY: usize = 32;

/// For `accumulate` and `get_accumulate` of one and of many, and for `fetch_and_op`.
const LEN: usize = 2 * (1 + MANY) + 1;

/// Returns true if an operation is one that the library computes wrong, and was refused for that.
fn is_refused(accumulated: &Result<()>) -> bool {
    match accumulated {
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::NotInLibrary, "{error}");
            let text = error.to_string();
            assert!(text.contains("under an exclusive lock"), "{text}");
            true
        }
        Ok(()) => false,
    }
}

/// Combines each element of the next rank's, which are `there`, with `operand`, and looks whether
/// they are `wanted` then.
fn combine<T, O>(
    mut window: Window<T>,
    right: usize,
    (there, operand): (T, T),
    op: O,
    wanted: T,
) -> Result<Window<T>>
where
    T: Integer + PartialEq + std::fmt::Debug,
    O: Change<T> + std::fmt::Debug,
{
    window.local_mut().fill(there);
    let passive = window.passive()?;
    let locked = passive.lock(Exclusive, right)?;
    if is_refused(&locked.accumulate(&[operand], op, right, LEN)) {
        locked.unlock()?;
        return passive.close();
    }
    let mut old = [operand; 1 + MANY];
    let mut at = 0;
    for many in [1, MANY] {
        let operands = [operand; MANY];
        locked.accumulate(&operands[..many], op, right, at)?;
        locked.get_accumulate(&operands[..many], &mut old[..many], op, right, at + many)?;
        assert_eq!(old[..many], [there; MANY][..many]);
        at += 2 * many;
    }
    assert_eq!(locked.fetch_and_op(operand, op, right, at)?, there);
    locked.unlock()?;
    let window = passive.close()?;
    let mut is = window.local().iter().copied().enumerate();
    let wrong = is.find(|(_, is)| *is != wanted);
    assert_eq!(wrong, None, "{op:?} of {there:?} and {operand:?}");
    Ok(window)
}

/// Values in the window are below zero, or larger than what a signed integer can be, and true as
/// the operand is.
macro_rules! words {
    ($($name:ident: $type:ty;)*) => { $(
        #[ranks_test::ranks(1, 2, 3, 4)]
        fn $name(world: Communicator) -> Result<()> {
            let both: ($type, $type) = (!11, 10);
            let (there, operand) = both;
            let right = (world.rank() + 1) % world.size();
            for mut window in [
                Window::<$type>::allocate(&world, LEN + 1)?,
                Window::from_vec(&world, vec![0; LEN + 1])?,
            ] {
                window = combine(window, right, both, Sum, there.wrapping_add(operand))?;
                window = combine(window, right, both, Prod, there.wrapping_mul(operand))?;
                window = combine(window, right, both, Min, there.min(operand))?;
                window = combine(window, right, both, Max, there.max(operand))?;
                window = combine(window, right, both, Band, there & operand)?;
                window = combine(window, right, both, Bor, there | operand)?;
                window = combine(window, right, both, Bxor, there ^ operand)?;
                window = combine(window, right, both, Land, 1)?;
                window = combine(window, right, both, Lor, 1)?;
                window = combine(window, right, both, Lxor, 0)?;
                window = combine(window, right, both, Replace, operand)?;
                window.free()?;
            }
            Ok(())
        }
    )* };
}

words! {
    of_4_bytes: i32;
    of_4_bytes_without_a_sign: u32;
    of_8_bytes: i64;
    of_8_bytes_without_a_sign: u64;
}
