"""The exceptions a user may meet, and the spelling hint they share; must not know what any other module does."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

WINDOW = 100  # characters of a long line shown around the caret


class ModelError(ValueError):
    """Something the user wrote is wrong; `problems` holds one line or paragraph per finding."""

    rest: Any = None  # of a model file: what could be read in spite of the findings

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems: list[str] = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problems,)


class ExpressionError(ModelError):
    """An expression cannot be read or resolved; shows the text with a caret below `position` (0-based)."""

    def __init__(self, message: str, text: str | None = None, position: int | None = None) -> None:
        self.message = message
        self.text = text
        self.position = position
        located = text is not None and position is not None
        super().__init__(f"{message}\n{_caret(text, position)}" if located else message)  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.text, self.position)


class StepFailed(RuntimeError):
    """The numerics gave up although the model is well-formed; the message names time, step and the worst equation."""

    result: Any = None  # what `simulate` had recorded until then


class Ended(StepFailed):
    """Who is stepped wants to go no further: an end of the run, not a failure."""

    def __init__(self, message: str, time: float) -> None:
        super().__init__(message)
        self.time = time  # s, that was reached

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.time)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or a `progress` that returned False, has ended a run; `result` is what it had recorded until then."""

    def __init__(self, message: str = "", result: Any = None) -> None:
        super().__init__(message)
        self.result = result


def how(interrupt: KeyboardInterrupt) -> str:
    """The word for what has ended a run."""
    return str(interrupt) if isinstance(interrupt, Interrupted) and str(interrupt) else "interrupted"


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the closest known name, or an empty string."""
    if not isinstance(name, str) or len(name) > WINDOW:  # nobody mistypes one this long; the comparison is quadratic
        return ""
    known = list(known)
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f"; did you mean '{by_lower[close[0]]}'?" if close else ""


def _caret(text: str, position: int) -> str:
    """Two lines: the line of `text` that holds `position` (cut to a window) and a caret below the place."""
    position = min(max(position, 0), len(text))
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    end = len(text) if end < 0 else end
    left = max(start, min(position - WINDOW // 2, end - WINDOW))
    right = min(end, left + WINDOW)
    head = "..." if left > start else ""
    tail = "..." if right < end else ""
    shown = "".join(c if c.isprintable() else "?" for c in text[left:right])  # a tab would move the caret
    return f"  {head}{shown}{tail}\n  {' ' * (len(head) + position - left)}^"
