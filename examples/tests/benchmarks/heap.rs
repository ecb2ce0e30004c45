//! The kernels on a symmetric heap: of threads, and of processes over the double of NVSHMEM.

use std::process::{Command, Stdio};

use ranks::bootstrap::{TcpStore, TcpStoreOptions};
use ranks::nvshmem::{HeapBackend, Nvshmem, NvshmemOptions};
use ranks::prelude::*;
use ranks_examples::prk::{Form, Problem};
use ranks_examples::{prk_stencil, prk_synch_p2p, prk_transpose};

use super::{assert_verified, double};

fn problem(order: usize, iterations: usize) -> Problem {
    Problem {
        form: Form::Shmem,
        iterations,
        order,
    }
}

/// In process: over MPI there would have to be GPUs.
#[ranks_test::ranks(1, 2, 3, 4, in_process_only)]
fn kernels_of_threads(world: Communicator) -> Result<()> {
    for (order, iterations) in [(23, 5), (8, 1), (9, 0)] {
        let problem = problem(order, iterations);
        assert_verified(&prk_stencil::benchmark(&world, problem)?);
        assert_verified(&prk_transpose::benchmark(&world, problem)?);
        assert_verified(&prk_synch_p2p::benchmark(&world, problem)?);
    }
    let refused = prk_stencil::benchmark(&world, problem(4, 1)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Argument, "{refused}");
    Ok(())
}

/// Says to a process that it is a PE.
const INSIDE: &str = "RANKS_EXAMPLES_PE";

#[test]
fn kernels_of_processes() {
    if std::env::var_os(INSIDE).is_some() {
        return on_double().unwrap();
    }
    for pes in 2..=4usize {
        let server = TcpStoreOptions::new("127.0.0.1", 0, 0, 1);
        let server = server.name("server").connect().unwrap();
        let children: Vec<_> = (0..pes)
            .map(|pe| {
                let mut command = Command::new(std::env::current_exe().unwrap());
                command
                    .args(["heap::kernels_of_processes", "--exact"])
                    .env(INSIDE, "1")
                    .env("MASTER_ADDR", "127.0.0.1")
                    .env("MASTER_PORT", server.port().to_string())
                    .env("TORCHELASTIC_USE_AGENT_STORE", "True")
                    .env("RANK", pe.to_string())
                    .env("WORLD_SIZE", pes.to_string())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped());
                on_doubles(&mut command).spawn().unwrap()
            })
            .collect();
        for child in children {
            let ended = child.wait_with_output().unwrap();
            assert!(ended.status.success(), "of {pes} PEs: {ended:?}");
        }
    }
}

/// The variables with which a process opens the doubles.
fn on_doubles(command: &mut Command) -> &mut Command {
    command
        .env("RANKS_CUDA", double("cuda_double"))
        .env("RANKS_NVSHMEM", double("nvshmem_double"))
        .env("NVSHMEM_DOUBLE_CUDA", double("cuda_double"))
        .env("NVSHMEM_DOUBLE_DELAY_US", "100")
}

/// One PE of several.
fn on_double() -> Result<()> {
    let store = TcpStore::from_env()?;
    let options = NvshmemOptions::new().backend(HeapBackend::Library);
    let pe = Nvshmem::init(&store, &options)?;
    assert!(pe.n_pes() > 1 && pe.backend_name().starts_with("NVSHMEM"));
    for (order, iterations) in [(13, 2), (8, 0)] {
        let problem = problem(order, iterations);
        assert_verified(&prk_stencil::on_heap(&pe, problem)?);
        assert_verified(&prk_transpose::on_heap(&pe, problem)?);
        assert_verified(&prk_synch_p2p::on_heap(&pe, problem)?);
    }
    pe.finalize()
}

/// The compiled kernel, as far as the double reads it.
const KERNEL: &str = ".version 8.0
.const .align 8 .b8 nvshmemi_device_state_d[848];
.const .align 4 .b8 nvshmemi_device_lib_version_d[12] = {3, 0, 0, 0, 8};
.visible .entry ring_shift(.param .u64 to, .param .u64 from, .param .u64 count) { ret; }
";

/// The program with one PE, whose kernel puts to itself, and with code that NVSHMEM knows nothing
/// of.
#[test]
fn a_kernel_that_puts() {
    let image = std::env::temp_dir().join(format!("ranks-ring-shift-{}", std::process::id()));
    let run = |text: &str| {
        std::fs::write(&image, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_device_put"));
        command
            .arg(&image)
            .env("RANKS_BACKEND", "inprocess")
            .env("RANKS_NP", "1");
        on_doubles(&mut command).output().unwrap()
    };
    let ended = run(KERNEL);
    let said = String::from_utf8_lossy(&ended.stdout);
    let well = ended.status.success() && said.contains("NVSHMEM 3.8.0, 1 PEs");
    assert!(well, "{ended:?}");
    let without = KERNEL.replace("nvshmemi_device_state_d", "something_else");
    for (text, expected) in [
        (without, "libnvshmem_device.a"),
        (
            KERNEL.replace("{3, 0, 0, 0, 8}", "{3, 0, 0, 0, 9}"),
            "3.9.0",
        ),
        (KERNEL.replace("ring_shift", "other"), "no kernel"),
    ] {
        let ended = run(&text);
        let complained = String::from_utf8_lossy(&ended.stderr);
        let well = !ended.status.success() && complained.contains(expected);
        assert!(well, "{expected}: {ended:?}");
    }
    std::fs::remove_file(image).unwrap();
}
