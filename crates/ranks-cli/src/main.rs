//! The command `ranks`.

#![deny(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ranks_cli::main()
}
