//! NAS CG, "conjugate gradient": the inverse power method, each step of which solves a system of
//! equations.
//!
//! Matrix and vectors are divided among the ranks by rows. A product with the matrix needs the
//! whole vector (`allgatherv`), a scalar product one number of each rank (`allreduce`); all else a
//! rank does with its own rows.

mod matrix;

use ranks::prelude::*;

use crate::nas::{Class, agrees};
use crate::report::{Report, timed};

use matrix::Matrix;

/// Steps of the solver for one system.
const STEPS: usize = 25;

/// A size, and what was published for it.
#[derive(Debug, Clone, Copy)]
pub struct Problem {
    class: Class,
    rows: usize,
    /// Elements of each of the sparse vectors that the matrix is made of.
    nonzeros: usize,
    shift: f64,
    /// The number of systems that are solved.
    pub iterations: usize,
    /// The published result after that many.
    pub zeta: f64,
}

impl Problem {
    /// The size of that letter.
    #[must_use]
    pub fn of(class: Class) -> Problem {
        let (rows, nonzeros, shift, zeta) = match class {
            Class::S => (1_400, 7, 10.0, 8.597_177_507_864_8),
            Class::W => (7_000, 8, 12.0, 10.362_595_087_124),
            Class::A => (14_000, 11, 20.0, 17.130_235_054_029),
        };
        Problem {
            class,
            rows,
            nonzeros,
            shift,
            iterations: 15,
            zeta,
        }
    }
}

/// Iterates, and compares the result with the published one.
///
/// # Errors
/// Errors of the communication.
pub fn benchmark(world: &Communicator, problem: Problem) -> Result<Report> {
    const TOLERANCE: f64 = 1e-10;
    let class = problem.class;
    let system = System::new(world, problem);
    let (found, seconds) = timed(world, || system.iterate())?;
    let (zeta, residual) = found;
    let (rows, iterations) = (problem.rows, problem.iterations);
    let title =
        format!("NAS CG, class {class:?}: a sparse matrix of {rows} rows, {iterations} iterations");
    let verified = agrees(zeta, problem.zeta, TOLERANCE);
    let report = Report::new(title, format!("class={class:?}"), verified, seconds)
        .with("zeta", format_args!("{zeta:.13}"))
        .with("published", format_args!("{:.13}", problem.zeta))
        .with("residual", format_args!("{residual:.13e}"));
    Ok(report)
}

/// The equations, of which each rank has some.
#[derive(Debug)]
struct System<'a> {
    world: &'a Communicator,
    problem: Problem,
    /// The rows of each rank.
    rows: Blocks,
    /// Those of this rank.
    matrix: Matrix,
}

impl<'a> System<'a> {
    fn new(world: &'a Communicator, problem: Problem) -> System<'a> {
        let rows = Blocks::even(problem.rows, world.size());
        let matrix = Matrix::new(&problem, rows.range(world.rank()));
        System {
            world,
            problem,
            rows,
            matrix,
        }
    }

    /// The estimate of the eigenvalue, and how far from solved the last system was.
    fn iterate(&self) -> Result<(f64, f64)> {
        let mut x = vec![1.0; self.matrix.rows()];
        let (mut zeta, mut residual) = (0.0, 0.0);
        for _ in 0..self.problem.iterations {
            let (z, rest) = self.solve(&x)?;
            let [xz, zz] = self.dots([(&x, &z), (&z, &z)])?;
            zeta = self.problem.shift + 1.0 / xz;
            residual = rest;
            x = z.iter().map(|z| z / zz.sqrt()).collect();
        }
        Ok((zeta, residual))
    }

    /// The solution z of A·z = x, as near as [`STEPS`] come to it, and ‖x − A·z‖.
    fn solve(&self, x: &[f64]) -> Result<(Vec<f64>, f64)> {
        let mut z = vec![0.0; x.len()];
        let mut r = x.to_vec();
        let mut p = r.clone();
        let mut q = vec![0.0; x.len()];
        let mut whole = vec![0.0; self.problem.rows];
        let [mut rho] = self.dots([(&r, &r)])?;
        for _ in 0..STEPS {
            self.times(&p, &mut whole, &mut q)?;
            let [pq] = self.dots([(&p, &q)])?;
            let alpha = rho / pq;
            add(&mut z, alpha, &p);
            add(&mut r, -alpha, &q);
            let [rr] = self.dots([(&r, &r)])?;
            let beta = rr / rho;
            rho = rr;
            p.iter_mut().zip(&r).for_each(|(p, r)| *p = r + beta * *p);
        }
        self.times(&z, &mut whole, &mut q)?;
        add(&mut q, -1.0, x);
        let [square] = self.dots([(&q, &q)])?;
        Ok((z, square.sqrt()))
    }

    /// Writes this rank's rows of A·v to `to`, and the vector of all ranks to `whole`.
    fn times(&self, v: &[f64], whole: &mut [f64], to: &mut [f64]) -> Result<()> {
        self.world.allgatherv_into(v, whole, &self.rows)?;
        self.matrix.times(whole, to);
        Ok(())
    }

    /// Scalar products of vectors of which each rank has some elements.
    fn dots<const N: usize>(&self, pairs: [(&[f64], &[f64]); N]) -> Result<[f64; N]> {
        let mut sums = pairs.map(|(v, w)| v.iter().zip(w).map(|(v, w)| v * w).sum());
        self.world.allreduce_in_place(&mut sums, Sum)?;
        Ok(sums)
    }
}

/// `v += factor·w`
fn add(v: &mut [f64], factor: f64, w: &[f64]) {
    v.iter_mut().zip(w).for_each(|(v, w)| *v += factor * w);
}
