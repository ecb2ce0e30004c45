//! The folder in which the launcher of Open MPI 5 keeps what its processes share.
//!
//! The launcher names what it makes there after its process id, and leaves it there when it is
//! killed. A launcher that is later given the same id then ends at once with status 213, "The PMIx
//! server's listener thread failed to start". So each job has a folder of its own.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::Command;

use super::tree::Mark;
use crate::library::Installation;

/// The parameter of the launcher for where the folder of its own host is.
const VARIABLE: &str = "PRTE_MCA_prte_local_tmpdir_base";

/// A folder, removed with all that is in it when it is dropped.
#[derive(Debug)]
pub(super) struct Session {
    folder: PathBuf,
}

impl Session {
    /// Names a new folder to the launcher of Open MPI 5; `None` for others, and if one is named
    /// already.
    pub(super) fn of(
        installation: &Installation,
        command: &mut Command,
        mark: &Mark,
    ) -> io::Result<Option<Session>> {
        let is_set = command.get_envs().any(|(name, _)| name == VARIABLE)
            || std::env::var_os(VARIABLE).is_some();
        if is_set || !installation.is_prrte() {
            return Ok(None);
        }
        let folder = std::env::temp_dir().join(format!("ranks-{}", mark.own()));
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|error| {
            let reason = format!("no folder {} for its session: {error}", folder.display());
            io::Error::new(error.kind(), reason)
        })?;
        command.env(VARIABLE, &folder);
        Ok(Some(Session { folder }))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The launcher has removed what it could; what cannot be removed is in nobody's way.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
