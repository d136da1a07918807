#!/usr/bin/env bash
# Speed beside PyTorch (CPU, Adam), pytagi (CPU) and Stable-Baselines3 PPO: one run, one machine, as ratios.
# The peers are installed into a virtual environment outside the repository ($PEERS, default ~/.cache/tractable-peers).
# Leave the machine alone while it runs. `peers.sh --smoke` only shows that everything works: its numbers mean nothing.
#
# pytagi needs libmpi on the system (Debian: libopenmpi3) and NCCL, which comes as a Python package; where it cannot be
# imported, its column stays empty and stderr says why.
set -euo pipefail
cd "$(dirname "$0")/../.."

peers=${PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/tractable-peers}
python=$peers/bin/python
[ -x "$python" ] || python3 -m venv "$peers"
if [ ! -e "$peers/.installed" ]; then
    "$python" -m pip install --quiet torch numpy
    "$python" -m pip install --quiet stable-baselines3 'gymnasium[mujoco]'
    "$python" -m pip install --quiet pytagi nvidia-nccl-cu12 || echo "pytagi was not installed" >&2
    touch "$peers/.installed"
fi
cargo build --quiet --release
nccl=$("$python" -c 'import nvidia.nccl, os; print(os.path.join(list(nvidia.nccl.__path__)[0], "lib"))' 2>/dev/null || true)
PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=$nccl${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$python" docs/benchmarks/peers.py "$@"
