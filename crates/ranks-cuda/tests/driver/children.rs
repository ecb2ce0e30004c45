//! Tests in a process of their own: the test runs itself again, with other variables.

use std::os::unix::fs::symlink;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::double;

const CHILD: &str = "RANKS_CUDA_TEST_CHILD";
const LIMIT: Duration = Duration::from_secs(30);

/// Tells if this is the process that a test has started.
pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs the test of this name in a process of its own.
pub(crate) fn run(name: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", name, "--nocapture"])
        .env_remove("RANKS_CUDA")
        .env(CHILD, "1")
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > LIMIT {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output().unwrap()
}

/// Insists that it succeeded.
#[track_caller]
pub(crate) fn succeeds(name: &str, variables: &[(&str, &str)]) {
    assert_success(&run(name, variables));
}

#[track_caller]
fn assert_success(output: &Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    // A name that is wrong would run nothing.
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// As [`succeeds`], where the dynamic linker finds the double under the names of the driver.
#[track_caller]
pub(crate) fn succeeds_with_driver(name: &str) {
    let folder = format!(
        "ranks-cuda-{}-{}",
        std::process::id(),
        name.replace(':', "-")
    );
    let folder = std::env::temp_dir().join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    for file in ["libcuda.so", "libcuda.so.1"] {
        symlink(double::file(), folder.join(file)).unwrap();
    }
    let output = run(name, &[("LD_LIBRARY_PATH", folder.to_str().unwrap())]);
    std::fs::remove_dir_all(folder).unwrap();
    assert_success(&output);
}
