"""Text for a terminal as HTML: its colours become spans, all else that a terminal obeys goes."""

import re
from html import escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CSS", "Painter"]

SEQUENCE = re.compile(
    r"\x1b\[([0-9;:]*)m"  # colours, the only ones with a meaning here
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # the cursor and its like
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|\x1b[@-Z\\^_`-~]?"
)
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e"
                    "\u2066-\u2069\ufeff]")

LIGHT = ("#3b4048", "#b42318", "#146c2e", "#7a5200", "#1a5fae", "#8a2f94", "#0b6a75", "#59636e")
DARK = ("#9ea7b3", "#ff8f80", "#7fd99b", "#f2cc60", "#8cc1fb", "#e3a6f0", "#76d5e0", "#e3e6ea")


def _css() -> str:
    parts = []
    for number, (light, dark) in enumerate(zip(LIGHT, DARK, strict=True)):
        # One value that is legible on both backgrounds does not exist: `color-scheme` of the
        # view decides, and the dim foreground where a browser does not know `light-dark`.
        parts.append(f".ms-view .a-{number}{{color:var(--m-fg);color:light-dark({light},{dark})}}")
    parts.append(".ms-view .a-b{font-weight:700}.ms-view .a-i{font-style:italic}"
                 ".ms-view .a-u{text-decoration:underline}.ms-view .a-d{opacity:.75}")
    return "".join(parts)


CSS = _css()


class Painter:
    """Turns lines of a log into HTML; a colour lasts until it is changed, also over lines.

    Examples
    --------
    >>> from mainspring._ansi import Painter
    >>> Painter().html("\\x1b[31mred\\x1b[0m <b> \\x1b[2Kplain")
    '<span class="a-1">red</span> &lt;b&gt; plain'
    """

    def __init__(self) -> None:
        self._color = ""
        self._marks: dict[str, None] = {}

    def html(self, line: str) -> str:
        """Return a line as HTML."""
        line = line.rstrip("\r\n")
        if "\r" in line:  # a line that was written over: what one would see of it
            line = next((part for part in reversed(line.split("\r")) if part), "")
        if "\x1b" not in line and not self._color and not self._marks:
            return escape(HIDDEN.sub(" ", line), quote=False)
        parts, at = [], 0
        for found in SEQUENCE.finditer(line):
            parts.append(self._text(line[at:found.start()]))
            at = found.end()
            if found[1] is not None:
                self._set(found[1].replace(":", ";").split(";"))
        parts.append(self._text(line[at:]))
        return "".join(parts)

    def _text(self, text: str) -> str:
        if not text:
            return ""
        shown = escape(HIDDEN.sub(" ", text), quote=False)
        kinds = " ".join(filter(None, (self._color, *self._marks)))
        return f'<span class="{kinds}">{shown}</span>' if kinds else shown

    def _set(self, codes: "Sequence[str]") -> None:
        numbers = [int(code) if code.isdigit() and len(code) < 4 else 0 for code in codes]
        at = 0
        while at < len(numbers):
            code = numbers[at]
            at += 1
            if code == 0:
                self._color, self._marks = "", {}
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self._color = f"a-{code % 10}"
            elif code in (38, 48):  # of 256 colours the first sixteen have names
                if numbers[at:at + 1] == [5]:
                    if code == 38 and numbers[at + 1:at + 2] and numbers[at + 1] < 16:
                        self._color = f"a-{numbers[at + 1] % 8}"
                    at += 2
                else:
                    at += 4
            elif code == 39:
                self._color = ""
            elif code in (22, 23, 24):
                for mark in {22: ("a-b", "a-d"), 23: ("a-i",), 24: ("a-u",)}[code]:
                    self._marks.pop(mark, None)
            elif code in (1, 2, 3, 4):
                self._marks[("", "a-b", "a-d", "a-i", "a-u")[code]] = None
