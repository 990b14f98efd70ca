"""A handler's signature as the specification of its parameters."""

import enum
import functools
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict, Union
from uuid import UUID

import mainspring as ms
import pytest
from mainspring._annotation import kind_of, misfit
from mainspring._signature import read_signature

UserId = NewType("UserId", int)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Row(TypedDict):
    a: int


@pytest.mark.parametrize(
    ("annotation", "word", "nullable"),
    [
        (str, "str", False),
        (int, "int", False),
        (float, "float", False),
        (bool, "bool", False),
        (list, "list", False),
        (list[int], "list", False),
        (tuple[int, ...], "list", False),
        (set[str], "list", False),
        (Sequence[str], "list", False),
        (dict, "object", False),
        (dict[str, int], "object", False),
        (Mapping[str, int], "object", False),
        (Row, "object", False),
        (date, "date", False),
        (datetime, "datetime", False),
        (time, "str", False),
        (timedelta, "duration", False),
        (Decimal, "any", False),
        (UUID, "str", False),
        (Path, "str", False),
        (Color, "enum", False),
        (Literal["a", "b"], "enum", False),
        (Literal["a", None], "enum", True),
        (int | None, "int", True),
        (Optional[date], "date", True),  # noqa: UP045 - the old spelling is in many files
        (Union[int, float], "float", False),  # noqa: UP007
        (int | str, "any", False),
        (int | str | None, "any", True),
        (Annotated[int, "rows"], "int", False),
        (UserId, "int", False),
        (Any, "any", False),
        (object, "any", False),
        (None, "any", True),
    ],
)
def test_annotations(annotation, word, nullable):
    kind = kind_of(annotation)
    assert (kind.word, kind.nullable) == (word, nullable)


@pytest.mark.parametrize(
    ("annotation", "stored", "value"),
    [
        (Color, "red", Color.RED),
        (Color | None, None, None),
        (date, "2013-01-15", date(2013, 1, 15)),
        (date, date(2013, 1, 15), date(2013, 1, 15)),
        (timedelta, "PT90S", timedelta(seconds=90)),
        (Decimal, "1.10", Decimal("1.10")),
        (Path, "a/b", Path("a/b")),
        (set[int], [1, 2], {1, 2}),
        (tuple, [1, 2], (1, 2)),
    ],
)
def test_values_come_back_in_their_type(annotation, stored, value):
    assert kind_of(annotation).convert(stored) == value


def test_datetime_with_z_comes_back():
    made = kind_of(datetime).convert("2013-01-15T02:30:00Z")
    assert made.utcoffset() == timedelta(0)


def test_choices_of_enum_and_literal():
    assert kind_of(Color).choices == ["red", "blue"]
    assert kind_of(Literal[1, 2]).choices == [1, 2]


@pytest.mark.parametrize(
    ("annotation", "value", "fits"),
    [
        (int, 5, True),
        (int, True, False),
        (int, "5", False),
        (float, 5, True),
        (bool, 1, False),
        (date, "2024-02-30", False),
        (date, "2024-02-29", True),
        (Color, "green", False),
        (int | None, None, True),
        (int, None, False),
    ],
)
def test_misfits(annotation, value, fits):
    assert (misfit(kind_of(annotation), value) is None) is fits


def test_required_defaults_and_injected():
    def load(table: str, biz_date: date, size: int = 500, *, day: date = date(2013, 1, 1), ctx): ...

    found = read_signature(load)
    assert found.injected == ["biz_date", "ctx"]
    assert found.arguments["table"].schema() == {
        "name": "table", "type": "str", "nullable": False, "required": True,
    }
    assert found.arguments["size"].schema()["default"] == 500
    assert found.arguments["day"].schema()["default"] == "2013-01-01"
    assert not found.problems


def test_default_none_makes_nullable():
    def load(size: int = None): ...  # noqa: RUF013 - that is the point

    schema = read_signature(load).arguments["size"].schema()
    assert schema["nullable"] is True
    assert schema["default"] is None


def test_default_that_no_run_can_give_is_left_to_python():
    def load(connection=object()): ...  # noqa: B008

    assert read_signature(load).arguments == {}


def test_annotations_as_text():
    source = (
        "from __future__ import annotations\n"
        "from datetime import date\n"
        "def load(day: date, size: int | None, later: NotYetThere): ...\n"
    )
    scope = {}
    exec(compile(source, "there.py", "exec"), scope)
    found = read_signature(scope["load"])
    assert [a.kind.word for a in found.arguments.values()] == ["date", "int", "any"]
    assert found.arguments["size"].kind.nullable


def test_annotations_as_text_of_local_classes():
    class Size(enum.Enum):
        BIG = 1

    @ms.task
    def load(size: "Size") -> None: ...

    assert load.signature.arguments["size"].kind.choices == [1]
    assert Size.BIG.value == 1


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("def f(a, /): ...", "positional_only"),
        ("def f(*args): ...", "var_positional"),
        ("def f(): yield 1", "generator_handler"),
        ("async def f(): yield 1", "generator_handler"),
    ],
)
def test_what_a_run_could_never_fill(source, code):
    scope = {}
    exec(source, scope)
    assert [p[0] for p in read_signature(scope["f"]).problems] == [code]


def test_wrapped_partial_and_callable_objects():
    def inner(table: str, size: int = 5): ...

    @functools.wraps(inner)
    def wrapper(*args, **kwargs):
        return inner(*args, **kwargs)

    class Loader:
        async def __call__(self, table: str): ...

    assert list(read_signature(wrapper).arguments) == ["table", "size"]
    assert list(read_signature(functools.partial(inner, "x")).arguments) == ["size"]
    found = read_signature(Loader())
    assert list(found.arguments) == ["table"]
    assert found.arguments["table"].kind.word == "str"
    assert found.is_async


def test_bound_methods_have_no_self():
    class Loader:
        def load(self, table: str): ...

    assert list(read_signature(Loader().load).arguments) == ["table"]


def test_bind_lists_every_problem():
    def load(table: str, size: int = 5): ...

    bound, problems = read_signature(load).bind(("x", 1, 2), {"tabel": 1, "table": 2})
    assert bound == {"table": "x", "size": 1}
    assert [p[0] for p in problems] == ["bad_call", "unknown_argument", "bad_call"]
    assert problems[1][3] == "did you mean 'table'?"
