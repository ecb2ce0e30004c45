//! Rank 1 fails while the others wait for a message that will not come; or does not come where they wait for it.

use std::time::Duration;

use ranks::{Checks, Collectives, Communicator, Runtime, Source};

use crate::outcome::Outcome;

pub(crate) fn main(how: &str) -> Outcome {
    match how {
        "error" => ranks::run(|world| {
            if world.rank() == 1 {
                return Err("no convergence".into());
            }
            wait(&world)
        }),
        "panic" => ranks::run(|world| {
            assert_ne!(world.rank(), 1, "out of luck");
            wait(&world)
        }),
        "unwinding" => {
            let runtime = Runtime::builder().init()?;
            let world = runtime.world();
            assert_ne!(world.rank(), 1, "out of luck");
            wait(&world)
        }
        "missing-call" => ranks::Runtime::builder()
            .checks(Checks::Collective)
            .check_limit(Duration::from_millis(300))
            .run(|world| {
                if world.rank() == 1 {
                    return wait(&world);
                }
                world.barrier()?;
                Ok(())
            }),
        other => Err(format!("there is no way to fail called {other}").into()),
    }
}

fn wait(world: &Communicator) -> Outcome {
    let status = world.recv(&mut [0_u8], Source::Any, 0)?;
    Err(format!("a message nobody sent: {status:?}").into())
}
