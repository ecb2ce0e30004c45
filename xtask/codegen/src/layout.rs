//! Facts that the shims rely on besides constants: sizes of types, and places of the fields of a
//! status.

use crate::abi_check::Family;

/// C expressions and their values in the standard ABI, in the MPICH family and in Open MPI.
const EXPRESSIONS: &[(&str, [i64; 3])] = &[
    ("sizeof(MPI_Aint)", [8, 8, 8]),
    ("sizeof(MPI_Count)", [8, 8, 8]),
    ("sizeof(MPI_Offset)", [8, 8, 8]),
    ("sizeof(MPI_Comm)", [8, 4, 8]),
    ("sizeof(MPI_Datatype)", [8, 4, 8]),
    ("sizeof(MPI_Errhandler)", [8, 4, 8]),
    ("sizeof(MPI_File)", [8, 8, 8]),
    ("sizeof(MPI_Group)", [8, 4, 8]),
    ("sizeof(MPI_Info)", [8, 4, 8]),
    ("sizeof(MPI_Message)", [8, 4, 8]),
    ("sizeof(MPI_Op)", [8, 4, 8]),
    ("sizeof(MPI_Request)", [8, 4, 8]),
    ("sizeof(MPI_Win)", [8, 4, 8]),
    ("sizeof(MPI_Status)", [32, 20, 24]),
    ("_Alignof(MPI_Status)", [4, 4, 8]),
    ("offsetof(MPI_Status, MPI_SOURCE)", [0, 8, 0]),
    ("offsetof(MPI_Status, MPI_TAG)", [4, 12, 4]),
    ("offsetof(MPI_Status, MPI_ERROR)", [8, 16, 8]),
];

/// Fields that only one family has.
const OWN_FIELDS: [&[(&str, i64)]; 3] = [
    &[("offsetof(MPI_Status, MPI_internal)", 12)],
    &[
        ("offsetof(MPI_Status, count_lo)", 0),
        ("offsetof(MPI_Status, count_hi_and_cancelled)", 4),
    ],
    &[
        ("offsetof(MPI_Status, _cancelled)", 12),
        ("offsetof(MPI_Status, _ucount)", 16),
    ],
];

/// The expressions to try on a header of `family`, with what they must be.
pub(crate) fn expressions(family: Family) -> impl Iterator<Item = (&'static str, i64)> {
    let common = EXPRESSIONS
        .iter()
        .map(move |(text, values)| (*text, values[family as usize]));
    common.chain(OWN_FIELDS[family as usize].iter().copied())
}
