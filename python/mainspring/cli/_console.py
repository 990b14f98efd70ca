"""What people read: text made safe for a terminal, tables, colours, one JSON document."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from mainspring._table import pad, width

__all__ = ["Console", "clean", "clean_block", "colored", "cut", "pad", "width"]

# Characters that move the cursor, reorder a line or hide in it; they are shown as escapes.
HIDDEN = {0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF}

STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
STATE_STYLES = {
    "SUCCESS": "green",
    "FAILED": "red",
    "TIMEOUT": "red",
    "LOST": "red",
    "BLOCKED": "yellow",
    "CANCELED": "yellow",
    "INTERRUPTED": "yellow",
    "RETRY_WAIT": "magenta",
    "RUNNING": "cyan",
    "READY": "blue",
    "PENDING": "dim",
    "SKIPPED": "dim",
}


def _escaped(letter: str) -> str:
    code = ord(letter)
    if code < 32 or 127 <= code < 160:
        return {9: "\\t", 10: "\\n", 13: "\\r"}.get(code, f"\\x{code:02x}")
    if code in HIDDEN or 0xD800 <= code < 0xE000:
        return f"\\u{code:04x}"
    return letter


def clean(text: object) -> str:
    """One line of somebody else's text, with everything that a terminal would obey escaped."""
    text = str(text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_escaped, text))


def clean_block(text: object) -> str:
    """Several lines of somebody else's text; line breaks and tabs stay, the rest is escaped."""
    lines = str(text).replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(clean(part) for part in line.split("\t")) for line in lines)


def cut(text: str, columns: int) -> str:
    """The text, shortened to this many columns."""
    if width(text) <= columns:
        return text
    kept, used = [], 0
    for letter in text:
        step = width(letter)
        if used + step > columns - 3:
            break
        kept.append(letter)
        used += step
    return "".join(kept) + "..."


class Console:
    """Where a command writes: results to ``out``, everything about them to ``err``.

    With ``json`` set, ``out`` gets the one document of `document` and nothing else: what the
    author's code prints goes to ``err`` meanwhile.
    """

    def __init__(self, *, json: bool = False, color: bool | None = None, verbose: int = 0) -> None:
        self.json = json
        self.verbose = verbose
        self.out: TextIO = sys.stdout
        self.err: TextIO = sys.stderr
        self._saved: tuple[TextIO, int | None] | None = None
        for stream in (self.out, self.err):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        self.color_out = colored(self.out) if color is None else color
        self.color_err = colored(self.err) if color is None else color
        if json:
            self._keep_stdout()

    def _keep_stdout(self) -> None:
        """Send what anybody else prints to stderr, also what native code writes to descriptor 1."""
        descriptor = None
        try:
            if self.out.fileno() == 1:
                self.out.flush()
                descriptor = os.dup(1)
                os.dup2(2, 1)
        except (OSError, ValueError, AttributeError):
            descriptor = None
        self._saved = (self.out, descriptor)
        sys.stdout = self.err

    def close(self) -> None:
        """Give the streams back."""
        if self._saved is None:
            return
        stream, descriptor = self._saved
        self._saved = None
        sys.stdout = stream
        if descriptor is not None:
            os.dup2(descriptor, 1)
            os.close(descriptor)

    # --- results ---

    def line(self, text: str = "") -> None:
        """A line of the result, for people; nothing with ``--json``."""
        if not self.json:
            print(text, file=self.out)

    def table(
        self, head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()
    ) -> None:
        """An aligned table; cells are made safe here, states get their colour."""
        if self.json:
            return
        cells = [[clean(cell) for cell in row] for row in rows]
        spans = [
            max([width(name), *(width(row[at]) for row in cells)]) for at, name in enumerate(head)
        ]
        self.line(self.paint(_joined(head, spans, right), "bold"))
        limit = shutil.get_terminal_size().columns if _is_terminal(self.out) else None
        for row in cells:
            if limit is not None:
                room = limit - sum(spans[:-1]) - 2 * (len(spans) - 1)
                row[-1] = cut(row[-1], max(room, 12))
            self.line(_joined(row, spans, right, self.state))

    def document(self, value: Any) -> None:
        """The one JSON document of this command; nothing without ``--json``."""
        if not self.json:
            return
        text = json.dumps(value, ensure_ascii=False, indent=2, default=_plain, allow_nan=False)
        stream, descriptor = self._saved or (self.out, None)
        data = text.encode("utf-8", "backslashreplace") + b"\n"
        if descriptor is None:
            stream.write(data.decode("utf-8"))
            stream.flush()
            return
        while data:
            data = data[os.write(descriptor, data) :]

    # --- messages ---

    def say(self, text: str = "") -> None:
        """A message about the work, on stderr."""
        print(text, file=self.err, flush=True)

    def error(self, message: str, hint: str | None = None) -> None:
        """What went wrong, in the one form of all commands."""
        self.say(f"{self._paint_err('error:', 'red')} {message}")
        if hint:
            for line in hint.split("\n"):
                self.say(f"  {self._paint_err('hint:', 'cyan')} {line}")

    def note(self, message: str) -> None:
        """Something worth knowing that stops nothing."""
        self.say(f"{self._paint_err('note:', 'yellow')} {message}")

    # --- colour ---

    def paint(self, text: str, style: str) -> str:
        """The text in a style, where the result is coloured."""
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.color_out else text

    def _paint_err(self, text: str, style: str) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.color_err else text

    def state(self, word: str, shown: str | None = None) -> str:
        """A state in its colour; other words stay as they are."""
        style = STATE_STYLES.get(word)
        return self.paint(shown or word, style) if style else (shown or word)


def _joined(
    row: Sequence[str],
    spans: Sequence[int],
    right: Sequence[int],
    paint: Any = lambda word, shown: shown,
) -> str:
    parts = []
    for at, cell in enumerate(row):
        last = at == len(row) - 1
        space = " " * (spans[at] - width(cell))
        shown = paint(cell, cell)
        parts.append(space + shown if at in right else shown + ("" if last else space))
    return "  ".join(parts).rstrip()


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (ValueError, AttributeError):
        return False


def colored(stream: TextIO) -> bool:
    """Whether what is written to a stream may have colours."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return _is_terminal(stream) and os.environ.get("TERM") != "dumb"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return str(value)
