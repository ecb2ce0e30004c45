//! The way in which ranks reach each other's memory.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// The way in which ranks reach each other's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// They put into windows.
    Rma,
    /// They are on one node, and load and store it.
    Shm,
    /// They put to each other in a symmetric heap: over NVSHMEM, or in process.
    Shmem,
}

impl FromStr for Form {
    type Err = String;

    fn from_str(text: &str) -> Result<Form, String> {
        match text {
            "rma" => Ok(Form::Rma),
            "shm" => Ok(Form::Shm),
            "shmem" => Ok(Form::Shmem),
            other => Err(format!("no form `{other}`: give rma, shm or shmem")),
        }
    }
}

impl Display for Form {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Form::Rma => "rma",
            Form::Shm => "shm",
            Form::Shmem => "shmem",
        })
    }
}
