#!/usr/bin/env python3
"""Compiles the kernels to PTX for compute_80 and code for sm_90a, and stores both compressed, with hashes of them and their source.

Needs no GPU and no toolkit: `pip install nvidia-cuda-nvrtc-cu12==12.4.127`. A later version makes PTX that older drivers refuse.
"""

import ctypes
import glob
import gzip
import pathlib
import site
import sys
import time

HERE = pathlib.Path(__file__).parent
ORDER = ["prelude", "moments", "states", "pool", "norm", "average", "rows", "walk", "map", "tensor", "first", "wgmma", "hopper", "hopper_sums"]
TARGETS = {"kernels.ptx": "compute_80", "kernels.cubin": "sm_90a"}


def source():
    return "".join((HERE / "kernels" / f"{name}.cu").read_text() for name in ORDER)


def fnv(data):
    """FNV-1a, 64 bits: a test compares it with the source and with both results."""
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def nvrtc():
    for folder in site.getsitepackages():
        found = glob.glob(f"{folder}/nvidia/*nvrtc*/lib/libnvrtc*.so*")
        if found:
            for builtins in (f for f in found if "builtins" in f):
                ctypes.CDLL(builtins)
            return ctypes.CDLL(next(f for f in found if "builtins" not in f))
    sys.exit("NVRTC is missing: pip install nvidia-cuda-nvrtc-cu12==12.4.127")


def compile(lib, text, target):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
    options = [f"--gpu-architecture={target}", "-std=c++17", "-default-device"]
    failed = lib.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*[o.encode() for o in options]))
    lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetProgramLog(program, log)
    if log.value:
        print(log.value.decode(), file=sys.stderr)
    if failed:
        sys.exit(1)
    kind = "PTX" if target.startswith("compute") else "CUBIN"
    getattr(lib, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
    out = ctypes.create_string_buffer(size.value)
    getattr(lib, f"nvrtcGet{kind}")(program, out)
    return out.raw


def main():
    text, lib = source(), nvrtc()
    hashes = [fnv(text.encode())]
    for name, target in TARGETS.items():
        began = time.time()
        code = compile(lib, text, target)
        packed = gzip.compress(code, 9, mtime=0)
        (HERE / f"{name}.gz").write_bytes(packed)
        hashes.append(fnv(packed))
        print(f"{name}.gz: {target}, {len(code)} bytes, {len(packed)} compressed, {time.time() - began:.1f} s")
    (HERE / "kernels.hash").write_text("".join(f"{h:016x}\n" for h in hashes))


if __name__ == "__main__":
    main()
