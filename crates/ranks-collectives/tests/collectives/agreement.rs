//! Ranks that call a collective differently, or different ones: all of them get the same error, and
//! go on.
//!
//! The classes are those by which the MPI Bugs Initiative and MPI-CorrBench sort such mistakes.

use ranks_collectives::ops::{Max, Min, Sum, UserOp};
use ranks_collectives::topology::{Domain, Policy, Topologies};
use ranks_collectives::{
    Blocks, Collectives, Hierarchy, InPlaceCollectives, NonblockingCollectives, SparseExchange,
    TwoLevelAlltoall, VaryingCollectives,
};
use ranks_comm::{Backend, Checks, Communicator, Error, ErrorKind, Result, Runtime};

/// The text of an error behind its operation, which is that of its rank.
fn text_of(error: &Error) -> String {
    let text = error.to_string();
    let rest = text.strip_prefix(error.operation());
    let rest = rest.and_then(|rest| rest.strip_prefix(": "));
    rest.expect("it begins with the operation").to_owned()
}

/// Every rank has an error of that kind, with one text; afterwards the communicator is as good as
/// before.
fn all_fail(world: &Communicator, kind: ErrorKind, outcome: Result<()>) -> Result<String> {
    let text = match outcome {
        Ok(()) => String::new(),
        Err(error) => {
            assert_eq!(error.kind(), kind, "{error}");
            text_of(&error)
        }
    };
    let texts = world.allgatherv(text.as_bytes())?;
    assert!(!text.is_empty(), "no error");
    for rank in 0..world.size() {
        assert_eq!(texts.block(rank), Some(text.as_bytes()));
    }
    Ok(text)
}

fn all_mismatch(world: &Communicator, outcome: Result<()>) -> Result<String> {
    all_fail(world, ErrorKind::Mismatch, outcome)
}

/// Returns `true` if this is the last rank, which does it wrong.
fn wrong(world: &Communicator) -> bool {
    world.rank() + 1 == world.size()
}

