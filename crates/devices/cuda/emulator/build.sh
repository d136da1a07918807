#!/bin/sh
# Builds an emulator of the driver's library and of NCCL at the given path, so that tests of the CUDA device need no GPU.
#   sh crates/devices/cuda/emulator/build.sh target/libcuda.so
#   TRACTABLE_LIBCUDA=$PWD/target/libcuda.so cargo test -p tractable --lib conformance
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$here/../kernels" && cat prelude.cu moments.cu states.cu pool.cu norm.cu average.cu rows.cu walk.cu map.cu tensor.cu first.cu wgmma.cu hopper.cu hopper_sums.cu) > "$work/kernels.cpp"
flags="-O2 -std=c++17 -fPIC -DEMULATED -I$here -Wno-unknown-pragmas -fno-strict-aliasing"
${CXX:-g++} $flags -shared -o "$1" "$here/driver.cpp" "$here/nccl.cpp" "$work/kernels.cpp" -ldl
