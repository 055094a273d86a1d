"""How large a model becomes with all files that it refers to, before anything is made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from mbdfmu.description.reading import parse_json, read_bytes, strays
from mbdfmu.errors import ModelError

MOST_PARTS = 10_000  # sub-models, with those inside them
MOST_ELEMENTS = 100_000  # entries of sections, with those of sub-models; each takes about a millisecond
DEEPEST = 50  # files that use each other
_CURE = "a file that is used twice, by files that are used twice, grows without bound; use fewer"


class Size(NamedTuple):
    """Of a file with all it refers to."""

    parts: int
    elements: int


def check_size(data: dict[str, Any], file: Path, within: Path | None) -> None:
    """ModelError with the file that makes the model too large. Each file is looked at once, however often it is used.

    What cannot be read counts as nothing: whoever reads it says why.
    """
    _Sizes(within).of_model(data, file, 0)


class _Sizes:
    """The files that have been looked at."""

    def __init__(self, within: Path | None) -> None:
        self._within = within
        self._known: dict[Path, Size] = {}

    def of_model(self, data: dict[str, Any], file: Path, depth: int) -> Size:
        """Of a model in a file, or in a model in it."""
        parts, elements = 0, 0
        submodels = data.get("submodels")
        for entry in submodels.values() if isinstance(submodels, dict) else ():
            inner = self._of_entry(entry, file, depth) if isinstance(entry, dict) else Size(0, 0)
            parts, elements = parts + 1 + inner.parts, elements + inner.elements
        elements += sum(len(section) for section in data.values() if isinstance(section, dict))
        size = Size(parts, elements)
        limits = (("sub-models", size.parts, MOST_PARTS), ("elements", size.elements, MOST_ELEMENTS))
        found = [f"{found} {what}, allowed are {most}" for what, found, most in limits if found > most]
        if found:
            cure = f"; {_CURE}" if size.parts > MOST_PARTS else ""
            name = f"{file}: " if depth else ""  # the outermost name is put before it anyway
            raise ModelError(f"{name}has {' and '.join(found)}, with those inside its sub-models{cure}")
        return size

    def _of_entry(self, entry: dict[str, Any], file: Path, depth: int) -> Size:
        if isinstance(entry.get("model"), dict):
            return self.of_model(entry["model"], file, depth)
        if isinstance(entry.get("file"), str):
            return self._of_file(file.parent / entry["file"], depth + 1)
        return Size(0, 0)

    def _of_file(self, file: Path, depth: int) -> Size:
        if depth > DEEPEST:
            raise ModelError(f"{file}: is used by files that use each other, deeper than {DEEPEST}; use fewer levels")
        try:
            place = file.resolve()
            if place in self._known or strays(place, self._within):
                return self._known.get(place, Size(0, 0))
            data, _ = parse_json(read_bytes(file))
        except (ModelError, OSError, ValueError, RuntimeError):
            return Size(0, 0)
        self._known[place] = Size(0, 0)  # a file that holds itself ends here
        self._known[place] = self.of_model(data, file, depth)
        return self._known[place]