#[ranks_test::ranks(2, 3, 4)]
fn argument_mismatch_of_roots(world: Communicator) -> Result<()> {
    let root = usize::from(wrong(&world));
    let text = all_mismatch(&world, world.bcast(&mut [1.0, 2.0], root))?;
    assert!(
        text.contains("of 2 f64, root 0") && text.contains("of 2 f64, root 1"),
        "{text}"
    );
    let mut all = vec![0; world.size()];
    all_mismatch(&world, world.gather(&[1], &mut all, root))?;
    all_mismatch(&world, world.scatter(&all.clone(), &mut [0], root))?;
    all_mismatch(&world, world.reduce(&[1], &mut [0], Sum, root))?;
    all_mismatch(&world, world.reduce_in_place(&mut [1], Sum, root))?;
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn argument_mismatch_of_lengths(world: Communicator) -> Result<()> {
    let length = if wrong(&world) { 1000 } else { 3 };
    let (one, mut other) = (vec![1u16; length], vec![0; length]);
    let text = all_mismatch(&world, world.bcast(&mut other, 0))?;
    assert!(
        text.contains("of 3 u16") && text.contains("of 1000 u16"),
        "{text}"
    );
    all_mismatch(&world, world.allreduce(&one, &mut other, Sum))?;
    all_mismatch(&world, world.allreduce_in_place(&mut other, Sum))?;
    all_mismatch(&world, world.scan(&one, &mut other, Sum))?;
    all_mismatch(&world, world.exscan(&one, &mut other, Sum))?;
    all_mismatch(&world, world.reduce(&one, &mut other, Sum, 0))?;
    let mut all = vec![0; length * world.size()];
    all_mismatch(&world, world.gather(&one, &mut all, 0))?;
    all_mismatch(&world, world.allgather(&one, &mut all))?;
    all_mismatch(&world, world.scatter(&all.clone(), &mut other, 0))?;
    all_mismatch(&world, world.alltoall(&all.clone(), &mut all))?;
    all_mismatch(&world, world.reduce_scatter_block(&all, &mut other, Sum))?;
    assert!(
        other.iter().chain(&all).all(|&element| element == 0),
        "nothing was written"
    );
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn argument_mismatch_of_block_lengths(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    // The last rank believes that rank 0 has one more.
    let mut counts = vec![2; size];
    counts[0] += usize::from(wrong(&world));
    let blocks = Blocks::from_counts(&counts)?;
    let (mine, mut all) = (vec![7u8; counts[me]], vec![0; blocks.end()]);
    let text = all_mismatch(&world, world.allgatherv_into(&mine, &mut all, &blocks))?;
    assert!(text.contains("[3, 2"), "{text}");
    all_mismatch(&world, world.gatherv_into(&mine, &mut all, &blocks, 0))?;
    all_mismatch(
        &world,
        world.scatterv_into(&all.clone(), &blocks, &mut [0; 2], 0),
    )?;
    all_mismatch(
        &world,
        world.reduce_scatter(&all.clone(), &mut vec![0; counts[me]], &blocks, Sum),
    )?;
    // And expects one more of it.
    let even = Blocks::from_counts(&vec![2; size])?;
    let outcome = world.alltoallv_into(&vec![7u8; 2 * size], &even, &mut all, &blocks);
    let text = all_mismatch(&world, outcome)?;
    let last = size - 1;
    assert!(
        text.ends_with(&format!(
            "rank 0 sends 2 elements to rank {last}, which expects 3"
        )),
        "{text}"
    );
    assert!(
        all.iter().all(|&element| element == 0),
        "nothing was written"
    );
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn argument_mismatch_of_types(world: Communicator) -> Result<()> {
    let outcome = if wrong(&world) {
        world.bcast(&mut [1u32, 2], 0)
    } else {
        world.bcast(&mut [1.0f32, 2.0], 0)
    };
    let text = all_mismatch(&world, outcome)?;
    assert!(
        text.contains("of 2 f32") && text.contains("of 2 u32"),
        "{text}"
    );
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn argument_mismatch_of_operators(world: Communicator) -> Result<()> {
    let mut result = [0];
    let outcome = if wrong(&world) {
        world.allreduce(&[1], &mut result, Max)
    } else {
        world.allreduce(&[1], &mut result, Min)
    };
    let text = all_mismatch(&world, outcome)?;
    assert!(
        text.contains("with Min") && text.contains("with Max"),
        "{text}"
    );
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn call_ordering(world: Communicator) -> Result<()> {
    let (mut result, mut data) = ([0.0], [0u8; 5]);
    let outcome = if wrong(&world) {
        world.allreduce(&[1.0], &mut result, Sum)
    } else {
        world.bcast(&mut data, 0)
    };
    let text = all_mismatch(&world, outcome)?;
    assert!(
        text.contains("MPI_Bcast of 5 u8, root 0")
            && text.contains("MPI_Allreduce of 1 f64 with Sum"),
        "{text}"
    );
    let outcome = if wrong(&world) {
        world.barrier()
    } else {
        world.bcast(&mut data, 0)
    };
    all_mismatch(&world, outcome).map(drop)
}

/// The rank itself is told what is wrong; the others, that it refused.
/// A rank that knows the lengths of all blocks, and others that find them out.
#[ranks_test::ranks(2, 3, 4)]
fn lengths_that_not_all_find_out_hung(world: Communicator) -> Result<()> {
    let size = world.size();
    let blocks = Blocks::from_counts(&vec![1; size])?;
    let (send, mut recv) = (vec![7u32; size], vec![0; size]);
    let outcome = match wrong(&world) {
        true => world.alltoallv_into(&send, &blocks, &mut recv, &blocks),
        false => world.alltoallv(&send, &blocks).map(drop),
    };
    let text = all_mismatch(&world, outcome)?;
    assert!(text.contains("in several steps"), "{text}");
    let outcome = match wrong(&world) {
        true => world.gatherv_into(&[7u32], &mut recv, &blocks, 0),
        false => world.gatherv(&[7u32], 0).map(drop),
    };
    all_mismatch(&world, outcome)?;
    let outcome = match wrong(&world) {
        true => world.scatterv_into(&send, &blocks, &mut [0], 0),
        false => world.scatterv(&send, &blocks, 0).map(drop),
    };
    all_mismatch(&world, outcome)?;
    Ok(())
}

/// A value's first step was a broadcast of two numbers, like one of the program's own.
#[ranks_test::ranks(2, 3, 4)]
fn a_value_was_compared_as_a_slice(world: Communicator) -> Result<()> {
    let outcome = match wrong(&world) {
        true => world.bcast(&mut [0u64; 2], 0),
        false => world
            .bcast_value((world.rank() == 0).then_some(7), 0)
            .map(drop),
    };
    let text = all_mismatch(&world, outcome)?;
    assert!(text.contains("root 0, in several steps"), "{text}");
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn operands_that_not_all_swap_were_compared_as_equal(world: Communicator) -> Result<()> {
    let (later, mut result) = (|a: u32, b: u32| a.max(b), [0]);
    let op = match wrong(&world) {
        true => UserOp::new(later),
        false => UserOp::commutative(later),
    };
    let text = all_mismatch(&world, world.allreduce(&[1], &mut result, op))?;
    assert!(text.contains(", in the order of ranks"), "{text}");
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn argument_error_on_one_rank(world: Communicator) -> Result<()> {
    let mut all = vec![0; world.size() + usize::from(wrong(&world))];
    let error = world.allgather(&[1], &mut all).unwrap_err();
    if wrong(&world) {
        assert_eq!(error.kind(), ErrorKind::Length);
    } else {
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let (text, last) = (error.to_string(), world.size() - 1);
        assert!(
            text.contains(&format!(
                "rank {last} refuses its arguments, MPI_Allgather: "
            )),
            "{text}"
        );
    }
    let root = if wrong(&world) { world.size() } else { 0 };
    assert!(world.gatherv(&[1], root).is_err());
    let blocks = Blocks::from_counts(&vec![2; world.size()])?;
    let short = vec![1; if wrong(&world) { 1 } else { blocks.end() }];
    assert!(world.alltoallv(&short, &blocks).is_err());
    world.barrier()
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn results_are_agreed_on(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    assert_eq!(world.agree(Ok::<_, Error>(me))?, me);
    let outcome = if me > 0 || size == 1 {
        Err(format!("no luck at {me}"))
    } else {
        Ok(())
    };
    let text = all_fail(&world, ErrorKind::PeerFailed, world.agree(outcome))?;
    let first = usize::from(size > 1);
    assert!(
        text.contains(&format!(
            "rank {first} of {size} failed: no luck at {first}"
        )),
        "{text}"
    );
    // Longer than what is told.
    let long = "é".repeat(3000);
    let text = all_fail(
        &world,
        ErrorKind::PeerFailed,
        world.agree(Err::<(), _>(&long)),
    )?;
    assert!(text.len() > 900 && text.len() < 1200);
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn mixed_calls_that_make_communicators_hung(world: Communicator) -> Result<()> {
    let text = if wrong(&world) {
        all_mismatch(&world, world.dup().map(drop))
    } else {
        all_mismatch(&world, world.split(Some(0), 0).map(drop))
    }?;
    assert!(
        text.contains("MPI_Comm_dup") && text.contains("MPI_Comm_split"),
        "{text}"
    );
    if wrong(&world) {
        all_mismatch(&world, world.dup().map(drop))
    } else {
        all_mismatch(&world, world.barrier())
    }?;
    if wrong(&world) {
        all_mismatch(&world, world.agree(Ok::<_, Error>(())))
    } else {
        all_mismatch(&world, world.allreduce(&[1], &mut [0], Sum))
    }?;
    if wrong(&world) {
        let cart = world.cart_create(&[world.size()], &[false], false);
        all_mismatch(&world, cart.map(drop))
    } else {
        all_mismatch(&world, world.create(&world.group()?).map(drop))
    }?;
    let color = if wrong(&world) { -1 } else { 0 };
    let outcome = world.split(Some(color), 0).map(drop);
    if wrong(&world) {
        let error = outcome.expect_err("a color below 0");
        assert_eq!(error.kind(), ErrorKind::Argument);
    } else {
        let error = outcome.expect_err("another one's color");
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(
            error.to_string().contains("refuses its arguments"),
            "{error}"
        );
    }
    world.barrier()
}

/// On a communicator of its own, which is no good any more afterwards.
fn apart(world: &Communicator, calls: impl FnOnce(&Communicator) -> Result<()>) -> Result<()> {
    let own = world.dup()?;
    let error = calls(&own).expect_err("ranks call differently");
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    let texts = world.allgatherv(text_of(&error).as_bytes())?;
    assert!(
        (0..world.size()).all(|rank| texts.block(rank) == texts.block(0)),
        "{error}"
    );
    let later = own.barrier().expect_err("out of step");
    assert_eq!(later.kind(), ErrorKind::TimedOut, "{later}");
    world.barrier()
}

/// In process what never ends is given up; over MPI the end of the job would wait for it.
#[test]
fn blocking_against_nonblocking_and_different_nonblocking_ones_hung() {
    let world = Runtime::builder().backend(Backend::InProcess).ranks(3);
    let run = |f: fn(&Communicator) -> Result<()>| {
        let world = world.clone().checks(Checks::Collective);
        world.run(|world| apart(&world, f)).expect("all as said");
    };
    run(|own| match wrong(own) {
        true => own.barrier(),
        false => own.ibarrier()?.wait().map(drop),
    });
    run(|own| match wrong(own) {
        true => own.ibcast(vec![1u8; 3], 0)?.wait().map(drop),
        false => own.ibcast(vec![1u8; 4], 0)?.wait().map(drop),
    });
    run(|own| match wrong(own) {
        true => own
            .iallreduce(vec![1.0f32], vec![0.0], Sum)?
            .wait()
            .map(drop),
        false => own.iallreduce(vec![1u32], vec![0], Max)?.wait().map(drop),
    });
    run(|own| match wrong(own) {
        true => {
            let mut request = own.ibarrier()?;
            while !request.test()? {}
            request.wait().map(drop)
        }
        false => own.dup().map(drop),
    });
}

/// Nobody waits for anybody at the start of one that returns at once, whether ranks compare or not.
#[ranks_test::ranks(2, 3, 4)]
fn starts_of_nonblocking_collectives_wait_for_nobody(world: Communicator) -> Result<()> {
    let last = world.size() - 1;
    if wrong(&world) {
        for other in 0..last {
            world.recv(&mut [0u8], other, 3)?;
        }
    }
    let barrier = world.ibarrier()?;
    let sum = world.iallreduce(vec![1usize], vec![0], Sum)?;
    if !wrong(&world) {
        world.send(&[1u8], last, 3)?;
    }
    // Blocking ones, and the other ones in another order, come between start and end.
    world.barrier()?;
    let shares = world.ireduce_scatter(
        vec![1usize; 2 * world.size()],
        vec![0; 2],
        &Blocks::from_counts(&vec![2; world.size()])?,
        Sum,
    )?;
    assert_eq!(shares.wait()?.0.1, [world.size(); 2]);
    assert_eq!(sum.wait()?.0.1, [world.size()]);
    barrier.wait()?;
    Ok(())
}

/// They were named by the first of their steps, such as MPI_Allgather or MPI_Comm_split.
#[ranks_test::ranks(2, 3)]
fn calls_of_several_steps_are_named_as_the_program_makes_them(world: Communicator) -> Result<()> {
    type Made = fn(&Communicator) -> Result<()>;
    let calls: [(&str, Made); 7] = [
        ("Hierarchy::new", |world| Hierarchy::new(world).map(drop)),
        ("Hierarchy::by_color", |world| {
            Hierarchy::by_color(world, 0).map(drop)
        }),
        ("TwoLevelAlltoall::new", |world| {
            TwoLevelAlltoall::new(world).map(drop)
        }),
        ("SparseExchange::new", |world| {
            SparseExchange::new(world).map(drop)
        }),
        ("Topologies::topology", |world| world.topology().map(drop)),
        ("Topologies::split_by", |world| {
            world.split_by(Domain::Core).map(drop)
        }),
        ("Topologies::bind", |world| {
            world.bind(Policy::CoresPerRank).map(drop)
        }),
    ];
    for (name, call) in calls {
        let outcome = if wrong(&world) {
            world.barrier()
        } else {
            call(&world)
        };
        let text = all_mismatch(&world, outcome)?;
        assert!(text.contains(&format!(" {name}")), "{text}");
    }
    Ok(())
}

/// Each rank split and bound as it saw fit.
#[ranks_test::ranks(2, 3)]
fn arguments_that_are_no_slices_were_not_compared(world: Communicator) -> Result<()> {
    let domain = match wrong(&world) {
        true => Domain::Core,
        false => Domain::Node,
    };
    let text = all_mismatch(&world, world.split_by(domain).map(drop))?;
    for argument in ["Core", "Node"] {
        let call = format!(" Topologies::split_by({argument})");
        assert!(text.contains(&call), "{text}");
    }
    let policy = match wrong(&world) {
        true => Policy::SocketPerRank,
        false => Policy::NumaPerRank,
    };
    let text = all_mismatch(&world, world.bind(policy).map(drop))?;
    for argument in ["SocketPerRank", "NumaPerRank"] {
        let call = format!(" Topologies::bind({argument})");
        assert!(text.contains(&call), "{text}");
    }
    Ok(())
}

#[test]
fn the_end_of_the_program_against_a_collective_was_not_named() {
    let outcome = Runtime::builder()
        .backend(Backend::InProcess)
        .ranks(3)
        .checks(Checks::Collective)
        .run(|world| {
            if wrong(&world) {
                return Ok(());
            }
            world.barrier()
        });
    let error = outcome.expect_err("one was missing");
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    assert!(
        error.to_string().contains("rank 2 calls MPI_Finalize"),
        "{error}"
    );
}

#[test]
fn without_comparing_nothing_is_exchanged() {
    Runtime::builder()
        .backend(Backend::InProcess)
        .ranks(2)
        .checks(Checks::Local)
        .run(|world| {
            assert!(!world.compares_calls());
            world.barrier()
        })
        .unwrap();
}
