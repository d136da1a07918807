"""Rows that belong together or have a time, and what a model notices about its rows."""

import numpy as np
import pandas as pd
import pytest

import tractable as tr
from tractable.sklearn import TractableRegressor

QUICK = {"single": True, "visits": 500, "progress": False}


def frame(rows=120):
    rng = np.random.default_rng(0)
    x = pd.DataFrame({
        "who": [f"p{i % 12}" for i in range(rows)],
        "day": pd.date_range("2024-01-01", periods=rows),
        "a": rng.uniform(-1, 1, rows),
    })
    return x, 3 * x["a"].to_numpy() + rng.normal(0, 0.1, rows)


def test_a_named_column_of_groups_is_no_input():
    x, y = frame()
    model = tr.Ensemble.fit(x.drop(columns="day"), y, groups="who", **QUICK)
    assert model.input_names == ["a"]
    assert model.scores[0]["rows"] == 30 or model.scores[0]["rows"] == 20  # two or three people
    kept = tr.Ensemble.fit(x.drop(columns="day"), y, groups=x["who"], **QUICK)
    assert "who=p3" in kept.input_names


def test_later_rows_are_left_out():
    x, y = frame()
    model = tr.Ensemble.fit(x.drop(columns="who"), y, time="day", **QUICK)
    assert model.scores[0]["rows"] == 20 and model.input_names[0] == "day (days)"
    for time in (np.arange(120), x["day"], x["day"].astype(str).to_numpy(), [float(i) for i in range(120)]):
        model = tr.Ensemble.fit(x[["a"]].to_numpy(), y, time=time, **QUICK)
        assert model.left_out(x[["a"]].to_numpy(), y).mean.shape == (20,)


@pytest.mark.parametrize(
    "how, says",
    [
        ({"groups": "whom"}, "groups: no column `whom`; the columns are who, day, a"),
        ({"groups": "who", "time": "day"}, "give one of the two"),
        ({"groups": np.zeros(120)}, "there are 1"),
        ({"groups": [None] + 119 * ["a"]}, "groups: row 0 has none"),
        ({"groups": [1, 2]}, "expected one entry for each of 120 rows"),
        ({"time": "who"}, "time: expected numbers or dates"),
        ({"time": [np.nan] + 119 * [1.0]}, "time: row 0 has none"),
    ],
)
def test_what_cannot_be_meant_is_refused(how, says):
    x, y = frame()
    with pytest.raises(ValueError, match=says):
        tr.Ensemble.fit(x, y, **how, **QUICK)


def test_a_name_needs_a_frame():
    x, y = frame()
    with pytest.raises(ValueError, match="an array without names"):
        tr.Ensemble.fit(x[["a"]].to_numpy(), y, groups="who", **QUICK)


def test_what_is_noticed_is_a_warning():
    x, y = frame()
    y[7] = 1e4
    with pytest.warns(UserWarning, match="1 value is so far .* `y` 10000"):
        tr.Ensemble.fit(x[["a"]], y, **QUICK)
    many = np.tile(x[["a"]].to_numpy(), (4, 1))
    y[7] = 0.0
    with pytest.warns(UserWarning, match="the 480 rows are copies of 120"):
        tr.Ensemble.fit(many, np.tile(y, 4), **QUICK)


def test_an_estimator_takes_groups():
    x, y = frame()
    model = TractableRegressor(single=True, visits=500).fit(x[["a"]], y, groups=x["who"])
    assert model.model_.scores[0]["rows"] in (20, 30)
