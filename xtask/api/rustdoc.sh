#!/bin/sh
# rustdoc with what is not stable in it. Cargo and rustc are not told: some dependencies would be built otherwise.
RUSTC_BOOTSTRAP=1 exec rustdoc "$@"
