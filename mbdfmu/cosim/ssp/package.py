"""The files of a system, in an archive or beside a bare description, found by their URIs; must not know their content.

Of an archive only what the system names is unpacked, under names that stay within one temporary folder.
"""

from __future__ import annotations

import os
import posixpath
import shutil
import tempfile
import weakref
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from mbdfmu.description.messages import listed
from mbdfmu.description.reading import read_bytes
from mbdfmu.description.values import shown
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.fmi.unpacking import is_bomb

MAIN = "SystemStructure.ssd"
LARGEST = 4 << 30  # bytes of all that is unpacked
LARGEST_XML = 64 << 20  # bytes
_DAMAGE = (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, OSError, ValueError)


class Unpacked:
    """A temporary folder that is there as long as somebody holds this object."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="mbdfmu_ssp_"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class Package(ABC):
    """Where the URIs of a description lead; what cannot be had is a ModelError without the name of the description."""

    main: str  # the name of the description itself
    unpacked: Unpacked | None = None

    @abstractmethod
    def read(self, source: str) -> bytes:
        """The content of an XML file."""

    @abstractmethod
    def file(self, source: str) -> Path:
        """A file on disk."""

    def close(self) -> None:  # noqa: B027  # a folder need not be closed
        """Read no more; what is unpacked stays."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Beside(Package):
    """Files named by a bare description: relative to its folder, or by `file:` URIs."""

    def __init__(self, path: Path) -> None:
        self._folder, self.main = path.parent, path.name

    def read(self, source: str) -> bytes:
        file = self.file(source)
        if file.stat().st_size > LARGEST_XML:
            raise ModelError(f"{shown(source)} has {file.stat().st_size} bytes, allowed are {LARGEST_XML}; shorten it")
        return read_bytes(file, LARGEST_XML)

    def file(self, source: str) -> Path:
        whole = self._folder / source
        try:
            file = whole if whole.is_file() else self._folder / _path(source)
            found = file.is_file()
        except (OSError, ValueError) as error:  # too long, or a zero byte
            raise ModelError(f"{shown(source)} is no name of a file: {error}; correct it") from None
        if not found:
            raise ModelError(f"{shown(source)}: there is no file {str(file)!r}; put it there, or correct the name")
        return file


def _path(source: str) -> str:
    """The file that a URI names."""
    try:
        uri = urlsplit(source)
    except ValueError:
        raise ModelError(f"{shown(source)} is no URI; name a file") from None
    if uri.scheme not in ("", "file") or uri.netloc not in ("", "localhost"):
        raise ModelError(f"{shown(source)} is no file here, and nothing is fetched from a network; name a file")
    return url2pathname(uri.path)


class Archive(Package):
    """A zip archive."""

    main = MAIN

    def __init__(self, path: Path) -> None:
        with _damage("cannot be read as a zip archive"):
            self._zip = zipfile.ZipFile(path)
        self._entries = {entry.filename: entry for entry in self._zip.infolist() if not entry.is_dir()}
        self._left = LARGEST
        self._files: dict[str, Path] = {}
        if MAIN not in self._entries:
            self.close()
            there = [name for name in self._entries if name.endswith(".ssd")] or list(self._entries)
            raise ModelError(f"has no {MAIN}, which a package of SSP needs; it has: {listed(there)}")

    def close(self) -> None:
        self._zip.close()

    def read(self, source: str) -> bytes:
        entry = self._entry(source)
        if entry.file_size > LARGEST_XML:
            raise ModelError(f"{entry.filename!r} has {entry.file_size} bytes, allowed are {LARGEST_XML}; shorten it")
        with _damage(f"{entry.filename!r} is damaged"):
            return self._zip.read(entry)

    def file(self, source: str) -> Path:
        entry = self._entry(source)
        if entry.filename not in self._files:
            self._files[entry.filename] = self._extracted(entry)
        return self._files[entry.filename]

    def _entry(self, source: str) -> zipfile.ZipInfo:
        if source in self._entries and _is_inside(source):
            return self._entries[source]
        name = _inside(source)
        if name not in self._entries:
            hint = did_you_mean(name, self._entries)
            raise ModelError(f"{shown(source)} is not in the archive{hint}; it has: {listed(self._entries)}")
        return self._entries[name]

    def _extracted(self, entry: zipfile.ZipInfo) -> Path:
        """A copy; zipfile gives no more bytes than the archive says, so that what it says can be judged before."""
        self._left -= entry.file_size
        if self._left < 0:
            raise ModelError(f"{entry.filename!r}: the files have more than {LARGEST >> 20} MiB; unpack the archive "
                             f"yourself and load its {MAIN}")  # fmt: skip
        if is_bomb(entry):
            raise ModelError(f"{entry.filename!r} would grow from {entry.compress_size} to {entry.file_size} bytes, "
                             f"as no FMU does; unpack the archive yourself and load its {MAIN}")  # fmt: skip
        self.unpacked = self.unpacked or Unpacked()
        target = self.unpacked.path / _plain(entry.filename)
        with _damage(f"{entry.filename!r} is damaged"):
            target.parent.mkdir(parents=True, exist_ok=True)
            with self._zip.open(entry) as source, target.open("xb") as sink:
                shutil.copyfileobj(source, sink)
        return target


def _inside(source: str) -> str:
    """The name in the archive that a URI means."""
    try:
        uri = urlsplit(source)
    except ValueError:
        raise ModelError(f"{shown(source)} is no URI; name a file of the archive") from None
    if uri.scheme or uri.netloc or uri.fragment:
        raise ModelError(f"{shown(source)} is no file of the archive; put it into resources and name it from there")
    name = _plain(unquote(uri.path))
    if not _is_inside(name):
        raise ModelError(f"{shown(source)} leads out of the archive; put the file into resources")
    return name


def _plain(name: str) -> str:
    return posixpath.normpath(name.replace("\\", "/"))


def _is_inside(name: str) -> bool:
    plain = _plain(name)
    odd = plain.startswith(("/", "../")) or plain in (".", "..") or "\0" in plain
    return not odd and (os.name != "nt" or not set(':"<>|?*') & set(plain))


@contextmanager
def _damage(what: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise ModelError(f"{what} ({error}); export or copy it anew") from None
