//! What the job of the tests is told, in a file: there is no cargo on its nodes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ranks_test::driver::Binary;
use serde::{Deserialize, Serialize};

use super::super::slurm::By;
use super::super::suites::{self, Layout};

/// Its name, in the folder of the job.
const FILE: &str = "plan.json";

/// What to run, and what to run it with.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) nodes: usize,
    pub(super) ppn: usize,
    /// The MPIs, as `cargo xtask mpi` names them.
    pub(super) mpi: Vec<String>,
    /// Who may start the ranks, the first choice first.
    pub(super) by: Vec<By>,
    /// Parts of the names of tests.
    pub(super) filter: Vec<String>,
    pub(super) binaries: Vec<Built>,
    /// The command `ranks`.
    pub(super) ranks: PathBuf,
    /// The program of a job whose ranks say where they are, and its arguments.
    pub(super) job: Vec<String>,
    /// The programs to measure, and their arguments.
    pub(super) bench: Vec<Vec<String>>,
    /// After how long each of the jobs is ended.
    pub(super) deadline: Duration,
}

/// A binary of tests.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Built {
    name: String,
    path: PathBuf,
    folder: Option<PathBuf>,
    environment: Vec<(String, String)>,
}

impl From<Binary> for Built {
    fn from(binary: Binary) -> Built {
        Built {
            name: binary.name,
            path: binary.path,
            folder: binary.folder,
            environment: binary.environment,
        }
    }
}

impl From<Built> for Binary {
    fn from(built: Built) -> Binary {
        Binary {
            name: built.name,
            path: built.path,
            folder: built.folder,
            environment: built.environment,
            runner: Vec::new(),
        }
    }
}

impl Plan {
    pub(super) fn write(&self, folder: &Path) -> Result<(), String> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| error.to_string())?;
        fs::write(folder.join(FILE), text).map_err(|error| format!("{FILE}: {error}"))
    }

    pub(super) fn read(folder: &Path) -> Result<Plan, String> {
        let file = folder.join(FILE);
        let failed = |error: String| format!("{}: {error}", file.display());
        let text = fs::read(&file).map_err(|error| failed(error.to_string()))?;
        serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))
    }

    /// The choice of tests, over each number of nodes that their ranks suffice for.
    pub(super) fn choice(&self) -> suites::Arguments {
        let most = self.nodes.min(suites::RANKS);
        suites::Arguments {
            nodes: (most.min(2)..=most).collect(),
            ppn: None,
            mpi: Vec::new(),
            package: Vec::new(),
            filter: self.filter.clone(),
        }
    }

    /// Those that fit into the job.
    pub(super) fn layouts(&self) -> Vec<Layout> {
        let mut layouts = self.choice().layouts();
        layouts.retain(|layout| layout.ppn <= self.ppn);
        layouts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_run_over_each_number_of_nodes_that_the_job_has() {
        let layouts = |nodes, ppn| {
            let plan = Plan {
                nodes,
                ppn,
                mpi: Vec::new(),
                by: Vec::new(),
                filter: Vec::new(),
                binaries: Vec::new(),
                ranks: PathBuf::new(),
                job: Vec::new(),
                bench: Vec::new(),
                deadline: Duration::ZERO,
            };
            let layouts = plan.layouts().into_iter();
            layouts
                .map(|layout| (layout.hosts, layout.ppn))
                .collect::<Vec<_>>()
        };
        assert_eq!(layouts(2, 2), [(2, 2), (2, 1)]);
        assert_eq!(layouts(2, 1), [(2, 1)]);
        assert_eq!(layouts(16, 64), [(2, 2), (2, 1), (3, 1), (4, 1)]);
        assert_eq!(layouts(1, 3), [(1, 3), (1, 2)]);
        assert_eq!(layouts(1, 1), []);
    }
}
