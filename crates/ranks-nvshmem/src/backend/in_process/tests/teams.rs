//! Teams of some PEs.

use super::*;
use crate::backend::{Kind, Reduce, TeamHandle};

fn members(heap: &dyn Backend, team: TeamHandle) -> Result<Vec<usize>> {
    let world = TeamHandle::WORLD;
    let of_world = |pe| Ok(heap.translate(team, pe, world)?.unwrap());
    (0..heap.place_in(team)?.1).map(of_world).collect()
}

#[test]
fn teams_of_the_beginning_are_all_pes() {
    everywhere(|heap| {
        for team in [TeamHandle::WORLD, TeamHandle::SHARED, TeamHandle::NODE] {
            assert_eq!(heap.place_in(team)?.0, heap.facts().my_pe);
            assert_eq!(heap.place_in(team)?.1, heap.facts().n_pes);
            assert_eq!(kind_of(heap.destroy(team)), ErrorKind::Argument);
            assert_eq!(
                heap.translate(team, heap.facts().n_pes, TeamHandle::WORLD)?,
                None
            );
        }
        Ok(())
    });
}

#[test]
fn strided_parts_are_teams_and_end() {
    everywhere(|heap| {
        let (me, n) = (heap.facts().my_pe, heap.facts().n_pes);
        let even = heap.split_strided(TeamHandle::WORLD, 0, 2, n.div_ceil(2))?;
        assert_eq!(even.is_some(), me % 2 == 0);
        if let Some(team) = even {
            let expected: Vec<usize> = (0..n).step_by(2).collect();
            assert_eq!(members(heap, team)?, expected);
            assert_eq!(heap.place_in(team)?.0, me / 2);
            heap.moves(team, Movement::Barrier, None, Order::Now)?;
            heap.moves(team, Movement::Sync, None, Order::Now)?;
            // The last of it alone.
            let last = heap.split_strided(team, n.div_ceil(2) - 1, 1, 1)?;
            assert_eq!(last.is_some(), me == (n - 1) / 2 * 2);
            heap.destroy(team)?;
            assert_eq!(kind_of(heap.place_in(team)), ErrorKind::Argument);
            if let Some(last) = last {
                heap.moves(last, Movement::Barrier, None, Order::Now)?;
                heap.destroy(last)?;
            }
        }
        heap.point(Point::SyncAll, Order::Now)
    });
}

#[test]
fn rows_and_columns_are_teams() {
    everywhere(|heap| {
        let (me, n) = (heap.facts().my_pe, heap.facts().n_pes);
        let (row, column) = heap.split_2d(TeamHandle::WORLD, 2)?;
        let expected: Vec<usize> = (0..n).filter(|pe| pe / 2 == me / 2).collect();
        assert_eq!(members(heap, row)?, expected);
        let expected: Vec<usize> = (0..n).filter(|pe| pe % 2 == me % 2).collect();
        assert_eq!(members(heap, column)?, expected);
        heap.moves(column, Movement::Barrier, None, Order::Now)?;
        heap.moves(row, Movement::Barrier, None, Order::Now)?;
        heap.destroy(row)?;
        heap.destroy(column)
    });
}

/// The first and the last in reverse, by an id that PE 0 tells.
#[test]
fn any_pes_are_a_team_by_an_id() {
    everywhere(|heap| {
        let (me, n) = (heap.facts().my_pe, heap.facts().n_pes);
        let id = heap.alloc(8, 0)?;
        if me == 0 {
            write(heap, &id, &[heap.team_unique_id()?]);
        }
        heap.moves(
            TeamHandle::WORLD,
            Movement::Broadcast(0),
            Some(moved(at(&id, 0), at(&id, 0), 8)),
            Order::Now,
        )?;
        let id = read::<u64>(heap, &id, 1)[0];
        if n > 1 && (me == 0 || me == n - 1) {
            let team = heap.team_init(id, usize::from(me == 0), 2)?;
            assert_eq!(members(heap, team)?, [n - 1, 0]);
            assert_eq!(heap.place_in(team)?.0, usize::from(me == 0));
            heap.moves(team, Movement::Barrier, None, Order::Now)?;
            heap.destroy(team)?;
        }
        heap.point(Point::SyncAll, Order::Now)
    });
}

/// Of PEs that are not all, too: the others are not asked.
#[test]
fn calls_on_a_team_of_some_pes_are_compared() {
    let kinds = on_pes(3, Some(LONG), Delivery::AtOnce, |heap| {
        let block = heap.alloc(64, 0).unwrap();
        let team = heap.split_strided(TeamHandle::WORLD, 1, 1, 2).unwrap()?;
        let (me, place) = (heap.facts().my_pe - 1, at(&block, 0));
        let length = kind_of(heap.moves(
            team,
            Movement::Fcollect,
            Some(moved(place, place, 4 + 4 * me)),
            Order::Now,
        ));
        let root = kind_of(heap.moves(
            team,
            Movement::Broadcast(me),
            Some(moved(place, place, 4)),
            Order::Now,
        ));
        let kind = [Kind::I32, Kind::U32][me];
        let of_type = heap.moves(
            team,
            Movement::Reduce(kind, Reduce::Sum),
            Some(moved(place, place, 1)),
            Order::Now,
        );
        heap.moves(team, Movement::Barrier, None, Order::Now)
            .unwrap();
        Some([length, root, kind_of(of_type)])
    });
    let differ = Some([ErrorKind::Mismatch; 3]);
    assert_eq!(kinds, [None, differ, differ]);
}

#[test]
fn teams_that_do_not_agree_are_errors() {
    let errors = on_pes(2, Some(LONG), Delivery::AtOnce, |heap| {
        assert_eq!(kind_of(heap.team_init(5, 2, 2)), ErrorKind::Argument);
        assert_eq!(kind_of(heap.team_init(5, 0, 3)), ErrorKind::Argument);
        let twice = kind_of(heap.team_init(6, 0, 2));
        let other = kind_of(heap.split_2d(TeamHandle::WORLD, 1 + heap.facts().my_pe));
        (twice, other)
    });
    assert_eq!(errors, [(ErrorKind::Mismatch, ErrorKind::Mismatch); 2]);
}
