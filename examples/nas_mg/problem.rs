//! The sizes of the benchmark with the published norms, and the charges in the box.

use ranks::prelude::*;

use crate::nas::{Class, Random, SEED};

use super::grid::Grid;

/// The number of points that are charged, of each sign.
const CHARGES: usize = 10;

/// A size.
#[derive(Debug)]
pub(super) struct Problem {
    /// Along each of x, y and z; a power of two.
    pub(super) points: usize,
    pub(super) iterations: usize,
    /// The norm of the residual after the iterations.
    pub(super) norm: f64,
}

impl Problem {
    /// The size of that letter.
    pub(super) fn of(class: Class) -> Problem {
        let (points, norm) = match class {
            Class::S => (32, 0.530_770_700_573_4e-4),
            Class::W => (128, 0.646_732_937_533_9e-5),
            Class::A => (256, 0.243_336_530_906_9e-5),
        };
        Problem {
            points,
            iterations: 4,
            norm,
        }
    }
}

/// Charges `v`, which is zero: each point gets a random number, and 1 is where the ten largest of
/// all are, −1 where the ten smallest are.
///
/// # Errors
/// Errors of the communication.
pub(super) fn charge(world: &Communicator, v: &mut Grid) -> Result<()> {
    let plane = v.points() * v.points();
    let places = v.share().start * plane..v.share().end * plane;
    for charge in [1.0, -1.0] {
        let mut random = Random::after(SEED, places.start);
        let mut largest = [(f64::NEG_INFINITY, 0); CHARGES]; // in this order, and where they are
        for place in places.clone() {
            let number = charge * random.uniform();
            if number > largest[CHARGES - 1].0 {
                largest[CHARGES - 1] = (number, place);
                largest.sort_by(|one, other| other.0.total_cmp(&one.0));
            }
        }
        let mut of_all = vec![0.0; CHARGES * world.size()];
        world.allgather(&largest.map(|(number, _)| number), &mut of_all)?;
        of_all.sort_by(|one, other| other.total_cmp(one));
        let least = of_all[CHARGES - 1];
        for (_, place) in largest.into_iter().filter(|(number, _)| *number >= least) {
            *v.at(place) = charge;
        }
    }
    v.gather()
}
