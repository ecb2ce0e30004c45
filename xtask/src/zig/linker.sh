#!/bin/sh
# Links a program for an old glibc: zig knows which symbols each release has.
exec "$ZIG" cc -target "$ZIG_TARGET" "$@"
