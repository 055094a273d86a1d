"""Model files: bytes to plain data and back, with places in messages; must not know what the data mean."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from mbdfmu.description.messages import Location, path
from mbdfmu.description.values import Code, File, shown
from mbdfmu.errors import ModelError

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


def read_bytes(source: Path) -> bytes:
    """The content of a file; a ModelError says why there is none."""
    try:
        return source.read_bytes()
    except IsADirectoryError:
        raise ModelError("is a folder; give the name of a file") from None
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror}; check the path") from None
    except ValueError as error:  # a zero byte in the path
        raise ModelError(f"cannot be read: {error}; check the path") from None


def locate(data: dict[str, Any], folder: Path, chain: tuple[str, ...]) -> None:
    """Tell files and Python modules which folder they are relative to, and sub-models which files are around them."""
    callbacks = data.get("callbacks")
    for entry in callbacks.values() if isinstance(callbacks, dict) else ():
        if isinstance(entry, dict) and isinstance(entry.get("python"), str) and ":" in entry["python"]:
            entry["python"] = Code(entry["python"], folder)
    submodels = data.get("submodels")
    for entry in submodels.values() if isinstance(submodels, dict) else ():
        if isinstance(entry, dict) and isinstance(entry.get("file"), str):
            entry["file"] = File(entry["file"], folder, chain)
        if isinstance(entry, dict) and isinstance(entry.get("model"), dict):
            locate(entry["model"], folder, chain)


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
