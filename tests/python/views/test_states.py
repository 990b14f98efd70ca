"""Letters and colours of states: none forgotten, none twice, all legible."""

import re
from pathlib import Path

import pytest
from mainspring import _mainspring, _states, _theme

MODEL = Path(__file__).parents[3] / "src" / "model"


def words(path, name):
    """The words of an enum of the core."""
    source = (MODEL / path).read_text(encoding="utf-8")
    body = re.search(rf"pub enum {name} {{\n(.*?)\n    }}", source, re.DOTALL)
    return [] if body is None else re.findall(r'= "(\w+)",', body[1])


def test_each_state_has_a_letter():
    known = [word for word, _, _ in _mainspring.states()]
    known += words("state.rs", "Outcome") + words("state.rs", "RunState") + ["INTERRUPTED"]
    known += [word.upper() for word in words("backfill.rs", "Why")]
    assert [word for word in known if word not in _states.STATES] == []


def test_no_letter_means_two_things():
    letters = {state: look[0] for state, look in _states.STATES.items() if state != "SUCCEEDED"}
    assert len(set(letters.values())) == len(letters)


def luminance(color):
    parts = [int(color[place:place + 2], 16) / 255 for place in (1, 3, 5)]
    low = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * low[0] + 0.7152 * low[1] + 0.0722 * low[2]


def contrast(first, second):
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [_theme.LIGHT, _theme.DARK], ids=["light", "dark"])
def test_letters_and_texts_have_the_contrast_that_people_need(theme):
    pairs = [(f"on-{tone}", tone) for tone in _theme.TONES]
    pairs += [(text, ground) for text in ("fg", "dim") for ground in ("bg", "soft")]
    poor = {pair: contrast(theme[pair[0]], theme[pair[1]]) for pair in pairs
            if contrast(theme[pair[0]], theme[pair[1]]) < 4.5}
    assert poor == {}
    assert contrast(theme["edge"], theme["bg"]) >= 3.0


def test_a_state_of_a_newer_version_is_shown():
    assert (_states.letter("ODD"), _states.tone("ODD")) == ("?", "hold")
    assert _states.worst(["SUCCESS", "ODD"]) == "ODD"
    assert _states.by_rank(["SUCCESS", "missing", "FAILED"]) == ["FAILED", "missing", "SUCCESS"]
