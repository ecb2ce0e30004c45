//! Sums of integers of one and two bytes that go beyond the largest value: Open MPI stopped there,
//! without an error.

use ranks_collectives::ops::Sum;
use ranks_comm::{Communicator, Result};
use ranks_rma_window::LockKind::Exclusive;
use ranks_rma_window::Window;

/// One, as many as no vector of a processor holds, some vectors, and those with a rest.
const LENGTHS: [usize; 5] = [1, 7, 16, 64, if cfg!(miri) { 100 } else { 1000 }];

macro_rules! narrow {
    ($($name:ident: $type:ty;)*) => { $(
        #[ranks_test::ranks(1, 2, 3)]
        fn $name(world: Communicator) -> Result<()> {
            let (there, operand): ($type, $type) = (<$type>::MAX - 20, 100);
            let sum = there.wrapping_add(operand);
            let right = (world.rank() + 1) % world.size();
            for length in LENGTHS {
                let operands = [operand; 1000];
                let operands = &operands[..length];
                let mut window = Window::<$type>::allocate(&world, 6 * length)?;
                window.local_mut().fill(there);
                let mut fenced = window.fence()?;
                let mut old = vec![0; 5 * length];
                fenced.step(|ops| ops.accumulate(operands, Sum, right, 0))?;
                fenced.step(|ops| {
                    ops.get_accumulate(operands, &mut old[..length], Sum, right, length)
                })?;
                let passive = fenced.close()?.passive()?;
                let locked = passive.lock(Exclusive, right)?;
                locked.accumulate(operands, Sum, right, 2 * length)?;
                let into = &mut old[2 * length..3 * length];
                locked.get_accumulate(operands, into, Sum, right, 3 * length)?;
                locked.raccumulate(operands.to_vec(), Sum, right, 4 * length)?.wait()?;
                let request =
                    locked.rget_accumulate(operands.to_vec(), vec![0; length], Sum, right, 5 * length)?;
                let (_, into) = request.wait()?;
                locked.unlock()?;
                assert_eq!((&into[..], &old[..length]), (&vec![there; length][..], &vec![there; length][..]));
                let window = passive.close()?;
                let wrong = window.local().iter().position(|&is| is != sum);
                assert_eq!(wrong, None, "{length} each: {:?}", window.local());
                window.free()?;
            }
            Ok(())
        }
    )* };
}

narrow! {
    a_sum_of_bytes_stops_at_the_largest: u8;
    a_sum_of_signed_bytes_stops_at_the_largest: i8;
    a_sum_of_16_bits_stops_at_the_largest: u16;
    a_sum_of_signed_16_bits_stops_at_the_largest: i16;
}
