//! The folder in which Open MPI's launcher keeps what its processes share.
//!
//! The launcher names what it makes there after its process id, and leaves it there when it is
//! killed. In version 5 a launcher that is later given the same id then ends at once with status
//! 213, "The PMIx server's listener thread failed to start". So each job has a folder of its own.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::Command;

use super::tree::Mark;
use crate::Family;
use crate::installation::Installation;

/// A folder, removed with all that is in it when it is dropped.
#[derive(Debug)]
pub(super) struct Session {
    folder: PathBuf,
}

impl Session {
    /// Names a new folder to the launcher of an Open MPI; `None` for other launchers, and if a
    /// folder is named already.
    pub(super) fn of(
        installation: &Installation,
        command: &mut Command,
        mark: &Mark,
    ) -> io::Result<Option<Session>> {
        let variable = match installation.family {
            Family::OpenMpi if installation.is_prrte() => "PRTE_MCA_prte_local_tmpdir_base",
            Family::OpenMpi => "OMPI_MCA_orte_local_tmpdir_base",
            _ => return Ok(None),
        };
        let set = command.get_envs().any(|(name, _)| name == variable);
        if set || std::env::var_os(variable).is_some() {
            return Ok(None);
        }
        let folder = std::env::temp_dir().join(format!("ranks-{}", mark.own()));
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|error| {
            let reason = format!("no folder {} for its session: {error}", folder.display());
            io::Error::new(error.kind(), reason)
        })?;
        command.env(variable, &folder);
        Ok(Some(Session { folder }))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The launcher has removed what it could; what cannot be removed is in nobody's way.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
