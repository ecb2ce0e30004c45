//! Collectives, now and on streams.

use super::*;
use crate::backend::{Kind, Reduce, TeamHandle};

/// Does it now, and then on a stream that is waited for.
fn either(heap: &dyn Backend, what: impl Fn(Order<'_>) -> Result<()>) -> Result<()> {
    what(Order::Now)?;
    let stream = stream(heap);
    what(on(&stream))?;
    stream.synchronize(Some(LONG))
}

/// The world, and the world in reverse.
fn both_ways(heap: &dyn Backend) -> Result<[TeamHandle; 2]> {
    let (me, n) = (heap.facts().my_pe, heap.facts().n_pes);
    Ok([TeamHandle::WORLD, heap.team_init(u64::MAX, n - 1 - me, n)?])
}

#[test]
fn elements_travel_among_the_pes_of_a_team() {
    everywhere(|heap| {
        let n = heap.facts().n_pes;
        let (source, dest) = (heap.alloc(8 * n, 0)?, heap.alloc(8 * n, 1)?);
        for team in both_ways(heap)? {
            let me = number::<u64>(heap.place_in(team)?.0);
            let own: Vec<u64> = (0..number(n)).map(|to| 100 * me + to).collect();
            write(heap, &source, &own);
            either(heap, |order| {
                heap.moves(team, Movement::Sync, None, Order::Now)?;
                heap.moves(
                    team,
                    Movement::Broadcast(n - 1),
                    Some(moved(at(&dest, 0), at(&source, 0), 8)),
                    order,
                )
            })?;
            assert_eq!(read::<u64>(heap, &dest, 1), [100 * number::<u64>(n - 1)]);
            either(heap, |order| {
                heap.moves(
                    team,
                    Movement::Fcollect,
                    Some(moved(at(&dest, 0), at(&source, 0), 8)),
                    order,
                )
            })?;
            let expected: Vec<u64> = (0..number(n)).map(|pe| 100 * pe).collect();
            assert_eq!(read::<u64>(heap, &dest, n), expected);
            either(heap, |order| {
                heap.moves(
                    team,
                    Movement::Alltoall,
                    Some(moved(at(&dest, 0), at(&source, 0), 8)),
                    order,
                )
            })?;
            let expected: Vec<u64> = (0..number(n)).map(|pe| 100 * pe + me).collect();
            assert_eq!(read::<u64>(heap, &dest, n), expected);
            // In place.
            heap.moves(
                team,
                Movement::Alltoall,
                Some(moved(at(&source, 0), at(&source, 0), 8)),
                Order::Now,
            )?;
            assert_eq!(read::<u64>(heap, &source, n), expected);
            either(heap, |order| {
                heap.moves(team, Movement::Barrier, None, order)
            })?;
        }
        Ok(())
    });
}

#[test]
fn elements_are_reduced_in_the_order_of_pes() {
    everywhere(|heap| {
        let n = heap.facts().n_pes;
        let (source, dest) = (heap.alloc(8 * n, 0)?, heap.alloc(8 * n, 1)?);
        for team in both_ways(heap)? {
            let me = heap.place_in(team)?.0;
            // Which is lost depends on the order.
            let own = |pe: usize| {
                if pe == 0 {
                    1e16
                } else {
                    1.0 + f64::from(number::<u32>(pe))
                }
            };
            let sum = (1..n).fold(own(0), |sum, pe| sum + own(pe));
            write(heap, &source, &vec![own(me); n]);
            either(heap, |order| {
                let (to, from) = (at(&dest, 0), at(&source, 0));
                heap.moves(
                    team,
                    Movement::Reduce(Kind::F64, Reduce::Sum),
                    Some(moved(to, from, n)),
                    order,
                )
            })?;
            assert_eq!(read::<f64>(heap, &dest, n), vec![sum; n]);

            let own: Vec<i32> = (0..n).map(|to| number::<i32>(10 * me + to)).collect();
            write(heap, &source, &own);
            either(heap, |order| {
                let (to, from) = (at(&dest, 0), at(&source, 0));
                heap.moves(
                    team,
                    Movement::Reducescatter(Kind::I32, Reduce::Max),
                    Some(moved(to, from, 1)),
                    order,
                )
            })?;
            let most = number::<i32>(10 * (n - 1) + me);
            assert_eq!(read::<i32>(heap, &dest, 1), [most]);
            // In place.
            let place = at(&source, 0);
            heap.moves(
                team,
                Movement::Reduce(Kind::I32, Reduce::Min),
                Some(moved(place, place, n)),
                Order::Now,
            )?;
            let least: Vec<i32> = (0..number(n)).collect();
            assert_eq!(read::<i32>(heap, &source, n), least);
        }
        Ok(())
    });
}

/// Collectives of one team are matched as they are called, whichever streams they are on.
#[test]
fn the_order_of_calls_counts() {
    everywhere(|heap| {
        let (source, dest) = (heap.alloc(8, 0)?, heap.alloc(8, 1)?);
        let (first, second) = (stream(heap), stream(heap));
        write(heap, &source, &[number::<u64>(heap.facts().my_pe)]);
        for root in 0..heap.facts().n_pes {
            let stream = if (root + heap.facts().my_pe) % 2 == 0 {
                &first
            } else {
                &second
            };
            let team = TeamHandle::WORLD;
            heap.moves(
                team,
                Movement::Broadcast(root),
                Some(moved(at(&dest, 0), at(&source, 0), 8)),
                on(stream),
            )?;
            heap.point(Point::BarrierAll, on(stream))?;
        }
        first.synchronize(Some(LONG))?;
        second.synchronize(Some(LONG))
    });
}

#[test]
fn calls_that_differ_are_the_same_error_on_all() {
    let errors = on_pes(2, Some(LONG), Delivery::AtOnce, |heap| {
        let block = heap.alloc(16, 0).unwrap();
        let (me, team) = (heap.facts().my_pe, TeamHandle::WORLD);
        let place = at(&block, 0);
        let bytes = heap.moves(
            team,
            Movement::Fcollect,
            Some(moved(place, place, 4 + 4 * me)),
            Order::Now,
        );
        let root = heap.moves(
            team,
            Movement::Broadcast(me),
            Some(moved(place, place, 4)),
            Order::Now,
        );
        let (what, order) = (Kind::I32, Order::Now);
        let op = [Reduce::Sum, Reduce::Prod][me];
        let op = heap.moves(
            team,
            Movement::Reduce(what, op),
            Some(moved(place, place, 1)),
            order,
        );
        let call = match me {
            0 => heap.moves(team, Movement::Barrier, None, Order::Now),
            _ => heap.moves(team, Movement::Sync, None, Order::Now),
        };
        // After all of them, those that agree do what they are to.
        heap.moves(team, Movement::Barrier, None, Order::Now)
            .unwrap();
        let stream = stream(heap);
        heap.moves(
            team,
            Movement::Fcollect,
            Some(moved(place, place, 4 + 4 * me)),
            on(&stream),
        )
        .unwrap();
        // It is not done after a failure, and whoever waits is told.
        heap.fill(place, 16, 1, on(&stream)).unwrap();
        let later = stream.synchronize(Some(LONG));
        assert_eq!(read::<u8>(heap, &block, 16), [0; 16]);
        [bytes, root, op, call, later].map(|result| {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch);
            let text = error.to_string();
            text.split_once(": ").unwrap().1.to_owned()
        })
    });
    assert_eq!(errors[0], errors[1]);
    assert!(errors[0][1].contains("of PE 0 of the team"), "{errors:?}");
    assert!(
        errors[0][2].contains("Sum of I32") && errors[0][2].contains("Prod of I32"),
        "{errors:?}"
    );
}
