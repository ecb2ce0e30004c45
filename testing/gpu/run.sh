#!/bin/sh
# Runs what ranks does with GPUs on those of this machine, and writes a report in Markdown: `sh run.sh [REPORT]`.
#
# It needs the programs beside it and a shell; nothing is built, installed or fetched. NCCL and NVSHMEM are those that RANKS_NCCL and RANKS_NVSHMEM
# name, or that it finds: in the packages of Python, in LD_LIBRARY_PATH, or where the dynamic linker looks. Ranks of MPI are started if there is an
# mpiexec, or by RANKS_GPU_LAUNCHER ("srun -n 2").
# It ends with 0 if no case has failed, 1 if one has, 3 where there is no device.
set -u

case $0 in
*/*) here=${0%/*} ;;
*) here=. ;;
esac
here=$(CDPATH='' cd -- "$here" && pwd) || exit 2
report=${1:-$here/report.md}
: >"$report" || exit 2

has() { command -v "$1" >/dev/null 2>&1; }

# The packages of Python: those of the interpreter, of its user, and of environments and distributions that are not active.
in_python() {
    for python in python3 python; do
        if has "$python"; then
            found=$("$python" - "$1" <<'END' 2>/dev/null
import os, sys, sysconfig
places = sys.path + [sysconfig.get_path(name) for name in ("purelib", "platlib")]
for place in places:
    file = os.path.join(place or ".", sys.argv[1])
    if os.path.isfile(file):
        print(os.path.realpath(file))
        break
END
            )
            if [ -n "$found" ]; then
                echo "$found"
                return 0
            fi
        fi
    done
    for root in "${VIRTUAL_ENV:-}" "${CONDA_PREFIX:-}" /usr /usr/local "${HOME:-}/.local" /opt/*; do
        for folder in "$root"/lib/python3*/site-packages "$root"/lib/python3*/dist-packages "$root"/lib/python3/dist-packages; do
            if [ -f "$folder/$1" ]; then
                echo "$folder/$1"
                return 0
            fi
        done
    done
    return 1
}

# Where the dynamic linker looks: $1 is the name of a file.
in_the_system() {
    before=$IFS
    IFS=:
    for folder in ${LD_LIBRARY_PATH:-}; do
        if [ -f "$folder/$1" ]; then
            IFS=$before
            echo "$folder/$1"
            return 0
        fi
    done
    IFS=$before
    for ldconfig in ldconfig /sbin/ldconfig; do
        if has "$ldconfig"; then
            "$ldconfig" -p 2>/dev/null | while read -r name rest; do
                if [ "$name" = "$1" ]; then
                    echo "${rest##*=> }"
                    break
                fi
            done
            return 0
        fi
    done
    return 1
}

# $1: what the variable says, $2: below the packages of Python.
library() {
    if [ -n "$1" ]; then
        echo "$1"
        return 0
    fi
    in_python "$2" || in_the_system "${2##*/}" || true
}

nccl=$(library "${RANKS_NCCL:-}" nvidia/nccl/lib/libnccl.so.2)
nvshmem=$(library "${RANKS_NVSHMEM:-}" nvidia/nvshmem/lib/libnvshmem_host.so.3)
[ -z "$nccl" ] || export RANKS_NCCL="$nccl"
[ -z "$nvshmem" ] || export RANKS_NVSHMEM="$nvshmem"
if [ -z "${RANKS_GPU_KERNEL:-}" ] && [ -f "$here/ring_shift.cubin" ]; then
    export RANKS_GPU_KERNEL="$here/ring_shift.cubin"
fi

say() { printf '%s\n' "$*" >>"$report"; }

# A row, unless nothing is known.
row() { [ -z "$2" ] || say "| $1 | $2 |"; }

ask() { if has "$1"; then "$@" 2>/dev/null; fi; }

say "# What ran on GPUs: $(ask date -u '+%Y-%m-%d %H:%M UTC')"
say ""
say "| what | which |"
say "|---|---|"
ask nvidia-smi --query-gpu=index,name,compute_cap,memory.total,driver_version --format=csv,noheader | while IFS=, read -r index name rest; do
    row "GPU $index" "$name,$rest"
done
row "kernel" "$(ask uname -sr)"
row "glibc" "$(ask getconf GNU_LIBC_VERSION)"
row "MPS" "$(command -v nvidia-cuda-mps-control || echo 'is not here')"
row "NCCL" "${nccl:-was not found}"
row "NVSHMEM" "${nvshmem:-was not found}"
if [ -f "$here/about" ]; then
    while read -r what which; do
        row "$what" "$which"
    done <"$here/about"
fi

worst=0

# A part of the report: $1 is its heading, the rest a program of this folder with its arguments, which $launcher starts. Its status is left in
# $status.
launcher=""
part() {
    heading=$1
    program=$2
    shift 2
    echo "== $heading"
    # shellcheck disable=SC2086
    said=$(limited $launcher "$here/$program" "$@" 2>&1)
    status=$?
    printf '%s\n' "$said"
    say ""
    say "## $heading"
    say ""
    say "\`${launcher:+$launcher }$program${*:+ $*}\` ended with $status."
    say ""
    say '```text'
    say "$said"
    say '```'
    if [ "$status" -ne 0 ] && [ "$worst" -ne 1 ]; then
        worst=1
        [ "$status" -ne 3 ] || worst=3
    fi
}

# Nothing takes longer that does not hang.
limited() { if has timeout; then timeout -k 10 "${RANKS_GPU_PATIENCE:-1800}" "$@"; else "$@"; fi; }

part "One rank on the first GPU" ranks-gpu 0
if [ "$status" -ne 3 ]; then
    all=""
    count=0
    for device in $(ask nvidia-smi --query-gpu=index --format=csv,noheader); do
        all="$all $device"
        count=$((count + 1))
        [ "$count" -lt 8 ] || break
    done
    if [ "$count" -gt 1 ]; then
        # shellcheck disable=SC2086
        part "A rank on each GPU" ranks-gpu $all
    fi
    # What lets ranks of NCCL share a GPU, from 2.30 on.
    export NCCL_MULTI_RANK_GPU_ENABLE="${NCCL_MULTI_RANK_GPU_ENABLE:-1}" NCCL_MAX_CTAS="${NCCL_MAX_CTAS:-2}"
    export NCCL_NET_GDR_LEVEL="${NCCL_NET_GDR_LEVEL:-LOC}" NCCL_SOCKET_IFNAME="${NCCL_SOCKET_IFNAME:-lo}"
    part "Two ranks on the first GPU" ranks-gpu 0 0
    unset NCCL_MULTI_RANK_GPU_ENABLE NCCL_MAX_CTAS NCCL_NET_GDR_LEVEL NCCL_SOCKET_IFNAME
    launcher=${RANKS_GPU_LAUNCHER:-$(has mpiexec && echo mpiexec -n 2)}
    # shellcheck disable=SC2086
    [ -z "$launcher" ] || part "Memory of GPUs over MPI" ranks-gpu --mpi $all
    launcher=""
    [ ! -x "$here/nccl_enqueue" ] || part "What an enqueue costs" nccl_enqueue
fi
echo "the report: $report"
exit "$worst"
