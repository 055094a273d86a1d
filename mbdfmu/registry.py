"""Families of named classes (joints, forces, schemes) that files, tools and docs look up; must not know any member.

`class Joint(Registered, family="joint")` opens a family; `class Revolute(Joint, name="revolute")` joins it, from any
module and at any time; `Joint.named("revolute")`, `Joint.names()` and `Revolute.type_name` read it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

from mbdfmu.errors import ModelError, did_you_mean


class Registered:
    """Base of a family: a subclass with the class keyword `name` can be found under that name."""

    type_name: ClassVar[str] = ""  # empty for the family itself and for abstract classes in between
    family: ClassVar[str] = ""
    _table: ClassVar[dict[str, Any]] = {}  # one per family, shared by its members

    def __init_subclass__(cls, *, name: str = "", family: str = "", **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.type_name = name  # not inherited: a member's unnamed subclass must not pass for the member
        if family:
            cls.family, cls._table = family, {}
        if name:
            cls._enter()

    @classmethod
    def _enter(cls) -> None:
        if not cls.family:
            raise TypeError(f"{_where(cls)} has the name {cls.type_name!r} but no family; derive it from a family")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", cls.type_name):
            raise TypeError(f"{_where(cls)}: the name {cls.type_name!r} may hold letters, digits, _ and - only")
        taken = cls._table.get(cls.type_name)
        # The same place may define its class again: a reloaded module, a notebook cell, @dataclass(slots=True).
        if taken is not None and _where(taken) != _where(cls):
            raise TypeError(
                f"{_where(cls)}: the {cls.family} name {cls.type_name!r} is taken by {_where(taken)}; choose another"
            )
        cls._table[cls.type_name] = cls

    @classmethod
    def members(cls) -> Mapping[str, type[Self]]:
        """The family's classes by name, in the order of their definition."""
        return MappingProxyType(cls._table)

    @classmethod
    def names(cls) -> list[str]:
        """The names of the family's members, sorted."""
        return sorted(cls._table)

    @classmethod
    def named(cls, name: str) -> type[Self]:
        """The member called `name`; ModelError with the nearest and all known names if there is none."""
        if name in cls._table:
            member: type[Self] = cls._table[name]
            return member
        known = ", ".join(cls.names()) or f"none, import the module that defines the {cls.family} first"
        raise ModelError(f"unknown {cls.family} type {name!r}{did_you_mean(name, cls._table)}; known: {known}")

    @classmethod
    def summary(cls) -> str:
        """The first line of the class's own docstring, for lists and docs."""
        return inspect.cleandoc(cls.__dict__.get("__doc__") or "").partition("\n")[0]


def _where(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
