//! The clock, the machine and the environment of in-process ranks, which they share.

use std::sync::LazyLock;
use std::time::Instant;

use crate::result::Result;
use crate::transport::in_process::comm::Comm;
use crate::transport::info::Info;

/// The origin of the clock.
static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Comm {
    pub(crate) fn wtime(&self) -> f64 {
        BEGINNING.elapsed().as_secs_f64()
    }

    /// The resolution of [`Instant`], if the machine has it.
    pub(crate) fn wtick(&self) -> f64 {
        1e-9
    }

    pub(crate) fn processor_name(&self) -> String {
        let name = Some(ranks_trace::host()).filter(|name| !name.is_empty());
        name.unwrap_or_else(|| "localhost".to_owned())
    }

    pub(crate) fn universe_size(&self) -> usize {
        self.place.world.size()
    }

    pub(crate) fn info_env(&self) -> Result<Info> {
        let mut info = Info::new();
        if let Some(command) = std::env::args_os().next() {
            info.put("command", &command.to_string_lossy());
        }
        info.put("maxprocs", &self.place.world.size().to_string());
        info.put("thread_level", &self.place.gate.level().to_string());
        Ok(info)
    }
}
