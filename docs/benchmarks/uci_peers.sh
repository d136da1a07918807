#!/usr/bin/env bash
# Regression beside scikit-learn, NGBoost and a deep ensemble in PyTorch, on the rows and splits of `cargo xtask reproduce uci`.
#
#   docs/benchmarks/uci_peers.sh --data uci/                       # all sets, all splits: hours
#   docs/benchmarks/uci_peers.sh --data uci/ --sets yacht --splits 2
#   docs/benchmarks/uci_peers.sh --show docs/results/uci-peers.json --tractable docs/results/uci.json
#   docs/benchmarks/uci_peers.sh --help
#
# The peers are installed into a virtual environment: a fresh one that is removed at the end, or $UCI_PEERS, which stays.
# What cannot be installed is skipped, and the results say why.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export PYTHONDONTWRITEBYTECODE=1
# These need no peers.
case " $* " in *" -h "* | *" --help "* | *" --show"*) exec python3 "$here/uci_peers.py" "$@" ;; esac

if [ -n "${UCI_PEERS:-}" ]; then
    env=$UCI_PEERS
else
    env=$(mktemp -d)
    trap 'rm -rf "$env"' EXIT
fi
python=$env/bin/python
[ -x "$python" ] || python3 -m venv "$env"

# The last line of what pip said stays beside it where a package could not be installed.
install() { # name, arguments of pip
    local name=$1
    shift
    echo "installing $name" >&2
    "$python" -m pip install --quiet --disable-pip-version-check "$@" "$name" 2>"$env/$name.log" && rm -f "$env/$name.failed" && return
    tail -n 1 "$env/$name.log" >"$env/$name.failed"
    return 1
}
missing() { ! "$python" -c "import $1" 2>/dev/null; }
missing numpy && install numpy # without it nothing runs
if missing sklearn; then install scikit-learn || true; fi
if missing ngboost; then install ngboost || true; fi
if missing torch; then install torch || true; fi

"$python" "$here/uci_peers.py" "$@"
