"""Model files: bytes to plain data and back, with places in messages; must not know what the data mean."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from pathlib import Path
from typing import Any

from mbdfmu.description.messages import Location, path
from mbdfmu.description.values import Code, File, shown
from mbdfmu.errors import ModelError

LARGEST = 20_000_000  # bytes of a file; the largest shipped model has some 30,000
MAX_DEPTH = 50  # of nested objects and lists; a model needs about six


class _Object(dict[str, Any]):
    """A JSON object that remembers the keys it was given twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(key for key, _ in pairs) if len(self) < len(pairs) else {}
        self.repeated = [key for key, count in counts.items() if count > 1]


def parse_json(text: str | bytes) -> tuple[dict[str, Any], list[str]]:
    """The data of a JSON object, and what is wrong with it that does not prevent further reading."""
    decoded = _decoded(text)
    try:
        data = json.loads(decoded, object_pairs_hook=_Object, parse_int=_integer)
    except json.JSONDecodeError as error:
        found = shown(decoded[error.pos : error.pos + 12]) if error.pos < len(decoded) else "the end of the text"
        reason = error.msg[0].lower() + error.msg[1:]
        raise ModelError(f"line {error.lineno}, column {error.colno}: not JSON, {reason}, found {found}") from None
    except RecursionError:
        raise ModelError(_too_deep()) from None
    if not isinstance(data, dict):
        raise ModelError(f"must hold one object {{...}}, found {shown(data)}")
    return data, _repetitions(data)


def read_bytes(source: Path, largest: int = LARGEST) -> bytes:
    """The content of a file; a ModelError says why there is none. Devices and pipes are not even opened."""
    try:
        problem = unfit(source.stat(), largest)
        if problem:
            raise ModelError(problem)
        # Without O_NONBLOCK it would wait for ever where a pipe has taken the file's place in between.
        handle = os.open(source, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as file:
            problem = unfit(os.fstat(handle), largest)
            content = b"" if problem else file.read(largest + 1)
        if problem or len(content) > largest:  # it may grow, or say nothing of its size
            raise ModelError(problem or f"has more than {largest} bytes, which is the limit")
        return content
    except ModelError:
        raise
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror}; check the path") from None
    except ValueError as error:  # a zero byte in the path
        raise ModelError(f"cannot be read: {error}; check the path") from None


def unfit(facts: os.stat_result, largest: int = LARGEST) -> str:
    """Why such a file is not read; empty where it is."""
    for kind, what in _KINDS:
        if kind(facts.st_mode):
            return f"cannot be read: is {what}, not a file; check the path"
    if facts.st_size > largest:
        return f"has {facts.st_size} bytes, allowed are {largest}"
    return ""


_KINDS = (
    (stat.S_ISDIR, "a folder"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"), (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)  # fmt: skip


def strays(place: Path, within: Path | None) -> bool:
    """Whether a file, with its links followed, lies outside of the folder that it has to be in."""
    return within is not None and not place.is_relative_to(within)


def locate(data: dict[str, Any], folder: Path, chain: tuple[str, ...], within: Path | None = None) -> None:
    """Tell files and Python modules which folder they are relative to, and sub-models which files are around them.

    `within` is the folder in which all files have to be.
    """
    callbacks = data.get("callbacks")
    for entry in callbacks.values() if isinstance(callbacks, dict) else ():
        if isinstance(entry, dict) and isinstance(entry.get("python"), str) and ":" in entry["python"]:
            entry["python"] = Code(entry["python"], folder)
    submodels = data.get("submodels")
    for entry in submodels.values() if isinstance(submodels, dict) else ():
        if isinstance(entry, dict) and isinstance(entry.get("file"), str):
            entry["file"] = File(entry["file"], folder, chain, within)
        if isinstance(entry, dict) and isinstance(entry.get("model"), dict):
            locate(entry["model"], folder, chain, within)


def to_text(data: dict[str, Any]) -> str:
    """JSON with one line for each entry of a section: short, and a change of one element is a change of one line."""
    return "{\n" + ",\n".join(f"  {_dumped(key)}: {_section(value)}" for key, value in data.items()) + "\n}\n"


def _decoded(text: str | bytes) -> str:
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise ModelError(f"line {line}: not UTF-8 text at byte {error.start}; save the file as UTF-8") from None


def _integer(text: str) -> int | float:
    """Python refuses to read very long integers; as a float they become a number or inf, which validation names."""
    return int(text) if len(text) <= 20 else float(text)


def _repetitions(data: dict[str, Any]) -> list[str]:
    """All keys given twice, with their path; refuses what is nested too deeply for anything that follows."""
    found: list[str] = []
    waiting: list[tuple[Location, Any]] = [((), data)]
    while waiting:
        location, item = waiting.pop()
        if len(location) > MAX_DEPTH:
            raise ModelError(_too_deep())
        if isinstance(item, _Object):
            found += [f"{path((*location, key))}: the key is given twice; remove one" for key in item.repeated]
            waiting += [((*location, key), value) for key, value in item.items()]
        elif isinstance(item, list):
            waiting += [((*location, index), value) for index, value in enumerate(item)]
    return found


def _too_deep() -> str:
    return f"objects and lists are nested deeper than {MAX_DEPTH} levels; a model file needs about six"


def _section(value: Any) -> str:
    if not isinstance(value, dict):
        return _dumped(value)
    return "{\n" + ",\n".join(f"    {_dumped(key)}: {_dumped(entry)}" for key, entry in value.items()) + "\n  }"


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
