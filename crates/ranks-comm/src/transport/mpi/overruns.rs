//! Messages that Open MPI writes past the end of a slice, and the parameter that prevents it.
//!
//! If pml ob1 has a message read or written remotely (single copy in shared memory, RPUT and RGET
//! over TCP, to oneself), the length of the receive is not checked: point-to-point, and in
//! collectives whose ranks pass different lengths. Of 4.1.4, 4.1.7, 4.1.8 and 5.0.8 to 5.0.11, in
//! C: a message of about 4 KiB and more into less is written as a whole, and then it is
//! `MPI_ERR_TRUNCATE`. With `pml_ob1_max_rdma_per_request` 0 none was, in shared memory, over TCP
//! and to oneself. Nor was one under pml ucx. Others (cm) are not known.
//!
//! The sender decides whether a message is read remotely. So the ranks of a program ask each other;
//! where programs differ, and where another part of the program has initialised MPI, the parameter
//! has to be in the environment that the launcher gives to all.

use std::env;
use std::ffi::CStr;
use std::time::Duration;

use ranks_launch::{RDMA_PER_REQUEST, WITHOUT_RDMA};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::Loaded;

use super::exchange::join;
use super::parameters;
use crate::result::Result;
use crate::transport::join::Join;

const PARAMETER: &CStr = c"pml_ob1_max_rdma_per_request";

/// The priority of a component for collectives that bypasses the pml, unless it is 0 as by default:
/// `MPI_Allreduce` writes past the slice there.
const COLL_SM: &CStr = c"coll_sm_priority";

/// The places where the parameter was 0 before MPI was initialised.
pub(crate) struct Prevented {
    /// The environment that the launcher has given to this process.
    in_job: bool,
    /// That environment, or this process.
    pub(crate) here: bool,
}

/// Sets the parameter, and where it is set those without which messages take up to three times as
/// long in shared memory. Called before MPI is initialised, unless another part of the program has
/// done that.
pub(crate) fn prevent(loaded: &Loaded, owner: bool) -> Prevented {
    let in_job = parameters::is_off(RDMA_PER_REQUEST);
    if loaded.is_openmpi() {
        parameters::set(RDMA_PER_REQUEST, "0", owner);
    }
    let here = parameters::is_off(RDMA_PER_REQUEST);
    if loaded.is_openmpi() && here {
        for (variable, value) in WITHOUT_RDMA {
            parameters::set(variable, value, owner);
        }
    }
    Prevented { in_job, here }
}

/// Describes what was found, and returns `true` if messages may be written past the end of a slice.
/// Called once MPI is initialised; collective, if this library has initialised it.
pub(crate) fn find_out(
    loaded: &Loaded,
    prevented: &Prevented,
    owner: bool,
    size: usize,
) -> Result<(String, bool)> {
    if !loaded.is_openmpi() {
        return Ok((String::new(), false));
    }
    let pml = loaded.selected_pml();
    // SAFETY: MPI is initialised, and the parameter is an unsigned int.
    let most = unsafe { loaded.parameter(PARAMETER) };
    // SAFETY: MPI is initialised, and this one is an int.
    let coll_sm = unsafe { loaded.parameter(COLL_SM) };
    let through_pml = coll_sm.is_none_or(|priority| priority <= 0);
    let here = through_pml
        && match pml.as_deref() {
            Some("ucx") => true,
            // The second one watches the first.
            Some("ob1" | "monitoring") => most == Some(0),
            _ => false,
        };
    let everywhere = match size {
        1 => here,
        _ if owner && !are_several_programs() => is_everywhere(here)?,
        _ => here && (prevented.in_job || pml.as_deref() == Some("ucx")),
    };
    let mut found = format!("pml {}", pml.as_deref().unwrap_or("unknown"));
    if let Some(most) = most {
        found += &format!(", {RDMA_PER_REQUEST} is {most}");
    }
    if !through_pml {
        found += ", coll sm";
    }
    if here && !everywhere {
        found += " here and need not be on all ranks";
    }
    Ok((found, !everywhere))
}

/// Returns `true` if the launcher has started more than one program.
fn are_several_programs() -> bool {
    env::var("OMPI_NUM_APP_CTX").is_ok_and(|programs| programs != "1")
}

/// Returns `true` if it is so on all ranks.
fn is_everywhere(here: bool) -> Result<bool> {
    let joined = join(sys::MPI_COMM_WORLD, &[here.into()], Join::Min)?;
    let joined = joined.wait(Duration::MAX, || false)?;
    Ok(joined.is_some_and(|memory| memory.all == [1]))
}
