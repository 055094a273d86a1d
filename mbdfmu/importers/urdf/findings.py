"""What is wrong with a file, and what a model cannot hold of it; must not know the format."""

from __future__ import annotations

from mbdfmu.description.messages import listed
from mbdfmu.errors import ModelError


class Findings:
    """Problems end the import, all at once; notes go with the model, one for each sentence."""

    def __init__(self) -> None:
        self._problems: dict[tuple[int, str], None] = {}  # a dict since what is found twice is said once
        self._notes: dict[str, dict[str, None]] = {}  # sentence -> names

    def problem(self, line: int, text: str) -> None:
        """Something that has to be mended, and the line where it stands."""
        self._problems[line, text] = None

    def note(self, sentence: str, name: str) -> None:
        """Something that is not in the model; names with the same sentence share one note."""
        self._notes.setdefault(sentence, {})[name] = None

    def end_if_wrong(self) -> None:
        """Raise what was found so far, in the order of the file."""
        if self._problems:
            raise ModelError(f"line {line}: {text}" for line, text in sorted(self._problems, key=lambda p: p[0]))

    @property
    def notes(self) -> tuple[str, ...]:
        """One line for each sentence."""
        return tuple(f"{sentence}: {listed(names)}" for sentence, names in self._notes.items())
