//! The names and places of MPI libraries on a system.

use super::names::Name::{self, Between, Exact, Unversioned};
use crate::Family;

/// The facts of a system that a search for libraries needs.
#[derive(Debug)]
pub(crate) struct System {
    mpich: &'static [Name],
    intel: &'static [Name],
    cray: &'static [Name],
    open_mpi: &'static [Name],
    /// Libraries with the interface of the MPI-5 standard. MPICH 5.0.0 and 5.0.1 name theirs by 0.
    pub(crate) standard: &'static [Name],
    pub(crate) unversioned: &'static [Name],
    pub(crate) unversioned_standard: &'static [Name],
    /// A file that lies beside Intel's libraries and no other.
    pub(crate) of_intel: &'static str,
    /// The variable of the folders in which the dynamic linker looks before its own.
    pub(crate) linker_path: &'static str,
    /// The folders that package managers put libraries into and the dynamic linker does not look
    /// in by itself, with the name of the manager.
    pub(crate) folders: &'static [(&'static str, &'static str)],
}

/// Linux, and others with its format of libraries.
pub(crate) const ELF: System = System {
    mpich: &[Exact("libmpi.so.12"), Exact("libmpich.so.12")],
    intel: &[Exact("libmpi.so.12")],
    cray: &[Between("libmpi_gnu_", ".so.12"), Exact("libmpi_cray.so.12")],
    open_mpi: &[Exact("libmpi.so.40")],
    standard: &[Exact("libmpi_abi.so.1"), Exact("libmpi_abi.so.0")],
    unversioned: &[Unversioned("libmpi.so"), Unversioned("libmpich.so")],
    unversioned_standard: &[Unversioned("libmpi_abi.so")],
    of_intel: "libmpi_shm_heap_proxy.so",
    linker_path: "LD_LIBRARY_PATH",
    folders: &[],
};

/// macOS.
pub(crate) const MACOS: System = System {
    mpich: &[Exact("libmpi.12.dylib")],
    intel: &[],
    cray: &[],
    open_mpi: &[Exact("libmpi.40.dylib")],
    standard: &[Exact("libmpi_abi.1.dylib"), Exact("libmpi_abi.0.dylib")],
    unversioned: &[Unversioned("libmpi.dylib")],
    unversioned_standard: &[Unversioned("libmpi_abi.dylib")],
    of_intel: "libmpi_shm_heap_proxy.dylib",
    linker_path: "DYLD_LIBRARY_PATH",
    folders: &[
        ("/opt/homebrew/lib", "Homebrew"),
        ("/usr/local/lib", "Homebrew"),
        ("/opt/local/lib", "MacPorts"),
        ("/opt/local/lib/openmpi-mp", "MacPorts"),
        ("/opt/local/lib/mpich-mp", "MacPorts"),
    ],
};

/// The system that this program is for.
pub(crate) const HERE: &System = if cfg!(target_os = "macos") {
    &MACOS
} else {
    &ELF
};

impl System {
    /// The names of a family's own libraries.
    pub(crate) fn native(&self, family: Family) -> &'static [Name] {
        match family {
            Family::Mpich => self.mpich,
            Family::Intel => self.intel,
            Family::Cray => self.cray,
            Family::OpenMpi => self.open_mpi,
        }
    }
}

/// The folder below `lib` in which Debian and those that follow it have the libraries of an
/// architecture, by the name that Rust has for it.
pub(crate) fn multiarch(architecture: &str) -> String {
    let name = match architecture {
        // Of both orders of bytes only this one is a target of ranks.
        "powerpc64" => "powerpc64le",
        other => other,
    };
    format!("{name}-linux-gnu")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_macos_libraries_are_looked_for_where_package_managers_put_them() {
        let folders: Vec<&str> = MACOS.folders.iter().map(|(folder, _)| *folder).collect();
        assert_eq!(
            folders,
            [
                "/opt/homebrew/lib",
                "/usr/local/lib",
                "/opt/local/lib",
                "/opt/local/lib/openmpi-mp",
                "/opt/local/lib/mpich-mp",
            ]
        );
        assert_eq!(MACOS.native(Family::Mpich), [Exact("libmpi.12.dylib")]);
        assert_eq!(MACOS.native(Family::OpenMpi), [Exact("libmpi.40.dylib")]);
        assert!(ELF.folders.is_empty());
    }

    #[test]
    fn architectures_have_the_names_of_debian() {
        let names = ["x86_64", "aarch64", "riscv64", "powerpc64"].map(multiarch);
        assert_eq!(
            names,
            [
                "x86_64-linux-gnu",
                "aarch64-linux-gnu",
                "riscv64-linux-gnu",
                "powerpc64le-linux-gnu"
            ]
        );
    }
}
