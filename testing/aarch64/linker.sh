#!/bin/sh
# Links a program for aarch64: Debian's compiler knows with what, Rust's own linker does it.
root=$(dirname "$0")/../../target/aarch64/root
lld=$(dirname "$(rustc --print target-libdir)")/bin/gcc-ld
exec "$root/usr/bin/aarch64-linux-gnu-gcc" "$@" "--sysroot=$root" -fuse-ld=lld "-B$lld"
