//! CUDA's headers as far as those of NCCL and NVSHMEM need them, which are not at hand: the names
//! and sizes alone, for nothing of it is called.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Each header and what is in it.
const STUBS: [(&str, &str); 5] = [
    (
        "cuda.h",
        "typedef struct CUmod_st *CUmodule;\ntypedef struct CUlib_st *CUlibrary;\ntypedef int CUmemLocationType;\n",
    ),
    (
        "cuda_fp16.h",
        "typedef struct { unsigned short x; } __half;\ntypedef __half half;\n",
    ),
    (
        "cuda_bf16.h",
        "typedef struct { unsigned short x; } __nv_bfloat16;\n",
    ),
    ("cuda_fp8.h", ""),
    (
        "cuda_runtime.h",
        "#include <cuda.h>
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
#define CUDART_VERSION 13000
#define __device__
#define __host__
#define __global__
#define __constant__
#define __shared__
#define __forceinline__
typedef struct { unsigned x, y, z; } dim3;
typedef struct { double x, y; } double2;
typedef struct { int x, y, z, w; } int4;
",
    ),
];

/// Writes them, beside `folder` with the wheels, and says where.
pub(crate) fn written(folder: &Path) -> Result<PathBuf> {
    let stubs = folder
        .parent()
        .context("target/mpi lies in target")?
        .join("codegen/cuda-stubs");
    fs::create_dir_all(&stubs)?;
    for (name, text) in STUBS {
        fs::write(stubs.join(name), format!("#pragma once\n{text}"))?;
    }
    Ok(stubs)
}
