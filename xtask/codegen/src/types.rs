//! Writes `types.rs`: the types of callbacks and the handles of the tool interface.

use std::fmt::Write;

use anyhow::Result;

use crate::headers::Header;
use crate::output::{File, preamble};

/// Opaque pointers of the tool interface.
pub(crate) const TOOL_HANDLES: &[(&str, &str)] = &[
    ("MPI_T_cvar_handle", "A control variable in use."),
    (
        "MPI_T_enum",
        "An enumeration that describes the values of a variable.",
    ),
    ("MPI_T_event_instance", "One occurrence of an event."),
    ("MPI_T_event_registration", "A registration for an event."),
    ("MPI_T_pvar_handle", "A performance variable in use."),
    ("MPI_T_pvar_session", "A session of performance variables."),
];

/// The whole file.
pub(crate) fn file(header: &Header) -> Result<File> {
    let mut text = preamble(
        "Types of callbacks, and the handles of the tool interface.",
        "mpi_abi.h",
    );
    text.push_str("\nuse core::ffi::{c_int, c_void};\n\nuse crate::types::*;\n");
    for (name, function) in &header.callbacks {
        if name.starts_with("MPI_") {
            writeln!(
                text,
                "\n/// `{name}` of the C header.\npub type {name} = {function};"
            )?;
        }
    }
    for name in &header.enumerations {
        writeln!(
            text,
            "\n/// `{name}` of the C header.\npub type {name} = c_int;"
        )?;
    }
    for (name, about) in TOOL_HANDLES {
        writeln!(
            text,
            "\n/// {about}\n#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]\n#[repr(transparent)]\n\
             pub struct {name}(pub *mut c_void);"
        )?;
    }
    Ok(File::new("types.rs", text))
}
