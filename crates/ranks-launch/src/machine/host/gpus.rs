//! The GPUs that NVIDIA's kernel driver shows.

use std::fs;
use std::path::Path;

use crate::machine::files::text;

/// A GPU of a host, whether or not the process may use it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Gpu {
    /// The place on the bus: `0000:1b:00.0`.
    pub bus: String,
    /// The name of its model.
    pub model: String,
    /// The memory of the host next to it.
    pub numa: Option<usize>,
}

/// The GPUs in the order of their places on the bus, as `nvidia-smi` numbers them.
pub(super) fn below(root: &Path) -> Vec<Gpu> {
    let folder = root.join("proc/driver/nvidia/gpus");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut gpus: Vec<Gpu> = entries
        .filter_map(|entry| {
            let bus = entry.file_name().into_string().ok()?;
            let information = text(&entry.path().join("information")).unwrap_or_default();
            let model = information
                .lines()
                .find_map(|line| line.strip_prefix("Model:"))
                .map_or_else(String::new, |model| model.trim().to_owned());
            let numa = text(
                &root
                    .join("sys/bus/pci/devices")
                    .join(&bus)
                    .join("numa_node"),
            );
            Some(Gpu {
                // On a host with one memory only, the file says -1.
                numa: numa.and_then(|number| number.parse().ok()),
                bus,
                model,
            })
        })
        .collect();
    gpus.sort_by(|one, other| one.bus.cmp(&other.bus));
    gpus
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::testing::Tree;

    #[test]
    fn gpus_are_listed_by_their_place() {
        let tree = Tree::new("gpus");
        tree.put(
            "proc/driver/nvidia/gpus/0000:9b:00.0/information",
            "Model: \t\t NVIDIA H200\nIRQ: 1\n",
        );
        tree.put(
            "proc/driver/nvidia/gpus/0000:1b:00.0/information",
            "Model: \t\t NVIDIA H200\n",
        );
        tree.put("sys/bus/pci/devices/0000:1b:00.0/numa_node", "0\n");
        tree.put("sys/bus/pci/devices/0000:9b:00.0/numa_node", "-1\n");
        let gpus = below(tree.root());
        assert_eq!(gpus.len(), 2);
        assert_eq!(
            (gpus[0].bus.as_str(), gpus[0].numa),
            ("0000:1b:00.0", Some(0))
        );
        assert_eq!(
            (gpus[1].model.as_str(), gpus[1].numa),
            ("NVIDIA H200", None)
        );
        assert_eq!(below(Path::new("/nonexistent")), []);
    }
}
