"""Fires as a column: the same instants as the list of datetimes, without an object for each."""

import sys

import mainspring as ms
import numpy
import pyarrow
import pytest

SPAN = "2024-03-01", "2024-04-01"
RULE = ms.cron("30 2 * * *", timezone="America/New_York")


def test_a_column_of_numpy_has_the_instants_in_utc():
    column = RULE.between(*SPAN, as_="numpy")
    assert column.dtype == numpy.dtype("datetime64[us]") and len(column) == 31
    assert column.tolist() == [at.replace(tzinfo=None) - at.utcoffset()
                               for at in RULE.between(*SPAN)]
    assert str(column[9]) == "2024-03-10T07:00:00.000000"  # carried over the gap


def test_a_column_of_arrow_has_the_zone_of_the_rule():
    column = RULE.between(*SPAN, as_="arrow")
    assert column.type == pyarrow.timestamp("us", "America/New_York")
    column.validate(full=True)
    assert column.to_pylist() == RULE.between(*SPAN)


@pytest.mark.parametrize("form", ["numpy", "arrow"])
def test_an_empty_range_is_an_empty_column(form):
    assert len(RULE.between(SPAN[1], SPAN[0], as_=form)) == 0


@pytest.mark.parametrize("form", ["datetime", "numpy", "arrow"])
def test_more_fires_than_asked_for_are_refused_in_every_form(form):
    assert len(RULE.between(*SPAN, most=31, as_=form)) == 31
    with pytest.raises(ms.SpecError) as caught:
        RULE.between(*SPAN, most=30, as_=form)
    assert caught.value.code == "too_many"


def test_another_form_or_a_package_that_is_not_there_is_told(monkeypatch):
    with pytest.raises(ms.SpecError, match="one of datetime, numpy, arrow") as caught:
        RULE.between(*SPAN, as_="pandas")
    assert caught.value.code == "unknown_choice"
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ms.SpecError, match="pip install pyarrow") as caught:
        RULE.between(*SPAN, as_="arrow")
    assert caught.value.code == "missing_package"


def test_a_fraction_of_a_second_is_kept_in_every_form():
    rule = ms.at("2024-01-01T00:00:00.123456", timezone="Asia/Shanghai")
    found = rule.between("2023-01-01", "2025-01-01")
    assert found[0].isoformat() == "2024-01-01T00:00:00.123456+08:00"
    assert rule.between("2023-01-01", "2025-01-01", as_="arrow").to_pylist() == found
    before = ms.at("1969-12-31T23:59:59.999999").prev("1970-01-01")
    assert before[0].isoformat() == "1969-12-31T23:59:59.999999+00:00"
