use ranks_collectives::ops::{Band, Bor, Bxor, Land, Lor, Lxor, Max, Min, Prod, Sum};
use ranks_collectives::{Collectives, Number, Op};
use ranks_comm::Communicator;

use crate::model::Depth::{self, All, EachOnce};
use crate::model::{Guarded, Sample, block, case, lengths, roots};

/// What a loop over the ranks' blocks makes of them.
pub(crate) fn folded<T: Sample>(size: usize, len: usize, fold: fn(T, T) -> T) -> Vec<T> {
    let mut result = block::<T>(0, 0, len);
    for rank in 1..size {
        for (left, right) in result.iter_mut().zip(block::<T>(rank, 0, len)) {
            *left = fold(*left, right);
        }
    }
    result
}

fn agrees<T: Sample + Number, O: Op<T>>(world: &Communicator, op: O, fold: fn(T, T) -> T) {
    agrees_as(EachOnce, world, op, fold);
}

fn agrees_as<T: Sample + Number, O: Op<T>>(
    depth: Depth,
    world: &Communicator,
    op: O,
    fold: fn(T, T) -> T,
) {
    for (call, len) in lengths::<T>(depth).into_iter().enumerate() {
        let what = format!(
            "{} with {}",
            case::<T>("reduce", len),
            std::any::type_name::<O>()
        );
        let expected = folded::<T>(world.size(), len, fold);
        let mine = block::<T>(world.rank(), 0, len);
        for root in roots(depth, world.size(), call) {
            if world.rank() == root {
                let mut result = Guarded::<T>::new(len);
                world.reduce(&mine, result.buffer(), op, root).unwrap();
                result.expect(&expected, &what);
            } else {
                let mut spare = Guarded::<T>::new(5);
                world.reduce(&mine, spare.buffer(), op, root).unwrap();
                spare.expect_untouched(&what);
            }
        }
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn integers_at_every_root(world: Communicator) {
    agrees::<i32, _>(&world, Sum, i32::wrapping_add);
    agrees::<u8, _>(&world, Sum, u8::wrapping_add);
    agrees_as::<i64, _>(All, &world, Prod, i64::wrapping_mul);
    agrees::<i16, _>(&world, Min, i16::min);
    agrees::<i64, _>(&world, Max, i64::max);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn extremes_of_unsigned_integers_at_every_root(world: Communicator) {
    agrees::<u32, _>(&world, Min, u32::min);
    agrees::<u64, _>(&world, Max, u64::max);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn bits_and_truths_at_every_root(world: Communicator) {
    agrees::<u32, _>(&world, Band, |a, b| a & b);
    agrees::<i64, _>(&world, Bor, |a, b| a | b);
    agrees::<u8, _>(&world, Bxor, |a, b| a ^ b);
    agrees::<i32, _>(&world, Land, |a, b| i32::from(a != 0 && b != 0));
    agrees::<u16, _>(&world, Lor, |a, b| u16::from(a != 0 || b != 0));
    if world.size() > 1 {
        agrees::<u64, _>(&world, Lxor, |a, b| u64::from((a != 0) != (b != 0)));
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn floats_at_every_root(world: Communicator) {
    agrees_as::<f64, _>(All, &world, Sum, |a, b| a + b);
    agrees::<f32, _>(&world, Prod, |a, b| a * b);
    agrees::<f32, _>(&world, Min, f32::min);
    agrees::<f64, _>(&world, Max, f64::max);
}
