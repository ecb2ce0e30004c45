//! Messages that nobody receives, and receives that nobody waits for. For two ranks.

use ranks::{Communicator, Result};

use crate::outcome::Outcome;

pub(crate) fn main(how: &str) -> Outcome {
    ranks::run(|world| -> Outcome {
        let ring = world.dup()?;
        ring.set_name("ring")?;
        match how {
            "messages" => messages(&world, &ring)?,
            "freed" => freed(&world, ring)?,
            "receive" if world.rank() == 1 => drop(world.irecv(vec![0u8; 3], 0, 5)?),
            "all" => {
                messages(&world, &ring)?;
                receive_all(&world, &ring)?;
            }
            "error" => {
                messages(&world, &ring)?;
                return Err("no convergence".into());
            }
            _ => {}
        }
        Ok(())
    })
}

/// Two on the world, one on the ring, from rank 0 to rank 1.
fn messages(world: &Communicator, ring: &Communicator) -> Result<()> {
    if world.rank() == 0 {
        world.send(&[1u64, 2, 3], 1, 7)?;
        world.send(&[1u8], 1, 8)?;
        ring.send(&[1u16], 1, 9)?;
    }
    Ok(())
}

fn receive_all(world: &Communicator, ring: &Communicator) -> Result<()> {
    if world.rank() == 1 {
        world.recv(&mut [0u8], 0, 8)?;
        world.recv(&mut [0u64; 3], 0, 7)?;
        ring.recv(&mut [0u16], 0, 9)?;
    }
    Ok(())
}

/// One on a communicator that is freed at once.
fn freed(world: &Communicator, ring: Communicator) -> Result<()> {
    if world.rank() == 0 {
        ring.send(&[1u32], 1, 4)?;
        world.send(&[0u8], 1, 0)?;
    } else {
        world.recv(&mut [0u8], 0, 0)?;
    }
    ring.free()
}
