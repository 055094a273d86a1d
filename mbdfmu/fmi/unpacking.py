"""Unpacking the archive of an FMU within limits of size, count and place."""

from __future__ import annotations

import os
import posixpath
import zipfile
import zlib

from mbdfmu.errors import ModelError
from mbdfmu.files import FULL

MOST_FILES = 100_000
LARGEST = 4 << 30  # bytes of all files together
SUSPECT, RATIO = 64 << 20, 200  # what is larger than that and shrinks by more than this is no FMU


def unpack(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> None:
    """All files into the folder; ModelError where the archive is damaged, or one that no tool writes."""
    try:
        with zipfile.ZipFile(path) as archive:
            check_archive(archive)
            archive.extractall(folder)  # zipfile gives no more bytes than the archive says
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ModelError(f"{os.fspath(path)}: is damaged ({error}); export or copy it anew") from None
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise OSError(error.errno, f"{error.strerror} to unpack {os.fspath(path)}", os.fspath(folder)) from None


def check_archive(archive: zipfile.ZipFile) -> None:
    """ModelError where files would lie outside of the folder, or fill the disk."""
    entries = archive.infolist()
    total = sum(entry.file_size for entry in entries)
    problems = [
        f"has {found} {what}, allowed are {allowed}"
        for found, allowed, what in ((len(entries), MOST_FILES, "files"), (total, LARGEST, "bytes of files"))
        if found > allowed
    ]
    problems += [f"'{entry.filename}' leads out of the FMU" for entry in entries if _leads_out(entry.filename)][:1]
    problems += [
        f"'{entry.filename}' would grow from {entry.compress_size} to {entry.file_size} bytes, as no FMU does"
        for entry in entries if is_bomb(entry)
    ][:1]  # fmt: skip
    if problems:
        cure = "if it is to be trusted, unpack it and pack what it needs again, without compression"
        raise ModelError([f"{archive.filename}: {problem}; {cure}" for problem in problems])


def is_bomb(entry: zipfile.ZipInfo) -> bool:
    """Whether a file would grow beyond reason."""
    return entry.file_size > max(SUSPECT, RATIO * entry.compress_size)


def _leads_out(name: str) -> bool:
    plain = posixpath.normpath(name.replace("\\", "/"))
    return plain.startswith(("/", "../")) or plain == ".." or "\0" in plain or plain[1:2] == ":"
