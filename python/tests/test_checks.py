"""verify and bench."""

import json
import math
from pathlib import Path

import pytest

import tractable
from tractable._checks import VerificationError

DATA = Path(__file__).parents[2] / "crates" / "tractable" / "tests" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the reference numbers are in the repository only")


@pytest.mark.parametrize(("device", "tolerance"), [("cpu", None), ("reference", 1e-12)])
def test_golden_vectors_are_recomputed(device, tolerance):
    checked = tractable.verify(DATA / "golden", device=device, tolerance=tolerance)
    assert len(checked) == len(list((DATA / "golden").glob("*.json"))) > 20
    assert all(c.ok and c.skipped is None and c.at for c in checked)
    assert 0.0 < max(c.error for c in checked) <= (tolerance or 1e-5)


def test_physics_is_recomputed():
    checked = tractable.verify(DATA / "physics", kind="physics")
    assert {c.file for c in checked} >= {"HalfCheetah-v5_open.json", "half_cheetah_one_step.csv"}
    assert all(c.ok and c.error < 1e-9 for c in checked)


def test_the_repositorys_own_numbers_are_found(monkeypatch, tmp_path):
    monkeypatch.chdir(DATA.parents[1])
    assert len(tractable.verify()) > 20
    assert len(tractable.verify(kind="physics")) >= 6
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="golden"):
        tractable.verify()


def test_a_wrong_number_is_found(tmp_path):
    golden = json.loads((DATA / "golden" / "td_targets.json").read_text())
    golden["cases"][0]["my"][0] += 0.5
    (tmp_path / "td_targets.json").write_text(json.dumps(golden))
    (tmp_path / "running_stat.json").write_text((DATA / "golden" / "running_stat.json").read_text())
    with pytest.raises(VerificationError, match="1 of 2 files are wrong.*td_targets.json") as raised:
        tractable.verify(tmp_path)
    assert [c.ok for c in raised.value.checked] == [True, False]
    assert "WRONG" in repr(raised.value.checked[1]) and "ok" in repr(raised.value.checked[0])


def test_a_tight_tolerance_fails_and_nan_is_never_right():
    with pytest.raises(VerificationError, match="tolerance 1e-09"):
        tractable.verify(DATA / "golden", tolerance=1e-9)
    assert not tractable._checks.Checked("a.json", math.nan, "x", 1.0).ok
    assert tractable._checks.Checked("a.json", 0.0, "", 1.0, skipped="unknown").ok


def test_wrong_arguments_are_errors(tmp_path):
    with pytest.raises(ValueError, match="holds no .json"):
        tractable.verify(tmp_path)
    with pytest.raises(ValueError, match="kind"):
        tractable.verify(tmp_path, kind="colours")
    with pytest.raises(ValueError, match="no device"):
        tractable.verify(tmp_path, kind="physics", device="reference")
    with pytest.raises(ValueError, match="tolerance"):
        tractable.verify(tmp_path, tolerance=-1.0)
    with pytest.raises(ValueError, match="quantum"):
        tractable.verify(DATA / "golden", device="quantum")
    with pytest.raises(FileNotFoundError):
        tractable.verify(tmp_path / "nowhere")


def test_the_speed_is_measured():
    machine, *lines = tractable.bench(seconds=0.01, threads=1)
    assert machine["type"] == "machine" and machine["cores"] >= 1
    assert {"learn", "derivative", "condition"} <= {line["verb"] for line in lines}
    assert all(0.0 < line["best_us"] <= line["median_us"] for line in lines)


def test_what_bench_refuses_is_an_error():
    with pytest.raises(ValueError, match="seconds"):
        tractable.bench(seconds=0)
    with pytest.raises(RuntimeError, match="threads"):
        tractable.bench(seconds=0.01, threads=-1)
