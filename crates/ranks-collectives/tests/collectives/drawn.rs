//! Collectives drawn at random, in each of their forms, against what a loop over the ranks
//! computes.
//!
//! The other tests go through what is known to matter, one operation at a time; these combine
//! lengths, counts, places, roots, element types and operations as nobody would, always the same
//! ones. A case that fails is printed in full.

mod calls;
mod cases;
mod forms;

use std::time::Duration;

use ranks_collectives::ops::{Bxor, Max, Prod, Sum, UserOp};
use ranks_collectives::{Collectives, Op};
use ranks_comm::{Communicator, Result};

use crate::model::{Particle, Sample};
use calls::Call;
use cases::{Dice, Drawn, Element};
use forms::Later;

/// A way to carry out a call. What it leaves under way is ended and checked by what it gives.
#[derive(Clone, Copy, Debug)]
enum Form {
    Blocking,
    InPlace,
    Owned,
    Scoped,
    Persistent,
}

fn carry_out<T: Sample, O: Op<T> + Send + 'static>(
    world: &Communicator,
    form: Form,
    drawn: &Drawn,
    (op, fold): (O, fn(T, T) -> T),
) -> Result<Option<Later>> {
    let drawn = drawn.cut_for::<T>();
    let what = format!(
        "{form:?} on rank {} of {}: {drawn:?}",
        world.rank(),
        world.size()
    );
    let call = |round| Call::new(world, &drawn, round, fold);
    match form {
        Form::Blocking => forms::blocking(world, &call(0), op, &what)?,
        Form::InPlace => forms::in_place(world, &call(0), op, &what)?,
        Form::Owned => return forms::owned(world, call(0), op, what).map(Some),
        Form::Scoped => forms::scoped(world, &[call(0), call(1)], op, &what)?,
        Form::Persistent => forms::persistent(world, &[call(0), call(1)], op, &what)?,
    }
    Ok(None)
}

/// A map x → factor · x + shift of bytes: one after the other is associative and does not commute.
fn one_after_the_other(first: [u8; 3], then: [u8; 3]) -> [u8; 3] {
    [
        first[0].wrapping_mul(then[0]),
        first[1].wrapping_mul(then[0]).wrapping_add(then[1]),
        first[2] ^ then[2],
    ]
}

fn of_its_element(world: &Communicator, form: Form, drawn: &Drawn) -> Result<Option<Later>> {
    match drawn.element {
        Element::U8 => carry_out(world, form, drawn, (Bxor, |a: u8, b| a ^ b)),
        Element::I16 => carry_out(world, form, drawn, (Max, i16::max)),
        Element::U32 => carry_out(world, form, drawn, (Sum, u32::wrapping_add)),
        Element::I64 => carry_out(world, form, drawn, (Prod, i64::wrapping_mul)),
        Element::F32 => carry_out(world, form, drawn, (Prod, |a: f32, b| a * b)),
        Element::F64 => carry_out(world, form, drawn, (Sum, |a: f64, b| a + b)),
        Element::Bytes => {
            let op = UserOp::new(one_after_the_other);
            carry_out(world, form, drawn, (op, one_after_the_other))
        }
        Element::Particle => {
            let op = UserOp::commutative(Particle::later);
            carry_out(world, form, drawn, (op, Particle::later))
        }
        Element::Nothing => {
            let op = UserOp::commutative(|(), ()| ());
            carry_out(world, form, drawn, (op, |(), ()| ()))
        }
    }
}

/// `count` cases of a form; of those that are under way for a while, some are so at a time.
fn try_cases(world: &Communicator, form: Form, count: usize) -> Result<()> {
    const AT_ONCE: usize = 3;
    // Every rank throws the same dice.
    let mut dice = Dice::new(1000 * form as u64 + world.size() as u64);
    let mut under_way: Vec<Later> = Vec::new();
    for case in 0..count {
        let drawn = Drawn::new(&mut dice, case, world.size());
        under_way.extend(of_its_element(world, form, &drawn)?);
        if under_way.len() == AT_ONCE || case + 1 == count {
            // Each rank ends them in an order of its own.
            let first = world.rank() % under_way.len().max(1);
            under_way.rotate_left(first);
            for end in under_way.drain(..) {
                end()?;
            }
        }
    }
    Ok(())
}

/// Every operation some times, as often as the launch of so many processes on a small machine
/// allows.
fn try_form(world: &Communicator, form: Form) -> Result<()> {
    let times = if cfg!(miri) {
        1
    } else {
        [8, 6, 3, 2][world.size() - 1]
    };
    try_cases(world, form, times * cases::OPERATIONS.len())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn blocking(world: Communicator) -> Result<()> {
    try_form(&world, Form::Blocking)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn in_place(world: Communicator) -> Result<()> {
    try_form(&world, Form::InPlace)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn that_own_their_buffers(world: Communicator) -> Result<()> {
    try_form(&world, Form::Owned)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn on_borrowed_slices(world: Communicator) -> Result<()> {
    try_form(&world, Form::Scoped)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn prepared(world: Communicator) -> Result<()> {
    try_form(&world, Form::Persistent)
}

/// Over MPI they are done by operations that return at once, on copies.
#[ranks_test::ranks(1, 2, 3, 4)]
fn within_a_time_limit(world: Communicator) -> Result<()> {
    world.set_time_limit(Some(Duration::from_secs(3600)))?;
    for form in [Form::Blocking, Form::InPlace] {
        try_cases(&world, form, 2 * cases::OPERATIONS.len())?;
    }
    world.barrier()
}

#[ranks_test::ranks(5, 8, in_process_only)]
fn more_ranks_in_process(world: Communicator) -> Result<()> {
    for form in [
        Form::Blocking,
        Form::InPlace,
        Form::Owned,
        Form::Scoped,
        Form::Persistent,
    ] {
        try_cases(&world, form, 3 * cases::OPERATIONS.len())?;
    }
    Ok(())
}
