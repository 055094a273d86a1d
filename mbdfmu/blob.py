"""The container of compiled models and of FMU interfaces: checked sections of numbers and texts; must not know any.

Its layout is that of solver/blob.hpp, which reads it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

VERSION = 5
MAGIC = b"MBDFMU\r\n"


def pack(sections: Mapping[str, bytes]) -> bytes:
    """Sections (already encoded) with header and checksum."""
    body = b"".join(_section(name, content) for name, content in sections.items())
    length = 32 + len(body)
    header = MAGIC + struct.pack("<IIQII", VERSION, len(sections), length, zlib.crc32(body), 0)
    return header + body


def ints(values: Iterable[Any]) -> bytes:
    """A section of whole numbers."""
    numbers = values if isinstance(values, np.ndarray) else [int(v) for v in values]
    return b"\0" + np.array(numbers, dtype="<i4").tobytes()


def doubles(values: Iterable[Any]) -> bytes:
    """A section of numbers."""
    return b"\1" + np.fromiter((float(v) for v in values), dtype="<f8").tobytes()


def text(content: str) -> bytes:
    """A section of text."""
    return b"\2" + content.encode()


def lines(items: Iterable[str]) -> bytes:
    """A section of texts, one a line."""
    return text("".join(f"{item}\n" for item in items))


def _section(name: str, content: bytes) -> bytes:
    kind, data = content[0], content[1:]
    count = len(data) // (4, 8, 1)[kind]
    return struct.pack("<16sIIQ", name.encode(), kind, 0, count) + data + b"\0" * (-len(data) % 8)
