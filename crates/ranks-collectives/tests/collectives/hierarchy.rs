//! Operations in two steps, against the plain ones.

use ranks_collectives::ops::{Max, Sum, UserOp};
use ranks_collectives::{Collectives, Hierarchy, TwoLevelAlltoall};
use ranks_comm::{Backend, Communicator, ErrorKind, Result, Runtime};

use crate::model::{Guarded, Particle, Sample, block, case, long};

/// `x ↦ a·x + b`, wrapping: what comes first matters.
fn then(first: [u32; 2], second: [u32; 2]) -> [u32; 2] {
    let [a, b] = first;
    let [c, d] = second;
    [a.wrapping_mul(c), b.wrapping_mul(c).wrapping_add(d)]
}

/// Everything, by nodes of `width` ranks that follow each other, or of those that are `width`
/// apart.
fn in_two_steps(world: &Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    for width in 1..=size.min(3) {
        for (color, nodes, in_order) in [
            (me / width, size.div_ceil(width), true),
            (me % width, width, width == 1 || width >= size),
        ] {
            let hierarchy = Hierarchy::by_color(world, i32::try_from(color).unwrap())?;
            let leads = hierarchy.node().rank() == 0;
            assert_eq!(hierarchy.leaders().is_some(), leads);
            assert_eq!(hierarchy.is_leader(), leads);
            assert_eq!(hierarchy.n_nodes(), nodes);
            assert_eq!(
                [hierarchy.node_of(me), hierarchy.node_of(size)],
                [Some(color), None]
            );
            assert_eq!(
                (hierarchy.node_id(), hierarchy.whole().size()),
                (color, size)
            );
            for (len, root) in [(0, 0), (1, size - 1), (long(5000), size / 2)] {
                let mut data = Guarded::<Particle>::new(len);
                if me == root {
                    data.buffer().copy_from_slice(&block(root, 0, len));
                }
                hierarchy.bcast(data.buffer(), root)?;
                data.expect(&block(root, 0, len), &case::<Particle>("bcast", len));

                let mine: Vec<f64> = block(me, 0, len);
                let mut expected = vec![0.0; len];
                world.allreduce(&mine, &mut expected, Sum)?;
                let mut sum = Guarded::new(len);
                hierarchy.allreduce(&mine, sum.buffer(), Sum)?;
                sum.expect(&expected, &case::<f64>("allreduce", len));
                hierarchy.allreduce(&[me], &mut [0; 1], Max)?;

                let mine: Vec<[u32; 2]> = (0..len)
                    .map(|index| [0, 1].map(|half| u32::sample(me + half, index)))
                    .collect();
                let mut expected = vec![[0; 2]; len];
                world.allreduce(&mine, &mut expected, UserOp::new(then))?;
                let mut found = vec![[0; 2]; len];
                let outcome = hierarchy.allreduce(&mine, &mut found, UserOp::new(then));
                // Where the ranks of each node follow each other, one way or the other.
                if in_order || size <= 2 {
                    outcome?;
                    assert_eq!(found, expected);
                } else {
                    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Argument);
                }
            }
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn nodes_and_their_leaders(world: Communicator) -> Result<()> {
    in_two_steps(&world)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn nodes_of_this_machine(world: Communicator) -> Result<()> {
    let (me, hierarchy) = (world.rank(), Hierarchy::new(&world)?);
    let mut data = [me as u8; 3];
    hierarchy.bcast(&mut data, world.size() - 1)?;
    assert_eq!(data, [world.size() as u8 - 1; 3]);
    let mut sum = [0];
    hierarchy.allreduce(&[me], &mut sum, Sum)?;
    assert_eq!(sum, [world.size() * (world.size() - 1) / 2]);
    Ok(())
}

fn through_a_grid(world: &Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let grid = TwoLevelAlltoall::new(world)?;
    let [rows, columns] = grid.shape();
    assert_eq!(rows * columns, size);
    for len in [0, 1, 17, long(3000)] {
        let mine: Vec<Particle> = block(me, 0, len * size);
        let expected: Vec<Particle> = (0..size)
            .flat_map(|source| block(source, me * len, len))
            .collect();
        let mut found = Guarded::new(len * size);
        grid.alltoall(&mine, found.buffer())?;
        found.expect(&expected, &case::<Particle>("alltoall", len));
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn all_to_all_through_rows_and_columns(world: Communicator) -> Result<()> {
    through_a_grid(&world)
}

#[test]
fn more_ranks_in_process() {
    for ranks in [6, 8] {
        Runtime::builder()
            .backend(Backend::InProcess)
            .ranks(ranks)
            .run(|world| {
                in_two_steps(&world)?;
                through_a_grid(&world)
            })
            .unwrap();
    }
}

#[ranks_test::ranks(2, 3)]
fn mistakes_are_told_on_all_ranks(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let hierarchy = Hierarchy::by_color(&world, i32::try_from(me).unwrap())?;
    let error = hierarchy.bcast(&mut [0], size).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Root | ErrorKind::Mismatch),
        "{error}"
    );
    let mut long = vec![0; 2 + usize::from(me == 0)];
    let error = hierarchy.bcast(&mut long, 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    let error = hierarchy.allreduce(&[1, 2], &mut long, Sum).unwrap_err();
    let expected = [ErrorKind::Length, ErrorKind::Mismatch][usize::from(me > 0)];
    assert_eq!(error.kind(), expected, "{error}");
    let grid = TwoLevelAlltoall::new(&world)?;
    let error = grid
        .alltoall(&vec![1; size + 1], &mut vec![1; size + 1])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Length, "{error}");
    world.barrier()
}

/// Pairs of ranks.
fn pairs(world: &Communicator) -> Result<Hierarchy> {
    Hierarchy::by_color(world, i32::try_from(world.rank() / 2).unwrap())
}

/// Each waited in the communicators of its own one.
#[ranks_test::ranks(2, 3, 4)]
fn objects_of_one_communicator_are_told_apart(world: Communicator) -> Result<()> {
    if !world.compares_calls() {
        return Ok(());
    }
    let (size, mine) = (world.size(), usize::from(world.rank() == 0));
    let nodes = [pairs(&world)?, pairs(&world)?];
    let grids = [
        TwoLevelAlltoall::new(&world)?,
        TwoLevelAlltoall::new(&world)?,
    ];
    let outcomes = [
        nodes[mine].bcast(&mut [0], 0),
        nodes[mine].allreduce(&[0], &mut [0], Sum),
        grids[mine].alltoall(&vec![0; size], &mut vec![0; size]),
    ];
    for outcome in outcomes {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        assert!(error.to_string().contains(", on object "), "{error}");
    }
    world.barrier()
}

/// The others of its node waited for the leader's result, and so did other leaders.
#[ranks_test::ranks(2, 3, 4)]
fn a_leader_whose_operation_panics_takes_the_other_steps(world: Communicator) -> Result<()> {
    let op = UserOp::commutative(|_: u32, _: u32| panic!("boom"));
    let outcome = pairs(&world)?.allreduce(&[1], &mut [0], op);
    if let Err(error) = &outcome {
        assert_eq!(error.operation(), "Hierarchy::allreduce", "{error}");
    }
    assert!(world.allreduce_one(u8::from(outcome.is_err()), Sum)? > 0);
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn all_say_whether_operands_may_be_swapped(world: Communicator) -> Result<()> {
    if !world.compares_calls() {
        return Ok(());
    }
    let add = |a: u32, b: u32| a + b;
    let op = match world.rank() {
        0 => UserOp::new(add),
        _ => UserOp::commutative(add),
    };
    let outcome = pairs(&world)?.allreduce(&[1], &mut [0], op);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Mismatch);
    world.barrier()
}
