"""How values become JSON: the mapping, and what is refused with a hint (A14)."""

import dataclasses
import enum
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path, PurePosixPath
from uuid import UUID

import pytest
from mainspring._results import duration_text, duration_value, fallback, to_json_ready


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 2


class Text(str):
    pass


@dataclasses.dataclass
class Stats:
    rows: int
    day: date


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (None, None),
        (True, True),
        (1, 1),
        (1.5, 1.5),
        ("x", "x"),
        ((1, 2), [1, 2]),
        ({"a": (1,)}, {"a": [1]}),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"a"}), ["a"]),
        (range(3), [0, 1, 2]),
        (date(2013, 1, 15), "2013-01-15"),
        (datetime(2013, 1, 15, 2, 30, 0, 7), "2013-01-15T02:30:00.000007"),
        (datetime(2013, 1, 15, tzinfo=timezone.utc), "2013-01-15T00:00:00+00:00"),
        (time(2, 30), "02:30:00"),
        (timedelta(seconds=90), "PT90S"),
        (Decimal("1.10"), "1.10"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("a/b"), "a/b"),
        (Color.RED, "red"),
        (Level.HIGH, 2),
        (Text("x"), "x"),
        (Stats(1, date(2013, 1, 15)), {"rows": 1, "day": "2013-01-15"}),
        (2**64 - 1, 2**64 - 1),
    ],
)
def test_mapping(value, stored):
    made = to_json_ready(value)
    assert made == stored
    assert type(made) is type(stored)


def test_mixed_set_becomes_a_list_in_some_order():
    assert sorted(map(str, to_json_ready({1, "a"}))) == ["1", "a"]


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (b"x", TypeError, "bytes"),
        (float("nan"), ValueError, "not a finite number"),
        (float("inf"), ValueError, "not a finite number"),
        ("\ud800", ValueError, "lone surrogate"),
        ({"a": "\ud800"}, ValueError, "lone surrogate"),
        (2**64, ValueError, "64 bits"),
        ({1: 2}, TypeError, "keys must be text"),
        ((i for i in [1]), TypeError, "only once"),
        (object(), TypeError, "not JSON"),
        (open, TypeError, "not JSON"),
    ],
)
def test_refused(value, kind, words):
    with pytest.raises(kind, match=words):
        to_json_ready(value)


def test_a_list_in_itself_is_refused():
    value = []
    value.append(value)
    with pytest.raises(ValueError, match="contain itself"):
        to_json_ready(value)


def test_refusals_say_what_to_return():
    with pytest.raises(TypeError, match="return the path"):
        fallback(b"x")


def fake(name, module, **members):
    return type(name, (), {"__module__": module, **members})


def test_scalars_of_numpy_are_numbers():
    scalar = fake("int64", "numpy", shape=(), item=lambda self: 7)()
    assert to_json_ready({"n": scalar}) == {"n": 7}
    nan = fake("float64", "numpy", shape=(), item=lambda self: float("nan"))()
    with pytest.raises(ValueError, match="not a finite number"):
        to_json_ready(nan)


def test_arrays_and_tables_are_refused_with_a_hint():
    array = fake("ndarray", "numpy", shape=(3,), item=lambda self: 1)()
    with pytest.raises(TypeError, match="tolist"):
        to_json_ready(array)
    frame = fake("DataFrame", "pandas.core.frame", to_parquet=lambda self: None)()
    with pytest.raises(TypeError, match="return the path"):
        to_json_ready(frame)


def test_pydantic_models_are_dumped(monkeypatch):
    import sys
    import types

    monkeypatch.setitem(sys.modules, "pydantic", types.ModuleType("pydantic"))
    model = fake("Model", "app", model_dump=lambda self, mode: {"mode": mode})()
    assert to_json_ready(model) == {"mode": "json"}


def test_instants_with_nanoseconds_are_not_cut():
    stamp = type("Timestamp", (datetime,), {"__module__": "pandas", "nanosecond": 5})
    with pytest.raises(TypeError, match="nanoseconds"):
        to_json_ready(stamp(2013, 1, 15))


@pytest.mark.parametrize("seconds", [0, 1, 90, 0.5, 1e-6, 86400 * 400, -1.5])
def test_durations_come_back(seconds):
    delta = timedelta(seconds=seconds)
    assert duration_value(duration_text(delta)) == delta


@pytest.mark.parametrize("text", ["", "30", "x", "P", "PT", "-5s", None, 5])
def test_no_durations(text):
    with pytest.raises(ValueError, match="not a duration"):
        duration_value(text)


def test_paths_of_this_machine():
    assert to_json_ready(Path("a")) == "a"
